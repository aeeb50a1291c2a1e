"""For whom an agent is working, as its own mailbox tells (security 2.24): what admission puts on cards and stamps."""

from __future__ import annotations

from typing import Final

from actors.agent.state import WORKING_FOR_ROW, AgentState, WorkingFor
from actors.decision import Context, Decision, PrincipalKind, Put, Verb, VerbTable
from actors.parsed import DONE, parsed, sending_owner


def working_for_changed(state: AgentState, body: WorkingFor, context: Context) -> Decision:
    if sending_owner(context, "mailbox").id != context.address.id:
        raise ValueError("only an agent's own mailbox tells for whom it works")
    if body == state.working_for:
        return DONE
    return Decision({}, (Put(WORKING_FOR_ROW, body.model_dump()),))


VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {"working_for_changed": Verb(parsed(WorkingFor, working_for_changed), frozenset({PrincipalKind.OWNER}))}
)
