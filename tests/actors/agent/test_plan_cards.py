"""Steps of a collected plan that need a card of their own each: looked at, asked for, run or put back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.agent import approvals, plan_admission
from actors.agent.plan_run import awaits_card, step_approved, step_denied
from actors.agent.plan_steps import StepCall
from actors.decision import Context
from bus.value import Record
from tests.actors.agent.planning import AGENT, FINGERPRINT, Planning
from tests.support.bench import PERSON, owner
from tests.support.reading import at
from tools.errors import Code


@pytest.fixture
def planning() -> Planning:
    return Planning()


def _asking(planning: Planning, kind: str = "irreversible") -> StepCall:
    return replace(planning.write("c9"), tool="canvas_delete_elements", kind=kind)


def _looked(planning: Planning, would: Record, fingerprint: Record | None = None) -> None:
    look = planning.bench.dispatched[-1]
    assert look.is_look
    body: Record = {"callId": look.call_id, "would": would, "fingerprint": fingerprint}
    planning.bench.send("looked", body, owner(look.to))


@pytest.mark.parametrize("kind", ["irreversible", "always_ask"])
def test_a_step_that_needs_a_card_is_looked_at_first_and_runs_once_approved(planning: Planning, kind: str) -> None:
    calls = [_asking(planning, kind), planning.write()]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"ok": {}}, FINGERPRINT)
    (card,) = planning.bench.state.approvals.values()
    assert card.step is not None
    assert (card.step.planId, card.step.number, card.fingerprint) == (plan_id, 1, FINGERPRINT)
    assert planning.phases(plan_id) == ["asked", "collected"]
    assert (
        at(planning.person("plan_show", planId=plan_id), "awaitsApproval")
        == f"{AGENT}.{next(iter(planning.bench.state.approvals))}"
    )
    planning.decide("approve")
    sent = planning.bench.dispatched[-1]
    assert (sent.is_look, sent.call_id, sent.fingerprint) == (False, calls[0].call_id, FINGERPRINT)
    planning.settle(sent.call_id)
    planning.settle(calls[1].call_id)
    assert planning.phases(plan_id) == ["done", "done"]
    planning.assert_reloads()


def test_a_look_has_an_id_of_its_own(planning: Planning) -> None:
    """Under the call's own id the host would keep what the look was answered."""
    call = _asking(planning)
    planning.person("plan_run", planId=planning.collect_all(call))
    (look,) = planning.bench.dispatched
    assert (look.is_look, look.as_of_now, look.call_id != call.call_id) == (True, True, True)


def test_a_step_that_would_fail_makes_no_card(planning: Planning) -> None:
    """common 4.6"""
    plan_id = planning.collect_all(_asking(planning))
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"error": {"code": "not_found", "message": "No.", "retryable": False}})
    assert (planning.bench.state.approvals, planning.phases(plan_id)) == ({}, ["collected"])
    assert at(planning.person("plan_show", planId=plan_id), "halt") == {"number": 1, "code": "not_found"}


def test_a_look_whose_message_died_ends_the_run(planning: Planning) -> None:
    plan_id = planning.collect_all(_asking(planning))
    planning.person("plan_run", planId=plan_id)
    planning.settle(planning.bench.dispatched[-1].call_id, None, Code.OUTCOME_UNKNOWN)
    assert (planning.phases(plan_id), planning.plan(plan_id).phase) == (["collected"], "collecting")


@pytest.mark.parametrize(
    ("limit", "code"), [("approvals_pending_max", "rate_limited"), ("approval_arguments_bytes_max", "too_large")]
)
def test_a_step_for_which_no_card_can_be_made_ends_the_run(
    planning: Planning, monkeypatch: pytest.MonkeyPatch, limit: str, code: str
) -> None:
    for module in (approvals, plan_admission):
        monkeypatch.setattr(module, limit, 0, raising=False)
    plan_id = planning.collect_all(_asking(planning))
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"ok": {}}, FINGERPRINT)
    assert at(planning.person("plan_show", planId=plan_id), "halt", "code") == code


@pytest.mark.parametrize("outcome", ["conflict", "rejected"])
def test_an_outcome_that_changes_nothing_makes_no_card_either(planning: Planning, outcome: str) -> None:
    """common 4.6"""
    plan_id = planning.collect_all(_asking(planning))
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"ok": {"outcome": outcome, "code": "role_required"}}, FINGERPRINT)
    assert planning.bench.state.approvals == {}
    assert at(planning.person("plan_show", planId=plan_id), "halt", "code") == "role_required"


def test_a_denied_step_ends_the_run_there(planning: Planning) -> None:
    plan_id = planning.collect_all(_asking(planning), planning.write())
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"ok": {}}, FINGERPRINT)
    planning.decide("deny")
    assert planning.phases(plan_id) == ["collected", "collected"]
    assert at(planning.person("plan_show", planId=plan_id), "halt", "code") == "approval_denied"
    planning.person("plan_run", planId=plan_id)
    assert planning.bench.dispatched[-1].is_look, "another run asks again"


def test_a_run_that_waits_for_a_card_of_a_revoked_credential_ends(planning: Planning) -> None:
    """common 2.1"""
    plan_id = planning.collect_all(_asking(planning))
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"ok": {}}, FINGERPRINT)
    planning.revoke()
    assert (planning.phases(plan_id), planning.plan(plan_id).phase) == (["collected"], "collecting")


def test_stopping_a_run_withdraws_its_card(planning: Planning) -> None:
    plan_id = planning.collect_all(_asking(planning))
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"open": True}, FINGERPRINT)
    assert awaits_card(planning.bench.state, plan_id, 1)
    planning.person("plan_stop", planId=plan_id)
    assert not awaits_card(planning.bench.state, plan_id, 1)
    assert [approval.state for approval in planning.bench.state.approvals.values()] == ["voided"]
    context = Context(planning.clock.now_ms(), PERSON, "k", planning.bench.address)
    assert step_approved(planning.bench.state, plan_id, 1, FINGERPRINT, "a", context) == ()
    assert step_denied(planning.bench.state, plan_id, 1, context) == ()


def test_an_approved_step_that_is_not_admitted_any_more_is_not_sent(planning: Planning) -> None:
    plan_id = planning.collect_all(_asking(planning))
    planning.person("plan_run", planId=plan_id)
    _looked(planning, {"ok": {}}, FINGERPRINT)
    planning.pin_elsewhere()
    planning.decide("approve")
    assert [sent.is_look for sent in planning.bench.dispatched] == [True]
    assert planning.phases(plan_id) == ["collected"]
    assert [approval.state for approval in planning.bench.state.approvals.values()] == ["voided"]
