"""May a collected step be run, as things stand when its turn comes? What does it cost, and who asks for it?

The order of common 4.1 holds, but for the mode and the plan: the person has ordered the run (work-plan-tool, plan_*).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from actors.agent import approvals, budget
from actors.agent.admission import CallFacts, admit
from actors.agent.approval import AskedBy, Happening, State
from actors.agent.approvals import AskingCall
from actors.agent.plan_steps import StepCall, step_id
from actors.agent.shortening import json_bytes
from actors.agent.standing import standing
from actors.agent.state import AgentState
from actors.decision import Context, Effect, Event
from bus.limits import approval_arguments_bytes_max
from bus.value import Record
from tools.autonomy import Mode
from tools.base import Kind
from tools.catalogue import BY_NAME
from tools.errors import Code, Refusal

_GONE: Final = Refusal(
    Code.UNIDENTIFIED_CALLER,
    "The agent was removed, or the credential that collected this call was revoked. Discard what is left of the plan.",
)
_NARROWED: Final = Refusal(
    Code.NOT_FOUND,
    "The credential that collected this call was narrowed since, and does not know the tool any more. Discard what is "
    "left of the plan.",
)
_NO_SUCH_TOOL: Final = Refusal(
    Code.NOT_FOUND, "The tool that this step calls is not served any more. Discard what is left of the plan."
)
_TOO_LARGE: Final = Refusal(
    Code.TOO_LARGE, "The arguments of this step are too large for a card to show them whole. Discard the plan."
)


def step_refusal(state: AgentState, call: StepCall, context: Context) -> Refusal | None:
    """None when the step may be sent to its owner now."""
    head, tool, credential = state.living(), BY_NAME.get(call.tool), state.credentials.get(call.credential)
    if head is None or credential is None or not state.holds(call.credential, call.credential_made_ms):
        return _GONE
    if tool is None:
        return _NO_SUCH_TOOL
    facts = CallFacts(
        tool=tool.name,
        arguments="valid",
        kind=Kind(call.kind).value,
        scope=tool.scope.value,
        capability=None if tool.capability is None else "mesh",
        workspaceId=call.workspace_id,
        family=tool.family.value,
        isBudgeted=call.creates is not None,
        passesWhenStopped=tool.passes_when_stopped,
        freesSpace=tool.frees_space,
    )
    agent = standing(state, head, credential, context, is_budgeted=call.creates is not None)
    if not agent.is_served(facts.family):
        return _NARROWED
    return admit(replace(agent, mode=Mode.AUTO, plan="none"), facts).refusal


def charged(state: AgentState, call: StepCall, sent_as: str, context: Context) -> tuple[Effect, ...]:
    """What the dispatch of a step, under the id `sent_as`, costs: what only was collected has not been charged
    (work-plan-tool)."""
    if call.creates is None:
        return ()
    told: Record = {"agentId": context.address.id, "tool": call.tool, "callId": sent_as}
    return budget.charged(state.budget, context.now_ms), Event("surface.charged", told)


def asked_for_step(
    state: AgentState, call: StepCall, fingerprint: Record, plan_id: str, number: int, context: Context
) -> tuple[Effect, ...] | Refusal:
    """Makes the card of a step that needs one of its own, or says why there cannot be one now."""
    if json_bytes(call.arguments) > approval_arguments_bytes_max:
        return _TOO_LARGE
    asking = AskingCall(
        tool=call.tool,
        kind=call.kind,
        workspace_id=call.workspace_id,
        # No call of the agent itself ever uses it, so it needs no more than to be its own.
        same_call=hashlib.sha256(step_id(plan_id, number).encode()).digest(),
        arguments=call.arguments,
        target=str(call.target),
        credential=call.credential,
        credential_made_ms=call.credential_made_ms,
        chain=(*call.chain, context.address.id),
        chain_more=call.chain_more,
        step=AskedBy(planId=plan_id, number=number),
    )
    made = approvals.asked(state.approvals, asking, fingerprint, context)
    return made if isinstance(made, Refusal) else made[1]


def card_of_step(state: AgentState, plan_id: str, number: int, context: Context) -> str | None:
    """The approval that the person has still to decide for this step."""
    for id_, approval in state.approvals.items():
        if (
            approval.step == AskedBy(planId=plan_id, number=number)
            and approval.state_at(context.now_ms) is State.PENDING
        ):
            return id_
    return None


def withdrawn(state: AgentState, plan_id: str, number: int, context: Context) -> tuple[Effect, ...]:
    """The card of a step that no run waits for any more ends with it."""
    id_ = card_of_step(state, plan_id, number, context)
    return () if id_ is None else approvals.changed(id_, state.approvals[id_], Happening.REVOKE, context)
