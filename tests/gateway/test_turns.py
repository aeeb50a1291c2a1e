"""Work that is asked for: once at a time, and once more for what was asked meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from bus.client import DeadlinePassed
from nexus.gateway import turns
from nexus.gateway.turns import Turns
from tests.support.gateway_bench import in_loop
from tests.support.loop import until


class Work:
    """Each turn waits until the test lets it end."""

    def __init__(self) -> None:
        self.begun = 0
        self.failures = 0
        self.going_on = asyncio.Event()
        self.trouble: Exception | None = None

    async def turn(self) -> None:
        self.begun += 1
        await self.going_on.wait()
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            raise trouble

    def failed(self) -> None:
        self.failures += 1


@in_loop
async def test_whatever_is_asked_meanwhile_is_one_more_turn() -> None:
    work = Work()
    asked = Turns(work.turn, work.failed)
    asked.ask()
    await until(lambda: work.begun == 1)
    for _ in range(5):
        asked.ask()
    await asyncio.sleep(0)
    assert work.begun == 1, "one at a time"
    work.going_on.set()
    await until(lambda: work.begun == 2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert work.begun == 2
    asked.ask()
    await until(lambda: work.begun == 3)


@in_loop
async def test_a_turn_that_nobody_answered_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_AGAIN_SECONDS", 0.001)
    work = Work()
    work.going_on.set()
    work.trouble = DeadlinePassed(was_sent=True)
    Turns(work.turn, work.failed).ask()
    await until(lambda: work.begun == 2)
    assert work.failures == 0


@in_loop
async def test_a_defect_is_told_once_and_does_not_end_the_next_turn() -> None:
    work = Work()
    work.going_on.set()
    work.trouble = RuntimeError("a defect")
    asked = Turns(work.turn, work.failed)
    asked.ask()
    await until(lambda: work.failures == 1)
    asked.ask()
    await until(lambda: work.begun == 2)
    assert work.failures == 1


@in_loop
async def test_after_the_close_nothing_begins_and_what_is_under_way_comes_to_its_end() -> None:
    work = Work()
    asked = Turns(work.turn, work.failed)
    asked.ask()
    await until(lambda: work.begun == 1)
    asked.ask()
    asked.close()
    work.going_on.set()
    for _ in range(20):
        await asyncio.sleep(0)
    asked.ask()
    await asyncio.sleep(0)
    assert work.begun == 1
