"""A read that saw what the disk then refused is decided again from what is stored: a full disk refuses writes only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

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
    """Holds each write of ONE until told, and then refuses it, once it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def commit(self, writes: Sequence[Write]) -> None:
        if self.is_full and any(key.startswith(state_prefix(ONE)) for key, _ in writes):
            self.has_begun.set()
            self.may_end.wait(10)
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
