"""The journal of a process: one thread that writes (bus/journal.py).

Who may touch it: `submit`, `flush` and `hold` from any thread; the writer's thread alone runs the writer.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Final, TypeAlias

import structlog

from bus.hold import Hold, ThreadHold
from bus.journal import Commit, GroupWriter
from bus.limits import commit_batch_max

_log = structlog.get_logger("journal")


class _Stop:
    """Queued once, last: the writer ends when it gets there."""


_STOP: Final = _Stop()
_Item: TypeAlias = Commit | threading.Event | ThreadHold | _Stop


class ThreadJournal:
    """One writer thread: while it flushes a group, the next one gathers."""

    def __init__(self, writer: GroupWriter) -> None:
        self._writer = writer
        self._queue: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self._thread.start()

    def submit(self, commit: Commit) -> None:
        self._queue.put(commit)

    def flush(self) -> None:
        reached = threading.Event()
        self._queue.put(reached)
        reached.wait()

    def hold(self, held: Callable[[], None]) -> Hold:
        hold = ThreadHold(held)
        self._queue.put(hold)
        return hold

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def close(self) -> None:
        """Write what was submitted before, then end the thread."""
        self._queue.put(_STOP)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._write_until_stopped()
        except BaseException:
            _log.exception("writer_failed")
            self._writer.break_off()
            raise

    def _write_until_stopped(self) -> None:
        while True:
            group: list[Commit] = []
            after = self._gather(group)
            if group:
                self._writer.write_group(group)
            if isinstance(after, threading.Event):
                after.set()
            elif isinstance(after, ThreadHold):
                after.stand()
            elif isinstance(after, _Stop):
                return

    def _gather(self, group: list[Commit]) -> threading.Event | ThreadHold | _Stop | None:
        """Fill `group` with what waits; answers what stood behind it, if not a commit."""
        item = self._queue.get()
        while True:
            if not isinstance(item, Commit):
                return item
            group.append(item)
            if len(group) >= commit_batch_max:
                return None
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return None
