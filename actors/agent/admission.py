"""May this call go on? The one function that decides it, before anything is routed (common 4.1).

In order: known tool, identity, arguments, scope, withheld capability, required capability. A bad token comes before
all of them (common 2.3), so an unauthenticated caller learns nothing about tools. Stopped plans, autonomy other than
`auto` and creation budgets have no state yet; they follow here, in this order, when they do. In mode `auto` reads and
writes run; kinds that need an approval cannot be expressed, so a tool of such a kind is never admitted by accident.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tools.base import Capability, Model
from tools.errors import Code, Refusal, invalid_arguments


class CallFacts(Model):
    """What the gateway found out about a call, and the declaration of its tool."""

    tool: str
    arguments: Literal["valid", "invalid", "unknown_tool"]
    kind: Literal["read", "write"] | None = None
    """None only for an unknown tool, like `scope`."""
    scope: Literal["workspace", "app"] | None = None
    capability: Literal["mesh"] | None = None
    workspaceId: str | None = None
    """The scope that the caller claims, when the tool takes it as a check and not as its target (common 3.2)."""


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What the agent's owner knows about a caller that proved who it is."""

    workspace_id: str
    """Empty when nothing resolves."""
    capabilities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Admission:
    """`admitted`: a stamp may be given. Neither that nor a refusal: no such tool, which the gateway answers itself
    (-32602, common 6.1), or, unauthenticated, 401."""

    authenticated: bool
    admitted: bool = False
    refusal: Refusal | None = None


def admit(agent: AgentFacts | None, call: CallFacts) -> Admission:
    """`agent` is None when no credential matched."""
    if agent is None:
        return Admission(authenticated=False)
    if call.arguments == "unknown_tool":
        return Admission(authenticated=True)
    refusal = _refusal(agent, call)
    return Admission(authenticated=True, admitted=refusal is None, refusal=refusal)


def matching_credential(credentials: Mapping[str, bytes], token_hash: bytes) -> str | None:
    """The name of the credential whose hash this is. Takes as long whichever matches, so timing tells nothing."""
    found: str | None = None
    for name, known in credentials.items():
        if hmac.compare_digest(known, token_hash):
            found = name
    return found


def _refusal(agent: AgentFacts, call: CallFacts) -> Refusal | None:
    if call.arguments == "invalid":
        return invalid_arguments({})  # the gateway, which validated them, adds the fields
    if call.kind is None or call.scope is None:
        raise ValueError("a known tool declares its kind and scope")
    if call.scope == "workspace":
        if not agent.workspace_id:
            return Refusal(
                Code.SCOPE_UNRESOLVED,
                "You are pinned to no workspace, so there is nothing to look in. Ask the person to pin you to one.",
            )
        if call.workspaceId not in (None, agent.workspace_id):
            return Refusal(
                Code.SCOPE_MISMATCH,
                "The workspaceId that you gave is not your own workspace. Leave it out, or call workspace_current.",
            )
    if call.capability == Capability.MESH.value and call.capability not in agent.capabilities:
        return Refusal(
            Code.CAPABILITY_MISSING,
            "This tool needs the mesh capability, which you do not have. Only the person can give it.",
            details={"capability": call.capability},
        )
    return None
