"""Admitted calls that their owner leaves open: settled once, with their answer (docs/decisions/0009)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from bus import address
from bus.address import Address
from bus.clock import ManualClock
from bus.codec import unpack_row
from bus.journal import InlineJournal
from bus.journal_thread import ThreadJournal
from bus.store import Store, StoreFull, Write, answer_key, state_key
from bus.store_memory import MemoryStore
from tests.support.admitted import PURSE, ROSTER, SHARDS, at, counter, joining, quiet, rows_of, send_on, settled
from tests.support.hosts import Hosts
from tests.support.loop import until


@pytest.mark.parametrize("restart", [True, False])
def test_a_call_that_is_left_open_is_settled_when_its_answer_comes_also_after_a_restart(restart: bool) -> None:
    async def body() -> None:
        hosts, to = Hosts(3, roster=ROSTER), Address("counter", "-", "x")
        asked = next(
            a
            for n in range(99)
            if at(hosts, a := Address("counter", "-", f"q{n}")) not in (at(hosts, to), at(hosts, PURSE))
        )
        hosts.running[at(hosts, asked)].close_links()
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id, "ask", arguments={"to": str(asked)})
        store = hosts.stores[at(hosts, to)]
        await until(lambda: store.get(answer_key(call_id)) is not None)
        assert unpack_row(store.get(answer_key(call_id)) or b"") == {"open": True}
        assert f"settled/{call_id}" not in await rows_of(hosts)
        if restart:
            hosts.restart(at(hosts, to))
        joined = joining(hosts, to, call_id)
        hosts.restart(at(hosts, asked))
        assert await joined == {"total": 0}
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, ok={"total": 0})

    asyncio.run(body())


class OnceFullStore(MemoryStore):
    """Is full once, also with the reserve released, when the row that remembers an open call is written, or removed."""

    def __init__(self, row: bytes, at_opening: bool) -> None:
        super().__init__()
        self._row = row
        self._at_opening = at_opening
        self._refusals = 2

    def commit(self, writes: Sequence[Write]) -> None:
        if self._refusals and any(k == self._row and (v is not None) is self._at_opening for k, v in writes):
            self._refusals -= 1
            raise StoreFull
        super().commit(writes)


@pytest.mark.parametrize("at_opening", [True, False])
def test_when_the_disk_refuses_what_opens_a_call_or_what_answers_it_it_is_settled_once_all_the_same(
    at_opening: bool,
) -> None:
    """The answer is decided while the opening is still on its way to the disk, so a failed opening takes it along."""

    async def body() -> None:
        to, call_id = counter(), ManualClock().new_id()
        row = state_key(to, f"~open/{call_id}")
        store = OnceFullStore(row, at_opening)
        stores: list[Store] = [MemoryStore(), MemoryStore()]
        stores[to.shard(SHARDS)] = store
        hosts = Hosts(SHARDS, roster=ROSTER, stores=stores)
        target = at(hosts, to)
        hosts.running[target].close_links()
        await send_on(hosts, to, call_id, "keep_open")
        hosts.restart(target)
        journal = hosts.running[target].journal
        assert isinstance(journal, InlineJournal)
        hold = journal.hold(lambda: None)
        await until(lambda: journal.waiting == 1)
        closing = asyncio.ensure_future(hosts.ask(to, "close", {"call": call_id}))
        await until(lambda: journal.waiting == 2)
        assert store.scan(b"s") == []
        hold.release()
        closed = await closing
        if at_opening:  # what the person wanted stood on it only, and is decided again: before the call comes again
            assert closed.ok == {}
        else:
            assert closed.error is not None
            assert closed.error["code"] == "storage_full"
            assert f"settled/{call_id}" not in await rows_of(hosts)
            await hosts.ok(to, "close", {"call": call_id})
        await until(lambda: hosts.running[at(hosts, PURSE)].host.outbox.size == 0)
        await quiet(hosts)
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, ok={"total": 7})
        assert store.get(row) is None

    asyncio.run(body())


class PausingStore(MemoryStore):
    """The writer pauses when what is asked for is stored, and before anybody is told."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses_at = b""
        self.stored = threading.Event()
        self.goes_on = threading.Event()

    def commit(self, writes: Sequence[Write]) -> None:
        super().commit(writes)
        if any(key == self.pauses_at for key, _ in writes):
            self.stored.set()
            assert self.goes_on.wait(20)


def test_who_joins_between_the_disk_and_the_release_is_answered_after_the_purse_was_told_as_everybody() -> None:
    """The call was left open and the wait for it forgotten, so only the disk knows its answer."""

    async def body() -> None:
        clock = ManualClock()
        stores = [PausingStore() for _ in range(SHARDS)]
        hosts = Hosts(SHARDS, roster=ROSTER, clock=clock, stores=stores, make_journal=ThreadJournal)
        to, call_id = counter(), clock.new_id()
        store, target = stores[at(hosts, to)], hosts.running[at(hosts, to)]
        await send_on(hosts, to, call_id, "keep_open")
        await until(lambda: store.get(answer_key(call_id)) is not None)
        await until(lambda: target.host.outbox.size == 0)
        clock.advance(60_000)

        def is_forgotten() -> bool:
            """Only what the loop has heard to be open on disk is, and that may come a moment later."""
            target.host._sweep()
            return len(target.host.callers) == 0

        await until(is_forgotten)
        store.pauses_at = answer_key(call_id)
        closing = asyncio.ensure_future(hosts.ok(to, "close", {"call": call_id}))
        await until(store.stored.is_set)
        joined = joining(hosts, to, call_id)
        await until(lambda: len(target.host.callers) == 2)
        await hosts.ok(address.host(at(hosts, to)), "statistics")
        assert not joined.done()
        store.goes_on.set()
        assert await joined == {"total": 7}
        await closing
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, ok={"total": 7})
        for running in hosts.running:
            assert isinstance(running.journal, ThreadJournal)
            running.journal.close()

    asyncio.run(body())
