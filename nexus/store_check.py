"""Whether the stores of a home can be used: their files before a start, their content for `nexus doctor`.

A damaged LMDB file can kill whoever reads it (SIGBUS, when it was cut short), so the content is read by a process of
its own, nexus/store_reader.py.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

from bus.limits import store_check_wait_seconds
from bus.store_lmdb import RESERVE_FILE, is_gone
from nexus.config import Home, HomeRefused, refuse_unless_private
from nexus.home_content import STORE_FILE

_FILES: Final = (STORE_FILE, "lock.mdb", "owner.lock", "made", RESERVE_FILE)
_RESTORE: Final = "Put it back, or restore the home from a backup."
_META_BYTES: Final = 2 * 4096
"""LMDB's two first pages, with which every file of it begins."""


def refuse_unsafe_stores(home: Home) -> None:
    """Raises HomeRefused for a store that other users can reach, or that is no regular file of this user."""
    for shard in range(home.settings.shards):
        folder = home.shard_folder(shard)
        refuse_unless_private(folder, stat.S_ISDIR, "folder")
        if is_gone(folder):
            raise HomeRefused(f"{folder / STORE_FILE} is missing or empty, and it held data. {_RESTORE}")
        for name in _FILES:
            if os.path.lexists(folder / name):
                refuse_unless_private(folder / name, stat.S_ISREG, "file")


def store_problem(folder: Path) -> str | None:
    """What is wrong with the store in `folder`, for the person; None if nothing is. Only while nothing runs on it."""
    file = folder / STORE_FILE
    if is_gone(folder):
        return f"{file} is missing or empty, and it held data. {_RESTORE}"
    if not file.exists():
        return None
    if file.stat().st_size < _META_BYTES:
        return f"{file} is cut short: it has {file.stat().st_size} bytes. Restore the home from a backup."
    done = subprocess.run(
        [sys.executable, "-I", "-m", "nexus.store_reader", str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=store_check_wait_seconds,
        check=False,
    )
    if done.returncode < 0:
        return f"{file} is damaged or cut short: reading it ends the reader. Restore the home from a backup."
    try:
        problem = json.loads(done.stdout)["problem"]
    except (ValueError, KeyError):
        return f"{file} could not be looked at."
    return None if problem is None else f"{file} {problem}"
