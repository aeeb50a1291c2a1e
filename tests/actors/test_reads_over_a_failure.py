"""What saw a write that the disk then refused is decided again from what is stored: reads, and the person's calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from actors.pool import ThreadPool
from bus.address import Address
from bus.clock import SystemClock
from bus.journal_thread import ThreadJournal
from bus.store import StoreFull, Write, state_prefix
from bus.store_memory import MemoryStore
from tests.support.hosts import Hosts
from tests.support.loop import until

ONE = Address("counter", "-", "one")


class FullStore(MemoryStore):
    """Once it is full: holds each write of ONE until told, and then refuses it, once or always."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.refuses_once = False
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def commit(self, writes: Sequence[Write]) -> None:
        if self.is_full and any(key.startswith(state_prefix(ONE)) for key, _ in writes):
            self.has_begun.set()
            self.may_end.wait(10)
            self.is_full = not self.refuses_once
            raise StoreFull
        super().commit(writes)


def test_a_read_behind_a_refused_write_is_answered_from_what_is_stored() -> None:
    """common 8.1"""

    async def body() -> None:
        store, pool = FullStore(), ThreadPool(2)
        hosts = Hosts(stores=[store], clock=SystemClock(), executor=pool, make_journal=ThreadJournal)
        assert await hosts.ok(ONE, "add") == {"total": 1}
        store.is_full = True
        write = asyncio.ensure_future(hosts.ask(ONE, "add"))
        await until(store.has_begun.is_set)
        reads = [asyncio.ensure_future(hosts.ok(ONE, "read")) for _ in range(3)]
        host = hosts.running[0].host
        await until(lambda: host._owners[ONE].submitted - host._owners[ONE].settled == 4)
        store.may_end.set()
        assert [(await read)["total"] for read in reads] == [1, 1, 1]
        refused = (await write).error
        assert refused is not None
        assert refused["code"] == "storage_full"
        pool.close()

    asyncio.run(body())


@pytest.mark.parametrize("calls", [2, 3, 40])
def test_calls_that_are_decided_anew_keep_their_order(calls: int) -> None:
    """ARCHITECTURE, Messages (in order per link), common 8.5: those that stood on an agent's write that did not fit,
    and those that came after them."""

    async def body() -> None:
        store, pool = FullStore(), ThreadPool(2)
        hosts = Hosts(stores=[store], clock=SystemClock(), executor=pool, make_journal=ThreadJournal)
        await hosts.ok(ONE, "read")
        owner = hosts.running[0].host._owners[ONE]
        store.is_full = store.refuses_once = True
        late = hosts.agents.call(ONE, "add", {}, call_id=hosts.clock.new_id(), within_ms=8_000)
        write = asyncio.ensure_future(late)
        await until(store.has_begun.is_set)
        standing = [asyncio.ensure_future(hosts.ok(ONE, "add")) for _ in range(calls)]
        await until(lambda: owner.submitted - owner.settled == calls + 1)
        store.may_end.set()
        behind = [asyncio.ensure_future(hosts.ok(ONE, "add")) for _ in range(calls)]
        totals = [(await call)["total"] for call in [*standing, *behind]]
        assert totals == [*range(1, 2 * calls + 1)]
        refused = (await write).error
        assert refused is not None
        assert refused["code"] == "storage_full"
        pool.close()

    asyncio.run(body())
