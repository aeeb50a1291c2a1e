"""How a workspace ends: the directory's part of the saga (ARCHITECTURE, Owners; workspace.md, workspace_delete).

    workspace_delete -> `deleting` committed: it is there for nobody any more, and its agents are nowhere
      -> `destroy` to the workspace's owner, which destroys its canvases and says `workspace_destroyed`
      -> the row is removed, and whoever called is answered

Every message can be sent again, and is until it is acknowledged: the owner answers a repeated `destroy` by what is
left.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from actors.decision import (
    Answer,
    CancelTimer,
    Context,
    Decision,
    Delete,
    Effect,
    Event,
    Message,
    PrincipalKind,
    Put,
    Send,
    SetTimer,
    Verb,
    VerbTable,
)
from actors.directory.agents import removing
from actors.directory.channel_members import gone_died
from actors.directory.scopes import left_behind, renaming, scoping
from actors.directory.state import Deleting, DirectoryState, workspace_row
from actors.directory.workspaces import activating, shown_of
from actors.parsed import DONE, parsed, sending_owner
from bus import address
from bus.limits import saga_retry_ms, saga_retry_ms_max
from bus.value import Record
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal
from tools.workspace import WorkspaceDeleteInput

_LAST: Final = Refusal(
    Code.LAST_WORKSPACE, "This is the only workspace, and there has to be one. Make another one before you delete it."
)


class WorkspaceDestroyed(Model):
    workspaceId: Identifier


class DeletionDue(Model):
    workspaceId: str
    attempts: int = Field(ge=1)


class TellAgain(Model):
    agentId: str


def workspace_delete(state: DirectoryState, body: WorkspaceDeleteInput, context: Context) -> Decision:
    """Leaves the call open until the workspace is gone."""
    workspace_id = body.workspaceId
    workspace = state.living(workspace_id)
    if workspace is None:
        return Decision(NOT_FOUND)
    others = [other for other in state.living_ids() if other != workspace_id]
    if not others:
        return Decision(_LAST)
    agents = [agent_id for agent_id in state.agents_of(workspace_id) if agent_id not in state.inheriting]
    marked = workspace.model_copy(update={"deleting": Deleting(calls=[context.call_id], agents=agents)})
    effects: list[Effect] = [Put(workspace_row(workspace_id), marked.model_dump())]
    if state.active == workspace_id:
        effects += activating(state, min(others, key=lambda other: (state.workspaces[other].createdAt, other)))
    effects += left_behind(state, workspace_id)
    effects += _destroying(workspace_id, 1, context)
    effects.append(Event("workspace.deleting", {"workspaceId": workspace_id, "agents": len(agents)}))
    return Decision(None, tuple(effects))


def workspace_destroyed(state: DirectoryState, body: WorkspaceDestroyed, context: Context) -> Decision:
    """All of it is gone."""
    if sending_owner(context, "workspace") != address.workspace(body.workspaceId):
        raise ValueError("a workspace's owner tells of itself only")
    workspace = state.workspaces.get(body.workspaceId)
    if workspace is None or workspace.deleting is None:
        return DONE
    reply: Record = {"id": body.workspaceId, "name": workspace.name}
    effects: list[Effect] = [
        Delete(workspace_row(body.workspaceId)),
        CancelTimer(_timer(body.workspaceId)),
        Event("workspace.deleted", {"workspaceId": body.workspaceId}),
        *(Answer(call_id, reply) for call_id in workspace.deleting.calls),
    ]
    # Told once more, for this commit's answer waits for it: then no agent that was left behind acts there any more.
    effects += [
        scoping(agent_id, state.agents[agent_id]) for agent_id in workspace.deleting.agents if agent_id in state.agents
    ]
    return Decision({}, tuple(effects))


def deletion_due(state: DirectoryState, body: DeletionDue, context: Context) -> Decision:
    """It takes long: remind the workspace's owner, later each time."""
    workspace = state.workspaces.get(body.workspaceId)
    if workspace is None or workspace.deleting is None:
        return DONE
    return Decision({}, tuple(_destroying(body.workspaceId, body.attempts + 1, context)))


def message_died(state: DirectoryState, message: Message, context: Context) -> Decision:
    """Nobody could decide a message of ours. A deletion is reminded by its timer anyhow; an agent is told again, for
    its owner admits its calls by what it was told."""
    if message.body.get("verb") in ("member_gone", "member_left"):
        return gone_died(state, message, context)
    body = message.body.get("body")
    agent_id = body.get("agentId") if isinstance(body, dict) else None
    is_agents = message.body.get("verb") in ("scope_changed", "renamed") and agent_id in state.agents
    is_removal = message.body.get("verb") == "agent_removed" and agent_id in state.removed
    if not is_agents and not is_removal:
        return DONE
    return Decision({}, (_told_later(str(agent_id), context),))


def tell_again(state: DirectoryState, body: TellAgain, context: Context) -> Decision:
    removed = state.removed.get(body.agentId)
    if removed is not None and not removed.isTold:
        return Decision({}, (removing(body.agentId),))
    agent = state.agents.get(body.agentId)
    if agent is None:
        return DONE
    return Decision({}, (scoping(body.agentId, agent), renaming(body.agentId, agent.name)))


def _told_later(agent_id: str, context: Context) -> SetTimer:
    return SetTimer(f"tell/{agent_id}", context.now_ms + saga_retry_ms_max, "tell_again", {"agentId": agent_id})


def _destroying(workspace_id: str, attempts: int, context: Context) -> list[Effect]:
    wait_ms = min(saga_retry_ms << min(attempts - 1, 16), saga_retry_ms_max)
    again: Record = {"workspaceId": workspace_id, "attempts": attempts}
    return [
        Send(address.workspace(workspace_id), "destroy", {}),
        SetTimer(_timer(workspace_id), context.now_ms + wait_ms, "deletion_due", again),
    ]


def _timer(workspace_id: str) -> str:
    return f"deleting/{workspace_id}"


_OWNER: Final = frozenset({PrincipalKind.OWNER})
_TIMER: Final = frozenset({PrincipalKind.TIMER})
_CALLERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})

VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {
        "workspace_delete": Verb(parsed(WorkspaceDeleteInput, workspace_delete), _CALLERS, fingerprint=shown_of),
        "workspace_destroyed": Verb(parsed(WorkspaceDestroyed, workspace_destroyed), _OWNER),
        "deletion_due": Verb(parsed(DeletionDue, deletion_due), _TIMER),
        "message_died": Verb(message_died, _OWNER),
        "tell_again": Verb(parsed(TellAgain, tell_again), _TIMER),
    }
)
