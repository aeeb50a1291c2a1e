"""Carries messages between owners in memory, so that a flow over several owners is tested inline.

Order is promised from one owner to another and not between streams, as in the outbox; a test may choose which stream
moves next. Owners come into being with their first message, as they do in a host.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from actors import agent, canvas, directory, mailbox, providers, teams, workspace
from actors.decision import Answer, Context, Dispatch, Event, Message, Notify, Principal, PrincipalKind, Rules, Send
from bus.address import DIRECTORY, Address
from bus.clock import ManualClock
from bus.value import Record, Value
from tests.support import bench
from tests.support.bench import GATEWAY, PERSON, OwnerBench
from tools.errors import Refusal

RULES: Mapping[str, Rules[Any]] = {
    "app": directory.RULES,
    "workspace": workspace.RULES,
    "agent": agent.RULES,
    "mailbox": mailbox.RULES,
    "canvas": canvas.RULES,
    "teams": teams.RULES,
    "providers": providers.RULES,
}


@dataclass(frozen=True)
class Parcel:
    message_id: str
    sender: Address
    send: Send | Dispatch


class Exchange:
    """`answers` maps a call's id to its reply, once it has one."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.benches: dict[Address, OwnerBench[Any]] = {}
        self.streams: dict[tuple[Address, Address], deque[Parcel]] = {}
        self.answers: dict[str, Record | Refusal] = {}
        self.events: list[Event] = []
        self.notices: list[Notify] = []
        self.settles: dict[str, Address] = {}
        """Open calls that were dispatched, and by whom."""

    def bench(self, address: Address) -> OwnerBench[Any]:
        if address not in self.benches:
            self.benches[address] = OwnerBench(RULES[address.kind], address, self.clock)
        return self.benches[address]

    def begin(self, to: Address, verb: str, body: Record, principal: Principal) -> str:
        """Let the owner decide the call, deliver nothing yet; answers the call's id."""
        call_id = self.clock.new_id()
        reply = self.bench(to).send(verb, body, principal, call_id)
        if reply is not None:
            self.answers[call_id] = reply
        self._collect(self.bench(to))
        return call_id

    def call(self, to: Address, verb: str, body: Record, principal: Principal) -> Record | Refusal:
        """A whole call: decided, everything that it caused delivered, answered."""
        call_id = self.begin(to, verb, body, principal)
        self.settle()
        return self.answers[call_id]

    def ok(self, to: Address, verb: str, body: Record, principal: Principal) -> Record:
        reply = self.call(to, verb, body, principal)
        assert not isinstance(reply, Refusal), reply
        return reply

    def refused(self, to: Address, verb: str, body: Record, principal: Principal) -> Refusal:
        reply = self.call(to, verb, body, principal)
        assert isinstance(reply, Refusal), reply
        return reply

    @property
    def waiting_streams(self) -> list[tuple[Address, Address]]:
        return sorted((stream for stream, parcels in self.streams.items() if parcels), key=str)

    def step(self, stream: tuple[Address, Address], *, repeat: bool = False) -> None:
        """Deliver the first message of a stream; with `repeat` leave it there, so that it is delivered again."""
        parcel = self.streams[stream][0]
        if not repeat:
            self.streams[stream].popleft()
        target = self.bench(parcel.send.to)
        if isinstance(parcel.send, Dispatch):
            self._decide_admitted(target, parcel.sender, parcel.send)
        else:
            target.send(parcel.send.verb, parcel.send.body, bench.owner(parcel.sender), parcel.message_id)
        self._collect(target)

    def _decide_admitted(self, target: OwnerBench[Any], sender: Address, call: Dispatch) -> None:
        """As a host does (actors/execute.py): the agent's own call, which is settled with its sender."""
        caller = Principal(
            PrincipalKind.AGENT,
            agent_id=str(call.stamp["agentId"]),
            workspace_id=str(call.stamp["workspaceId"]),
            credential=str(call.stamp["credential"]),
        )
        rule = target.rules.verbs[call.tool]
        arguments = call.arguments
        if call.as_of_now and rule.as_of_now is not None:
            arguments = rule.as_of_now(target.state, arguments)
        if call.is_look:
            self._look(target, sender, replace(call, arguments=arguments), caller)
            return
        reply = target.send(call.tool, arguments, caller, call.call_id)
        if reply is None:
            self.settles[call.call_id] = sender
            return
        self.answers[call.call_id] = reply
        self._settle_with(target, sender, call.call_id, reply)

    def _look(self, target: OwnerBench[Any], sender: Address, call: Dispatch, caller: Principal) -> None:
        reply = target.decide(call.tool, call.arguments, caller, call.call_id).reply
        would: Record = {"open": True} if reply is None else {"ok": reply}  # type: ignore[dict-item]
        fingerprint: Record | None = None
        if isinstance(reply, Refusal):
            would = {"error": reply.to_record()}
        elif (shown := target.rules.verbs[call.tool].fingerprint) is not None:
            context = Context(self.clock.now_ms(), caller, call.call_id, target.address)
            fingerprint = shown(target.state, Message(call.tool, call.arguments), context)
        target.sent.append(Send(sender, "looked", {"callId": call.call_id, "would": would, "fingerprint": fingerprint}))

    def _settle_with(self, source: OwnerBench[Any], sender: Address, call_id: str, reply: Record | Refusal) -> None:
        came: Record = {"error": reply.to_record()} if isinstance(reply, Refusal) else {"ok": reply}
        source.sent.append(Send(sender, "settled", {"callId": call_id, **came}, before_reply=True))

    def ring(self) -> None:
        """Every timer that is due, once."""
        for owner in [*self.benches.values()]:
            for name, timer in [*owner.timers.items()]:
                if timer.due_ms <= self.clock.now_ms():
                    owner.fire(name)
                    self._collect(owner)

    def settle(self) -> None:
        """Deliver until nothing is on its way. Fails the test if messages cause messages without end."""
        for _ in range(10_000):
            waiting = self.waiting_streams
            if not waiting:
                return
            self.step(waiting[0])
        raise AssertionError("the exchange does not become quiet")

    def settle_now(self, source: Address) -> None:
        """Deliver what a test made that owner decide by its bench."""
        self._collect(self.bench(source))
        self.settle()

    def _collect(self, source: OwnerBench[Any]) -> None:
        for answer in source.answers:
            self._answer(answer)
            if answer.call_id in self.settles:
                self._settle_with(source, self.settles.pop(answer.call_id), answer.call_id, answer.reply)
        leaving: list[Send | Dispatch] = [*source.sent, *source.dispatched]
        for send in leaving:
            parcel = Parcel(self.clock.new_id(), source.address, send)
            self.streams.setdefault((source.address, send.to), deque()).append(parcel)
        self.events.extend(source.events)
        source.sent.clear()
        source.dispatched.clear()
        source.told.clear()
        self.notices.extend(source.notices)
        source.notices.clear()
        source.answers.clear()
        source.events.clear()

    def _answer(self, answer: Answer) -> None:
        assert answer.call_id not in self.answers, "a call is answered once"
        self.answers[answer.call_id] = answer.reply


TOKEN_HASH = bytes(range(32))


class Home(Exchange):
    """An exchange with short ways to say what the tests of the mesh say often."""

    def add_workspace(self, workspace_id: str = "w1", name: str | None = None) -> Record:
        body: Record = {"workspaceId": workspace_id, "name": name or f"Workspace {workspace_id}"}
        return self.ok(DIRECTORY, "workspace_add", body, PERSON)

    def add_agent(
        self, agent_id: str, workspace_id: str = "w1", *, mesh: bool = True, ran: bool = True, name: str | None = None
    ) -> None:
        body: Record = {
            "agentId": agent_id,
            "name": name or f"Agent {agent_id}",
            "workspaceId": workspace_id,
            "mode": "auto",
            "capabilities": ["mesh"] if mesh else [],
            "tokenHash": TOKEN_HASH,
        }
        self.ok(DIRECTORY, "agent_add", body, PERSON)
        if ran:
            self.ok(Address("agent", "-", agent_id), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)

    def as_agent(self, agent_id: str) -> Principal:
        head = self.bench(Address("agent", "-", agent_id)).state.head
        assert head is not None
        return bench.agent(agent_id, head.workspaceId)

    def trigger(self, caller: str, callee: str, **task: Value) -> Record | Refusal:
        body: Record = {"agentId": callee, "task": {"title": "Count", "instructions": "Count the beans.", **task}}
        return self.call(Address("mailbox", "-", caller), "agent_trigger", body, self.as_agent(caller))

    def triggered(self, caller: str, callee: str, **task: Value) -> str:
        """The thread id of a task that was queued."""
        reply = self.trigger(caller, callee, **task)
        assert not isinstance(reply, Refusal), reply
        assert reply["state"] == "queued"
        return str(reply["threadId"])

    def inbox(self, agent_id: str, **arguments: Value) -> Record:
        return self.ok(Address("mailbox", "-", agent_id), "agent_inbox", arguments, self.as_agent(agent_id))

    def mailbox_call(self, agent_id: str, verb: str, **arguments: Value) -> Record | Refusal:
        return self.call(Address("mailbox", "-", agent_id), verb, arguments, self.as_agent(agent_id))

    def waiting(self, agent_id: str) -> int:
        """What the agent's owner would answer with admission."""
        count = self.bench(Address("agent", "-", agent_id)).state.waiting
        assert isinstance(count, int)
        return count

    def assert_reloads(self) -> None:
        """Every owner's state is what its rows alone would build."""
        for address, owner in self.benches.items():
            assert owner.reloaded() == owner.state, f"{address} differs after a reload"
