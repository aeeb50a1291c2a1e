"""An agent that asks for approvals, and the person who decides them, over owners in memory."""

from __future__ import annotations

from typing import Any

from bus import address
from bus.value import Record
from tests.support.admitting import Caller, Came
from tests.support.bench import GATEWAY, PERSON
from tests.support.exchange import TOKEN_HASH, Home
from tests.support.reading import at
from tools.agent import AGENT_UPDATE_SELF

OTHER_HASH = bytes([9] * 32)
AGENT = address.agent("a1")


def a_home() -> Home:
    """Agent a1 in mode approval, another agent beside it, and a second workspace."""
    home = Home()
    home.add_workspace("w1")
    home.add_workspace("w2")
    home.add_agent("a1")
    home.add_agent("a2")
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    return home


def ask(home: Home, persona: str = "Counts beans.", **how: Any) -> Came:
    return Caller(home, "a1").call(AGENT_UPDATE_SELF, {"persona": persona}, **how)


def decide(home: Home, approval_id: object, decision: str = "approve", note: str | None = None) -> Record:
    body: Record = {"approvalId": str(approval_id), "decision": decision, "note": note, "how": "command"}
    return home.ok(AGENT, "approval_decide", body, PERSON)


def asked(home: Home) -> str:
    came = ask(home)
    assert came.code == "approval_required"
    assert came.error is not None
    return str(came.error["approvalId"])


def states(home: Home) -> list[str]:
    listed = home.ok(AGENT, "approvals_list", {"all": True}, PERSON)["approvals"]
    return [at(one, "state") for one in listed]  # type: ignore[union-attr]


def persona_of(home: Home) -> object:
    return home.bench(AGENT).state.head.persona


def raw_admission(home: Home, fingerprint: Record, call_id: str = "c1") -> Record:
    """An admission of one and the same call, whose target looks as told."""
    call: Record = {
        "arguments": {"canvasId": "k"},
        "argumentsBytes": 20,
        "target": "canvas/w1/k",
        "callId": call_id,
        "sameCall": bytes(32),
        "workspaceId": "w1",
        "deadlineMs": home.clock.now_ms() + 1,
    }
    look: Record = {"would": {"ok": {"outcome": "applied"}}, "fingerprint": fingerprint}
    body: Record = {"tokenHash": TOKEN_HASH, "tool": "canvas_delete", "arguments": "valid", "kind": "irreversible"}
    body |= {"scope": "workspace", "capability": None, "call": call, "look": look}
    call_of = home.begin(AGENT, "admit", body, GATEWAY)
    reply = home.answers[call_of]
    assert isinstance(reply, dict)
    return reply
