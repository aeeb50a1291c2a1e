"""`nexus approvals`, against a real port that answers from a script."""

from __future__ import annotations

import json

import pytest

from bus.value import Record
from nexus import approvals_cli, exit_codes
from tests.nexus.test_person_approvals import Journal, card, listing, summary
from tests.nexus.test_person_cli import HOSTILE, commands
from tests.nexus.test_person_port import LISTS
from tests.support.scripted_caller import Script
from tools.errors import Code, Refusal

DECIDED: Record = {"approvalId": "b1.p1", "state": "approved", "tool": "canvas_delete"}
SCRIPT: Script = {
    **LISTS,
    ("agent", "approvals_list"): listing(),
    ("agent/-/b1", "approvals_list"): listing(summary("b1", 1, "2027-01-01T00:00:00.000Z")),
    ("agent/-/b1", "approval_show"): card(),
    ("agent/-/b1", "approval_decide"): DECIDED,
}


def test_what_waits_is_listed_with_its_id_agent_and_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, port):
        head, line = run.nexus("approvals", "list").stdout.splitlines()
        assert head.split()[:5] == ["ID", "STATE", "AGENT", "WORKSPACE", "TOOL"]
        assert line.split()[:5] == ["b1.p1", "pending", "Bo", "Shop", "canvas_delete"]
        assert run.json("approvals", "list", "--all", "--agent", "Bo")["approvals"][0]["approvalId"] == "b1.p1"
        port.caller.on("approvals_list", listing(), "agent/-/b1")
        assert run.nexus("approvals", "list").stdout == "Nothing waits for your approval.\n"


def test_approving_prints_the_whole_card_first_and_asks_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 5.4"""
    long: Record = {"text": "x" * 10_000}
    with commands(monkeypatch, {**SCRIPT, ("agent/-/b1", "approval_show"): card(arguments=long)}) as (run, port):
        result = run.nexus("approvals", "approve", "b1.p1")
        assert result.exit_code == exit_codes.OK
        *shown, last = result.stdout.splitlines()
        assert last.startswith("Approved.")
        assert "".join(line[5:] for line in shown if line.startswith("  |")).count("x") >= 10_000
        (decided,) = port.caller.bodies("approval_decide")
        assert decided == {"approvalId": "b1.p1", "decision": "approve", "how": "command"}


def test_approving_with_json_prints_the_card_then_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, _):
        first, second = map(json.loads, run.nexus("approvals", "approve", "b1.p1", "--json").stdout.splitlines())
        assert first["arguments"] == card()["arguments"]
        assert second == DECIDED


@pytest.mark.parametrize("state", ["approved", "in_use", "used", "denied", "expired", "lapsed", "voided"])
def test_what_no_longer_waits_is_shown_and_not_approved(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    """common 5.5"""
    with commands(monkeypatch, {**SCRIPT, ("agent/-/b1", "approval_show"): card(state=state)}) as (run, port):
        result = run.nexus("approvals", "approve", "b1.p1")
        assert result.exit_code == exit_codes.REFUSED
        assert "Nothing was approved" in result.stderr
        assert "canvas_delete" in result.stdout
        assert port.caller.sent_of("approval_decide") == []


def test_a_card_that_changes_between_print_and_decision_is_not_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.4"""
    cards = [card(), card(target={"title": "Swapped"})]
    script: Script = {**SCRIPT, ("agent/-/b1", "approval_show"): lambda _: cards.pop(0)}
    with commands(monkeypatch, script) as (run, port):
        result = run.nexus("approvals", "approve", "b1.p1")
        assert result.exit_code == exit_codes.REFUSED
        assert '"Plan"' in result.stdout and "Swapped" not in result.stdout
        assert "nothing was decided" in result.stderr
        assert port.caller.sent_of("approval_decide") == []


def test_a_late_decision_ends_with_1_and_the_owners_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 5.5"""
    late = Refusal(Code.WRONG_STATE, "This approval has expired. Nothing was changed.")
    with commands(monkeypatch, {**SCRIPT, ("agent/-/b1", "approval_decide"): late}) as (run, _):
        for decision in ("approve", "deny"):
            result = run.nexus("approvals", decision, "b1.p1")
            assert result.exit_code == exit_codes.REFUSED
            assert "has expired" in result.stderr


def test_denying_sends_the_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 5.2"""
    denied: Record = {**DECIDED, "state": "denied"}
    with commands(monkeypatch, {**SCRIPT, ("agent/-/b1", "approval_decide"): denied}) as (run, port):
        assert run.nexus("approvals", "deny", "b1.p1", "--note", "Archive it.").stdout == "Denied. (b1.p1)\n"
        assert run.json("approvals", "deny", "b1.p1")["state"] == "denied"
        assert [body.get("note") for body in port.caller.bodies("approval_decide")] == ["Archive it.", None]


def test_a_malformed_id_is_a_refusal_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, _):
        result = run.nexus("approvals", "show", "p1")
        assert result.exit_code == exit_codes.REFUSED
        assert "nexus approvals list" in result.stderr


def test_watching_prints_each_card_until_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with commands(monkeypatch, {**SCRIPT, ("host", "events"): Journal().answer}) as (run, _):
        monkeypatch.setattr(approvals_cli, "print_line", interrupted)
        result = run.nexus("approvals", "watch")
        assert result.exit_code == exit_codes.OK
        assert result.stdout.startswith("Approval b1.p1\n  state:        waits for your decision\n")
        monkeypatch.setattr(approvals_cli, "print_json", interrupted)
        assert run.nexus("approvals", "watch", "--json").exit_code == exit_codes.OK


def test_what_agents_typed_cannot_act_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    hostile = card(
        agent={"id": "b1", "name": HOSTILE},
        target={HOSTILE: HOSTILE},
        arguments={HOSTILE: [HOSTILE]},
        reason=HOSTILE,
        credential=HOSTILE,
        tool=HOSTILE,
        kind=HOSTILE,
        why=HOSTILE,
        chain=[HOSTILE, "b1"],
        decision={"how": HOSTILE, "at": HOSTILE, "note": HOSTILE},
        plan={"planId": HOSTILE, "number": HOSTILE},
    )
    script: Script = {
        **SCRIPT,
        ("agent/-/b1", "approval_show"): hostile,
        ("agent/-/b1", "approvals_list"): listing({**summary("b1", 1, "t"), "tool": HOSTILE}),
    }
    with commands(monkeypatch, script) as (run, _):
        for typed in (("list",), ("list", "--json"), ("show", "b1.p1"), ("show", "b1.p1", "--json")):
            result = run.nexus("approvals", *typed)
            assert result.exit_code == 0, result.output
            assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)
