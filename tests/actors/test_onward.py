"""A call that rides on its admission goes on by a plain stamp alone, and its answer comes back as the admission's
(docs/decisions/0007)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from actors.onward import call_sent_on
from actors.pool import ThreadPool
from bus.address import Address
from bus.client import DeadlinePassed
from bus.clock import ManualClock
from bus.envelope import Call, Onward, Reply
from bus.store import answer_key
from bus.value import Record
from tests.actors.test_host_notices import HeldPool
from tests.support.admitted import PURSE, ROSTER, SHARDS, counter, stamp_of
from tests.support.hosts import Hosts
from tests.support.loop import until
from tests.support.purse import WORKSPACE

STAMP: Record = {"agentId": "a1", "workspaceId": WORKSPACE, "credential": "default", "version": 1, "issuedMs": 5}
TO = counter(far=False)
RIDING = Onward("call", TO, "add", {"x": 1}, WORKSPACE)
ADMISSION = Call("admission", PURSE, "admit", {}, None, 99, RIDING)


def answer(ok: Record | None, error: Record | None = None) -> Reply:
    return Reply("admission", ok, error)


async def admitted(hosts: Hosts, onward: Onward, within_ms: int = 8_000) -> Reply:
    return await hosts.agents.call(PURSE, "admit", {}, call_id=hosts.clock.new_id(), within_ms=within_ms, onward=onward)


async def total(hosts: Hosts, of: Address = TO) -> object:
    return (await hosts.ok(of, "read"))["total"]


def test_a_plain_stamp_sends_the_call_on_under_it_within_the_same_deadline() -> None:
    sent = call_sent_on(ADMISSION, answer({"stamp": STAMP, "waiting": 2}))
    assert sent == Call("call", TO, "add", {"x": 1}, STAMP, 99)
    kept = answer({"stamp": {**STAMP, "keep": True}, "callId": "call"})
    assert call_sent_on(ADMISSION, kept) == replace(sent, stamp={**STAMP, "keep": True})


@pytest.mark.parametrize(
    "told",
    [
        answer(None, {"code": "storage_full"}),
        answer({"authenticated": False, "waiting": 0}),
        answer({"refusal": {"code": "capability_missing"}}),
        answer({"isUnknownTool": True}),
        answer({"answer": {"status": "collected"}}),
        answer({"asLooked": True}),
        answer({"needs": ["call"], "stamp": {**STAMP, "look": True}}),
        answer({"needs": ["call"], "stamp": STAMP}),
        answer({"stamp": {**STAMP, "look": True}}),
        answer({"stamp": {**STAMP, "dispatched": True}, "callId": "call"}),
        answer({"stamp": {**STAMP, "workspaceId": "w2"}}),
        answer({"stamp": {**STAMP, "keep": True}, "callId": "the first use of the key"}),
    ],
)
def test_by_anything_else_the_call_does_not_go_on(told: Reply) -> None:
    """Refused, unknown, collected, looked at, dispatched, of another scope, or the repeat of another call."""
    assert call_sent_on(ADMISSION, told) is None


def test_without_a_call_that_rides_along_a_stamp_is_only_an_answer() -> None:
    assert call_sent_on(replace(ADMISSION, onward=None), answer({"stamp": STAMP})) is None


def test_the_answer_of_the_owner_comes_back_with_what_admission_said() -> None:
    async def body() -> None:
        hosts = Hosts(roster=ROSTER)
        call_id = hosts.clock.new_id()
        reply = await admitted(hosts, replace(RIDING, call_id=call_id))
        assert reply.ok == {"total": 1}
        assert reply.admission is not None
        assert reply.admission["stamp"]["agentId"] == "a1"  # type: ignore[index, call-overload]
        assert hosts.stores[0].get(answer_key(call_id)) is not None, "its answer is kept under the call's own id"
        refused = await admitted(hosts, replace(RIDING, call_id=hosts.clock.new_id(), verb="fail"))
        assert refused.ok is None
        assert refused.error is not None
        assert refused.error["code"] == "internal"
        assert refused.admission is not None

    asyncio.run(body())


def test_a_call_of_another_shard_is_left_to_whoever_asked() -> None:
    async def body() -> None:
        hosts = Hosts(SHARDS, roster=ROSTER)
        far = counter()
        reply = await admitted(hosts, replace(RIDING, call_id=hosts.clock.new_id(), to=far))
        assert reply.admission is None
        assert reply.ok is not None
        assert "stamp" in reply.ok
        assert await total(hosts, far) == 0

    asyncio.run(body())


def test_however_often_it_is_admitted_a_call_happens_once() -> None:
    """common 8.1: the id is the call's, not the admission's; also after a restart of the host."""

    async def body() -> None:
        hosts = Hosts(roster=ROSTER)
        riding = replace(RIDING, call_id=hosts.clock.new_id())
        first, second = await asyncio.gather(admitted(hosts, riding), admitted(hosts, riding))
        hosts.restart(0)
        third = await admitted(hosts, riding)
        by_itself = await hosts.as_agent(TO, "add", {}, await stamp_of(hosts), riding.call_id)
        assert first.ok == second.ok == third.ok == by_itself.ok == {"total": 1}
        assert await total(hosts) == 1

    asyncio.run(body())


def test_all_who_wait_for_one_call_hear_its_answer_each_in_the_form_that_they_asked_in() -> None:
    async def body() -> None:
        pool = ThreadPool(1)
        held = HeldPool(pool)
        hosts = Hosts(roster=ROSTER, executor=held)
        riding = replace(RIDING, call_id=hosts.clock.new_id())
        stamp = await stamp_of(hosts)
        held.holds = str(TO)
        by_admission = [asyncio.ensure_future(admitted(hosts, riding)) for _ in range(2)]
        await until(lambda: bool(held.turns))
        by_itself = asyncio.ensure_future(hosts.as_agent(TO, "add", {}, stamp, riding.call_id))
        await until(lambda: len(hosts.running[0].host.callers._waiting[riding.call_id].waiters) == 3)
        held.release()
        replies = await asyncio.gather(*by_admission, by_itself)
        assert [reply.ok for reply in replies] == [{"total": 1}] * 3
        assert [reply.admission is not None for reply in replies] == [True, True, False]
        assert len({reply.call_id for reply in replies}) == 3
        pool.close()

    asyncio.run(body())


def test_a_call_that_waited_while_its_agent_was_narrowed_is_told_so_to_who_asked_for_admission() -> None:
    """common 2.1: the gateway has it admitted again under the same id."""

    async def body() -> None:
        pool = ThreadPool(1)
        held = HeldPool(pool)
        hosts = Hosts(roster=ROSTER, executor=held)
        riding = replace(RIDING, call_id=hosts.clock.new_id())
        held.holds = str(TO)
        waiting = asyncio.ensure_future(admitted(hosts, riding))
        await until(lambda: bool(held.turns))
        await hosts.ok(PURSE, "narrow")
        held.release()
        reply = await waiting
        assert reply.error is not None
        assert reply.error["code"] == "stale_stamp"
        assert reply.admission is not None
        assert (await admitted(hosts, riding)).ok == {"total": 1}
        pool.close()

    asyncio.run(body())


def test_a_link_that_makes_no_agents_calls_gets_none_sent_on() -> None:
    """The person's link proves no gateway: a stamp on it is worth nothing."""

    async def body() -> None:
        hosts = Hosts(roster=ROSTER)
        riding = replace(RIDING, call_id=hosts.clock.new_id())
        reply = await hosts.person.call(
            PURSE, "admit", {}, call_id=hosts.clock.new_id(), within_ms=8_000, onward=riding
        )
        assert reply.error is not None
        assert reply.error["code"] == "internal"
        assert await total(hosts) == 0

    asyncio.run(body())


@pytest.mark.parametrize("rides", [True, False])
def test_who_waits_in_vain_is_told_whether_the_call_may_have_gone_on(rides: bool) -> None:
    """common 8.3"""

    async def body() -> None:
        pool = ThreadPool(1)
        held = HeldPool(pool)
        held.holds = str(PURSE)
        hosts = Hosts(SHARDS, roster=ROSTER, executor=held, clock=ManualClock())
        to = counter(far=not rides)
        riding = replace(RIDING, call_id=hosts.clock.new_id(), to=to)
        with pytest.raises(DeadlinePassed) as passed:
            await admitted(hosts, riding, within_ms=100)
        assert (passed.value.was_sent, passed.value.went_on) == (True, rides)
        pool.close()

    asyncio.run(body())
