"""A file system of a test's own, so small that it can be filled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Mounted on `folder`; `size` in mount's form, such as `20m`. Skips the test where that is not permitted."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("a small file system can be mounted by root on Linux only")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"mounting a tmpfs is not permitted here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run([umount, "-l", str(folder)], check=True)  # what failed in the test may have left a file open


def enlarge(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
