"""How much the gateway leases for runtimes, when it asks again, and that it renews nothing (mesh 4.4, 5.1)."""

from __future__ import annotations

import asyncio

from bus.runtime_frames import Deliver, Lost, Ping, Pong, Request, encode_runtime_frame
from bus.runtime_limits import runtime_frame_bytes_max
from bus.value import Record, Value
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import Raw, RuntimeBench
from tests.support.scripted_caller import Sent


@in_loop
async def test_the_gateway_renews_no_lease_of_a_runtime_that_says_nothing() -> None:
    """mesh 4.4: renewed while working. One that hangs must lose what it holds, whatever notices come meanwhile."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        group = bench.port._agents["ada"]
        group._again.cancel()
        group._look_again()
        await until(lambda: len(bench.mailbox.caller.sent_of("mail_held")) == 1)
        bench.mailbox.tell(lost=True)
        await until(lambda: len(bench.mailbox.caller.sent_of("mail_held")) == 2)
        assert bench.mailbox.caller.bodies("mail_held")[-1] == {"runtimeId": "r1", "deliveryIds": ["t0.1"]}
        assert bench.mailbox.caller.sent_of("mail_renew") == []
        runtime.say(Request(1, "renew", {"deliveryIds": ["t0.1"]}))
        await until(lambda: len(bench.mailbox.caller.sent_of("mail_renew")) == 1)


@in_loop
async def test_the_slow_look_finds_what_a_missed_notice_would_have_told() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        runtime = await bench.raw(credit=1)
        await runtime.next(Deliver)
        del bench.mailbox.leases["t0.1"]
        bench.mailbox.ended["t0.1"] = "expired"
        group = bench.port._agents["ada"]
        group._again.cancel()
        group._look_again()
        assert await runtime.next(Lost) == Lost("t0.1", "t0", "thread_closed", "expired")


@in_loop
async def test_frames_stay_within_the_credit_however_much_larger_they_are_than_their_json() -> None:
    """mesh 5.1: the mailbox counts JSON, the credit bytes that are sent."""
    numbers: list[Value] = [0.5] * 15_000  # four bytes each in JSON, nine in a frame
    credit = 2 * runtime_frame_bytes_max
    async with RuntimeBench() as bench:
        for n in range(8):
            bench.mailbox.put(f"t{n}", inputs={"numbers": numbers})
        runtime = await bench.raw()
        runtime.credit(100, credit)
        await until(lambda: bool(runtime.delivered))
        runtime.say(Ping())
        await until(lambda: bool(runtime.of(Pong)))
        frames = [len(encode_runtime_frame(frame)) for frame in runtime.of(Deliver)]
        assert frames[0] > 2 * 15_000 * 4 and len(frames) >= 2
        assert sum(frames) <= credit
        assert len(bench.mailbox.waiting) == 8 - len(frames), "what has no room waits in the mailbox"


@in_loop
async def test_small_tasks_come_as_fast_as_their_number_allows() -> None:
    """mesh 5.1: the largest frame is reckoned with for what is being leased alone."""
    async with RuntimeBench() as bench:
        for n in range(100):
            bench.mailbox.put(f"t{n}")
        runtime = await bench.raw(credit=100)
        await until(lambda: len(runtime.delivered) == 100)
        assert len(bench.mailbox.caller.sent_of("mail_lease")) <= 10


@in_loop
async def test_a_mailbox_in_which_more_is_due_is_asked_again_at_once() -> None:
    """mesh 4.4, 4.6: while it ends what is over it gives nothing, and nobody else would ask."""
    async with RuntimeBench() as bench:
        lease, answers = bench.mailbox._mail_lease, list[Record]()

        def first_more_due(sent: Sent) -> Record:
            is_more_due = len(answers) < 3
            answers.append({"deliveries": [], "waiting": 1, "isMoreDue": True} if is_more_due else lease(sent))
            return answers[-1]

        runtime = await bench.raw()
        bench.mailbox.caller.on("mail_lease", first_more_due)
        bench.mailbox.waiting.append({"threadId": "t0"})
        bench.mailbox._tasks["t0"] = {"title": "t0"}
        runtime.credit(1)
        assert (await runtime.next(Deliver)).delivery["deliveryId"] == "t0.1"
        assert len(answers) == 4


@in_loop
async def test_a_mailbox_that_gives_nothing_though_something_waits_is_not_asked_over_and_over() -> None:
    """mesh 5.1: as that of an agent that is paused."""
    async with RuntimeBench() as bench:
        runtimes = [await bench.raw("r1"), await bench.raw("r2")]
        bench.mailbox.caller.on("mail_lease", {"deliveries": [], "waiting": 5, "isPaused": True})
        for runtime in runtimes:
            runtime.credit(5)
        await until(lambda: len(bench.mailbox.caller.sent_of("mail_lease")) >= 1)
        await _settled(runtimes)
        asked = len(bench.mailbox.caller.sent_of("mail_lease"))
        bench.mailbox.tell(leasable=True)
        await _settled(runtimes)
        assert len(bench.mailbox.caller.sent_of("mail_lease")) == asked + 1


async def _settled(runtimes: list[Raw]) -> None:
    for runtime in runtimes:
        runtime.say(Ping())
        await runtime.next(Pong)
    for _ in range(20):
        await asyncio.sleep(0)
