"""From a tool's route and its arguments to the one owner that decides the call. Pure.

Invariant: every try of one call goes to the same owner, also when the call makes something new. The owner knows a call
by its id, so only there can a repeat be answered as the first try was.
"""

from __future__ import annotations

from typing import Final, assert_never

from bus import address
from bus.address import Address
from bus.identifier import made_id
from bus.value import Record
from tools.base import Route, Scope, Tool

NEVER_AN_ID: Final = "no-such-id"
"""Well formed, and never made by `Clock.new_id`, whose ids hold no hyphen: its owner never has state, so that an id
that cannot exist is answered by the same owner code, in the same words, as one that does not (common 3.3)."""

_WORKSPACE_IS_THE_TARGET: Final = frozenset({"workspace_get", "workspace_update", "workspace_delete"})


def claimed_workspace(tool: Tool, arguments: Record) -> str | None:
    """The workspaceId that admission compares with the caller's scope; None when it is a target (common 3.2)."""
    if tool.scope is not Scope.WORKSPACE or tool.name in _WORKSPACE_IS_THE_TARGET:
        return None
    claimed = arguments.get("workspaceId")
    return claimed if isinstance(claimed, str) else None


def owner_of(tool: Tool, arguments: Record, stamp: Record, call_id: str) -> Address:
    """The address that decides this call. `stamp` is admission's: the caller's id and resolved scope.

    What a call makes has an id that follows from the call's own, so that a repeat reaches the same owner. A canvas is
    addressed under the caller's own workspace, so another workspace's id names an owner without rows.
    """
    agent_id, workspace_id = _part(stamp.get("agentId")), _part(stamp.get("workspaceId"))
    match tool.route:
        case Route.CANVAS:
            return address.canvas(workspace_id, _part(arguments.get("canvasId")))
        case Route.NEW_CANVAS:
            return address.canvas(workspace_id, made_id(call_id, "canvas"))
        case Route.WORKSPACE:
            return address.workspace(workspace_id)
        case Route.OWN_AGENT:
            return address.agent(agent_id)
        case Route.NAMED_AGENT:
            return address.agent(_part(arguments.get("agentId")))
        case Route.OWN_MAILBOX:
            return address.mailbox(agent_id)
        case Route.DIRECTORY:
            return address.DIRECTORY
        case Route.SETTINGS:
            return address.SETTINGS
        case Route.TEAMS:
            return address.TEAMS
        case Route.PROVIDERS:
            return address.PROVIDERS
        case Route.COMPOSED:
            raise ValueError(f"{tool.name} is composed of several owners' answers and has no single address")
        case _:
            assert_never(tool.route)


def _part(value: object) -> str:
    return value if isinstance(value, str) and address.is_id(value) else NEVER_AN_ID
