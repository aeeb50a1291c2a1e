"""`nexus agent pause | resume | block | unblock`: whether an agent is sent tasks, and by whom (mesh 2.1)."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from bus.value import Record, Value, records
from nexus.agent_place_cli import AgentArgument, change, who
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, examples
from nexus.output import shown

_FROM: Final = typer.Option("--from", help="The agent that sends: an id or a name.")


_SHOWN: Final = 10
"""Tasks that are shown before an agent is removed; all are counted."""


def register(agents: typer.Typer) -> None:
    """Add the commands to `nexus agent`."""
    agents.command("pause", epilog=examples("nexus agent pause Ada", "nexus agent pause Ada --json"))(agent_pause)
    agents.command("resume", epilog=examples("nexus agent resume Ada"))(agent_resume)
    agents.command("block", epilog=examples("nexus agent block Ada --from Bo"))(agent_block)
    agents.command("unblock", epilog=examples("nexus agent unblock Ada --from Bo"))(agent_unblock)


def agent_pause(
    agent: AgentArgument, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Offer an agent no task until you resume it, and let nobody send it one. What waits for it is kept."""
    asked: Record = {"agent": agent, "paused": True, "workspace": workspace}
    change(home, as_json, "agent.pause", asked, lambda answer: f"Agent {who(answer)} is paused.")


def agent_resume(
    agent: AgentArgument, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Offer a paused agent its tasks again, and let others send to it."""
    asked: Record = {"agent": agent, "paused": False, "workspace": workspace}
    change(home, as_json, "agent.pause", asked, lambda answer: f"Agent {who(answer)} is offered tasks again.")


def agent_block(
    agent: AgentArgument,
    sender: Annotated[str, _FROM],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let one agent no longer send tasks to this one. Those that it sent before are kept."""
    asked: Record = {"agent": agent, "sender": sender, "blocked": True, "workspace": workspace}
    change(home, as_json, "agent.block", asked, lambda answer: f"Agent {_sender(answer)} cannot send to {who(answer)}.")


def agent_unblock(
    agent: AgentArgument,
    sender: Annotated[str, _FROM],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an agent send tasks to this one again."""
    asked: Record = {"agent": agent, "sender": sender, "blocked": False, "workspace": workspace}
    said = "is no longer blocked from sending to"
    change(home, as_json, "agent.block", asked, lambda answer: f"Agent {_sender(answer)} {said} {who(answer)}.")


def mode_text(agent: Record) -> Value:
    """Its mode, and beside it that it is paused: what decides whether anything comes of it."""
    return f"{shown(agent.get('mode'))} (paused)" if agent.get("paused") is True else agent.get("mode")


def blocked_names(agent: Record) -> list[Value]:
    """Who cannot send to it: names, and ids of those that are gone."""
    listed = agent.get("blocked")
    return [
        one.get("name") or one.get("agentId") if isinstance(one, dict) else one
        for one in (listed if isinstance(listed, list) else [])
    ]


def removal_lines(removal: Record) -> list[str]:
    """What removing an agent would end."""
    return [*_ends(removal), *_roles_lines(removal)]


def _roles_lines(removal: Record) -> list[str]:
    """What becomes of its canvases (canvas 1.1)."""
    if removal.get("canvasesUnread") is not None:
        unread = shown(removal.get("canvasesUnread"))
        return [f"Its canvases cannot be read now ({unread}): its roles on them would end."]
    held, alone = removal.get("canvases"), removal.get("ownedAlone")
    if not held:
        return []
    lines = [f"Its role on {_canvases(held)} ends: its locks go, and its proposals there wait for you alone."]
    if alone:
        lines.append(f"It is the only owner of {_canvases(alone)}, which only you can delete then.")
    return lines


def _canvases(count: Value) -> str:
    return f"{shown(count)} {'canvas' if count == 1 else 'canvases'}"


def _ends(removal: Record) -> list[str]:
    threads = records(removal, "threads")
    ends = f"Removing agent {who(removal)} stops its tokens and takes it out of its channels and teams"
    if removal.get("unread") is not None:
        return [f"{ends}. Its mailbox cannot be read now ({shown(removal.get('unread'))}): open tasks in it would end."]
    if not threads:
        return [f"{ends}. It has no open task."]
    count = f"{len(threads)}{' or more' if removal.get('truncated') is True else ''}"
    lines = [f"{ends}, and ends {count} open {'task' if count == '1' else 'tasks'} as cancelled:"]
    for one in threads[:_SHOWN]:
        sender = one.get("from")
        by = who(sender) if isinstance(sender, dict) else shown(sender)
        lines.append(f"  {shown(one.get('threadId'))}  {shown(one.get('state'))}  from {by}: {shown(one.get('title'))}")
    return [*lines, "  ..."] if len(threads) > _SHOWN else lines


def works_for(agent: Record) -> dict[str, Value]:
    """Of one that was given tasks and did not end them: by whom, and the strictest of the modes under which they sent
    (security 2.24)."""
    told = agent.get("workingFor")
    told = told if isinstance(told, dict) else {}
    named = [f"{shown(one.get('name'))} ({shown(one.get('agentId'))})" for one in records(told, "originators")]
    if not named:
        return {}
    more = {"works for, unnamed": f"{shown(told.get('more'))} more"} if told.get("more") else {}
    return {"works for": [*named], **more, "their mode": told.get("strictest")}


def _sender(answer: Record) -> str:
    sender = answer.get("sender")
    return who(sender) if isinstance(sender, dict) else shown(sender)
