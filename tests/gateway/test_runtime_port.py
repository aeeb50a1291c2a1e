"""The runtimes' port over a scripted mailbox: how much is given, and what becomes of those who leave."""

from __future__ import annotations

import asyncio

from bus.runtime_frames import (
    Answered,
    Bye,
    Deliver,
    Lost,
    Ping,
    Pong,
    Refused,
    Request,
    Welcome,
)
from bus.runtime_limits import (
    runtime_credit_bytes_min,
    runtime_leased_at_once_max,
    runtime_silence_ms_max,
)
from bus.value import Record
from nexus.gateway.runtime_port import RuntimePort
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import Raw, RuntimeBench
from tests.support.scripted_caller import Sent
from tools.errors import Code, Refusal


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
async def test_a_silent_runtime_is_dropped_and_its_leases_are_left_to_run_out() -> None:
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


@in_loop
async def test_a_mailbox_that_cannot_lease_now_is_asked_again_at_the_next_notice() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        lease = bench.mailbox._mail_lease
        bench.mailbox.caller.on("mail_lease", Refusal(Code.STORAGE_FULL, "Full."))
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await until(lambda: bool(bench.mailbox.caller.sent_of("mail_lease")))
        bench.mailbox.caller.on("mail_lease", lease)
        bench.mailbox.tell(leasable=True)
        await runtime.next(Deliver)


@in_loop
async def test_a_defect_in_leasing_tells_the_runtime_to_come_again() -> None:
    """common 6.3"""
    async with RuntimeBench() as bench:
        lease = bench.mailbox._mail_lease
        bench.mailbox.caller.on("mail_lease", RuntimeError("a defect"))
        runtime = await bench.raw(credit=1)
        refused = await runtime.next(Refused)
        assert (refused.code, refused.retryable) == ("unavailable", True) and "defect" not in refused.message
        bench.mailbox.caller.on("mail_lease", lease)
        bench.mailbox.put("t0")
        runtime.hello()
        await runtime.next(Welcome)
        runtime.credit(1)
        await runtime.next(Deliver)


@in_loop
async def test_what_was_leased_for_a_runtime_that_left_meanwhile_is_given_back() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        answering: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lease = bench.mailbox._mail_lease

        async def slow(sent: Sent) -> Record:
            await answering
            return lease(sent)

        bench.mailbox.caller.on("mail_lease", slow)
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await until(lambda: bool(bench.mailbox.caller.sent_of("mail_lease")))
        runtime.say(Bye())
        await runtime.next(Bye)
        answering.set_result(None)
        await until(lambda: bench.mailbox.released == ["t0.1"])


@in_loop
async def test_a_runtime_that_takes_nothing_any_more_is_given_up_and_what_it_was_sent_given_back() -> None:
    """mesh 5.1; security 2.23"""
    async with RuntimeBench() as bench:
        runtime = await bench.raw(credit=1)
        runtime.connection.close()
        bench.mailbox.put("t0")
        await until(lambda: bench.mailbox.released == ["t0.1"])
        assert bench.port.runtimes == 0
