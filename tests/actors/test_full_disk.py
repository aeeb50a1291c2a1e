"""A host on a full disk: agents are refused, the person goes on, and what follows from stored commits arrives."""

from __future__ import annotations

import asyncio

from bus.address import Address
from bus.limits import owner_sweep_ms, reserve_bytes, reserve_look_ms
from bus.reserve import ReserveState
from bus.store_memory import MemoryStore
from bus.value import Record
from tests.support.admitted import ROSTER, SHARDS, at, counter, quiet, rows_of, send_on
from tests.support.hosts import Hosts
from tests.support.loop import until

ONE, TWO = Address("counter", "-", "one"), Address("counter", "-", "two")


def full() -> Hosts:
    """A host with a reserve, on a disk that has no byte left beside it."""
    store = MemoryStore(bytes_max=4 * reserve_bytes)
    hosts = Hosts(stores=[store])
    store.commit([(b"zfill", bytes(store.room().growth - 5))])
    return hosts


async def as_agent(hosts: Hosts, to: Address, verb: str, body: Record | None = None) -> str:
    """`stored`, or the code of the refusal."""
    reply = await hosts.agents.call(to, verb, body or {}, call_id=hosts.clock.new_id(), within_ms=8_000)
    return "stored" if reply.error is None else str(reply.error["code"])


def test_on_a_full_disk_the_person_writes_and_agents_are_refused_and_read() -> None:
    """common 8.5, security 2.23"""

    async def body() -> None:
        hosts = full()
        assert await as_agent(hosts, ONE, "add") == "storage_full"
        assert await hosts.ok(ONE, "add") == {"total": 1}
        assert await as_agent(hosts, ONE, "add") == "storage_full"
        assert await as_agent(hosts, ONE, "read") == "stored"
        assert await hosts.ok(ONE, "add") == {"total": 2}
        assert hosts.running[0].host.reserve.state is ReserveState.SPENT

    asyncio.run(body())


def test_messages_and_timers_that_follow_from_what_the_person_did_have_their_effect_on_a_full_disk() -> None:
    """common 8.5: stopping and removing reach other owners."""

    async def body() -> None:
        hosts = full()
        await hosts.ok(ONE, "tell", {"to": str(TWO), "wait": True})
        assert (await hosts.ok(TWO, "read"))["total"] == 1
        host = hosts.running[0].host
        await until(lambda: host.outbox.size == 0)

    asyncio.run(body())


def test_what_the_person_did_on_top_of_an_agents_write_that_did_not_fit_succeeds_all_the_same() -> None:
    """common 8.5: it was given back with the agent's write, and is decided anew."""

    async def body() -> None:
        hosts = full()
        journal = hosts.running[0].journal
        hold = journal.hold(lambda: None)
        agents = asyncio.ensure_future(as_agent(hosts, ONE, "add"))
        await until(lambda: journal.waiting == 1)
        person = asyncio.ensure_future(hosts.ok(ONE, "add"))
        await until(lambda: journal.waiting == 2)
        hold.release()
        assert await agents == "storage_full"
        assert await person == {"total": 1}
        assert (await hosts.ok(ONE, "read"))["total"] == 1

    asyncio.run(body())


def test_an_agents_call_that_comes_with_its_admission_is_refused_and_settled_on_a_full_disk() -> None:
    """common 8.5: so that it neither uses the person's reserve up nor keeps the stream that brought it back."""

    async def body() -> None:
        stores = [MemoryStore(bytes_max=4 * reserve_bytes) for _ in range(SHARDS)]
        hosts, to = Hosts(SHARDS, roster=ROSTER, stores=stores), counter()
        store = stores[at(hosts, to)]
        store.commit([(b"zfill", bytes(store.room().growth - 5))])
        await hosts.ok(to, "add")  # by the person, from the reserve
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id)
        await quiet(hosts)
        told = (await rows_of(hosts))[f"settled/{call_id}"]
        assert isinstance(told, dict)
        assert isinstance(told["error"], dict)
        assert told["error"]["code"] == "storage_full"
        assert await hosts.ok(to, "add") == {"total": 2}

    asyncio.run(body())


def test_a_refusal_for_want_of_space_leaves_the_owner_as_it_was() -> None:
    """common 8.5: nothing is applied, so nothing has to be loaded anew."""

    async def body() -> None:
        hosts = full()
        await hosts.ok(ONE, "add")
        owner = hosts.running[0].host._owners[ONE]
        incarnation = owner.incarnation
        for _ in range(10):
            assert await as_agent(hosts, ONE, "add") == "storage_full"
        assert (owner.incarnation, owner.is_spoiled, owner.has_uncommitted) == (incarnation, False, False)

    asyncio.run(body())


def test_agents_write_again_when_there_is_room() -> None:
    """common 8.5"""

    async def body() -> None:
        hosts = full()
        await hosts.ok(ONE, "add")
        assert await as_agent(hosts, ONE, "add") == "storage_full"
        hosts.stores[0].commit([(b"zfill", None)])
        hosts.clock.advance(reserve_look_ms)  # type: ignore[attr-defined]
        assert await as_agent(hosts, ONE, "add") == "stored"
        assert hosts.running[0].host.reserve.state is ReserveState.HELD

    asyncio.run(body())


def test_the_reserve_is_made_again_though_nobody_writes() -> None:
    """common 8.5: other programs may fill the disk again before anyone does."""

    async def body() -> None:
        hosts = full()
        await hosts.ok(ONE, "add")
        hosts.stores[0].commit([(b"zfill", None)])
        hosts.clock.advance(owner_sweep_ms)  # type: ignore[attr-defined]
        host = hosts.running[0].host
        host._sweep()
        assert host.reserve.state is ReserveState.HELD

    asyncio.run(body())
