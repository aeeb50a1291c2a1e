"""Runtimes over the product's own owners: whole deliveries, and what no runtime gets at (mesh 4.4, 5.1, 3.2)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, Self

import pytest

from bus import address
from bus.mailbox_client import DeliveryLost, MailboxClient, MailboxRefused
from bus.runtime_frames import Answered, Request, Welcome
from bus.value import Record, Value
from nexus.gateway.runtime_port import RuntimePort
from nexus.gateway.shares import AgentShares
from tests.support.gateway_bench import in_loop
from tests.support.home_bench import HomeBench
from tests.support.runtime_bench import PATH, Raw

AGENTS = ("ada", "bob", "cyd")


class RuntimeHome(HomeBench):
    """`async with` it. One workspace with three agents that have called, and a port for their runtimes."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.start_port()
        await self.workspace("w1", "Workspace")
        self.tokens = {name: await self.agent(name, name, "w1") for name in AGENTS}
        for token in self.tokens.values():
            await self.content(token, "agent_inbox")
        return self

    async def __aexit__(self, *failure: object) -> None:
        self.port.close()
        await super().__aexit__(*failure)

    def start_port(self) -> None:
        self.port = RuntimePort(self.hosts.agents, self.clock, AgentShares(), self.hosts.wire, PATH)

    def client(self, agent: str, **options: Any) -> MailboxClient:
        return MailboxClient(PATH, token=self.tokens[agent], wire=self.hosts.wire, **options)

    async def trigger(self, caller: str, callee: str, title: str = "Count", **task: Value) -> str:
        envelope: Record = {"title": title, "instructions": "Count the beans.", **task}
        answer = await self.content(self.tokens[caller], "agent_trigger", {"agentId": callee, "task": envelope})
        assert "threadId" in answer, answer
        return str(answer["threadId"])

    async def notice(self, agent: str, thread: str) -> dict[str, Any]:
        listed: list[dict[str, Any]] = (await self.content(self.tokens[agent], "agent_inbox"))["notifications"]
        [found] = [one for one in listed if one["threadId"] == thread]
        return found


@in_loop
async def test_a_task_goes_from_one_agent_to_anothers_runtime_and_its_answer_back() -> None:
    """mesh 4.1, 4.3, 5.1"""
    async with RuntimeHome() as home, home.client("bob") as mailbox:
        thread = await home.trigger("ada", "bob", inputs={"beans": 7})
        delivery = await asyncio.wait_for(anext(mailbox), 10)
        assert (delivery.thread_id, delivery.sender.name, delivery.attempt) == (thread, "ada", 1)
        assert delivery.task.inputs == {"beans": 7}
        await delivery.start()
        assert (await home.notice("ada", thread))["state"] == "working"
        await delivery.progress("halfway")
        await delivery.complete("7", usage={"tokens": 1})
        told = await home.notice("ada", thread)
        assert (told["state"], told["outcome"], told["result"]["body"]["text"]) == ("completed", "completed", "7")


@in_loop
async def test_tasks_come_by_priority_then_arrival_one_after_another() -> None:
    """mesh 4.6"""
    async with RuntimeHome() as home:
        for title, priority in (("c", "p3"), ("d", "p3"), ("b", "p2"), ("a", "p1")):
            await home.trigger("ada", "bob", title, priority=priority)
        async with home.client("bob") as mailbox:
            seen: list[str] = []
            while len(seen) < 4:
                delivery = await asyncio.wait_for(anext(mailbox), 10)
                seen.append(delivery.task.title)
                await delivery.complete("done")
        assert seen == ["a", "b", "c", "d"]


@in_loop
async def test_no_agents_token_reaches_anothers_deliveries() -> None:
    """mesh 5.1; security 2.11; common 2.1"""
    async with RuntimeHome() as home:
        thread = await home.trigger("ada", "bob")
        async with home.client("bob") as bobs, home.client("cyd") as cyds:
            delivery = await asyncio.wait_for(anext(bobs), 10)
            waiting = asyncio.ensure_future(anext(cyds))
            attacker = Raw(home.hosts.wire)
            attacker.hello("attacker", home.tokens["cyd"], holding=(delivery.delivery_id,))
            await attacker.next(Welcome)
            stolen: Record = {"deliveryId": delivery.delivery_id}
            tries: list[tuple[str, Record]] = [
                ("start", stolen),
                ("progress", {**stolen, "text": "mine"}),
                ("finish", {**stolen, "outcome": "completed", "body": "forged"}),
                ("finish", {**stolen, "outcome": "rejected", "reason": "forged"}),
                ("release", stolen),
            ]
            for number, (verb, body) in enumerate(tries):
                attacker.say(Request(number, verb, body))
                error = (await attacker.next(Answered)).error or {}
                assert error["code"] == "not_found", verb
            attacker.say(Request(9, "renew", {"deliveryIds": [delivery.delivery_id]}))
            assert (await attacker.next(Answered)).ok == {"renewed": []}
            assert not delivery.cancelled.is_set() and not waiting.done()
            await delivery.complete("bob's own")
            waiting.cancel()
        assert (await home.notice("ada", thread))["result"]["body"]["text"] == "bob's own"


@in_loop
async def test_a_malformed_request_is_refused_by_its_fields() -> None:
    """common 6.3"""
    async with RuntimeHome() as home:
        runtime = Raw(home.hosts.wire)
        runtime.hello("r", home.tokens["bob"])
        await runtime.next(Welcome)
        for number, (verb, body) in enumerate(
            [
                ("start", {}),
                ("start", {"deliveryId": 7}),
                ("finish", {"deliveryId": "d", "outcome": "triumph"}),
                ("finish", {"deliveryId": "d", "outcome": "completed", "body": "x", "usage": {"at": b"bytes"}}),
                ("renew", {"deliveryIds": "d"}),
                ("progress", {"deliveryId": "d", "text": "x", "more": 1}),
            ]
        ):
            runtime.say(Request(number, verb, body))  # type: ignore[arg-type]
            assert ((await runtime.next(Answered)).error or {})["code"] == "invalid_arguments", (verb, body)


@in_loop
async def test_hosts_and_gateway_may_restart_under_a_runtime() -> None:
    """mesh 5.1; common 8.1"""
    async with RuntimeHome() as home, home.client("bob") as mailbox:
        first = await home.trigger("ada", "bob")
        delivery = await asyncio.wait_for(anext(mailbox), 10)
        await delivery.start()
        for shard in range(2):
            home.hosts.restart(shard)
        home.port.close()
        home.start_port()
        await delivery.complete("over all of it")
        assert (await home.notice("ada", first))["state"] == "completed"
        second = await home.trigger("ada", "bob")
        assert (await asyncio.wait_for(anext(mailbox), 10)).thread_id == second


@in_loop
async def test_an_answer_by_another_tool_ends_the_delivery_of_a_runtime() -> None:
    """mesh 4.2"""
    async with RuntimeHome() as home, home.client("bob") as mailbox:
        thread = await home.trigger("ada", "bob")
        delivery = await asyncio.wait_for(anext(mailbox), 10)
        reply: dict[str, Value] = {"threadId": thread, "outcome": "completed", "body": "by tool"}
        await home.content(home.tokens["bob"], "agent_reply", reply)
        await asyncio.wait_for(delivery.cancelled.wait(), 10)
        assert delivery.why is not None and delivery.why.state == "completed"
        with pytest.raises(DeliveryLost):
            await delivery.complete("too late")
        assert (await home.notice("ada", thread))["result"]["body"]["text"] == "by tool"


@in_loop
async def test_a_lease_that_ran_out_is_offered_again_and_the_stale_one_acknowledges_nothing() -> None:
    """mesh 4.4"""
    async with RuntimeHome() as home, home.client("bob", runtime_id="first") as mailbox:
        thread = await home.trigger("ada", "bob")
        stale = await asyncio.wait_for(anext(mailbox), 10)
        home.port.close()
        home.clock.advance(61_000)
        home.start_port()
        again = await asyncio.wait_for(anext(mailbox), 20)
        assert (again.thread_id, again.attempt) == (thread, 2) and stale.cancelled.is_set()
        with pytest.raises(DeliveryLost):
            await stale.complete("stale")
        await again.complete("fresh")
        assert (await home.notice("ada", thread))["result"]["body"]["text"] == "fresh"


@in_loop
async def test_a_revoked_credentials_deliveries_go_to_the_agents_other_runtime_at_once() -> None:
    """security 2.10; common 2.1"""
    async with RuntimeHome() as home:
        secret = "second-of-bob"
        body: Record = {"name": "second", "tokenHash": hashlib.sha256(secret.encode()).digest()}
        await home.hosts.ok(address.agent("bob"), "credential_add", body)
        home.tokens["second"] = f"nx_bob_{secret}"
        thread = await home.trigger("ada", "bob")
        async with home.client("second") as mailbox:
            delivery = await asyncio.wait_for(anext(mailbox), 10)
            async with home.client("bob") as other:
                await home.hosts.ok(address.agent("bob"), "credential_revoke", {"name": "second"})
                await asyncio.wait_for(delivery.cancelled.wait(), 10)
                with pytest.raises(MailboxRefused):
                    await anext(mailbox)
                assert (await asyncio.wait_for(anext(other), 10)).thread_id == thread


@in_loop
async def test_an_agent_that_loses_mesh_or_is_removed_has_no_runtimes() -> None:
    """common 2.1, 4.5"""
    async with RuntimeHome() as home:
        async with home.client("bob") as mailbox:
            waiting = asyncio.ensure_future(anext(mailbox))
            body: Record = {"capability": "mesh", "held": False}
            await home.hosts.ok(address.agent("bob"), "agent_set_capability", body)
            with pytest.raises(MailboxRefused) as refused:
                await waiting
            assert refused.value.code == "capability_missing"
        async with home.client("cyd") as mailbox:
            waiting = asyncio.ensure_future(anext(mailbox))
            await home.hosts.ok(address.DIRECTORY, "agent_remove", {"agentId": "cyd"})
            with pytest.raises(MailboxRefused) as refused:
                await waiting
            assert refused.value.code == "unidentified_caller"


@in_loop
async def test_an_agent_can_be_sent_to_once_a_runtime_of_it_has_connected() -> None:
    """mesh 2.1: callee_never_ran"""
    async with RuntimeHome() as home:
        home.tokens["dan"] = await home.agent("dan", "dan", "w1")
        envelope: Record = {"title": "t", "instructions": "t"}
        refused = await home.content(home.tokens["ada"], "agent_trigger", {"agentId": "dan", "task": envelope})
        assert refused["error"]["code"] == "delivery_withheld"
        async with home.client("dan") as mailbox:
            thread = await home.trigger("ada", "dan")
            assert (await asyncio.wait_for(anext(mailbox), 10)).thread_id == thread


async def _canvas(home: RuntimeHome, title: str, reader: str | None) -> str:
    made = await home.content(home.tokens["ada"], "canvas_create", {"title": title, "reason": "a test"})
    canvas_id = str(made["canvasId"])
    if reader is not None:
        grant: Record = {"agentId": reader, "role": "viewer"}
        await home.hosts.ok(address.canvas("w1", canvas_id), "canvas_grant", grant)
    return canvas_id


@in_loop
async def test_references_show_the_recipient_what_it_may_read_and_of_the_rest_not_even_that_it_exists() -> None:
    """mesh 3.2; common 3.3: in a delivery and in the inbox."""
    async with RuntimeHome() as home:
        shared, private = await _canvas(home, "Shared plan", "bob"), await _canvas(home, "Private plan", None)
        refs: list[Value] = [f"canvas://{shared}", f"canvas://{private}", "canvas://never-was"]
        await home.trigger("ada", "bob", contextRefs=refs)
        [listed] = (await home.content(home.tokens["bob"], "agent_inbox"))["deliveries"]
        async with home.client("bob") as mailbox:
            delivery = await asyncio.wait_for(anext(mailbox), 10)
        task: Any = delivery.record["task"]
        for found in (listed["task"]["contextRefs"], task["contextRefs"]):
            assert found[0] == {"ref": refs[0], "kind": "canvas", "title": "Shared plan", "revision": 1}
            withheld = [one["withheld"] for one in found[1:]]
            assert withheld[0] == withheld[1] and withheld[0]["reason"] == "not_found"
            assert "Private" not in str(found)
        assert [one.withheld for one in delivery.task.context] == [None, "not_found", "not_found"]


@in_loop
async def test_a_narrowed_credential_and_one_without_the_canvas_tools_are_told_of_no_canvas() -> None:
    """mesh 3.2; common 1.3: in a delivery and in the inbox, though the agent has a role on it."""
    async with RuntimeHome() as home:
        shared = await _canvas(home, "Shared plan", "bob")
        secret = "narrow-of-bob"
        body: Record = {"name": "narrow", "families": ["agent"], "tokenHash": hashlib.sha256(secret.encode()).digest()}
        await home.hosts.ok(address.agent("bob"), "credential_add", body)
        home.tokens["narrow"] = f"nx_bob_{secret}"
        await home.trigger("ada", "bob", contextRefs=[f"canvas://{shared}"])
        told = [await _told_of_canvas(home, "narrow")]
        assert (await _told_of_canvas(home, "bob"))["title"] == "Shared plan"
        withheld: Record = {"tool": "canvas_get_state", "withheld": True}
        await home.hosts.ok(address.agent("bob"), "agent_set_withheld", withheld)
        told.append(await _told_of_canvas(home, "bob"))
        assert [one["withheld"]["reason"] for one in told] == ["capability_disabled"] * 2
        assert "Shared" not in str(told)


async def _told_of_canvas(home: RuntimeHome, token: str) -> dict[str, Any]:
    """The one reference of the one task that waits: the same by both ways."""
    [listed] = (await home.content(home.tokens[token], "agent_inbox"))["deliveries"]
    async with home.client(token) as mailbox:
        delivery = await asyncio.wait_for(anext(mailbox), 10)
    given: Any = delivery.record["task"]
    [found], [also] = listed["task"]["contextRefs"], given["contextRefs"]
    assert found == also
    return dict(found)


@in_loop
async def test_a_thread_that_the_person_cancels_reaches_the_runtime_that_works_on_it() -> None:
    """mesh 4.2, 5.1"""
    async with RuntimeHome() as home, home.client("bob") as mailbox:
        thread = await home.trigger("ada", "bob")
        delivery = await asyncio.wait_for(anext(mailbox), 10)
        await delivery.start()
        await home.hosts.ok(address.mailbox("bob"), "thread_cancel", {"threadId": thread})
        await asyncio.wait_for(delivery.cancelled.wait(), 10)
        assert delivery.why is not None
        assert (delivery.why.reason, delivery.why.state) == ("thread_closed", "cancelled")
        assert mailbox.held == ()


@in_loop
async def test_a_paused_agent_keeps_what_it_has_and_is_offered_nothing_until_it_goes_on() -> None:
    """mesh 2.1, 5.1"""
    async with RuntimeHome() as home, home.client("bob", prefetch=2) as mailbox:
        first, second = await home.trigger("ada", "bob"), await home.trigger("ada", "bob")
        deliveries = [await asyncio.wait_for(anext(mailbox), 10) for _ in range(2)]
        third = await home.trigger("ada", "bob")
        await home.hosts.ok(address.agent("bob"), "agent_pause", {"paused": True})
        await deliveries[0].complete("still mine")
        assert (await home.notice("ada", first))["state"] == "completed"
        leased = await home.hosts.ok(address.mailbox("bob"), "mailbox_peek", {"limit": 10})
        assert (leased["leased"], leased["isPaused"]) == (1, True)
        await home.hosts.ok(address.agent("bob"), "agent_pause", {"paused": False})
        assert (await asyncio.wait_for(anext(mailbox), 10)).thread_id == third
        assert [one.thread_id for one in mailbox.held] == [second, third]
