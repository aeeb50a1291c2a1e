"""Runtimes that leave the port: what they finished counts, what they hold is given back, and no defect goes unheard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest
from structlog.testing import capture_logs

from bus.runtime_frames import Answered, Bye, Deliver, Ping, Pong, Refused, Request, Welcome
from bus.runtime_limits import runtime_stamp_ms
from bus.value import Record
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import Raw, RuntimeBench
from tests.support.scripted_caller import Scripted, Sent
from tools.errors import Code, Refusal


def _finish(number: int, delivery_id: str = "t0.1") -> Request:
    return Request(number, "finish", {"deliveryId": delivery_id, "outcome": "completed", "body": "Yes."})


class SlowAdmissions:
    """From now on no admission is answered until `go`."""

    def __init__(self, bench: RuntimeBench) -> None:
        self._going = asyncio.Event()
        self._admit = bench.mailbox._admit
        self.asked = 0
        bench.clock.advance(runtime_stamp_ms + 1)
        bench.mailbox.caller.on("admit", self._slow)

    def go(self) -> None:
        self._going.set()

    def _slow(self, sent: Sent) -> Awaitable[Record]:
        self.asked += 1
        return self._answer(sent)

    async def _answer(self, sent: Sent) -> Record:
        await self._going.wait()
        return self._admit(sent)


@in_loop
async def test_a_bye_does_not_overtake_a_finish_that_waits_to_be_admitted() -> None:
    """mesh 4.2, 4.4: finished work is not thrown away; what is not finished is given back at once."""
    async with RuntimeBench() as bench:
        for name in ("t0", "t1"):
            bench.mailbox.put(name)
        runtime = await bench.raw(credit=2)
        await until(lambda: len(runtime.delivered) == 2)
        admissions = SlowAdmissions(bench)
        runtime.say(_finish(7))
        runtime.say(Bye())
        await until(lambda: bench.mailbox.released == ["t1.1"])
        assert runtime.of(Bye) == [] and admissions.asked == 1
        admissions.go()
        await runtime.next(Bye)
        assert bench.mailbox.ended == {"t0.1": "completed"} and bench.mailbox.released == ["t1.1"]
        assert bench.port.runtimes == 0


@in_loop
async def test_a_runtime_hears_the_answer_to_what_it_finished_before_its_bye_is_answered() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        admissions = SlowAdmissions(bench)
        runtime.say(_finish(7))
        runtime.say(Bye())
        await until(lambda: admissions.asked == 1)
        admissions.go()
        assert (await runtime.next(Answered)).number == 7
        await runtime.next(Bye)


@in_loop
async def test_a_finish_that_ended_nothing_leaves_its_delivery_to_be_given_back() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        bench.mailbox.caller.on("mail_finish", Refusal(Code.STORAGE_FULL, "Full."))
        admissions = SlowAdmissions(bench)
        runtime.say(_finish(7))
        runtime.say(Bye())
        await until(lambda: admissions.asked == 1)
        assert bench.mailbox.released == []
        admissions.go()
        await until(lambda: bench.mailbox.released == ["t0.1"])


def test_a_finish_that_nobody_answers_keeps_a_leaving_runtime_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """security 2.23"""
    monkeypatch.setattr("nexus.gateway.runtime_port.runtime_farewell_ms_max", 20)

    @in_loop
    async def attempt() -> None:
        async with RuntimeBench() as bench:
            bench.mailbox.put("t0")
            runtime = await bench.raw(credit=1)
            await runtime.next(Deliver)
            SlowAdmissions(bench)
            runtime.say(_finish(7))
            runtime.say(Bye())
            await runtime.next(Bye)
            await until(lambda: bench.mailbox.released == ["t0.1"])
            assert bench.port.runtimes == 0 and bench.uses.under_way("ada") == 1, "the finish itself is still asked for"

    attempt()


@in_loop
async def test_a_runtime_that_leaves_is_given_and_asks_nothing_more() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=5)
        await runtime.next(Deliver)
        admissions = SlowAdmissions(bench)
        runtime.say(_finish(7))
        runtime.say(Bye())
        leases = len(bench.mailbox.caller.sent_of("mail_lease"))
        bench.mailbox.put("t1")
        runtime.say(Request(8, "progress", {"deliveryId": "t0.1", "text": "x"}))
        runtime.say(Ping())
        await runtime.next(Pong)
        admissions.go()
        await runtime.next(Bye)
        assert len(bench.mailbox.caller.sent_of("mail_lease")) == leases
        assert bench.mailbox.caller.sent_of("mail_progress") == []


@in_loop
async def test_a_runtime_that_greets_anew_does_not_lose_what_its_former_connection_finished() -> None:
    """mesh 4.2, 5.1: though it does not hold it any more."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        former = await bench.raw(credit=1)
        await former.next(Deliver)
        finishing = asyncio.Event()
        finish = bench.mailbox._mail_finish

        async def slow(sent: Sent) -> Scripted:
            await finishing.wait()
            return finish(sent)

        bench.mailbox.caller.on("mail_finish", slow)
        former.say(_finish(7))
        await until(lambda: bool(bench.mailbox.caller.sent_of("mail_finish")))
        again = Raw(bench.wire)
        again.hello()
        await again.next(Welcome)
        finishing.set()
        await until(lambda: bench.mailbox.ended == {"t0.1": "completed"})
        again.say(Bye())
        await again.next(Bye)
        assert bench.mailbox.caller.sent_of("mail_release") == []


@in_loop
async def test_a_runtime_that_comes_back_while_its_former_connection_says_goodbye_keeps_what_it_holds() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        former = await bench.raw(credit=1)
        await former.next(Deliver)
        admissions = SlowAdmissions(bench)
        bench.mailbox.caller.on("mail_finish", Refusal(Code.STORAGE_FULL, "Full."))
        former.say(_finish(7))
        former.say(Bye())
        again = Raw(bench.wire)
        again.hello(holding=("t0.1",))
        await until(lambda: admissions.asked == 2)
        admissions.go()
        await again.next(Welcome)
        again.say(Ping())
        await again.next(Pong)
        assert bench.mailbox.released == [] and bench.port.runtimes == 1


@in_loop
async def test_a_defect_while_a_runtime_greets_is_logged_and_it_is_told_to_come_again() -> None:
    """common 6.3"""
    async with RuntimeBench() as bench:
        admit = bench.mailbox._admit
        bench.mailbox.caller.on("admit", RuntimeError("a defect"))
        runtime = Raw(bench.wire)
        with capture_logs() as logged:
            runtime.hello()
            refused = await runtime.next(Refused)
        assert (refused.code, refused.retryable) == ("unavailable", True) and "defect" not in refused.message
        [told] = [one for one in logged if one["event"] == "runtime_greeting_failed"]
        assert told["log_level"] == "error" and told["incident_id"]
        assert bench.port.runtimes == 0 and bench.uses.under_way("ada") == 0
        bench.mailbox.caller.on("admit", admit)
        runtime.hello()
        await runtime.next(Welcome)


@in_loop
async def test_a_defect_in_giving_back_is_logged() -> None:
    """common 6.3: nobody awaits it."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        bench.mailbox.caller.on("mail_release", RuntimeError("a defect"))
        with capture_logs() as logged:
            runtime.say(Bye())
            await until(lambda: any(one["event"] == "runtime_port_failed" for one in logged))
        assert [one["log_level"] for one in logged if one["event"] == "runtime_port_failed"] == ["error"]


@in_loop
async def test_what_the_mailbox_does_not_take_back_is_told_to_run_out() -> None:
    """mesh 4.4; common 6.3"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        bench.mailbox.caller.on("mail_release", Refusal(Code.STORAGE_FULL, "Full."))
        with capture_logs() as logged:
            runtime.say(Bye())
            await until(lambda: any(one["event"] == "leases_run_out" for one in logged))
