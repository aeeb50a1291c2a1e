"""An agent's rows as the facts that admission judges by. Pure."""

from __future__ import annotations

from actors.agent import budget, plan_steps, stored
from actors.agent.admission import AgentFacts, PlanPhase
from actors.agent.approvals import pending_count
from actors.agent.state import AgentState, Credential, Head
from actors.decision import Context
from bus.limits import approvals_pending_max
from tools.autonomy import Mode
from tools.setting_catalogue import STRICTEST_OF_CHAIN


def mode_in_force(state: AgentState, head: Head, context: Context) -> Mode:
    """Its own mode, or, if the person wants that, the strictest of those who led to its tasks (security 2.24)."""
    own, of_chain = head.autonomy, Mode(state.working_for.strictest)
    if of_chain.is_narrower_than(own) and context.settings.of(STRICTEST_OF_CHAIN):
        return of_chain
    return own


def standing(
    state: AgentState,
    head: Head,
    credential: Credential,
    context: Context,
    *,
    is_budgeted: bool = False,
    counts_cards: bool = False,
) -> AgentFacts:
    """What is true of the agent now, for calls with `credential`; `head` is the living agent's. What few calls need is
    worked out only for them."""
    plan = plan_steps.open_plan(state)
    phase: PlanPhase = "none" if plan is None else plan.phase
    return AgentFacts(
        workspace_id=head.workspaceId,
        capabilities=frozenset(head.capabilities),
        mode=mode_in_force(state, head, context),
        is_guest=head.is_guest,
        withheld=frozenset(state.withheld),
        plan=phase,
        budget=budget.refusal(state.budget, context.settings, context.now_ms) if is_budgeted else None,
        storage=stored.refusal(state, context),
        cards_are_full=counts_cards and pending_count(state.approvals, context.now_ms) >= approvals_pending_max,
        families=None if credential.families is None else frozenset(credential.families),
    )
