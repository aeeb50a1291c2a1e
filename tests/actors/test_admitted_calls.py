"""Calls that an agent's owner sends on in the commit that pays for them (docs/decisions/0009)."""

from __future__ import annotations

import asyncio

import pytest

from bus import address
from bus.address import Address
from bus.clock import ManualClock
from bus.codec import unpack_row
from bus.store import Store, answer_key, state_prefix
from bus.store_memory import MemoryStore
from bus.value import Record, records
from tests.support.admitted import (
    PURSE,
    ROSTER,
    SHARDS,
    MortalStore,
    at,
    counter,
    joining,
    quiet,
    rows_of,
    send_on,
    settled,
)
from tests.support.hosts import Hosts
from tests.support.loop import until


@pytest.mark.parametrize("far", [True, False])
def test_a_call_that_is_sent_on_is_decided_once_as_the_agents_and_settled(far: bool) -> None:
    """ARCHITECTURE, Admission; common 8.4: it is attributed to agent, credential and its own call id."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter(far)
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id)
        assert await joining(hosts, to, call_id) == {"total": 1}
        rows = await rows_of(hosts)
        assert rows[f"settled/{call_id}"] == settled(1, ok={"total": 1})
        told = await hosts.ok(address.host(at(hosts, to)), "events", {"limit": 9})
        events = records(told, "events")
        added = [event for event in events if event["type"] == "test.added"]
        assert [(e["by"], e["credential"], e["callId"]) for e in added] == [("a1", "default", call_id)]

    asyncio.run(body())


def test_the_decision_sees_the_agent_and_the_calls_own_id() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id, "who")
        assert await joining(hosts, to, call_id) == {"by": "a1", "call": call_id}

    asyncio.run(body())


def test_whoever_joins_before_during_or_after_hears_the_one_answer_and_the_purse_was_told_before() -> None:
    """common 8.2; 0009: settled is `before_reply`, so an agent reads its own writes."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        before = joining(hosts, to, call_id)
        await hosts.ok(to, "read")  # the join, sent before, has arrived
        assert not before.done()
        await send_on(hosts, to, call_id)
        assert await before == {"total": 1}
        assert f"settled/{call_id}" in await rows_of(hosts)
        assert await joining(hosts, to, call_id) == {"total": 1}
        hosts.restart(at(hosts, to))
        assert await joining(hosts, to, call_id) == {"total": 1}
        assert (await hosts.ok(to, "read"))["total"] == 1

    asyncio.run(body())


def test_a_join_alone_decides_nothing_however_old_its_stamp_and_is_forgotten_after_its_deadline() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts, to = Hosts(SHARDS, roster=ROSTER, clock=clock), counter()
        call_id = clock.new_id()
        waiting = joining(hosts, to, call_id)
        assert (await hosts.ok(to, "read"))["total"] == 0
        host = hosts.running[at(hosts, to)].host
        assert len(host.callers) == 1
        waiting.cancel()
        host._sweep()
        assert len(host.callers) == 1
        clock.advance(60_000)
        host._sweep()
        assert len(host.callers) == 0
        await send_on(hosts, to, call_id)
        assert await joining(hosts, to, call_id) == {"total": 1}

    asyncio.run(body())


def test_a_join_survives_a_restart_of_the_host() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        waiting = joining(hosts, to, call_id)
        await hosts.ok(to, "read")
        hosts.restart(at(hosts, to))
        await hosts.ok(to, "read")
        await send_on(hosts, to, call_id)
        assert await waiting == {"total": 1}

    asyncio.run(body())


def test_an_ordinary_call_and_a_join_of_one_id_share_one_decision_and_one_answer() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        joined = joining(hosts, to, call_id)
        await hosts.ok(to, "read")
        assert await hosts.ok(to, "add", call_id=call_id) == {"total": 1}
        assert await joined == {"total": 1}
        await send_on(hosts, to, call_id)
        await quiet(hosts)
        assert (await hosts.ok(to, "read"))["total"] == 1
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, ok={"total": 1})

    asyncio.run(body())


def test_a_call_that_was_answered_before_is_settled_again_and_not_decided() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        for _ in range(2):
            await send_on(hosts, to, call_id, again=True)
            await quiet(hosts)
        assert (await hosts.ok(to, "read"))["total"] == 1
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(2, ok={"total": 1})

    asyncio.run(body())


@pytest.mark.parametrize("tool", ["add", "ask"])
@pytest.mark.parametrize("is_stored", [True, False])
@pytest.mark.parametrize("dies_at", range(1, 8))
@pytest.mark.parametrize("mortal", range(SHARDS))
def test_whatever_dies_when_the_call_has_one_effect_and_is_settled_once(
    mortal: int, dies_at: int, is_stored: bool, tool: str
) -> None:
    """common 8.1: no approval is spent without its effect, and no effect comes without one."""

    async def body() -> None:
        stores: list[Store] = [
            MortalStore(dies_at, is_stored) if shard == mortal else MemoryStore() for shard in range(SHARDS)
        ]
        hosts, to, asked = Hosts(SHARDS, roster=ROSTER, stores=stores), counter(), counter(far=False)
        call_id = hosts.clock.new_id()
        sending = asyncio.ensure_future(send_on(hosts, to, call_id, tool, arguments={"to": str(asked)}))
        joined = joining(hosts, to, call_id)
        revived = False
        for _ in range(2_000):
            if hosts.broken and not revived:
                revived = True
                hosts.restart(mortal)
            if sending.done() and joined.done() and not stores[mortal].scan(b"o"):
                break
            await asyncio.sleep(0)
        await sending
        answer = await joined
        await quiet(hosts)
        assert answer == ({"total": 1} if tool == "add" else {"total": 0})
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, ok=answer)
        assert (await hosts.ok(to, "read"))["total"] == (1 if tool == "add" else 0)
        assert not stores[at(hosts, to)].scan(state_prefix(to) + b"~")

    asyncio.run(body())


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


def test_past_its_deadline_nothing_is_decided_and_it_is_settled_as_refused() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts, to = Hosts(SHARDS, roster=ROSTER, clock=clock), counter()
        call_id = clock.new_id()
        await send_on(hosts, to, call_id, deadlineMs=clock.now_ms() - 1)
        answer = await joining(hosts, to, call_id)
        assert answer is not None
        assert (answer["code"], answer["retryable"]) == ("unavailable", True)
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, error=answer)
        await send_on(hosts, to, just := clock.new_id(), deadlineMs=clock.now_ms())
        assert await joining(hosts, to, just) == {"total": 1}

    asyncio.run(body())


@pytest.mark.parametrize(("tool", "shown"), [("add", {"total": 4}), ("read", {"total": 0})])
def test_what_changed_since_it_was_approved_lapses_and_nothing_is_decided(tool: str, shown: Record) -> None:
    """0009; a tool that has no fingerprint can hold to none."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id, tool, fingerprint=shown)
        answer = await joining(hosts, to, call_id)
        assert answer is not None
        assert answer["code"] == "approval_lapsed"
        assert (await hosts.ok(to, "read"))["total"] == 0
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, error=answer)

    asyncio.run(body())


def test_what_is_still_as_it_was_approved_is_decided_and_a_refusal_comes_before_a_lapse() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        await hosts.ok(to, "add")
        same, refused = hosts.clock.new_id(), hosts.clock.new_id()
        await send_on(hosts, to, same, fingerprint={"total": 1})
        assert await joining(hosts, to, same) == {"total": 2}
        await hosts.ok(to, "go")
        await send_on(hosts, to, refused, "refuse", fingerprint={"total": 1})
        answer = await joining(hosts, to, refused)
        assert answer is not None
        assert answer["code"] == "not_found"

    asyncio.run(body())


def test_a_collected_step_is_decided_with_the_revision_of_now() -> None:
    """work-plan-tool: current revisions are put in."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        for _ in range(3):
            await hosts.ok(to, "add")
        old, new = hosts.clock.new_id(), hosts.clock.new_id()
        await send_on(hosts, to, old, "add_at", arguments={"expected": 1})
        await send_on(hosts, to, new, "add_at", arguments={"expected": 1}, asOfNow=True)
        refused = await joining(hosts, to, old)
        assert refused is not None
        assert refused["code"] == "version_conflict"
        assert await joining(hosts, to, new) == {"total": 4}

    asyncio.run(body())


def test_what_nobody_can_decide_becomes_a_dead_letter_the_purse_is_told_and_joined_callers_hear_of_a_mistake() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        waiting = joining(hosts, to, call_id)
        await send_on(hosts, to, call_id, "fail")
        answer = await waiting
        assert answer is not None
        assert answer["code"] == "internal"
        await quiet(hosts)
        rows = await rows_of(hosts)
        assert rows[f"died/{call_id}"] == "call_admitted"
        assert f"settled/{call_id}" not in rows
        again = await joining(hosts, to, call_id)
        assert again == answer, "also whoever comes later"

    asyncio.run(body())


def test_a_dead_call_is_not_sent_again_since_its_owner_was_told_and_may_be_dropped() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        await send_on(hosts, to, hosts.clock.new_id(), "fail")
        await quiet(hosts)
        host = address.host(at(hosts, to))
        letters = (await hosts.ok(host, "dead_list", {}))["letters"]
        assert isinstance(letters, list)
        letter = letters[0]
        assert isinstance(letter, dict)
        assert (letter["verb"], letter["from"], letter["to"]) == ("call_admitted", str(PURSE), str(to))
        refused = await hosts.ask(host, "dead_retry", {"letter": letter["letter"]})
        assert refused.error is not None
        assert refused.error["code"] == "wrong_state"
        await hosts.ok(host, "dead_drop", {"letter": letter["letter"]})

    asyncio.run(body())


@pytest.mark.parametrize(
    "stamp",
    [
        {"agentId": "a2", "workspaceId": "w1", "credential": "default", "version": 1, "issuedMs": 0},
        {"agentId": "a1", "workspaceId": "w1", "credential": "default", "issuedMs": 0},
    ],
)
def test_a_call_in_another_agents_name_or_without_authority_is_never_decided(stamp: Record) -> None:
    """common 2.1: identity comes from nothing that is said."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id, stamp=stamp)
        await quiet(hosts)
        assert (await hosts.ok(to, "read"))["total"] == 0
        assert len(hosts.stores[at(hosts, to)].scan(b"d")) == 1
        assert (await rows_of(hosts))[f"died/{call_id}"] == "call_admitted"

    asyncio.run(body())


def test_an_answer_below_the_floor_is_not_kept_and_whoever_joins_late_hears_that_nobody_knows() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        old = hosts.clock.new_id()
        hosts.running[at(hosts, to)].host._retention.floor = hosts.clock.new_id()
        late = await joining(hosts, to, old)
        assert late is not None
        assert late["code"] == "outcome_unknown"
        await send_on(hosts, to, old)
        await quiet(hosts)
        assert (await hosts.ok(to, "read"))["total"] == 1
        assert (await rows_of(hosts))[f"settled/{old}"] == settled(1, ok={"total": 1})
        assert hosts.stores[at(hosts, to)].get(answer_key(old)) is None

    asyncio.run(body())


def test_a_damaged_target_settles_the_call_as_unavailable_and_the_stream_goes_on() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        await hosts.ok(to, "add")
        store = hosts.stores[at(hosts, to)]
        key, value = store.scan(state_prefix(to))[0]
        store.commit([(key, value[:-1] + bytes((value[-1] ^ 1,)))])
        hosts.restart(at(hosts, to))
        call_id, other = hosts.clock.new_id(), hosts.clock.new_id()
        await send_on(hosts, to, call_id)
        answer = await joining(hosts, to, call_id)
        assert answer is not None
        assert answer["code"] == "unavailable"
        assert (await rows_of(hosts))[f"settled/{call_id}"] == settled(1, error=answer)
        beside = next(c for n in range(99) if at(hosts, c := Address("counter", "-", f"m{n}")) == at(hosts, to))
        await send_on(hosts, beside, other)
        assert await joining(hosts, beside, other) == {"total": 1}
        assert store.scan(b"d") == []

    asyncio.run(body())
