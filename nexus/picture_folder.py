"""The folder of one picture engine: its home, in which the browser leaves what it likes.

It is removed with the picture. What asked for one and was killed leaves it behind; the next one removes it then.
Whoever has a folder holds a lock on it, which ends with them however they end; a process id would not do, since ids are
used again, and containers that share a folder for temporary files do not see each other's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PREFIX: Final = "nexus-picture-"
_SHORT_TEMPORARY: Final = Path("/tmp")
"""Not TMPDIR, if it can be helped: Chromium makes a socket there, whose path must be short, and does not start else."""
_LEFT_SECONDS: Final = 60
"""Younger ones may be made just now and not locked yet, or the browser of a command that was killed ends there."""


@contextlib.contextmanager
def picture_folder() -> Iterator[Path]:
    """An empty folder that is removed at the end. Removes those that others left behind."""
    is_usable = os.access(_SHORT_TEMPORARY, os.W_OK | os.X_OK)
    place = _SHORT_TEMPORARY if is_usable else Path(tempfile.gettempdir())
    _remove_left(place)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True) as folder:
        held = _locked(Path(folder))
        try:
            yield Path(folder)
        finally:
            if held is not None:
                os.close(held)


def _remove_left(place: Path) -> None:
    for folder in place.glob(f"{_PREFIX}*"):
        # Somebody else may be removing it too; and what cannot be removed must not stop a picture.
        with contextlib.suppress(OSError):
            if not _may_be_left(folder.lstat()):
                continue
            held = _locked(folder)
            if held is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(held)


def _may_be_left(about: os.stat_result) -> bool:
    is_ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
    return is_ours and time.time() - about.st_mtime > _LEFT_SECONDS


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the folder; None if somebody else does, or the file system knows no locks."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
