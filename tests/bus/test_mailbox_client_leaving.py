"""The mailbox client when it is closed and when ends are said again: finished work counts, a release is one once."""

from __future__ import annotations

import asyncio

import pytest

from bus.client import DeadlinePassed
from bus.mailbox_client import DeliveryLost
from bus.runtime_limits import runtime_stamp_ms
from bus.value import Record
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import RuntimeBench
from tests.support.scripted_caller import Scripted, Sent


@in_loop
async def test_closing_lets_an_end_that_was_said_be_answered() -> None:
    """mesh 4.2, 5.1: finished work is not given back; what is not finished is."""
    async with RuntimeBench() as bench:
        for name in ("t0", "t1"):
            bench.mailbox.put(name)
        going = asyncio.Event()
        finish = bench.mailbox._mail_finish

        async def slow(sent: Sent) -> Scripted:
            await going.wait()
            return finish(sent)

        bench.mailbox.caller.on("mail_finish", slow)
        async with bench.client(prefetch=2) as mailbox:
            delivery, _ = await anext(mailbox), await anext(mailbox)
            completing = asyncio.create_task(delivery.complete("Done."))
            await until(lambda: bool(bench.mailbox.caller.sent_of("mail_finish")))
            closing = asyncio.create_task(mailbox.close())
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(mailbox), 1)
            assert not closing.done() and bench.mailbox.released == []
            going.set()
            await completing
            await closing
        await until(lambda: bench.mailbox.released == ["t1.1"])
        assert bench.mailbox.ended == {"t0.1": "completed"}


@in_loop
async def test_an_end_that_was_said_and_not_awaited_counts_too() -> None:
    """mesh 4.2: whoever said it was cancelled, as by a limit on its time."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        admit, going = bench.mailbox._admit, asyncio.Event()

        async def slow(sent: Sent) -> Record:
            await going.wait()
            return admit(sent)

        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            bench.clock.advance(runtime_stamp_ms + 1)
            bench.mailbox.caller.on("admit", slow)
            asked = len(bench.mailbox.caller.sent_of("admit"))
            completing = asyncio.create_task(delivery.complete("Done."))
            await until(lambda: len(bench.mailbox.caller.sent_of("admit")) > asked)
            completing.cancel()
            asyncio.get_running_loop().call_later(0.05, going.set)
        await until(lambda: bench.mailbox.ended == {"t0.1": "completed"})
        assert bench.mailbox.released == []


def test_closing_waits_for_no_answer_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 5.1"""
    for module in ("bus.mailbox_client", "bus.runtime_link"):
        monkeypatch.setattr(f"{module}.runtime_bye_ms_max", 20)

    @in_loop
    async def attempt() -> None:
        async with RuntimeBench() as bench:
            bench.mailbox.put("t0")
            never: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
            bench.mailbox.caller.on("mail_finish", lambda sent: never)
            async with bench.client() as mailbox:
                completing = asyncio.create_task((await anext(mailbox)).complete("Done."))
                await until(lambda: bool(bench.mailbox.caller.sent_of("mail_finish")))
                await asyncio.wait_for(mailbox.close(), 5)
            with pytest.raises(ConnectionError):
                await completing

    attempt()


@in_loop
async def test_a_release_whose_answer_was_lost_is_said_again_and_is_done() -> None:
    """mesh 4.4: it finds that the delivery is not held any more."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        release, tries = bench.mailbox._mail_release, list[Sent]()

        def answer_lost_once(sent: Sent) -> Scripted:
            tries.append(sent)
            answer = release(sent)
            return DeadlinePassed(was_sent=True) if len(tries) == 1 else answer

        bench.mailbox.caller.on("mail_release", answer_lost_once)
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            await delivery.release()
            assert len(tries) == 2 and bench.mailbox.released == ["t0.1"]
            again = await anext(mailbox)
            assert (again.thread_id, again.attempt) == ("t0", 2) and not delivery.cancelled.is_set()
            await again.complete("Done.")


@in_loop
async def test_a_release_is_done_too_when_the_gateway_that_heard_it_is_restarted() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        release = bench.mailbox._mail_release
        held: asyncio.Future[Record] = asyncio.get_running_loop().create_future()

        def heard(sent: Sent) -> asyncio.Future[Record]:
            release(sent)
            bench.mailbox.waiting.clear()
            return held

        bench.mailbox.caller.on("mail_release", heard)
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            releasing = asyncio.create_task(delivery.release())
            await until(lambda: bool(bench.mailbox.caller.sent_of("mail_release")))
            bench.port.close()
            bench.mailbox.caller.on("mail_release", release)
            bench.started()
            await asyncio.wait_for(releasing, 10)
            assert bench.mailbox.released == ["t0.1"] and mailbox.held == ()


@in_loop
async def test_a_finish_that_comes_too_late_says_what_ended_the_thread() -> None:
    """mesh 4.2: news of another end comes while the finish is under way."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        finish, going = bench.mailbox._mail_finish, asyncio.Event()

        async def late(sent: Sent) -> Scripted:
            bench.mailbox.end("t0.1", "cancelled")
            await going.wait()
            return finish(sent)

        bench.mailbox.caller.on("mail_finish", late)
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            completing = asyncio.create_task(delivery.complete("Done."))
            await until(lambda: mailbox._ending.get("t0.1") is not None)
            assert not delivery.cancelled.is_set()
            going.set()
            with pytest.raises(DeliveryLost):
                await completing
            assert delivery.why is not None and delivery.why.state == "cancelled"
            assert delivery.cancelled.is_set() and mailbox.held == ()
