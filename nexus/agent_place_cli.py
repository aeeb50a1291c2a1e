"""`nexus agent pin | inherit | rename`: where an agent acts, and under which name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from bus.value import Record
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.output import print_json, print_line, shown

AgentArgument: TypeAlias = Annotated[str, typer.Argument(help="The agent: an id or a name.", metavar="AGENT")]


def register(agents: typer.Typer) -> None:
    """Add the commands to `nexus agent`."""
    agents.command("pin", epilog=examples("nexus agent pin Ada Shop", "nexus agent pin Ada Shop --workspace Website"))(
        agent_pin
    )
    agents.command("inherit", epilog=examples("nexus agent inherit Ada --on", "nexus agent inherit Ada --off"))(
        agent_inherit
    )
    agents.command("rename", epilog=examples("nexus agent rename Ada Grace"))(agent_rename)


def change(home: Path | None, as_json: bool, verb: str, asked: Record, said: Callable[[Record], str]) -> None:
    """Ask for a change and tell of it in one sentence."""
    answer = ask(home, verb, asked, "Changing it")
    if as_json:
        print_json(answer)
    else:
        print_line(said(answer))


def who(answer: Record) -> str:
    """An agent's name and id, for a sentence."""
    return f"{shown(answer.get('name'))} ({shown(answer.get('agentId'))})"


def agent_pin(
    agent: AgentArgument,
    to: Annotated[str, typer.Argument(help="Where it goes: a workspace's id or name.", metavar="WORKSPACE")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Pin an agent to a workspace. It sees nothing of the former one from its next call on, and its roles
    on canvases there end: grant them anew should it come back."""
    asked: Record = {"agent": agent, "to": to, "workspace": workspace}
    change(
        home,
        as_json,
        "agent.pin",
        asked,
        lambda answer: f"Agent {who(answer)} is pinned to {shown(answer.get('workspace'))}.",
    )


def agent_inherit(
    agent: AgentArgument,
    on: Annotated[bool, typer.Option("--on/--off", help="Go along with you, or stay where it is.")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an agent act in whichever workspace is active, or pin it to the one it is in now. Pinned, it
    loses its roles on canvases of the others."""
    asked: Record = {"agent": agent, "inherits": on, "workspace": workspace}
    does = "goes along with the active workspace, now" if on else "stays in"
    change(
        home,
        as_json,
        "agent.inherit",
        asked,
        lambda answer: f"Agent {who(answer)} {does} {shown(answer.get('workspace') or None)}.",
    )


def agent_rename(
    agent: AgentArgument,
    name: Annotated[str, typer.Argument(help="Its new name, as other agents and you will see it.", metavar="NAME")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give an agent another name. One that looks like another agent's of its workspace is refused."""
    asked: Record = {"agent": agent, "name": name, "workspace": workspace}
    change(
        home,
        as_json,
        "agent.rename",
        asked,
        lambda answer: f"Agent {shown(answer.get('formerName'))} is called {who(answer)} now.",
    )
