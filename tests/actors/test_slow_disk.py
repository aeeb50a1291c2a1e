"""A disk whose flushes take 50 to 200 ms: commits gather, deadlines pass, and a repeat hears the one answer."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence

import pytest

from actors.pool import ThreadPool
from bus.address import Address
from bus.client import DeadlinePassed
from bus.clock import SystemClock
from bus.journal_thread import ThreadJournal
from bus.store import Write
from bus.store_memory import MemoryStore
from tests.support.hosts import Hosts

SEED = 11
CALLERS = 64
COUNTERS = [Address("counter", "-", f"c{number}") for number in range(8)]


class SlowStore(MemoryStore):
    """Waits with each commit, as a worn or shared disk does."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0
        self._chance = random.Random(SEED)
        self._never = threading.Event()

    def commit(self, writes: Sequence[Write]) -> None:
        self._never.wait(self._chance.uniform(0.05, 0.2))
        self.commits += 1
        super().commit(writes)


def test_on_a_slow_disk_many_calls_share_a_commit_and_each_counts_once() -> None:
    async def body() -> None:
        store, pool = SlowStore(), ThreadPool(2)
        hosts = Hosts(stores=[store], clock=SystemClock(), executor=pool, make_journal=ThreadJournal)
        before = store.commits

        async def caller(number: int) -> None:
            for turn in range(3):
                await hosts.ok(COUNTERS[(number + turn) % len(COUNTERS)], "add")

        await asyncio.gather(*map(caller, range(CALLERS)))
        assert store.commits - before <= CALLERS // 4, "calls that wait share commits"
        totals = [(await hosts.ok(counter, "read"))["total"] for counter in COUNTERS]
        assert totals == [CALLERS * 3 // len(COUNTERS)] * len(COUNTERS)
        pool.close()

    asyncio.run(body())


def test_a_deadline_that_passes_during_a_slow_flush_leaves_one_effect_and_a_repeat_hears_its_answer() -> None:
    """common 8.1"""

    async def body() -> None:
        pool = ThreadPool(2)
        hosts = Hosts(stores=[SlowStore()], clock=SystemClock(), executor=pool, make_journal=ThreadJournal)
        assert await hosts.ok(COUNTERS[0], "read") == {"total": 0, "whole": False}
        call_id = hosts.clock.new_id()
        with pytest.raises(DeadlinePassed) as passed:
            await hosts.person.call(COUNTERS[0], "add", {}, call_id=call_id, within_ms=20)
        assert passed.value.was_sent, "so the caller must not say that nothing happened"
        assert await hosts.ok(COUNTERS[0], "add", call_id=call_id) == {"total": 1}
        assert (await hosts.ok(COUNTERS[0], "read"))["total"] == 1
        pool.close()

    asyncio.run(body())
