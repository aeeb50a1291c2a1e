"""What runtimes ask about their deliveries, on its way to a scripted mailbox and back."""

from __future__ import annotations

import asyncio

from bus.client import DeadlinePassed
from bus.runtime_frames import (
    Answered,
    Deliver,
    Lost,
    Ping,
    Pong,
    Request,
)
from bus.runtime_limits import (
    runtime_requests_open_max,
)
from bus.value import Record
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import RuntimeBench
from tests.support.scripted_caller import Sent
from tools.errors import Code, Refusal


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
