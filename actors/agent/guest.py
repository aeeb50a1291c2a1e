"""The unidentified caller: the agent `guest`, of no workspace, off until the person prints its token (common 2.3)."""

from __future__ import annotations

from typing import Final

from actors.agent.authority import TokenReplace
from actors.agent.state import DEFAULT_CREDENTIAL, AgentState, Credential, Head, credential_row
from actors.decision import Context, Decision, Delete, Event, PrincipalKind, Put, Verb, VerbTable
from actors.parsed import Nothing, parsed
from tools.autonomy import GUEST_ID
from tools.errors import NOT_FOUND


def guest_on(state: AgentState, body: TokenReplace, context: Context) -> Decision:
    """The unidentified caller may read from now on, with this token alone (common 2.3)."""
    if context.address.id != GUEST_ID:
        return Decision(NOT_FOUND)
    credential = Credential(hash=body.tokenHash, createdAt=context.now_ms)
    head = state.head or _guest(context)
    effects = (
        Put(credential_row(DEFAULT_CREDENTIAL), credential.model_dump()),
        *head.narrowed(GUEST_ID),
        Event("agent.credential_added", {"agentId": GUEST_ID, "credential": DEFAULT_CREDENTIAL}),
    )
    return Decision({"agentId": GUEST_ID, "isOn": True}, effects)


def guest_off(state: AgentState, body: Nothing, context: Context) -> Decision:
    if context.address.id != GUEST_ID:
        return Decision(NOT_FOUND)
    if state.head is None or not state.credentials:
        return Decision({"agentId": GUEST_ID, "isOn": False})
    effects = (
        *(Delete(credential_row(name)) for name in sorted(state.credentials)),
        *state.head.narrowed(GUEST_ID),
        Event("agent.credential_revoked", {"agentId": GUEST_ID, "credential": DEFAULT_CREDENTIAL}),
    )
    return Decision({"agentId": GUEST_ID, "isOn": False}, effects)


def _guest(context: Context) -> Head:
    return Head(
        name="Guest",
        persona=None,
        kind=GUEST_ID,
        color="#868e96",
        workspaceId="",
        createdAt=context.now_ms,
        mode="auto",
        capabilities=[],
        ran=False,
        version=0,
        removed=False,
    )


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "guest_on": Verb(parsed(TokenReplace, guest_on), _PERSON),
        "guest_off": Verb(parsed(Nothing, guest_off), _PERSON),
    }
)
