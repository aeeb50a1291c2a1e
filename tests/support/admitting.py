"""An agent's call through admission over owners in memory, as the gateway carries it (nexus/gateway/admitting.py)."""

from __future__ import annotations

from dataclasses import dataclass

from actors.decision import Context, Message, Principal
from bus import address
from bus.address import Address
from bus.value import Record
from nexus.gateway.admitting import call_facts
from nexus.gateway.arguments import canonical_hash
from nexus.gateway.route import owner_of
from tests.support.bench import GATEWAY, agent
from tests.support.exchange import TOKEN_HASH, Home
from tools.base import Tool
from tools.errors import Refusal


@dataclass(frozen=True, slots=True)
class Came:
    """What the caller is told, and how many times admission was asked."""

    ok: Record | None
    error: Record | None
    rounds: int
    was_dispatched: bool = False

    @property
    def code(self) -> str | None:
        return None if self.error is None else str(self.error["code"])


@dataclass(slots=True)
class Caller:
    """One agent of `home`, with one of its tokens."""

    home: Home
    agent_id: str
    token_hash: bytes = TOKEN_HASH
    through: Principal = GATEWAY

    def call(self, tool: Tool, arguments: Record, *, key: str | None = None, settles: bool = True) -> Came:
        """`settles` False leaves a dispatched call on its way."""
        call_id = self.home.clock.new_id()
        body: Record = {**call_facts(tool), "tokenHash": self.token_hash}
        if key is not None:
            body["idempotency"] = {"key": key, "arguments": canonical_hash(arguments), "callId": call_id}
        rounds = 0
        while rounds < 5:
            rounds += 1
            reply = self._admit(body)
            stamp = reply.get("stamp")
            if "needs" not in reply:
                break
            assert isinstance(stamp, dict) and stamp["look"] is True
            assert isinstance(reply["needs"], list)
            to = owner_of(tool, arguments, stamp, call_id)
            body |= {"call": self._given(tool, arguments, to, stamp, call_id)}
            body.pop("look", None)
            if "look" in reply["needs"]:
                body["look"] = self._look(tool, arguments, to, stamp)
        assert "needs" not in reply, "admission does not come to an end"
        if isinstance(reply.get("refusal"), dict):
            return Came(None, reply["refusal"], rounds)  # type: ignore[arg-type]
        if isinstance(reply.get("answer"), dict):
            return Came(reply["answer"], None, rounds)  # type: ignore[arg-type]
        if reply.get("asLooked") is True:
            would = body["look"]["would"]  # type: ignore[index, call-overload]
            return Came(would.get("ok"), would.get("error"), rounds)  # type: ignore[union-attr, arg-type]
        assert isinstance(stamp, dict)
        return self._carried(tool, arguments, stamp, str(reply.get("callId") or call_id), rounds, settles)

    def admitted_only(self, tool: Tool, arguments: Record) -> object:
        """The code that admission refuses a call with, delivering nothing meanwhile."""
        came = self.call(tool, arguments, settles=False)
        return came.code

    def _admit(self, body: Record) -> Record:
        home, to = self.home, address.agent(self.agent_id)
        call_id = home.begin(to, "admit", body, self.through)
        reply = home.answers[call_id]
        assert not isinstance(reply, Refusal), reply
        return reply

    def _carried(self, tool: Tool, arguments: Record, stamp: Record, call_id: str, rounds: int, settles: bool) -> Came:
        home = self.home
        if stamp.get("dispatched") is True:
            if not settles:
                return Came(None, None, rounds, was_dispatched=True)
            home.settle()
            answer = home.answers[call_id]
        else:
            to = owner_of(tool, arguments, stamp, call_id)
            answer = home.call(to, tool.name, arguments, agent(self.agent_id, str(stamp["workspaceId"])))
        was_dispatched = stamp.get("dispatched") is True
        if isinstance(answer, Refusal):
            return Came(None, answer.to_record(), rounds, was_dispatched)
        return Came(answer, None, rounds, was_dispatched)

    def _given(self, tool: Tool, arguments: Record, to: Address, stamp: Record, call_id: str) -> Record:
        compared = {name: value for name, value in arguments.items() if name not in tool.volatile}
        return {
            "arguments": arguments,
            "argumentsBytes": 100,
            "target": str(to),
            "callId": call_id,
            "sameCall": canonical_hash(compared),
            "workspaceId": stamp["workspaceId"],
            "deadlineMs": self.home.clock.now_ms() + 30_000,
        }

    def _look(self, tool: Tool, arguments: Record, to: Address, stamp: Record) -> Record:
        bench = self.home.bench(to)
        caller = agent(self.agent_id, str(stamp["workspaceId"]))
        reply = bench.decide(tool.name, arguments, caller).reply
        if isinstance(reply, Refusal):
            return {"would": {"error": reply.to_record()}, "fingerprint": None}
        rule = bench.rules.verbs[tool.name]
        fingerprint = None
        if rule.fingerprint is not None:
            context = Context(self.home.clock.now_ms(), caller, self.home.clock.new_id(), to)
            fingerprint = rule.fingerprint(bench.state, Message(tool.name, arguments), context)
        would: Record = {"open": True} if reply is None else {"ok": reply}
        return {"would": would, "fingerprint": fingerprint}
