"""What keeps a host right over time: floors, timers, damaged rows, record versions, projections, trimming."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from actors.decision import Rules, Upgrade
from bus.address import Address, projection
from bus.clock import ManualClock
from bus.codec import pack_row
from bus.envelope import Reply
from bus.identifier import milliseconds_of
from bus.limits import answers_kept_ms, message_attempts_max
from bus.retention import Retention
from bus.store import answer_key, fact_key, journal_key, state_key
from bus.store_memory import MemoryStore
from bus.value import Value
from tests.support.counter import CounterRules, FollowerRules
from tests.support.hosts import Hosts
from tests.support.loop import until

ONE = Address("counter", "-", "one")
ROSTER: Mapping[str, Rules[Any]] = {"counter": CounterRules(), "follower": FollowerRules()}


def run(body: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await body()

    asyncio.run(main())


async def total(hosts: Hosts, owner: Address = ONE) -> Value:
    return (await hosts.ok(owner, "read"))["total"]


# Call ids


def test_an_answer_older_than_is_kept_goes_and_its_call_is_refused_as_unknown_and_never_run_again() -> None:
    """common 8.1, 8.3"""

    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(clock=clock)
        old = clock.new_id()
        await hosts.ok(ONE, "add", call_id=old)
        clock.advance(answers_kept_ms + 1)
        await hosts.ok(ONE, "add")
        assert hosts.stores[0].get(answer_key(old)) is None
        for restarted in (False, True):
            if restarted:
                hosts.restart(0)
            reply = await hosts.ask(ONE, "add", call_id=old)
            assert reply.error is not None
            assert reply.error["code"] == "outcome_unknown"
        assert await total(hosts) == 2

    run(body)


def test_more_answers_than_are_kept_go_oldest_first_and_the_count_survives_a_restart() -> None:
    clock, store = ManualClock(), MemoryStore()
    names = [clock.new_id() for _ in range(30)]
    for start in (0, 15):
        retention = Retention(store, kept_max=10)
        for number, name in enumerate(names[start : start + 15], start):
            added = [(answer_key(name), pack_row({"ok": {}}))]
            store.commit(added + retention.writes(1, number, clock.now_ms()))
    kept = [key[1:].decode() for key, _ in store.scan(b"a")]
    assert len(kept) in (10, 11)
    assert kept == names[-len(kept) :]
    assert Retention(store).floor == names[-len(kept) - 1]


def test_the_journal_is_trimmed_below_what_is_kept_and_goes_on_in_its_sequence() -> None:
    store, retention = MemoryStore(), None
    for number in range(1, 41):
        retention = retention or Retention(store, kept_records=10)
        store.commit([(journal_key(number), pack_row({})), *retention.writes(0, number, 0)])
    assert [key for key, _ in store.scan(b"j")] == [journal_key(number) for number in range(31, 41)]


def test_a_machine_whose_clock_was_set_back_makes_no_older_ids_than_are_stored() -> None:
    async def body() -> None:
        late = ManualClock()
        late.advance(1_000_000)
        first = Hosts(clock=late)
        await first.ok(ONE, "add")
        early = ManualClock()
        second = Hosts(clock=early, stores=first.stores)
        await second.ok(ONE, "read")
        assert milliseconds_of(early.new_id()) >= late.now_ms()

    run(body)


def test_an_open_call_that_nobody_waits_for_any_more_is_forgotten_and_its_answer_is_kept_all_the_same() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(2, clock=clock)
        far = next(a for n in range(99) if (a := Address("counter", "-", f"n{n}")).shard(2) != ONE.shard(2))
        near = hosts.running[ONE.shard(2)]
        hosts.running[far.shard(2)].close_links()
        call = clock.new_id()
        waiting = asyncio.ensure_future(hosts.ok(ONE, "ask", {"to": str(far)}, call_id=call))
        await until(lambda: call in near.host.callers._waiting and near.host.callers._waiting[call].is_open)
        waiting.cancel()
        near.host._sweep()
        assert len(near.host.callers) == 1
        clock.advance(60_000)
        near.host._sweep()
        assert len(near.host.callers) == 0
        hosts.restart(far.shard(2))
        assert await hosts.ok(ONE, "ask", {"to": str(far)}, call_id=call) == {"total": 0}

    run(body)


# Timers


def test_a_timer_has_its_effect_once_when_it_is_due_also_over_a_restart() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(clock=clock)
        await hosts.ok(ONE, "alarm", {"seconds": 60, "verb": "rang"})
        hosts.restart(0)
        assert await total(hosts) == 0
        clock.advance(60_001)
        hosts.restart(0)
        store = hosts.stores[0]
        await until(lambda: store.scan(b"t") == [])
        for _ in range(2):
            assert await total(hosts) == 1
            hosts.restart(0)
        assert [key for key, _ in store.scan(state_key(ONE, "~"))] == []

    run(body)


def test_a_timer_that_was_set_anew_rings_at_the_new_time_only_and_a_cancelled_one_never() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(clock=clock)
        await hosts.ok(ONE, "alarm", {"seconds": 0, "verb": "rang", "name": "other"})
        await until(lambda: hosts.stores[0].scan(b"t") == [])
        await hosts.ok(ONE, "alarm", {"seconds": 10, "verb": "rang"})
        await hosts.ok(ONE, "alarm", {"seconds": 90, "verb": "rang"})
        assert len(hosts.stores[0].scan(b"t")) == 1
        clock.advance(20_000)
        hosts.restart(0)
        assert await total(hosts) == 1
        await hosts.ok(ONE, "cancel")
        clock.advance(90_000)
        hosts.restart(0)
        assert await total(hosts) == 1
        assert hosts.stores[0].scan(b"t") == []

    run(body)


def test_a_timer_that_nobody_can_decide_is_given_up_with_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "alarm", {"seconds": 0, "verb": "rang badly"})
        await until(lambda: hosts.stores[0].scan(b"t") == [])
        events = await hosts.ok(Address("host", "-", "0"), "events", {"limit": 5})
        assert [event["type"] for event in events["events"] if isinstance(event, dict)] == ["message.dead"]  # type: ignore[union-attr]

    monkeypatch.setattr("actors.timers.timer_retry_ms", 1)
    assert message_attempts_max < 10
    run(body)


# Damage and versions


def test_a_damaged_row_stops_its_owner_and_nobody_else_until_it_is_mended() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(clock=clock)
        two = Address("counter", "-", "two")
        for owner in (ONE, two):
            await hosts.ok(owner, "add")
        store = hosts.stores[0]
        key = state_key(ONE, "head")
        good = store.get(key)
        assert good is not None
        store.commit([(key, good[:-1] + bytes([good[-1] ^ 1]))])
        hosts.restart(0)
        for verb in ("read", "add"):
            reply = await hosts.ask(ONE, verb)
            assert reply.error is not None
            assert reply.error["code"] == "unavailable"
        await hosts.ok(two, "tell", {"to": str(ONE), "wait": True})
        assert len(store.scan(b"d")) == 1
        assert await total(hosts, two) == 1
        store.commit([(key, good)])
        clock.advance(60_000)
        hosts.running[0].host._sweep()
        assert await total(hosts) == 1

    run(body)


def test_rows_of_older_versions_are_brought_up_when_read_and_written_in_the_present_one() -> None:
    def to_two(row: str, value: Value) -> Value:
        assert isinstance(value, str)
        return int(value)

    def to_three(row: str, value: Value) -> Value:
        assert isinstance(value, int)
        return value * 10

    class Third(CounterRules):
        record_version = 3
        upgrades: Mapping[int, Upgrade] = {1: to_two, 2: to_three}

    async def body() -> None:
        store = MemoryStore()
        store.commit([(state_key(ONE, "head"), pack_row("4"))])
        hosts = Hosts(stores=[store], roster={"counter": Third()})
        assert await total(hosts) == 40
        assert await hosts.ok(ONE, "add") == {"total": 41}
        hosts.restart(0)
        assert await total(hosts) == 41
        older = Hosts(stores=[store])
        reply = await older.ask(ONE, "read")
        assert reply.error is not None
        assert reply.error["code"] == "unavailable"

    run(body)


# Projections


@pytest.mark.parametrize("shards", [1, 2])
def test_a_projection_gets_every_event_that_it_follows_once_and_keeps_its_vector_with_them(shards: int) -> None:
    async def body() -> None:
        hosts = Hosts(shards, roster=ROSTER)
        counters = [Address("counter", "-", f"c{number}") for number in range(4)]
        for counter in counters * 3:
            await hosts.ok(counter, "add")
        follower = projection("follower")
        for shard in range(shards):
            hosts.restart(shard)
        store = hosts.stores[follower.shard(shards)]
        await until(lambda: len(store.scan(state_key(follower, "event/"))) == 12)
        vectors = dict(store.scan(state_key(follower, "vector/")))
        assert len(vectors) == len({counter.shard(shards) for counter in counters})
        await until(lambda: all(running.host.outbox.size == 0 for running in hosts.running))

    run(body)


def test_a_repeat_that_comes_after_its_deadline_still_hears_what_was_answered() -> None:
    """common 8.1"""

    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(clock=clock)
        call = clock.new_id()

        async def late(call_id: str) -> Reply:
            waiting = asyncio.ensure_future(hosts.ask(ONE, "add", call_id=call_id))
            await asyncio.sleep(0)  # it is sent now and arrives when its deadline has passed
            clock.advance(21_000)
            return await waiting

        first = await hosts.ask(ONE, "add", call_id=call)
        assert await late(call) == first
        never = await late(clock.new_id())
        assert never.error is not None
        assert never.error["code"] == "unavailable"

    run(body)


def test_a_damaged_floor_an_outbox_row_or_an_answer_does_not_keep_a_host_from_starting() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(2, clock=clock)
        far = next(a for n in range(99) if (a := Address("counter", "-", f"n{n}")).shard(2) != ONE.shard(2))
        hosts.running[far.shard(2)].close_links()
        for _ in range(3):
            await hosts.ok(ONE, "tell", {"to": str(far)})
        answered = clock.new_id()
        await hosts.ok(ONE, "add", call_id=answered)
        store = hosts.stores[ONE.shard(2)]
        damaged = [store.scan(b"o")[1][0], fact_key("answers"), answer_key(answered)]
        for key in damaged:
            value = store.get(key)
            assert value is not None
            store.commit([(key, value[:-1] + bytes([value[-1] ^ 1]))])
        hosts.restart(far.shard(2))
        hosts.restart(ONE.shard(2))
        await until(lambda: len(store.scan(b"o")) == 1)
        assert await total(hosts, far) == 2
        assert await total(hosts) == 1
        reply = await hosts.ask(ONE, "add", call_id=answered)
        assert reply.error is not None
        assert reply.error["code"] == "outcome_unknown"
        assert await hosts.ok(ONE, "add") == {"total": 2}

    run(body)
