"""What every host is told: narrowed authorities and settings, and when a stamp is honoured (docs/decisions/0009)."""

from __future__ import annotations

import asyncio

import pytest

from actors.host_notices import HostNotices
from actors.pool import ThreadPool
from bus import address
from bus.address import SETTINGS, Address
from bus.admitted import AUTHORITY_CHANGED, SETTINGS_PUBLISHED, SETTINGS_ROW
from bus.clock import ManualClock
from bus.codec import pack_row, unpack_row
from bus.envelope import Mark, Parcel
from bus.limits import authorities_noted_max, authority_noted_ms
from bus.store import outbox_key, state_key
from bus.store_memory import MemoryStore
from bus.value import Record
from tests.support.admitted import PURSE, ROSTER, SHARDS, at, counter, joining, quiet, rows_of, send_on, stamp_of
from tests.support.hosts import Hosts
from tests.support.loop import until


def notices(store: MemoryStore | None = None, clock: ManualClock | None = None) -> HostNotices:
    return HostNotices(0, store or MemoryStore(), clock or ManualClock())


def parcel(sender: Address, verb: str, body: Record, to: Address | None = None) -> Parcel:
    return Parcel(0, Mark(1, 0), sender, to or address.host(0), verb, body, "0:1:0", "k")


def changed(agent_id: str, version: int, sender: Address | None = None) -> Parcel:
    body: Record = {"agentId": agent_id, "version": version}
    return parcel(sender or address.agent(agent_id), AUTHORITY_CHANGED, body)


async def code_of(hosts: Hosts, to: Address, stamp: Record, call_id: str | None = None) -> str:
    reply = await hosts.as_agent(to, "add", {}, stamp, call_id)
    return "" if reply.error is None else str(reply.error["code"])


def test_an_older_authority_is_narrowed_from_the_moment_the_notice_arrives_and_never_widened_again() -> None:
    told = notices()
    told.heard(changed("a1", 5))
    told.heard(changed("a1", 3))
    assert [told.is_narrowed("a1", version) for version in (4, 5, 6)] == [True, False, False]
    assert not told.is_narrowed("a2", 1)


@pytest.mark.parametrize(
    "foreign",
    [
        changed("a1", 5, sender=address.agent("a2")),
        changed("a1", 5, sender=address.mailbox("a1")),
        parcel(address.agent("a1"), AUTHORITY_CHANGED, {"agentId": "a1", "version": "5"}),
        parcel(
            address.agent("a1"), AUTHORITY_CHANGED, {"agentId": "a1", "version": 5}, to=Address("counter", "-", "x")
        ),
    ],
)
def test_nobody_else_narrows_an_agent(foreign: Parcel) -> None:
    told = notices()
    told.heard(foreign)
    assert not told.is_narrowed("a1", 1)


def test_what_was_noted_is_kept_as_long_as_a_stamp_can_be_valid_and_then_goes_when_there_is_much() -> None:
    clock = ManualClock()
    told = notices(clock=clock)
    for number in range(authorities_noted_max):
        told.heard(changed(f"a{number}", 2))
    clock.advance(authority_noted_ms)
    told.heard(changed("b", 2))
    assert told.is_narrowed("a0", 1), "not older than the time for which it is kept"
    clock.advance(1)
    told.heard(changed("c", 2))
    assert not told.is_narrowed("a0", 1)
    assert told.is_narrowed("b", 1)


@pytest.mark.parametrize("shards", [1, 3])
def test_when_the_person_is_answered_no_host_honours_the_older_authority(shards: int) -> None:
    """common 2.1: revoking or narrowing acts at once; ARCHITECTURE, Admission."""

    async def body() -> None:
        hosts = Hosts(shards, roster=ROSTER)
        counters = [
            next(c for n in range(99) if (c := Address("counter", "-", f"n{n}")).shard(shards) == shard)
            for shard in range(shards)
        ]
        old = await stamp_of(hosts)
        assert [await code_of(hosts, to, old) for to in counters] == [""] * shards
        await hosts.ok(PURSE, "narrow")
        assert [await code_of(hosts, to, old) for to in counters] == ["stale_stamp"] * shards
        fresh = await stamp_of(hosts)
        assert [await code_of(hosts, to, fresh) for to in counters] == [""] * shards

    asyncio.run(body())


def test_a_call_that_waited_while_its_agent_was_narrowed_is_not_decided() -> None:
    """Judged when it comes and again when it is decided."""

    async def body() -> None:
        pool = ThreadPool(1)
        held = HeldPool(pool)
        hosts = Hosts(roster=ROSTER, executor=held)
        to = Address("counter", "-", "x")
        old = await stamp_of(hosts)
        held.holds = str(to)
        waiting = asyncio.ensure_future(code_of(hosts, to, old))
        await until(lambda: bool(held.turns))
        await hosts.ok(PURSE, "narrow")
        held.release()
        assert await waiting == "stale_stamp"
        assert (await hosts.ok(to, "read"))["total"] == 0
        pool.close()

    asyncio.run(body())


class HeldPool:
    """Keeps back the turns of one owner."""

    def __init__(self, pool: ThreadPool) -> None:
        self.holds = ""
        self.turns: list[object] = []
        self._pool = pool

    def submit(self, turn: object) -> None:
        if self.holds and str(getattr(getattr(turn, "__self__", None), "address", "")) == self.holds:
            self.turns.append(turn)
        else:
            self._pool.submit(turn)  # type: ignore[arg-type]

    def release(self) -> None:
        self.holds = ""
        for turn in self.turns:
            self._pool.submit(turn)  # type: ignore[arg-type]


def test_a_stamp_from_before_the_host_began_is_stale_and_one_of_the_same_millisecond_is_not() -> None:
    """What the former process was told is forgotten, so nothing from its time is honoured."""

    async def body() -> None:
        clock = ManualClock()
        hosts, to = Hosts(SHARDS, roster=ROSTER, clock=clock), counter()
        old = await stamp_of(hosts)
        clock.advance(1)
        hosts.restart(at(hosts, to))
        assert await code_of(hosts, to, old) == "stale_stamp"
        assert await code_of(hosts, to, await stamp_of(hosts)) == ""

    asyncio.run(body())


def test_a_repeat_of_a_call_that_was_decided_hears_its_answer_with_a_new_stamp_after_a_narrowing() -> None:
    """common 8.1"""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        old = await stamp_of(hosts)
        assert await code_of(hosts, to, old, call_id) == ""
        await hosts.ok(PURSE, "narrow")
        assert await code_of(hosts, to, old, call_id) == "stale_stamp"
        assert await code_of(hosts, to, await stamp_of(hosts), call_id) == ""
        assert (await hosts.ok(to, "read"))["total"] == 1

    asyncio.run(body())


def test_a_call_sent_on_under_an_older_authority_is_refused_when_the_narrowing_has_arrived_behind_it() -> None:
    """0009: settled as refused, and nothing is decided."""

    async def body() -> None:
        clock = ManualClock()
        hosts, to = Hosts(SHARDS, roster=ROSTER, clock=clock), counter()
        call_id = clock.new_id()
        source, target = at(hosts, PURSE), at(hosts, to)
        hosts.running[target].close_links()
        await send_on(hosts, to, call_id, "fail")  # it is tried again and again, so that the narrowing overtakes none
        narrowing = asyncio.ensure_future(hosts.ok(PURSE, "narrow"))
        await until(lambda: len(hosts.stores[source].scan(outbox_key(target, Mark(0, 0))[:3])) == 2)
        hosts.restart(target)
        joined = await joining(hosts, to, call_id)
        assert joined is not None
        assert (joined["code"], joined["retryable"]) == ("unavailable", True)
        await narrowing
        await quiet(hosts)
        told = (await rows_of(hosts))[f"settled/{call_id}"]
        assert told == {"error": joined, "times": 1}

    asyncio.run(body())


@pytest.mark.parametrize("is_down", [True, False])
def test_behind_an_acknowledged_narrowing_no_call_of_before_is_left_also_after_a_restart(is_down: bool) -> None:
    """0009: one stream, in order; so a host that forgets what it was told has nothing to hold it against."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        target = at(hosts, to)
        if is_down:
            hosts.running[target].close_links()
        await send_on(hosts, to, call_id)
        narrowing = asyncio.ensure_future(hosts.ok(PURSE, "narrow"))
        if is_down:
            hosts.restart(target)
        await narrowing  # the person is answered
        rows = await rows_of(hosts)
        assert f"settled/{call_id}" in rows
        total = (await hosts.ok(to, "read"))["total"]
        hosts.restart(target)
        await quiet(hosts)
        assert (await hosts.ok(to, "read"))["total"] == total
        assert (await rows_of(hosts))[f"settled/{call_id}"] == rows[f"settled/{call_id}"]

    asyncio.run(body())


def published(version: int, columns: int, sender: Address = SETTINGS) -> Parcel:
    body: Record = {"version": version, "values": {"workspaces.gridColumns": columns}}
    return parcel(sender, SETTINGS_PUBLISHED, body)


def test_settings_count_from_the_moment_they_arrive_and_older_ones_change_nothing() -> None:
    told = notices()
    told.heard(published(2, 7))
    told.heard(published(1, 3))
    told.heard(published(9, 4, sender=address.agent("a1")))
    assert (told.settings.version, told.settings.values) == (2, {"workspaces.gridColumns": 7})


def test_every_decision_sees_the_published_settings_and_a_host_begins_with_its_own() -> None:
    """ARCHITECTURE, Settings: a versioned snapshot in the context."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        store = hosts.stores[at(hosts, to)]
        assert await hosts.ok(to, "setting") == {"columns": 2}
        await tell_settings(hosts, 3, 7)
        assert await hosts.ok(to, "setting") == {"columns": 7}
        await tell_settings(hosts, 2, 5)
        assert await hosts.ok(to, "setting") == {"columns": 7}
        row = store.get(state_key(address.host(at(hosts, to)), SETTINGS_ROW))
        assert row is not None
        assert unpack_row(row) == {"version": 3, "values": {"workspaces.gridColumns": 7}}
        hosts.restart(at(hosts, to))
        assert await hosts.ok(to, "setting") == {"columns": 7}

    asyncio.run(body())


async def tell_settings(hosts: Hosts, version: int, columns: int) -> None:
    """As the settings' owner does: all hosts are told before the person is answered."""
    body: Record = {"version": version, "values": {"workspaces.gridColumns": columns}}
    await hosts.ok(SETTINGS, "publish", body)


def test_damaged_settings_leave_the_host_with_the_defaults() -> None:
    store = MemoryStore()
    row = pack_row({"version": 3, "values": {}})
    store.commit([(state_key(address.host(0), SETTINGS_ROW), row[:-1] + b"x")])
    assert notices(store).settings.version == 0


def test_a_notice_from_anyone_else_is_a_dead_letter_and_inspection_goes_on() -> None:
    async def body() -> None:
        hosts = Hosts(roster=ROSTER)
        await hosts.ok(PURSE, "tell_all", {"verb": SETTINGS_PUBLISHED, "body": {"version": 9, "values": {}}})
        await hosts.ok(PURSE, "tell_all", {"verb": AUTHORITY_CHANGED, "body": {"agentId": "a2", "version": 9}})
        await quiet(hosts)
        assert len(hosts.stores[0].scan(b"d")) == 2
        assert (await hosts.ok(address.host(0), "statistics"))["deadLetters"] == 2
        refused = await hosts.ask(address.host(0), AUTHORITY_CHANGED, {"agentId": "a1", "version": 9})
        assert refused.error is not None
        assert refused.error["code"] == "invalid_arguments"

    asyncio.run(body())
