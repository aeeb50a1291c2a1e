"""Who runs owners' turns: a few threads in a process, or the caller itself in tests and the simulation."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable

import structlog

_log = structlog.get_logger("pool")


class ThreadPool:
    """`threads` threads for all owners of a host; a turn runs to its end on one of them.

    Turns do not raise. If one does all the same, its owner would stay scheduled for ever and its thread be gone, so
    `failed` is told, which ends the process: its successor starts from what is on disk.
    """

    def __init__(self, threads: int, failed: Callable[[], None] = lambda: None) -> None:
        self._failed = failed
        self._turns: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"owners-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, turn: Callable[[], None]) -> None:
        self._turns.put(turn)

    def close(self) -> None:
        """Run what waits, then end the threads."""
        for _ in self._threads:
            self._turns.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (turn := self._turns.get()) is not None:
            try:
                turn()
            except BaseException:
                _log.exception("turn_failed")
                self._failed()
                raise


class InlineExecutor:
    """Runs each turn at once; a turn asked for during another one follows it."""

    def __init__(self) -> None:
        self._turns: deque[Callable[[], None]] = deque()
        self._is_running = False

    def submit(self, turn: Callable[[], None]) -> None:
        self._turns.append(turn)
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._turns:
                self._turns.popleft()()
        finally:
            self._is_running = False
