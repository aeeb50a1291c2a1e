"""The runtimes' port over a scripted mailbox: who is let in, how much is given, and what becomes of those who leave."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from bus.client import DeadlinePassed
from bus.runtime_frames import (
    Answered,
    Bye,
    Credit,
    Deliver,
    Hello,
    Lost,
    Ping,
    Pong,
    Refused,
    Request,
    Unknown,
    Welcome,
)
from bus.runtime_limits import (
    runtime_credit_bytes_min,
    runtime_leased_at_once_max,
    runtime_requests_open_max,
    runtime_silence_ms_max,
)
from bus.value import Record
from nexus.gateway.runtime_port import RuntimePort
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import Raw, RuntimeBench
from tests.support.scripted_caller import Sent
from tests.support.scripted_mailbox import SECRET, TOKEN
from tools.errors import Code, Refusal

MISSING: Final = Refusal(Code.CAPABILITY_MISSING, "No mesh.")


@in_loop
async def test_a_runtime_with_its_agents_token_is_welcomed_and_given_what_its_credit_allows() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        for number in range(3):
            bench.mailbox.put(f"t{number}", inputs={"n": number})
        runtime = Raw(bench.wire)
        runtime.hello()
        assert await runtime.next(Welcome) == Welcome(1, "ada")
        assert bench.mailbox.leases == {}, "no credit, no lease"
        runtime.credit(2)
        first = (await runtime.next(Deliver)).delivery
        assert first["task"] == {"title": "t0", "instructions": "Do it.", "priority": "p3", "inputs": {"n": 0}}
        assert (first["threadId"], first["deliveryId"], first["attempt"]) == ("t0", "t0.1", 1)
        await runtime.next(Deliver)
        runtime.say(Ping())
        await runtime.next(Pong)
        assert bench.mailbox.leases == {"t0.1": "r1", "t1.1": "r1"}


@in_loop
async def test_an_end_makes_room_for_the_next_and_a_notice_brings_it() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        bench.mailbox.put("t1")
        runtime.say(Request(7, "finish", {"deliveryId": "t0.1", "outcome": "completed", "body": "Yes."}))
        assert await runtime.next(Answered) == Answered(7, {"outcome": "completed"}, None)
        assert (await runtime.next(Deliver)).delivery["deliveryId"] == "t1.1"
        runtime.say(Request(8, "finish", {"deliveryId": "t1.1", "outcome": "failed", "body": "No."}))
        await runtime.next(Answered)
        bench.mailbox.put("t2")
        assert (await runtime.next(Deliver)).delivery["deliveryId"] == "t2.1"


@in_loop
async def test_no_more_is_outstanding_than_the_credit_allows_in_bytes_either() -> None:
    """mesh 5.1: memory is bounded for a slow runtime."""
    async with RuntimeBench() as bench:
        for number in range(4):
            bench.mailbox.put(f"t{number}", instructions="x" * 30_000)
        runtime = await bench.raw()
        runtime.credit(100, runtime_credit_bytes_min)
        await runtime.next(Deliver)
        asked = bench.mailbox.caller.bodies("mail_lease")
        assert all(body["bytes"] == runtime_credit_bytes_min for body in asked)
        runtime.say(Ping())
        await runtime.next(Pong)
        calls = len(bench.mailbox.caller.sent_of("mail_lease"))
        bench.mailbox.put("t9")
        await asyncio.sleep(0)
        assert len(bench.mailbox.caller.sent_of("mail_lease")) == calls, "without room nobody asks"


@in_loop
async def test_nobody_is_asked_again_while_nothing_waits() -> None:
    """mesh 5.1: driven by notices, not by polling."""
    async with RuntimeBench() as bench:
        runtime = await bench.raw(credit=5)
        await until(lambda: len(bench.mailbox.caller.sent_of("mail_lease")) >= 1)
        runtime.say(Ping())
        await runtime.next(Pong)
        before = len(bench.mailbox.caller.sent_of("mail_lease"))
        bench.mailbox.put("t0")
        await runtime.next(Deliver)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(bench.mailbox.caller.sent_of("mail_lease")) == before + 1


@in_loop
async def test_two_runtimes_of_one_mailbox_take_turns() -> None:
    """mesh 4.4, 5.1"""
    async with RuntimeBench() as bench:
        runtimes = [await bench.raw("r1"), await bench.raw("r2")]
        for number in range(3 * runtime_leased_at_once_max):
            bench.mailbox.put(f"t{number:02}")
        for runtime in runtimes:
            runtime.credit(100)
        await until(lambda: not bench.mailbox.waiting)
        await until(lambda: sum(len(runtime.delivered) for runtime in runtimes) == 3 * runtime_leased_at_once_max)
        assert all(len(runtime.delivered) >= runtime_leased_at_once_max for runtime in runtimes)
        assert not {*runtimes[0].delivered} & {*runtimes[1].delivered}


@pytest.mark.parametrize("token", ["", "nonsense", "nx_ada_wrong", f"nx_bob_{SECRET}"])
def test_a_token_that_is_not_the_agents_is_refused_for_good_and_given_nothing(token: str) -> None:
    """common 2.1, 2.3"""

    @in_loop
    async def attempt() -> None:
        async with RuntimeBench() as bench:
            bench.mailbox.put("t0")
            runtime = Raw(bench.wire)
            runtime.hello(token=token)
            refused = await runtime.next(Refused)
            assert (refused.code, refused.retryable) == ("unidentified_caller", False)
            runtime.credit(5)
            await runtime.next(Unknown)
            assert bench.port.runtimes == 0 and bench.mailbox.leases == {}

    attempt()


@in_loop
async def test_an_agent_without_mesh_and_a_credential_of_other_families_are_no_runtimes() -> None:
    """common 1.3, 4.5"""
    async with RuntimeBench() as bench:
        bench.mailbox.refusal = MISSING
        runtime = Raw(bench.wire)
        runtime.hello()
        assert (await runtime.next(Refused)).code == "capability_missing"
        bench.mailbox.refusal, bench.mailbox.families = None, ["canvas"]
        runtime.hello()
        assert (await runtime.next(Refused)).code == "capability_disabled"
        bench.mailbox.families = ["agent"]
        runtime.hello()
        await runtime.next(Welcome)


@in_loop
async def test_while_the_agents_owner_is_restarting_a_runtime_is_told_to_come_again() -> None:
    """common 2.3"""
    async with RuntimeBench() as bench:
        bench.mailbox.caller.on("authenticate", DeadlinePassed(was_sent=True))
        runtime = Raw(bench.wire)
        runtime.hello()
        refused = await runtime.next(Refused)
        assert (refused.code, refused.retryable) == ("unavailable", True)


@in_loop
async def test_another_version_of_the_protocol_is_refused() -> None:
    async with RuntimeBench() as bench:
        runtime = Raw(bench.wire)
        runtime.say(Hello(2, TOKEN, "r1", ()))
        assert (await runtime.next(Refused)).code == "invalid_arguments"


@in_loop
async def test_whoever_speaks_before_it_was_welcomed_is_asked_who_it_is() -> None:
    async with RuntimeBench() as bench:
        runtime = Raw(bench.wire)
        for frame in (Ping(), Credit(1, runtime_credit_bytes_min), Request(1, "start", {"deliveryId": "t0.1"}), Bye()):
            runtime.say(frame)
            await runtime.next(Unknown)
        assert bench.mailbox.caller.sent == []


@in_loop
async def test_what_is_no_frame_is_ignored_of_a_stranger_and_ends_a_runtime() -> None:
    async with RuntimeBench() as bench:
        stranger = Raw(bench.wire)
        stranger.connection.send(b"\xc1")
        stranger.say(Ping())
        await stranger.next(Unknown)
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        runtime.connection.send(b"\xc1")
        assert (await runtime.next(Refused)).code == "invalid_arguments"
        await until(lambda: bench.mailbox.released == ["t0.1"])


@in_loop
async def test_a_runtime_whose_token_is_revoked_is_told_and_closed_and_its_leases_released_at_once() -> None:
    """security 2.10; common 2.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        bench.mailbox.narrow()
        assert (await runtime.next(Refused)).code == "unidentified_caller"
        await until(lambda: bench.mailbox.released == ["t0.1"])
        assert bench.mailbox.caller.sent_of("mail_release")[0].stamp is None, "the token can give back nothing any more"
        assert bench.port.runtimes == 0 and bench.uses.under_way("ada") == 0


@in_loop
async def test_a_runtime_whose_agent_loses_mesh_is_closed_too() -> None:
    """security 2.10"""
    async with RuntimeBench() as bench:
        runtime = await bench.raw(credit=1)
        bench.mailbox.narrow(MISSING)
        assert (await runtime.next(Refused)).code == "capability_missing"


@in_loop
async def test_a_thread_that_ends_elsewhere_is_told_and_makes_room() -> None:
    """mesh 4.2, 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        bench.mailbox.put("t1")
        bench.mailbox.end("t0.1", "cancelled")
        assert await runtime.next(Lost) == Lost("t0.1", "t0", "thread_closed", "cancelled")
        assert (await runtime.next(Deliver)).delivery["deliveryId"] == "t1.1"


@in_loop
async def test_a_runtime_that_says_bye_gives_back_what_it_has_at_once() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        runtime.say(Bye())
        await runtime.next(Bye)
        await until(lambda: bench.mailbox.released == ["t0.1"])
        other = await bench.raw("r2", credit=1)
        assert (await other.next(Deliver)).delivery["deliveryId"] == "t0.2"


@in_loop
async def test_a_silent_runtime_is_dropped_and_its_leases_are_left_to_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 4.4: it may be alive and busy."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        bench.clock.advance(runtime_silence_ms_max + 1)
        _sweep(bench.port)
        assert bench.port.runtimes == 0 and bench.mailbox.released == []
        runtime.hello(holding=("t0.1",))
        await runtime.next(Welcome)
        runtime.say(Request(1, "finish", {"deliveryId": "t0.1", "outcome": "completed", "body": "At last."}))
        assert (await runtime.next(Answered)).error is None


@in_loop
async def test_a_runtime_that_comes_again_keeps_what_it_holds_and_hears_what_it_lost() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        for name in ("t0", "t1", "t2"):
            bench.mailbox.put(name)
        first = await bench.raw(credit=3)
        await until(lambda: len(first.delivered) == 3)
        bench.port.close()
        bench.mailbox.end("t1.1", "expired")
        bench.started()
        again = Raw(bench.wire)
        again.hello(holding=("t0.1", "t1.1", "t2.1"))
        await again.next(Welcome)
        assert await again.next(Lost) == Lost("t1.1", "t1", "thread_closed", "expired")
        again.credit(3)
        bench.mailbox.put("t3")
        assert (await again.next(Deliver)).delivery["deliveryId"] == "t3.1"
        bench.mailbox.put("t4")
        again.say(Ping())
        await again.next(Pong)
        assert "t4.1" not in bench.mailbox.leases, "what it brought along counts"


@in_loop
async def test_what_a_former_connection_was_given_and_never_got_is_given_back() -> None:
    """mesh 4.4: without an attempt lost to it."""
    async with RuntimeBench() as bench:
        for name in ("t0", "t1"):
            bench.mailbox.put(name)
        first = await bench.raw(credit=2)
        await until(lambda: len(first.delivered) == 2)
        again = Raw(bench.wire)
        again.hello(holding=("t1.1",))
        await again.next(Welcome)
        assert (await first.next(Refused)).code == "wrong_state"
        await until(lambda: bench.mailbox.released == ["t0.1"])
        assert bench.port.runtimes == 1


@in_loop
async def test_a_runtime_counts_as_a_connection_and_its_requests_as_calls_of_its_agent() -> None:
    """common 8.5, security 2.23"""
    async with RuntimeBench() as bench:
        _limits(bench, connections=1)
        await bench.raw("r1")
        second = Raw(bench.wire)
        second.hello("r2")
        refused = await second.next(Refused)
        assert (refused.code, refused.retryable) == ("rate_limited", True)
        assert bench.uses.under_way("ada") == 1
    async with RuntimeBench() as bench:
        _limits(bench, callsPerMinute=60)
        runtime = await bench.raw("r1")
        for number in range(60):
            runtime.say(Request(number, "start", {"deliveryId": "x.1"}))
        answers = [await runtime.next(Answered) for _ in range(60)]
        codes = [str((answer.error or {})["code"]) for answer in answers]
        assert (codes.count("wrong_state"), codes.count("rate_limited")) == (59, 1), "its connection is one too"


@in_loop
async def test_a_request_that_no_owner_answers_in_time_may_be_said_again() -> None:
    """common 6.3: repeats are by delivery id, so the outcome is never unknown."""
    async with RuntimeBench() as bench:
        runtime = await bench.raw()
        for trouble in (DeadlinePassed(was_sent=True), Refusal(Code.OUTCOME_UNKNOWN, "Who knows.")):
            bench.mailbox.caller.on("mail_finish", trouble)
            runtime.say(Request(1, "finish", {"deliveryId": "t0.1", "outcome": "completed", "body": "x"}))
            error = (await runtime.next(Answered)).error or {}
            assert (error["code"], error["retryable"]) == ("unavailable", True)


@in_loop
async def test_a_defect_in_one_request_is_answered_by_its_incident_and_ends_nothing() -> None:
    """common 6.3"""
    async with RuntimeBench() as bench:
        runtime = await bench.raw()
        bench.mailbox.caller.on("mail_progress", RuntimeError("a defect"))
        runtime.say(Request(1, "progress", {"deliveryId": "t0.1", "text": "x"}))
        error = (await runtime.next(Answered)).error or {}
        assert error["code"] == "internal" and "defect" not in str(error)
        runtime.say(Ping())
        await runtime.next(Pong)


@in_loop
async def test_a_runtime_has_a_bounded_number_of_requests_open() -> None:
    """security 2.23"""
    async with RuntimeBench() as bench:
        runtime = await bench.raw()
        going_on: asyncio.Future[Record] = asyncio.get_running_loop().create_future()

        async def held(sent: Sent) -> Record:
            return await going_on

        bench.mailbox.caller.on("mail_progress", held)
        for number in range(runtime_requests_open_max + 1):
            runtime.say(Request(number, "progress", {"deliveryId": "t0.1", "text": "x"}))
        answered = await runtime.next(Answered)
        assert answered.number == runtime_requests_open_max
        assert (answered.error or {})["code"] == "rate_limited"
        going_on.set_result({})
        await until(lambda: len(runtime.of(Answered)) == runtime_requests_open_max)


@in_loop
async def test_renewals_tell_how_long_by_the_span_that_is_left() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        assert (await runtime.next(Deliver)).lease_ms == 60_000
        runtime.say(Request(1, "renew", {"deliveryIds": ["t0.1", "gone.1"]}))
        assert await runtime.next(Lost) == Lost("gone.1", "gone", "lease_lost", "")
        assert (await runtime.next(Answered)).ok == {"renewed": [{"deliveryId": "t0.1", "leaseMs": 60_000}]}
        assert bench.mailbox.caller.bodies("mail_renew")[-1]["runtimeId"] == "r1"


@in_loop
async def test_a_runtimes_words_about_deliveries_reach_its_own_agents_mailbox_alone() -> None:
    """mesh 5.1; security 2.11: whatever its requests name."""
    async with RuntimeBench() as bench:
        runtime = await bench.raw()
        body: Record = {"deliveryId": "of-bob.1", "agentId": "bob", "runtimeId": "bobs", "body": "x"}
        for number, verb in enumerate(("start", "progress", "finish", "release", "renew")):
            runtime.say(Request(number, verb, {**body, "outcome": "completed", "deliveryIds": ["of-bob.1"]}))
            await runtime.next(Answered)
        said = [sent for sent in bench.mailbox.caller.sent if sent.verb.startswith("mail_")]
        assert {str(sent.to) for sent in said} == {"mailbox/-/ada"}
        assert {str((sent.stamp or {})["agentId"]) for sent in said} == {"ada"}


@in_loop
async def test_context_references_are_read_as_the_recipient_when_a_task_is_delivered() -> None:
    """mesh 3.2"""
    async with RuntimeBench() as bench:
        bench.mailbox.canvases["c1"] = {"title": "Plan", "revision": 7, "role": "viewer"}
        bench.mailbox.put("t0", contextRefs=["canvas://c1", "canvas://c2"])
        runtime = await bench.raw(credit=1)
        task = (await runtime.next(Deliver)).delivery["task"]
        assert isinstance(task, dict) and isinstance(task["contextRefs"], list)
        assert task["contextRefs"][0] == {"ref": "canvas://c1", "kind": "canvas", "title": "Plan", "revision": 7}
        withheld = task["contextRefs"][1]
        assert isinstance(withheld, dict) and isinstance(withheld["withheld"], dict)
        assert withheld["withheld"]["reason"] == "not_found"
        read = bench.mailbox.caller.sent_of("canvas_summary")
        assert {str(sent.to) for sent in read} == {"canvas/w1/c1", "canvas/w1/c2"}
        assert all((sent.stamp or {})["agentId"] == "ada" for sent in read)


def _sweep(port: RuntimePort) -> None:
    port._sweep.cancel()
    port._forget_silent()


def _limits(bench: RuntimeBench, **limits: int) -> None:
    bench.mailbox.caller.on("authenticate", lambda sent: {"authenticated": True, "waiting": 0, "limits": {**limits}})
