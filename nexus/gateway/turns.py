"""Work that one asks for: once at a time, and once more for whatever was asked meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from bus.client import DeadlinePassed

_log = structlog.get_logger("gateway")
_AGAIN_SECONDS: Final = 1.0


class Turns:
    """Event loop thread only. After `close` nothing begins any more; what is under way comes to its end."""

    def __init__(self, work: Callable[[], Awaitable[None]], failed: Callable[[], None], gap_seconds: float = 0) -> None:
        """`work` begins no sooner than `gap_seconds` after it ended, and again a second after it raised DeadlinePassed:
        then of what it asked nothing is known. `failed` is called when it raised anything else, a defect."""
        self._work = work
        self._failed = failed
        self._gap_seconds = gap_seconds
        self._is_wanted = False
        self._is_closed = False
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """What `work` finds from now on is to be found."""
        self._is_wanted = True
        if self._task is None and not self._is_closed:
            self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        self._is_closed = True

    async def _run(self) -> None:
        try:
            while self._is_wanted and not self._is_closed:
                self._is_wanted = False
                try:
                    await self._work()
                except DeadlinePassed:
                    self._is_wanted = True
                    await asyncio.sleep(_AGAIN_SECONDS)
                    continue
                if self._gap_seconds:
                    await asyncio.sleep(self._gap_seconds)
        except Exception:  # noqa: BLE001 - it is logged whole, and whoever asked decides what a defect ends
            _log.exception("turn_failed", work=self._work.__qualname__)
            self._failed()
        finally:
            self._task = None
