"""The mailbox client over a port with a scripted mailbox: what is given out, renewed, repeated, lost and given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from bus.client import DeadlinePassed
from bus.mailbox_client import DeliveryLost, MailboxClient, MailboxRefused, NoToken, RequestRefused
from bus.runtime_limits import runtime_credit_deliveries_max
from bus.value import Record
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.runtime_bench import RuntimeBench
from tests.support.scripted_caller import Scripted, Sent
from tests.support.scripted_mailbox import TOKEN
from tools.errors import Code, Refusal, unavailable

MISSING: Final = Refusal(Code.CAPABILITY_MISSING, "No mesh.")


@in_loop
async def test_a_task_is_taken_worked_on_and_answered() -> None:
    """mesh 5.1, 3.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0", expectedOutput="A number.", inputs={"n": 2}, deadline="2031-01-01T00:00:00Z")
        async with bench.client(runtime_id="mine") as mailbox:
            assert mailbox.agent_id == "ada"
            delivery = await anext(mailbox)
            assert (delivery.thread_id, delivery.delivery_id, delivery.attempt) == ("t0", "t0.1", 1)
            assert (delivery.sender.agent_id, delivery.sender.name, delivery.chain_depth) == ("bob", "Bob", 1)
            task = delivery.task
            assert (task.title, task.instructions, task.priority) == ("t0", "Do it.", "p3")
            assert (task.expected_output, task.inputs, task.deadline) == (
                "A number.",
                {"n": 2},
                "2031-01-01T00:00:00Z",
            )
            assert delivery.record["task"] == {
                "title": "t0",
                "instructions": "Do it.",
                "priority": "p3",
                "expectedOutput": "A number.",
                "inputs": {"n": 2},
                "deadline": "2031-01-01T00:00:00Z",
            }
            await delivery.start()
            await delivery.progress("half")
            await delivery.complete("4", artifacts=[{"n": 4}], usage={"tokens": 3})
        assert bench.mailbox.ended == {"t0.1": "completed"} and bench.mailbox.released == []
        assert bench.mailbox.caller.bodies("mail_progress") == [{"deliveryId": "t0.1", "text": "half"}]
        assert bench.mailbox.caller.bodies("mail_finish") == [
            {
                "deliveryId": "t0.1",
                "outcome": "completed",
                "body": "4",
                "artifacts": [{"n": 4}],
                "usage": {"tokens": 3},
            }
        ]
        assert bench.mailbox.caller.bodies("mail_lease")[0]["runtimeId"] == "mine"


@in_loop
async def test_one_task_at_a_time_unless_more_are_asked_for() -> None:
    """mesh 5.1: credit-based flow."""
    async with RuntimeBench() as bench:
        for number in range(5):
            bench.mailbox.put(f"t{number}")
        async with bench.client() as mailbox:
            seen = []
            async for delivery in mailbox:
                seen.append(delivery.thread_id)
                assert len(bench.mailbox.leases) == len(mailbox.held) == 1
                await delivery.reject("not mine")
                if len(seen) == 5:
                    break
        assert seen == [f"t{number}" for number in range(5)], "in the mailbox's order"
        for number in range(5):
            bench.mailbox.put(f"u{number}")
        async with bench.client(prefetch=3) as mailbox:
            await until(lambda: len(mailbox.held) == 3)
            assert len(bench.mailbox.leases) == 3


@in_loop
async def test_several_workers_share_one_client() -> None:
    """mesh 5.1: each delivery is given out once."""
    async with RuntimeBench() as bench:
        done: list[str] = []

        async def work(mailbox: MailboxClient) -> None:
            async for delivery in mailbox:
                await delivery.complete("ok")
                done.append(delivery.thread_id)

        async with bench.client(prefetch=4) as mailbox:
            workers = [asyncio.create_task(work(mailbox)) for _ in range(4)]
            for number in range(20):
                bench.mailbox.put(f"t{number}")
            await until(lambda: len(done) == 20)
        await asyncio.wait_for(asyncio.gather(*workers), 5)
        assert len({*done}) == 20


@in_loop
async def test_a_thread_that_ends_elsewhere_cancels_its_delivery() -> None:
    """mesh 4.2, 5.1: a cancel reaches a runtime that works."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            await delivery.start()
            bench.mailbox.end("t0.1", "cancelled")
            await asyncio.wait_for(delivery.cancelled.wait(), 5)
            assert delivery.why is not None
            assert (delivery.why.reason, delivery.why.state) == ("thread_closed", "cancelled")
            with pytest.raises(DeliveryLost) as refused:
                await delivery.complete("too late")
            assert refused.value.code == "thread_closed"
            bench.mailbox.put("t1")
            assert (await anext(mailbox)).thread_id == "t1"


@in_loop
async def test_what_is_lost_before_anybody_took_it_is_never_given_out() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        for name in ("t0", "t1"):
            bench.mailbox.put(name)
        async with bench.client(prefetch=2) as mailbox:
            await until(lambda: len(mailbox.held) == 2)
            bench.mailbox.end("t0.1", "expired")
            await until(lambda: len(mailbox.held) == 1)
            assert (await anext(mailbox)).thread_id == "t1"


@in_loop
async def test_the_end_that_a_runtime_has_said_itself_does_not_cancel_what_said_it() -> None:
    """mesh 4.2: news of the end may come before the answer."""
    async with RuntimeBench() as bench:
        finish = asyncio.get_running_loop().create_future()
        ended = bench.mailbox._mail_finish

        async def slow(sent: Sent) -> Scripted:
            answer = ended(sent)
            bench.mailbox.tell(lost=True)
            await finish
            return answer

        bench.mailbox.caller.on("mail_finish", slow)
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            answering = asyncio.create_task(delivery.complete("mine"))
            await until(lambda: bool(bench.mailbox.caller.sent_of("mail_held")))
            await until(lambda: bench.mailbox.caller.bodies("mail_held")[0]["deliveryIds"] == ["t0.1"])
            for _ in range(20):
                await asyncio.sleep(0)
            finish.set_result(None)
            await answering
            assert not delivery.cancelled.is_set() and not mailbox.held


@in_loop
async def test_a_refusal_that_leaves_the_delivery_here_is_told_apart_from_a_lost_one() -> None:
    """mesh 4.1: to reject after the start is wrong_state."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            bench.mailbox.caller.on("mail_finish", Refusal(Code.WRONG_STATE, "It has begun."))
            with pytest.raises(RequestRefused) as refused:
                await delivery.reject("too late")
            assert not isinstance(refused.value, DeliveryLost) and [*mailbox.held] == [delivery]
            del bench.mailbox.leases["t0.1"]
            with pytest.raises(DeliveryLost):
                await delivery.reject("too late")
            assert delivery.cancelled.is_set() and not mailbox.held


@in_loop
async def test_leases_are_renewed_for_as_long_as_the_delivery_is_here() -> None:
    """mesh 4.4, 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.lease_ms = 30
        bench.mailbox.put("t0")
        async with bench.client(runtime_id="mine") as mailbox:
            delivery = await anext(mailbox)
            await until(lambda: len(bench.mailbox.caller.sent_of("mail_renew")) > 3)
            assert bench.mailbox.caller.bodies("mail_renew")[-1] == {"runtimeId": "mine", "deliveryIds": ["t0.1"]}
            await delivery.complete("x")
            renewals = len(bench.mailbox.caller.sent_of("mail_renew"))
            bench.mailbox.put("t1")
            await anext(mailbox)
            await until(lambda: len(bench.mailbox.caller.sent_of("mail_renew")) > renewals + 1)
            assert bench.mailbox.caller.bodies("mail_renew")[-1]["deliveryIds"] == ["t1.1"]


@in_loop
async def test_a_runtime_goes_on_over_a_restart_of_the_gateway_and_repeats_what_was_not_answered() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        held: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        bench.mailbox.put("t0")
        async with bench.client(runtime_id="mine") as mailbox:
            delivery = await anext(mailbox)
            bench.mailbox.caller.on("mail_progress", lambda sent: held)
            asking = asyncio.create_task(delivery.progress("half"))
            await until(lambda: bool(bench.mailbox.caller.sent_of("mail_progress")))
            bench.port.close()
            bench.mailbox.caller.on("mail_progress", {})
            bench.started()
            await asyncio.wait_for(asking, 10)
            assert len(bench.mailbox.caller.sent_of("mail_progress")) == 2
            assert not delivery.cancelled.is_set()
            bench.mailbox.put("t1")
            await delivery.complete("done")
            assert (await anext(mailbox)).thread_id == "t1"
        assert {*bench.mailbox.leases.values()} <= {"mine"}


@pytest.mark.parametrize("trouble", [unavailable(), DeadlinePassed(was_sent=True)], ids=["unavailable", "deadline"])
def test_what_is_worth_another_try_is_tried_again_until_it_is_answered(trouble: Scripted) -> None:
    """mesh 5.1: the host restarts."""

    @in_loop
    async def attempt() -> None:
        async with RuntimeBench() as bench:
            bench.mailbox.put("t0")
            tries: list[Sent] = []
            finish = bench.mailbox._mail_finish

            def twice_not(sent: Sent) -> Scripted:
                tries.append(sent)
                return trouble if len(tries) < 3 else finish(sent)

            bench.mailbox.caller.on("mail_finish", twice_not)
            async with bench.client() as mailbox:
                await (await anext(mailbox)).complete("done")
            assert len(tries) == 3 and bench.mailbox.ended == {"t0.1": "completed"}

    attempt()


@in_loop
async def test_leaving_gives_back_what_is_held_and_nothing_else() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        for name in ("t0", "t1"):
            bench.mailbox.put(name)
        with pytest.raises(ZeroDivisionError):
            async with bench.client() as mailbox:
                await (await anext(mailbox)).complete("ok")
                await anext(mailbox)
                raise ZeroDivisionError
        await until(lambda: bench.mailbox.released == ["t1.1"])
        with pytest.raises(StopAsyncIteration):
            await anext(mailbox)


@in_loop
async def test_release_gives_one_back_and_makes_room() -> None:
    """mesh 4.4"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            await delivery.release()
            again = await anext(mailbox)
            assert (again.thread_id, again.attempt) == ("t0", 2)


@in_loop
async def test_a_token_that_is_no_good_is_said_at_the_start() -> None:
    """common 2.3"""
    async with RuntimeBench() as bench:
        with pytest.raises(MailboxRefused) as refused:
            async with bench.client(token="nx_ada_wrong"):
                pass
        assert refused.value.code == "unidentified_caller" and "wrong" not in str(refused.value)


@in_loop
async def test_a_revoked_runtime_hears_it_wherever_it_waits() -> None:
    """security 2.10"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            waiting = asyncio.ensure_future(anext(mailbox))
            await asyncio.sleep(0)
            bench.mailbox.narrow(MISSING)
            with pytest.raises(MailboxRefused) as refused:
                await waiting
            assert refused.value.code == "capability_missing"
            assert delivery.cancelled.is_set()
            with pytest.raises(ConnectionError):
                await delivery.complete("x")


@in_loop
async def test_what_is_too_large_to_say_is_refused_at_once_and_the_delivery_stays() -> None:
    """mesh 3.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            with pytest.raises(RequestRefused) as refused:
                await delivery.complete("x" * 300_000)
            assert refused.value.code == "too_large"
            await delivery.complete("short")


@in_loop
async def test_context_references_come_typed() -> None:
    """mesh 3.2"""
    async with RuntimeBench() as bench:
        bench.mailbox.canvases["c1"] = {"title": "Plan", "revision": 7}
        bench.mailbox.put("t0", contextRefs=["canvas://c1", "canvas://c2"])
        async with bench.client() as mailbox:
            found, withheld = (await anext(mailbox)).task.context
            assert (found.ref, found.kind, found.title, found.revision) == ("canvas://c1", "canvas", "Plan", 7)
            assert (withheld.ref, withheld.kind, withheld.withheld) == ("canvas://c2", None, "not_found")


@in_loop
async def test_a_client_that_starts_before_nexus_is_let_in_when_nexus_comes() -> None:
    """mesh 5.1"""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        bench.port.close()
        async with asyncio.timeout(20):
            entering = asyncio.create_task(_first(bench.client))
            await asyncio.sleep(0)
            bench.started()
            assert await entering == "t0"


async def _first(client: Callable[[], MailboxClient]) -> str:
    async with client() as mailbox:
        return (await anext(mailbox)).thread_id


def test_the_token_comes_from_a_private_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """common 2.2"""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    monkeypatch.delenv("NEXUS_TOKEN", raising=False)
    monkeypatch.delenv("NEXUS_TOKEN_FILE", raising=False)
    with pytest.raises(NoToken):
        MailboxClient("socket")
    assert MailboxClient("socket", token_file=file)._token == TOKEN
    monkeypatch.setenv("NEXUS_TOKEN", TOKEN)
    assert MailboxClient("socket")._token == TOKEN
    monkeypatch.setenv("NEXUS_TOKEN", "nonsense")
    monkeypatch.setenv("NEXUS_TOKEN_FILE", str(file))
    assert MailboxClient("socket")._token == TOKEN
    file.chmod(0o644)
    with pytest.raises(NoToken, match="open to other users"):
        MailboxClient("socket")


@pytest.mark.parametrize("options", [{"prefetch": 0}, {"prefetch": runtime_credit_deliveries_max + 1}])
def test_arguments_out_of_their_bounds_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        MailboxClient("socket", token=TOKEN, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        MailboxClient("socket", token=TOKEN, runtime_id="no such id!")


@in_loop
async def test_a_lent_token_that_a_new_gateway_does_not_know_yet_is_shown_again() -> None:
    """mesh 5.1: the work goes on; whoever was lent it asks the new gateway for it meanwhile (decision 0012)."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            bench.port.close()
            known, bench.mailbox.good_hashes = bench.mailbox.good_hashes, set()
            bench.started()
            asked = len(bench.mailbox.caller.sent_of("authenticate"))
            await until(lambda: len(bench.mailbox.caller.sent_of("authenticate")) > asked + 1)
            bench.mailbox.good_hashes = known
            await delivery.complete("done")
            assert not delivery.cancelled.is_set()
