"""The one function that decides whether a call goes on, and its order (common 4.1)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.agent.admission import AgentFacts, CallFacts, admit, matching_credential
from tools.errors import Code

MEMBER = AgentFacts("w1", frozenset({"mesh"}))


def _call(**facts: Any) -> CallFacts:
    declared = {"tool": "agent_get", "arguments": "valid", "kind": "read", "scope": "workspace", "capability": "mesh"}
    return CallFacts.model_validate({**declared, **facts})


@pytest.mark.parametrize("kind", ["read", "write"])
def test_reads_and_writes_run_in_mode_auto(kind: str) -> None:
    admission = admit(MEMBER, _call(kind=kind))
    assert (admission.authenticated, admission.admitted, admission.refusal) == (True, True, None)


@pytest.mark.parametrize("arguments", ["valid", "invalid", "unknown_tool"])
def test_an_unknown_caller_learns_nothing_else(arguments: str) -> None:
    """common 2.3"""
    admission = admit(None, _call(arguments=arguments))
    assert (admission.authenticated, admission.admitted, admission.refusal) == (False, False, None)


def test_an_unknown_tool_is_neither_admitted_nor_refused() -> None:
    """common 6.1: the gateway answers it -32602"""
    admission = admit(MEMBER, CallFacts(tool="nothing", arguments="unknown_tool"))
    assert (admission.authenticated, admission.admitted, admission.refusal) == (True, False, None)


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
    assert admit(AgentFacts("", frozenset({"mesh"})), _call(scope="app")).admitted


def test_tools_without_a_required_capability_run_without_any() -> None:
    """common 4.5"""
    assert admit(AgentFacts("w1", frozenset()), _call(capability=None)).admitted


def test_a_missing_capability_is_named_in_the_refusal() -> None:
    refusal = admit(AgentFacts("w1", frozenset()), _call()).refusal
    assert refusal is not None
    assert refusal.details == {"capability": "mesh"}


@pytest.mark.parametrize("kind", ["irreversible", "always_ask"])
def test_kinds_that_need_an_approval_cannot_be_admitted_yet(kind: str) -> None:
    with pytest.raises(ValueError, match="kind"):
        _call(kind=kind)


def test_a_known_tool_without_kind_or_scope_is_a_defect() -> None:
    """common 4.1"""
    with pytest.raises(ValueError, match="declares"):
        admit(MEMBER, CallFacts(tool="agent_get", arguments="valid"))


def test_the_credential_that_matches_is_named() -> None:
    known = {"default": bytes(32), "laptop": bytes([1] * 32)}
    assert matching_credential(known, bytes([1] * 32)) == "laptop"
    assert matching_credential(known, bytes([2] * 32)) is None
    assert matching_credential({}, bytes(32)) is None
