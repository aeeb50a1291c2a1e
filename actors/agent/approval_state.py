"""What has become of an approval, for the gateway that holds its agent's retry (common 5.6). It reads and decides
nothing; only the agent that asked is told."""

from __future__ import annotations

from typing import Final

from actors.agent.admission import matching_credential
from actors.agent.approvals import own_id
from actors.agent.state import AgentState
from actors.credential import TokenHash
from actors.decision import Context, Decision, PrincipalKind, Verb, VerbTable
from actors.parsed import parsed
from tools.base import Identifier, Model


class ApprovalAsked(Model):
    tokenHash: TokenHash
    approvalId: Identifier


def approval_state(state: AgentState, body: ApprovalAsked, context: Context) -> Decision:
    """Answers {authenticated, state}: how it stands now; None for one that is not this agent's."""
    known = {name: credential.hash for name, credential in state.credentials.items()}
    if state.living() is None or matching_credential(known, body.tokenHash) is None:
        return Decision({"authenticated": False, "state": None})
    approval = state.approvals.get(own_id(body.approvalId, context))
    told = None if approval is None else approval.state_at(context.now_ms).value
    return Decision({"authenticated": True, "state": told})


VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {"approval_state": Verb(parsed(ApprovalAsked, approval_state), frozenset({PrincipalKind.GATEWAY}))}
)
