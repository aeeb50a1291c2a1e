"""One supervisor a home, and none beside children that a killed one left behind.

Two locks, both released by the kernel however a process ends. `run/lock` is held by the supervisor alone; whoever has
it may remove and make sockets. `run/family.lock` is one open file that every child inherits, so it is free only when
the last child has ended.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Callable
from pathlib import Path

from bus.limits import look_again_ms, progress_after_ms
from nexus.config import Home


class AlreadyRunning(Exception):
    """A supervisor has this home. The text is for the person."""


class ChildrenLinger(Exception):
    """Processes of a killed supervisor did not end in time. The text is for the person."""


class HomeLock:
    """Both locks of a home, held. `family_descriptor` is what children inherit."""

    def __init__(
        self, home: Home, *, wait_ms: int, answers: Callable[[], bool], waiting: Callable[[str], None]
    ) -> None:
        """Take both. `answers` says whether a supervisor on this home answers: then there is nothing to wait for.

        Raises AlreadyRunning or ChildrenLinger; holds nothing then.
        """
        deadline_ms = _now_ms() + wait_ms
        self._descriptor = _open_lock(home.lock_file)
        self.family_descriptor = _open_lock(home.family_lock_file)
        try:
            # The first is busy for a moment, too, while a supervisor is just starting or was just killed.
            if not _take(self._descriptor, deadline_ms, answers, lambda: None):
                raise AlreadyRunning(
                    f"NEXUS already runs on {home.path}. See it with: nexus status. Stop it with: nexus down"
                )
            text = "Waiting for processes of an earlier NEXUS to end"
            if not _take(self.family_descriptor, deadline_ms, lambda: False, lambda: waiting(text)):
                raise ChildrenLinger(
                    f"Processes of an earlier NEXUS on {home.path} do not end. `nexus doctor` names them."
                )
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give both back. Only when every child has ended."""
        os.close(self.family_descriptor)
        os.close(self._descriptor)


def is_held(lock_file: Path) -> bool:
    """Whether some process holds this lock now."""
    try:
        descriptor = os.open(lock_file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try(descriptor)
    finally:
        os.close(descriptor)


def wait_until_free(lock_file: Path, wait_ms: int) -> bool:
    """Whether the lock became free within `wait_ms`."""
    deadline_ms = _now_ms() + wait_ms
    while is_held(lock_file):
        if _now_ms() >= deadline_ms:
            return False
        _pause()
    return True


def _open_lock(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _take(descriptor: int, deadline_ms: int, is_hopeless: Callable[[], bool], waiting: Callable[[], None]) -> bool:
    started_ms, has_told = _now_ms(), False
    while not _try(descriptor):
        if is_hopeless() or _now_ms() >= deadline_ms:
            return False
        if not has_told and _now_ms() - started_ms >= progress_after_ms:
            has_told = True
            waiting()
        _pause()
    return True


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pause() -> None:
    select.select([], [], [], look_again_ms / 1000)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
