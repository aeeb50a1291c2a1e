"""The person's verbs about threads over the product's own owners on two shards: what is listed, ended, sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bus import address
from bus.clock import ManualClock
from bus.limits import lease_attempts_max, lease_ms, purged_a_call_max, waiting_long_ms
from bus.value import Record, Value
from nexus.gateway.person_owners import Owners, VerbRefused
from nexus.gateway.person_verbs import VERBS
from tests.support.home_bench import HomeBench

WORKSPACE = "w1"


class Mesh(HomeBench):
    """`async with` it: three agents who have called, ada, bob and cyd, and the person's verbs."""

    async def __aenter__(self) -> Mesh:
        await super().__aenter__()
        await self.workspace(WORKSPACE, "Site")
        self.tokens = {name: await self.agent(name, name, WORKSPACE) for name in ("ada", "bob", "cyd")}
        for token in self.tokens.values():
            await self.content(token, "agent_inbox")
        self.owners = Owners(self.hosts.person, self.clock, 2)
        return self

    async def person(self, verb: str, **asked: Value) -> Any:
        return await VERBS[verb](self.owners, asked)

    async def refused(self, verb: str, **asked: Value) -> str:
        with pytest.raises(VerbRefused) as refused:
            await self.person(verb, **asked)
        return str(refused.value.error["code"])

    async def trigger(self, sender: str, recipient: str, **task: Value) -> Any:
        whole: Record = {"title": "Count", "instructions": "Count the beans.", **task}
        return await self.content(self.tokens[sender], "agent_trigger", {"agentId": recipient, "task": whole})

    async def sent(self, sender: str, recipient: str, **task: Value) -> str:
        """The thread of a task that was queued, each in a millisecond of its own."""
        self.pass_ms(1)
        return str((await self.trigger(sender, recipient, **task))["threadId"])

    async def lease(self, agent_id: str, count: int = 1) -> list[Any]:
        """As the gateway leases for a runtime of the agent."""
        stamp: Record = {"agentId": agent_id, "workspaceId": WORKSPACE, "credential": "default", "version": 1}
        stamp["issuedMs"] = self.clock.now_ms()
        body: Record = {"runtimeId": "r1", "count": count}
        reply = await self.hosts.as_agent(address.mailbox(agent_id), "mail_lease", body, stamp)
        assert reply.ok is not None, reply.error
        deliveries = reply.ok["deliveries"]
        assert isinstance(deliveries, list)
        return deliveries

    async def exhausted(self, sender: str, recipient: str) -> str:
        """A thread that no runtime answered, as often as it may be delivered."""
        thread_id = await self.sent(sender, recipient)
        for _ in range(lease_attempts_max):
            (delivery,) = await self.lease(recipient)
            assert delivery["threadId"] == thread_id
            self.pass_ms(lease_ms + 1)
        assert await self.lease(recipient) == []
        return thread_id

    async def listed(self, **asked: Value) -> list[tuple[str, str]]:
        return [(one["threadId"], one["state"]) for one in (await self.person("thread.list", **asked))["threads"]]

    async def news(self, agent_id: str) -> dict[str, Any]:
        """Of each thread that the agent sent, what its inbox says of the end."""
        inbox = await self.content(self.tokens[agent_id], "agent_inbox")
        return {one["threadId"]: one for one in inbox["notifications"]}

    def pass_ms(self, milliseconds: int) -> None:
        assert isinstance(self.clock, ManualClock)
        self.clock.advance(milliseconds)


def at_home(body: Callable[[Mesh], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Mesh() as mesh:
            await body(mesh)

    asyncio.run(main())


def test_open_and_ended_threads_of_all_mailboxes_are_listed_newest_first() -> None:
    """issue 6, mesh 4.2"""

    async def body(mesh: Mesh) -> None:
        pairs = [("ada", "bob"), ("bob", "cyd"), ("cyd", "ada"), ("ada", "cyd")] * 6
        sent = [await mesh.sent(*pair) for pair in pairs]
        answer: Record = {"threadId": sent[1], "outcome": "completed", "body": "Seven."}
        await mesh.content(mesh.tokens["cyd"], "agent_inbox", {"limit": 1})
        await mesh.content(mesh.tokens["cyd"], "agent_reply", answer)
        states = {sent[1]: "completed"}
        expected = [(thread_id, states.get(thread_id, "queued")) for thread_id in reversed(sent)]
        assert await mesh.listed() == expected
        assert await mesh.listed(limit=5) == expected[:5]
        assert await mesh.listed(states=["completed"]) == [(sent[1], "completed")]
        of_ada = [thread_id for thread_id, pair in zip(sent, pairs, strict=True) if "ada" in pair]
        assert [thread_id for thread_id, _ in await mesh.listed(agent="ada")] == of_ada[::-1]
        whole = await mesh.person("thread.show", threadId=sent[1], history=True)
        assert (whole["state"], whole["from"]["agentId"], whole["to"]["agentId"]) == ("completed", "bob", "cyd")
        assert (whole["result"]["body"], whole["workspace"], whole["cause"]) == ("Seven.", "Site", "agent_reply")
        assert [event["type"] for event in whole["history"]] == [
            *("thread.offered", "thread.queued", "thread.delivered", "thread.completed")
        ]

    at_home(body)


def test_a_cancelled_thread_ends_once_and_its_originator_reads_why() -> None:
    """mesh 4.2, 4.3"""

    async def body(mesh: Mesh) -> None:
        thread_id = await mesh.sent("ada", "bob")
        done = await mesh.person("thread.cancel", threadId=thread_id, note="No longer needed")
        assert done == {"threadId": thread_id, "state": "cancelled"}
        assert await mesh.refused("thread.cancel", threadId=thread_id) == "thread_closed"
        told = (await mesh.news("ada"))[thread_id]
        assert (told["state"], told["cause"], told["reason"]["text"]) == ("cancelled", "person", "No longer needed")
        late: Record = {"threadId": thread_id, "outcome": "completed", "body": "Seven."}
        assert (await mesh.content(mesh.tokens["bob"], "agent_reply", late))["error"]["code"] == "thread_closed"

    at_home(body)


def test_what_was_given_up_is_told_of_and_can_be_sent_again_once_as_a_new_thread() -> None:
    """mesh 4.4"""

    async def body(mesh: Mesh) -> None:
        thread_id = await mesh.exhausted("ada", "bob")
        shown = await mesh.person("thread.show", threadId=thread_id)
        assert (shown["state"], shown["cause"], shown["canRequeue"]) == ("failed", "delivery_exhausted", True)
        needs = await mesh.person("bus.needs")
        assert [(one["agentId"], one["threads"]) for one in needs["exhausted"]] == [("bob", 1)]
        again = await mesh.person("thread.requeue", threadId=thread_id)
        assert (again["requeuedFrom"], again["state"]) == (thread_id, "queued")
        assert (await mesh.person("thread.requeue", threadId=thread_id))["threadId"] == again["threadId"]
        assert await mesh.listed() == [(again["threadId"], "queued"), (thread_id, "failed")]
        assert (await mesh.person("bus.needs"))["exhausted"] == []
        assert await mesh.refused("thread.requeue", threadId=again["threadId"]) == "wrong_state"
        told = await mesh.person("bus.thread", threadId=thread_id)
        assert told["events"][-1]["type"] == "thread.requeued"

    at_home(body)


def test_an_operator_sees_a_leased_thread_and_takes_its_lease() -> None:
    """mesh 4.4, issue 6"""

    async def body(mesh: Mesh) -> None:
        thread_id = await mesh.sent("ada", "bob")
        (delivery,) = await mesh.lease("bob")
        mesh.pass_ms(30_000)
        told = await mesh.person("bus.thread", threadId=thread_id)
        assert told["owner"] == "mailbox/-/bob"
        assert told["shard"] == address.mailbox("bob").shard(2)
        assert (told["now"]["state"], told["now"]["lease"]["deliveryId"]) == ("delivered", delivery["deliveryId"])
        assert {(row["owner"], row["row"].partition("/")[0]) for row in told["rows"]} == {
            *(("mailbox/-/bob", name) for name in ("received", "task", "lease")),
            ("mailbox/-/ada", "sent"),
        }
        assert [event["type"] for event in told["events"]] == ["thread.offered", "thread.queued", "thread.delivered"]
        assert (await mesh.person("bus.pending_idle", idleMs=30_001))["deliveries"] == []
        (idle,) = (await mesh.person("bus.pending_idle", idleMs=30_000))["deliveries"]
        assert (idle["mailbox"], idle["threadId"], idle["lease"]["idleMs"]) == ("mailbox/-/bob", thread_id, 30_000)
        assert (await mesh.person("bus.redeliver", threadId=thread_id))["wasLeased"] is True
        assert (await mesh.person("bus.redeliver", threadId=thread_id))["wasLeased"] is False
        (second,) = await mesh.lease("bob")
        assert (second["threadId"], second["attempt"]) == (thread_id, delivery["attempt"])

    at_home(body)


def test_a_purge_ends_all_that_waits_and_nothing_that_is_leased() -> None:
    """mesh 4.2"""

    async def body(mesh: Mesh) -> None:
        count = purged_a_call_max + 5
        waiting = [await mesh.sent("ada", "bob") for _ in range(count)]
        await mesh.lease("bob")
        would = await mesh.person("bus.purge", agent="bob")
        assert (would["wouldCancel"], would["leased"]) == (count - 1, 1)
        assert await mesh.listed(states=["cancelled"]) == []
        done = await mesh.person("bus.purge", agent="bob", confirmed=True)
        assert (done["cancelled"], done["leased"]) == (count - 1, 1)
        ended = await mesh.listed(states=["cancelled"])
        assert [thread_id for thread_id, _ in ended] == waiting[:0:-1]
        assert await mesh.listed(states=["queued", "delivered", "working"]) == [(waiting[0], "delivered")]

    at_home(body)


def test_nobody_can_send_to_a_paused_agent_or_past_a_block_and_both_are_shown() -> None:
    """mesh 2.1, 2.2"""

    async def body(mesh: Mesh) -> None:
        def reason(answer: Any) -> str:
            return str(answer["error"]["withheld"][-1]["reason"])

        await mesh.sent("ada", "bob")
        await mesh.person("agent.pause", agent="bob", paused=True)
        assert reason(await mesh.trigger("ada", "bob")) == "callee_paused"
        assert await mesh.lease("bob") == [], "it is offered nothing"
        (needs,) = (await mesh.person("bus.needs"))["paused"]
        assert (needs["agentId"], needs["waiting"]) == ("bob", 1)
        assert (await mesh.person("agent.show", agent="bob"))["paused"] is True
        await mesh.person("agent.pause", agent="bob", paused=False)
        assert len(await mesh.lease("bob")) == 1
        await mesh.person("agent.block", agent="bob", sender="ada", blocked=True)
        assert reason(await mesh.trigger("ada", "bob")) == "blocked_by_person"
        assert (await mesh.person("agent.show", agent="bob"))["blocked"] == [{"agentId": "ada", "name": "ada"}]
        await mesh.sent("cyd", "bob")
        await mesh.person("agent.block", agent="bob", sender="ada", blocked=False)
        await mesh.sent("ada", "bob")

    at_home(body)


def test_a_task_that_waits_for_long_is_told_of_and_one_that_is_worked_on_is_not() -> None:
    async def body(mesh: Mesh) -> None:
        await mesh.sent("ada", "bob")
        await mesh.sent("ada", "cyd")
        mesh.pass_ms(waiting_long_ms - 1_000)
        assert (await mesh.person("bus.needs"))["waitingLong"] == []
        mesh.pass_ms(1_000)
        assert [one["agentId"] for one in (await mesh.person("bus.needs"))["waitingLong"]] == ["bob", "cyd"]
        (delivery,) = await mesh.lease("bob")
        stamp: Record = {"agentId": "bob", "workspaceId": WORKSPACE, "credential": "default", "version": 1}
        stamp["issuedMs"] = mesh.clock.now_ms()
        started: Record = {"deliveryId": delivery["deliveryId"], "runtimeId": "r1"}
        assert (await mesh.hosts.as_agent(address.mailbox("bob"), "mail_start", started, stamp)).error is None
        assert [one["agentId"] for one in (await mesh.person("bus.needs"))["waitingLong"]] == ["cyd"]

    at_home(body)


def test_threads_of_a_removed_agent_are_still_listed_with_why_they_ended() -> None:
    """mesh 4.7"""

    async def body(mesh: Mesh) -> None:
        thread_id = await mesh.sent("ada", "bob")
        await mesh.person("agent.remove", agent="bob")
        assert await mesh.listed(agent="bob") == [(thread_id, "cancelled")]
        assert (await mesh.person("thread.show", threadId=thread_id))["cause"] == "recipient_removed"

    at_home(body)
