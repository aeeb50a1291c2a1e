"""May a collected step be run, as things stand when its turn comes? (work-plan-tool, plan_*)"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from actors.agent import approvals
from actors.agent.admission import CallFacts, Mode, admit
from actors.agent.approval import AskedBy
from actors.agent.approvals import AskingCall
from actors.agent.plan_steps import StepCall
from actors.agent.standing import standing
from actors.agent.state import AgentState
from actors.decision import Context, Effect
from bus.value import Record
from tools.catalogue import BY_NAME
from tools.errors import Code, Refusal

_GONE: Final = Refusal(
    Code.UNIDENTIFIED_CALLER,
    "The agent was removed, or the credential that collected this call was revoked. Discard what is left of the plan.",
)
_NO_SUCH_TOOL: Final = Refusal(
    Code.NOT_FOUND, "The tool that this step calls is not served any more. Discard what is left of the plan."
)


def step_refusal(state: AgentState, call: StepCall, context: Context) -> Refusal | None:
    """None when the step may be dispatched now: as things stand, but for the mode, since the person runs it."""
    head, tool = state.living(), BY_NAME.get(call.tool)
    if head is None or call.credential not in state.credentials:
        return _GONE
    if tool is None:
        return _NO_SUCH_TOOL
    facts = CallFacts(
        tool=tool.name,
        arguments="valid",
        kind="write",
        scope=tool.scope.value,
        capability=None if tool.capability is None else "mesh",
        workspaceId=call.workspace_id,
        isBudgeted=tool.budgeted,
        freesSpace=tool.frees_space,
    )
    facts_now = standing(state, head, context, is_budgeted=tool.budgeted)
    return admit(replace(facts_now, mode=Mode.AUTO, plan="none"), facts).refusal


def asked_for_step(
    state: AgentState, call: StepCall, fingerprint: Record, plan_id: str, number: int, context: Context
) -> tuple[Effect, ...] | Refusal:
    """Makes the card of a step that needs one of its own, or says why there cannot be one now."""
    asking = AskingCall(
        tool=call.tool,
        kind=call.kind,
        workspace_id=call.workspace_id,
        same_call=hashlib.sha256(call.call_id.encode()).digest(),  # no call of the agent itself uses it
        arguments=call.arguments,
        target=str(call.target),
        credential=call.credential,
        chain=(context.address.id,),
        step=AskedBy(planId=plan_id, number=number),
    )
    made = approvals.asked(state.approvals, asking, fingerprint, context)
    return made if isinstance(made, Refusal) else made[1]
