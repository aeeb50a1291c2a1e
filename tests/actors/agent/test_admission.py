"""The one function that decides whether a call goes on, and its order (common 4.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.agent.admission import (
    BY_MODE,
    CARDS_ARE_FULL,
    AgentFacts,
    CallFacts,
    Verdict,
    admit,
    matching_credential,
    outlook,
)
from actors.agent.plan_book import COLLECTED_MESSAGE
from nexus.gateway.admitting import call_facts
from tools.autonomy import GUEST_ID, Mode
from tools.base import Kind, Tool
from tools.catalogue import TOOLS
from tools.errors import APPROVAL_REQUIRED, Code, Refusal

MEMBER = AgentFacts("w1", frozenset({"mesh"}))


def _call(**facts: Any) -> CallFacts:
    declared = {"tool": "agent_get", "arguments": "valid", "kind": "read", "scope": "workspace", "capability": "mesh"}
    return CallFacts.model_validate({**declared, **facts})


@pytest.mark.parametrize("kind", ["read", "write"])
def test_reads_and_writes_run_in_mode_auto(kind: str) -> None:
    admission = admit(MEMBER, _call(kind=kind))
    assert (admission.authenticated, admission.verdict, admission.refusal) == (True, Verdict.RUNS, None)


@pytest.mark.parametrize("arguments", ["valid", "invalid", "unknown_tool"])
def test_an_unknown_caller_learns_nothing_else(arguments: str) -> None:
    """common 2.3"""
    admission = admit(None, _call(arguments=arguments))
    assert (admission.authenticated, admission.verdict, admission.refusal) == (False, None, None)


def test_an_unknown_tool_is_neither_admitted_nor_refused() -> None:
    """common 6.1: the gateway answers it -32602"""
    admission = admit(MEMBER, CallFacts(tool="nothing", arguments="unknown_tool"))
    assert (admission.authenticated, admission.verdict, admission.refusal) == (True, None, None)


def _refused(agent: AgentFacts, call: CallFacts) -> Code:
    refusal = admit(agent, call).refusal
    assert refusal is not None
    return refusal.code


def test_arguments_are_judged_before_scope() -> None:
    """common 4.1"""
    assert _refused(MEMBER, _call(arguments="invalid", workspaceId="w2")) is Code.INVALID_ARGUMENTS


def test_scope_is_judged_before_capability() -> None:
    """common 4.1"""
    nobody = AgentFacts("w1", frozenset())
    assert _refused(nobody, _call(workspaceId="w2")) is Code.SCOPE_MISMATCH
    assert _refused(nobody, _call(workspaceId="w1")) is Code.CAPABILITY_MISSING


def test_a_scope_that_does_not_resolve_is_never_an_empty_success() -> None:
    """common 3.1"""
    assert _refused(AgentFacts("", frozenset({"mesh"})), _call()) is Code.SCOPE_UNRESOLVED


def test_app_wide_tools_need_no_workspace() -> None:
    """common 3.4"""
    assert admit(AgentFacts("", frozenset({"mesh"})), _call(scope="app")).verdict is Verdict.RUNS


def test_tools_without_a_required_capability_run_without_any() -> None:
    """common 4.5"""
    assert admit(AgentFacts("w1", frozenset()), _call(capability=None)).verdict is Verdict.RUNS


def test_a_missing_capability_is_named_in_the_refusal() -> None:
    refusal = admit(AgentFacts("w1", frozenset()), _call()).refusal
    assert refusal is not None
    assert refusal.details == {"capability": "mesh"}


def test_a_known_tool_without_kind_or_scope_is_a_defect() -> None:
    """common 4.1"""
    with pytest.raises(ValueError, match="declares"):
        admit(MEMBER, CallFacts(tool="agent_get", arguments="valid"))


def test_the_credential_that_matches_is_named() -> None:
    known = {"default": bytes(32), "laptop": bytes([1] * 32)}
    assert matching_credential(known, bytes([1] * 32)) == "laptop"
    assert matching_credential(known, bytes([2] * 32)) is None
    assert matching_credential({}, bytes(32)) is None


@pytest.mark.parametrize(
    ("mode", "write", "irreversible"),
    [
        (Mode.AUTO, Verdict.RUNS, Verdict.ASKS),
        (Mode.APPROVAL, Verdict.ASKS, Verdict.ASKS),
        (Mode.PLAN, None, None),
        (Mode.PLAN_COLLECT, Verdict.COLLECTED, Verdict.COLLECTED),
    ],
)
def test_the_table_of_modes(mode: Mode, write: Verdict | None, irreversible: Verdict | None) -> None:
    """common 4.2"""
    agent = replace(MEMBER, mode=mode)
    assert admit(agent, _call(kind="read")).verdict is Verdict.RUNS
    assert admit(agent, _call(kind="write")).verdict is write
    for kind in ("irreversible", "always_ask"):
        admission = admit(agent, _call(kind=kind))
        assert admission.verdict is irreversible
        assert (admission.refusal is None) == (irreversible is not None)
    if write is None:
        assert _refused(agent, _call(kind="write")) is Code.BLOCKED_BY_AUTONOMY


def test_the_table_of_modes_is_complete() -> None:
    """common 4.2"""
    assert set(BY_MODE) == {(mode, kind) for mode in Mode for kind in Kind if kind is not Kind.READ}


@pytest.mark.parametrize("mode", [*Mode])
def test_after_a_stop_writes_are_refused_in_every_mode_and_reads_go_on(mode: Mode) -> None:
    """common 4.3"""
    agent = replace(MEMBER, mode=mode, plan="stopped")
    assert _refused(agent, _call(kind="write")) is Code.PLAN_STOPPED
    assert admit(agent, _call(kind="read")).verdict is Verdict.RUNS
    ends = _call(tool="plan_end", kind="write", capability=None, passesWhenStopped=True)
    assert admit(agent, ends).verdict is Verdict.RUNS


def test_plan_end_meets_the_mode_as_any_write_unless_the_plan_was_stopped() -> None:
    """common 4.3"""
    agent = replace(MEMBER, mode=Mode.PLAN, plan="running")
    assert _refused(agent, _call(kind="write", passesWhenStopped=True)) is Code.BLOCKED_BY_AUTONOMY


SPENT = Refusal(Code.BUDGET_EXHAUSTED, "Spent.")
FULL = Refusal(Code.STORAGE_FULL, "Full.")


def test_a_spent_budget_refuses_before_any_card_and_only_what_it_counts() -> None:
    """common 4.6"""
    for mode in (Mode.AUTO, Mode.APPROVAL, Mode.PLAN_COLLECT):
        agent = replace(MEMBER, mode=mode, budget=SPENT)
        assert admit(agent, _call(kind="write", isBudgeted=True)).refusal is SPENT
        assert admit(agent, _call(kind="write")).refusal is None
    blocked = replace(MEMBER, mode=Mode.PLAN, budget=SPENT)
    assert _refused(blocked, _call(kind="write", isBudgeted=True)) is Code.BLOCKED_BY_AUTONOMY


def test_a_full_share_of_the_disk_refuses_writes_but_those_that_free_it() -> None:
    """common 8.5"""
    agent = replace(MEMBER, storage=FULL)
    assert admit(agent, _call(kind="write")).refusal is FULL
    assert admit(agent, _call(kind="read")).refusal is None
    assert admit(agent, _call(kind="irreversible", freesSpace=True)).verdict is Verdict.ASKS


def test_a_withheld_tool_is_refused_before_a_missing_capability() -> None:
    """common 4.1"""
    agent = AgentFacts("w1", withheld=frozenset({"agent_get"}))
    assert _refused(agent, _call()) is Code.CAPABILITY_DISABLED


GUEST = AgentFacts("", is_guest=True)


def test_a_guest_reads_what_needs_nothing_and_its_writes_are_refused_first_of_all() -> None:
    """common 2.3"""
    assert admit(GUEST, _call(scope="app", capability=None)).verdict is Verdict.RUNS
    assert admit(GUEST, _call(tool="tool_list", scope="agent")).verdict is Verdict.RUNS
    assert _refused(GUEST, _call(scope="app")) is Code.CAPABILITY_MISSING
    assert _refused(GUEST, _call(kind="write", arguments="invalid")) is Code.UNIDENTIFIED_CALLER


STANDINGS = [
    replace(
        AgentFacts("w1"),
        workspace_id=workspace,
        capabilities=capabilities,
        mode=mode,
        plan=plan,
        budget=budget,
        storage=storage,
        withheld=withheld,
        cards_are_full=are_full,
        is_guest=is_guest,
    )
    for workspace in ("w1", "")
    for capabilities in (frozenset({"mesh"}), frozenset[str]())
    for mode in Mode
    for plan in ("none", "running", "stopped", "collecting")
    for budget in (None, SPENT)
    for storage in (None, FULL)
    for withheld in (frozenset[str](), frozenset({"canvas_create", "tool_set_enabled", "agent_get"}))
    for are_full in (False, True)
    for is_guest in (False, True)
]


def _told(agent: AgentFacts, call: CallFacts) -> str | None:
    """What a call with valid arguments would be told, None when it runs: from admission, not from the outlook."""
    admission = admit(agent, call)
    if admission.refusal is not None:
        return admission.refusal.message
    if admission.verdict is Verdict.ASKS:
        return CARDS_ARE_FULL if agent.cards_are_full else APPROVAL_REQUIRED
    return COLLECTED_MESSAGE if admission.verdict is Verdict.COLLECTED else None


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_disabled_reason_is_the_refusal_for_every_tool_mode_and_circumstance(tool: Tool) -> None:
    """common 4.1"""
    call = CallFacts.model_validate(call_facts(tool))
    for agent in STANDINGS:
        seen = outlook(agent, call)
        assert seen.reason == _told(agent, call)
        assert (seen.status == "available") == (seen.reason is None)
        refusal = admit(agent, call).refusal
        missing = refusal is not None and refusal.code in (Code.CAPABILITY_MISSING, Code.CAPABILITY_DISABLED)
        assert (seen.status == "capability_disabled") == missing


def test_the_guest_has_an_id_that_no_agent_is_given() -> None:
    assert GUEST_ID == "guest"
