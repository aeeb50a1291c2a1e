"""Who is let in at the runtimes' port, and who is not any more."""

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
    Ping,
    Refused,
    Request,
    Unknown,
    Welcome,
)
from bus.runtime_limits import (
    runtime_credit_bytes_min,
    runtime_hello_ms_max,
    runtime_hellos_open_max,
)
from bus.value import Record
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import Raw, RuntimeBench
from tests.support.scripted_caller import Sent
from tests.support.scripted_mailbox import SECRET, TOKEN
from tools.errors import Code, Refusal

MISSING: Final = Refusal(Code.CAPABILITY_MISSING, "No mesh.")


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
async def test_a_hello_has_one_deadline_for_all_that_is_asked_of_it() -> None:
    """mesh 5.1: before the runtime gives its connection up, also when the owner is slow to answer each question."""
    async with RuntimeBench() as bench:
        authenticate = bench.mailbox._authenticate

        took_ms = 3_000

        def slowly(sent: Sent) -> Record:
            bench.clock.advance(took_ms)
            return authenticate(sent)

        bench.mailbox.caller.on("authenticate", slowly)
        runtime = Raw(bench.wire)
        runtime.hello()
        await runtime.next(Welcome)
        given = [sent.within_ms for sent in bench.mailbox.caller.sent if sent.verb in ("authenticate", "admit")][:2]
        assert given == [runtime_hello_ms_max, runtime_hello_ms_max - took_ms]
        took_ms = runtime_hello_ms_max
        runtime.hello("late")
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


def _limits(bench: RuntimeBench, **limits: int) -> None:
    bench.mailbox.caller.on("authenticate", lambda sent: {"authenticated": True, "waiting": 0, "limits": {**limits}})


@in_loop
async def test_no_more_tokens_are_being_judged_at_once_than_may() -> None:
    """security 2.23: strangers cost a bounded number of questions."""
    async with RuntimeBench() as bench:
        judging: asyncio.Future[Record] = asyncio.get_running_loop().create_future()

        async def held(sent: Sent) -> Record:
            return await judging

        bench.mailbox.caller.on("authenticate", held)
        strangers = [Raw(bench.wire) for _ in range(runtime_hellos_open_max + 1)]
        for number, stranger in enumerate(strangers):
            for _ in range(2):  # said twice by one, it is judged once
                stranger.hello(f"r{number}")
        refused = await strangers[-1].next(Refused)
        assert (refused.code, refused.retryable) == ("rate_limited", True)
        assert len(bench.mailbox.caller.sent_of("authenticate")) == runtime_hellos_open_max
        judging.set_result({"authenticated": False})
        assert (await strangers[0].next(Refused)).code == "unidentified_caller"
