"""The person's side of approvals: lists, cards, decisions (common 5). Agents send none of these verbs (common 5.5)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from actors.agent import approvals, plan_run
from actors.agent.approval import Approval, Happening, State
from actors.agent.state import AgentState, DispatchedCall, dispatched_row
from actors.decision import Context, Decision, Dispatch, Effect, PrincipalKind, Put, Verb, VerbTable
from actors.parsed import DONE, parsed
from bus.limits import note_characters_max
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal
from tools.times import rfc3339

_WHY: Final = {
    "irreversible": "It cannot be undone, so it always needs your approval.",
    "always_ask": "It always needs your approval.",
    "write": "The agent's mode is approval, so each of its writes needs yours.",
}


class ApprovalsList(Model):
    all: bool = False


class ApprovalNamed(Model):
    approvalId: Identifier


class ApprovalDecide(Model):
    approvalId: Identifier
    decision: Literal["approve", "deny"]
    note: Annotated[str, Field(max_length=note_characters_max)] | None = None
    how: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]


class ApprovalDue(Model):
    id: str


def approvals_list(state: AgentState, body: ApprovalsList, context: Context) -> Decision:
    """Those that wait or are granted, or all that are kept; oldest first."""
    listed: list[Value] = []
    for id_, approval in state.approvals.items():
        if body.all or approval.state_at(context.now_ms) in (State.PENDING, State.APPROVED, State.IN_USE):
            listed.append(_summary(id_, approval, context))
    return Decision({"approvals": listed})


def approval_show(state: AgentState, body: ApprovalNamed, context: Context) -> Decision:
    """The card as data: what NEXUS knows first, then what the agent says (common 5.4)."""
    id_ = approvals.own_id(body.approvalId, context)
    approval = state.approvals.get(id_)
    head = state.head
    if approval is None or head is None:
        return Decision(NOT_FOUND)
    reason = approval.arguments.get("reason")
    step = None if approval.step is None else approval.step.model_dump()
    decision: Record | None = None
    if approval.decidedMs is not None:
        decision = {"how": approval.how, "at": rfc3339(approval.decidedMs), "note": approval.note}
    card: Record = {
        **_summary(id_, approval, context),
        "agent": {"id": context.address.id, "name": head.name},
        "why": _WHY[approval.kind],
        "target": approval.fingerprint,
        "owner": approval.target,
        "credential": approval.credential,
        "chain": [*approval.chain],
        "chainMore": approval.chainMore,
        "plan": step,
        "decision": decision,
        "reason": reason if isinstance(reason, str) else None,
        "arguments": approval.arguments,
        "leftOut": {**approval.leftOut},
    }
    return Decision(card)


def approval_decide(state: AgentState, body: ApprovalDecide, context: Context) -> Decision:
    """Once, and in time; whoever decides twice or late is told so (common 5.5)."""
    id_ = approvals.own_id(body.approvalId, context)
    approval = state.approvals.get(id_)
    if approval is None:
        return Decision(NOT_FOUND)
    if body.decision == "approve":
        following = approval.granted(body.how, context.now_ms)
    else:
        following = approval.denied(body.how, body.note or None, context.now_ms)
    if following is None:
        return Decision(_too_late(approval.state_at(context.now_ms)))
    effects, state_after = approvals.decided(id_, following, context), following.state
    if following.step is not None:
        further, state_after = _step_goes_on(state, id_, following, context)
        effects = (*effects, *further)
    reply: Record = {"approvalId": body.approvalId, "state": state_after.value, "tool": approval.tool}
    return Decision(reply, effects)


def approval_due(state: AgentState, body: ApprovalDue, context: Context) -> Decision:
    approval = state.approvals.get(body.id)
    if approval is None or approval.expiresMs > context.now_ms:
        return DONE
    effects = approvals.changed(body.id, approval, Happening.EXPIRE, context)
    if effects and approval.step is not None:
        code = Code.APPROVAL_LAPSED
        effects = (*effects, *plan_run.step_denied(state, approval.step.planId, approval.step.number, context, code))
    return Decision({}, effects)


def _step_goes_on(
    state: AgentState, id_: str, approval: Approval, context: Context
) -> tuple[tuple[Effect, ...], State]:
    """A step of a collected plan goes on, or its run ends, as soon as its card is decided."""
    assert approval.step is not None
    plan_id, number = approval.step.planId, approval.step.number
    if approval.state is State.DENIED:
        return plan_run.step_denied(state, plan_id, number, context), State.DENIED
    effects = plan_run.step_approved(state, plan_id, number, approval.fingerprint, id_, context)
    sent = [effect for effect in effects if isinstance(effect, Dispatch)]
    if not sent:  # no run waits for it any more, or the step is refused as things stand now: nothing will use it
        return (*effects, *approvals.changed(id_, approval, Happening.REVOKE, context)), State.VOIDED
    row = DispatchedCall(target=approval.target, approvalId=id_)
    used = approvals.changed(id_, approval, Happening.USE, context)
    return (*effects, *used, Put(dispatched_row(sent[0].call_id), row.model_dump())), State.IN_USE


def _summary(id_: str, approval: Approval, context: Context) -> Record:
    return {
        "approvalId": approvals.approval_id(context.address.id, id_),
        "state": approval.state_at(context.now_ms).value,
        "agentId": context.address.id,
        "workspaceId": approval.workspaceId,
        "tool": approval.tool,
        "kind": approval.kind,
        "waitsForStep": approval.step is not None,
        "createdAt": rfc3339(approval.askedMs),
        "expiresAt": rfc3339(approval.expiresMs),
        "decidedAt": None if approval.decidedMs is None else rfc3339(approval.decidedMs),
    }


def _too_late(state: State) -> Refusal:
    was = {
        State.APPROVED: "was approved already",
        State.IN_USE: "was approved, and its call is under way",
        State.USED: "was approved, and its call has run",
        State.DENIED: "was denied already",
        State.EXPIRED: "has expired",
        State.LAPSED: "has lapsed, because what it was for changed",
        State.VOIDED: "is void, because whatever asked for it is gone: the credential, the agent or the run",
    }.get(state, "is not pending")
    return Refusal(Code.WRONG_STATE, f"This approval {was}. Nothing was changed.", details={"state": state.value})


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "approvals_list": Verb(parsed(ApprovalsList, approvals_list), _PERSON),
        "approval_show": Verb(parsed(ApprovalNamed, approval_show), _PERSON),
        "approval_decide": Verb(parsed(ApprovalDecide, approval_decide), _PERSON),
        approvals.DUE: Verb(parsed(ApprovalDue, approval_due), frozenset({PrincipalKind.TIMER})),
    }
)
