"""May a collected step be run, as things stand when its turn comes? (work-plan-tool, plan_*)"""

from __future__ import annotations

from typing import Final

from actors.agent.admission import AgentFacts, CallFacts, admit
from actors.agent.plan_steps import StepCall
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

_NO_CARDS: Final = Refusal(
    Code.WRONG_STATE, "This step needs an approval of its own, and nothing asks for approvals yet. Discard the plan."
)


def step_refusal(state: AgentState, call: StepCall, context: Context) -> Refusal | None:
    """None when the step may be dispatched now."""
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
    )
    return admit(AgentFacts(head.workspaceId, frozenset(head.capabilities)), facts).refusal


def asked_for_step(
    state: AgentState, call: StepCall, fingerprint: Record, plan_id: str, number: int, context: Context
) -> tuple[Effect, ...] | Refusal:
    """Makes the card of a step that needs one of its own, or says why there cannot be one now."""
    return _NO_CARDS
