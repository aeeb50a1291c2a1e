"""Waiting without sleeping: run the loop until a condition holds, with a bound that fails the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Returns when `condition()` is true. Raises AssertionError after `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        assert loop.time() < end, "the condition did not come true in time"
        turn: asyncio.Future[None] = loop.create_future()
        loop.call_later(0.001, turn.set_result, None)
        await turn
