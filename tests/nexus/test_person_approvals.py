"""The person's verbs about approvals: composed lists, whole cards, and decisions about what was shown."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from bus.value import Record, Value
from tests.nexus.test_person_port import LISTS
from tests.support.person_port import RunningPort, ask, refused_code, running_port
from tests.support.scripted_caller import Script, Sent
from tools.errors import NOT_FOUND, Code, Refusal, unavailable


def summary(agent_id: str, number: int, created: str, state: str = "pending") -> Record:
    return {
        "approvalId": f"{agent_id}.p{number}",
        "agentId": agent_id,
        "workspaceId": "w2",
        "tool": "canvas_delete",
        "kind": "irreversible",
        "state": state,
        "createdAt": created,
        "expiresAt": "2027-01-02T00:00:00.000Z",
        "decidedAt": None,
        "waitsForStep": False,
    }


def card(agent_id: str = "b1", number: int = 1, state: str = "pending", **more: Value) -> Record:
    return {
        **summary(agent_id, number, "2027-01-01T00:00:00.000Z", state),
        "agent": {"id": agent_id, "name": "Bo"},
        "why": "It cannot be undone.",
        "target": {"title": "Plan"},
        "arguments": {"canvasId": "c2", "reason": "tidy"},
        "reason": "tidy",
        "credential": "default",
        "chain": ["a1", agent_id],
        "decision": None,
        "plan": None,
        **more,
    }


def listing(*approvals: Record) -> Record:
    return {"approvals": list(approvals)}


def test_approvals_of_all_agents_are_one_list_newest_last_with_names() -> None:
    """common 5.4"""
    script: Script = {
        **LISTS,
        ("agent/-/a1", "approvals_list"): listing(summary("a1", 1, "2027-01-01T00:00:03.000Z")),
        ("agent/-/a2", "approvals_list"): NOT_FOUND,  # removed meanwhile
        ("agent/-/b1", "approvals_list"): listing(
            summary("b1", 1, "2027-01-01T00:00:01.000Z"), summary("b1", 2, "2027-01-01T00:00:09.000Z")
        ),
    }
    with running_port(script) as port:
        found = ask(port, "approvals.list")["ok"]["approvals"]
        assert [one["approvalId"] for one in found] == ["b1.p1", "a1.p1", "b1.p2"]
        assert [(one["agent"], one["workspace"]) for one in found] == [("Bo", "Shop"), ("Ada", "Shop"), ("Bo", "Shop")]
        assert port.caller.bodies("approvals_list") == [{"all": False}] * 3
        only = ask(port, "approvals.list", {"agent": "Bo", "all": True})["ok"]["approvals"]
        assert [one["approvalId"] for one in only] == ["b1.p1", "b1.p2"]
        assert port.caller.bodies("approvals_list")[3:] == [{"all": True}]


def test_a_card_has_the_names_that_belong_to_its_ids() -> None:
    """common 5.4"""
    with running_port({**LISTS, ("agent/-/b1", "approval_show"): card()}) as port:
        found = ask(port, "approvals.show", {"approvalId": "b1.p1"})["ok"]
    assert found["workspace"] == {"id": "w2", "name": "Shop"}
    assert found["chain"] == [{"id": "a1", "name": "Ada"}, {"id": "b1", "name": "Bo"}]
    assert found["arguments"] == {"canvasId": "c2", "reason": "tidy"}
    assert len(found["seen"]) == 64


@pytest.mark.parametrize("typed", ["p1", "b1.", ".p1", "b1/p1", "b1.p1.x", "B1.p1", "b1.p1\n", "../x.y", "x" * 150])
def test_what_is_no_approvals_id_is_refused_in_words(typed: str) -> None:
    with running_port(LISTS) as port:
        for verb, more in (("approvals.show", {}), ("approvals.decide", {"decision": "approve"})):
            answer = ask(port, verb, {"approvalId": typed, **more})
            assert refused_code(answer) == "invalid_arguments"
            assert "nexus approvals list" in answer["error"]["message"]
        assert port.caller.sent_of("approval_show") == port.caller.sent_of("approval_decide") == []


def test_an_approval_that_is_not_there_is_told_with_where_to_look() -> None:
    script: Script = {**LISTS, ("agent", "approval_show"): NOT_FOUND, ("agent", "approval_decide"): NOT_FOUND}
    with running_port(script) as port:
        for answer in (
            ask(port, "approvals.show", {"approvalId": "b1.p9"}),
            ask(port, "approvals.decide", {"approvalId": "b1.p9", "decision": "deny"}),
            ask(port, "approvals.decide", {"approvalId": "b1.p9", "decision": "approve", "seen": "0" * 64}),
        ):
            assert refused_code(answer) == "not_found"
            assert "nexus approvals list" in answer["error"]["message"]


def test_what_was_shown_is_approved_and_how_is_recorded() -> None:
    """common 5.5"""
    decided: Record = {"approvalId": "b1.p1", "state": "approved", "tool": "canvas_delete"}
    script: Script = {**LISTS, ("agent/-/b1", "approval_show"): card(), ("agent/-/b1", "approval_decide"): decided}
    with running_port(script) as port:
        seen = ask(port, "approvals.show", {"approvalId": "b1.p1"})["ok"]["seen"]
        assert ask(port, "approvals.decide", {"approvalId": "b1.p1", "decision": "approve", "seen": seen}) == {
            "ok": decided
        }
        assert port.caller.bodies("approval_decide") == [
            {"approvalId": "b1.p1", "decision": "approve", "how": "command"}
        ]


@pytest.mark.parametrize(
    "now",
    [
        card(arguments={"canvasId": "c3"}),
        card(target={"title": "Another plan"}),
        card(state="lapsed"),
        card(agent={"id": "b1", "name": "Somebody else"}),
        card(reason="other words"),
        card(chain=["b1"]),
    ],
)
def test_another_card_than_the_one_that_was_shown_is_not_approved(now: Record) -> None:
    """security 2.4"""
    with running_port({**LISTS, ("agent/-/b1", "approval_show"): card()}) as port:
        seen = ask(port, "approvals.show", {"approvalId": "b1.p1"})["ok"]["seen"]
        port.caller.on("approval_show", now, "agent/-/b1")
        answer = ask(port, "approvals.decide", {"approvalId": "b1.p1", "decision": "approve", "seen": seen})
        assert refused_code(answer) == "wrong_state"
        assert port.caller.sent_of("approval_decide") == []


def test_nothing_is_approved_unseen() -> None:
    """common 5.4"""
    with running_port({**LISTS, ("agent/-/b1", "approval_show"): card()}) as port:
        assert refused_code(ask(port, "approvals.decide", {"approvalId": "b1.p1", "decision": "approve"}))
        assert port.caller.sent_of("approval_decide") == []


def test_a_denial_carries_the_persons_note_and_needs_no_look() -> None:
    """common 5.2"""
    decided: Record = {"approvalId": "b1.p1", "state": "denied", "tool": "canvas_delete"}
    with running_port({("agent/-/b1", "approval_decide"): decided}) as port:
        arguments = {"approvalId": "b1.p1", "decision": "deny", "note": "Archive it."}
        assert ask(port, "approvals.decide", arguments) == {"ok": decided}
        assert port.caller.bodies("approval_decide") == [{**arguments, "how": "command"}]
        assert refused_code(ask(port, "approvals.decide", {**arguments, "note": "x" * 2_001})) == "invalid_arguments"


def test_deciding_twice_or_late_is_told_as_the_owner_says_it() -> None:
    """common 5.5"""
    late = Refusal(Code.WRONG_STATE, "This approval has expired.", details={"state": "expired"})
    with running_port({("agent/-/b1", "approval_decide"): late}) as port:
        answer = ask(port, "approvals.decide", {"approvalId": "b1.p1", "decision": "deny"})
        assert answer == {"error": late.to_record()}


class Journal:
    """One shard's events, answered as its host would: a page now, or nothing until something happens."""

    def __init__(self) -> None:
        self.events: list[Record] = []
        self._changed: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def happen(self, kind: str, approval_id: str) -> None:
        assert self._loop is not None and self._changed is not None, "nobody follows yet"
        event: Record = {
            "sequence": len(self.events) + 1,
            "index": 0,
            "at": 1,
            "type": kind,
            "data": {"approvalId": approval_id},
        }
        self.events.append(event)
        self._loop.call_soon_threadsafe(self._changed.set)

    async def answer(self, sent: Sent) -> Record:
        if self._changed is None:
            self._changed, self._loop = asyncio.Event(), asyncio.get_running_loop()
        after = sent.body.get("after")
        if isinstance(after, int) and after >= len(self.events):
            self._changed.clear()
            await self._changed.wait()
        start = after if isinstance(after, int) else len(self.events)
        return {"events": [*self.events[start:]], "last": len(self.events)}


def watching(port: RunningPort) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(10)
    connection.connect(str(port.socket_path))
    connection.sendall(b'{"verb": "approvals.watch"}\n')
    return connection


def test_watching_shows_the_cards_that_wait_then_each_new_one_once() -> None:
    journal = Journal()

    restarting = [unavailable()]

    def show(sent: Sent) -> Record | Refusal:
        if sent.body["approvalId"] == "b1.p4" and restarting:
            return restarting.pop()
        return card("b1", int(str(sent.body["approvalId"])[-1]))

    script: Script = {
        **LISTS,
        ("host", "events"): journal.answer,
        ("agent", "approvals_list"): listing(),
        ("agent/-/b1", "approvals_list"): listing(
            summary("b1", 1, "2027-01-01T00:00:00.000Z"), summary("b1", 2, "2027-01-01T00:00:01.000Z", "approved")
        ),
        ("agent/-/b1", "approval_show"): show,
        ("agent/-/a1", "approval_show"): NOT_FOUND,
    }
    with running_port(script) as port, watching(port) as connection, connection.makefile("rb") as lines:

        def next_card() -> Any:
            return json.loads(lines.readline())["event"]["approvalId"]

        assert next_card() == "b1.p1"
        journal.happen("approval.asked", "b1.p1")  # shown already
        journal.happen("canvas.changed", "b1.p3")
        journal.happen("approval.asked", "a1.p1")  # its agent is gone
        journal.happen("approval.asked", "b1.p4")
        assert next_card() == "b1.p4"
        assert restarting == [], "an owner that restarts is waited for"


def test_watching_ends_with_the_refusal_when_an_owner_fails() -> None:
    broken = Refusal(Code.INTERNAL, "Something went wrong.", details={"incidentId": "i"})
    script: Script = {**LISTS, ("host", "events"): {"events": [], "last": 0}, ("agent", "approvals_list"): broken}
    with running_port(script) as port, watching(port) as connection, connection.makefile("rb") as lines:
        assert json.loads(lines.readline()) == {"error": broken.to_record()}
