"""`nexus channel`: the person's commands on channels, and on what agents have asked for (mesh 6)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from bus.value import Record, records
from nexus import exit_codes
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.output import escape, fail, fields, print_json, print_line, print_lines, print_list, shown

Channel = Annotated[str, typer.Argument(help="The channel: an id or a name.")]
Agent = Annotated[str, typer.Argument(help="The agent: an id or a name.")]
Request = Annotated[str, typer.Argument(help="The request's id; `nexus channel requests` shows it.")]
Note = Annotated[str | None, typer.Option("--note", help="A word to the agent that asked; at most 200 characters.")]

channels = typer.Typer(help="Channels: groups of agents within a workspace, as you say.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus`."""
    app.add_typer(channels, name="channel", no_args_is_help=True)


@channels.command("list", epilog=examples("nexus channel list", "nexus channel list --workspace Website --json"))
def channel_list(workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show channels, with how many members they have and how many requests wait for you."""
    answer = ask(home, "channel.list", {"workspace": workspace}, "Reading the channels")
    rows = [
        (one.get("channelId"), one.get("name"), one.get("workspace"), one.get("members"), one.get("requests"))
        for one in records(answer, "channels")
    ]
    columns = ("id", "name", "workspace", "members", "requests")
    print_list(answer, as_json, columns, rows, "No channel yet: nexus channel create NAME --workspace W")


@channels.command("show", epilog=examples("nexus channel show Reviews", "nexus channel show Reviews --json"))
def channel_show(
    channel: Channel, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Show one channel: its members, and what waits for you."""
    answer = ask(home, "channel.show", {"channel": channel, "workspace": workspace}, "Reading the channel")
    if as_json:
        print_json(answer)
    else:
        print_lines(_lines(answer))


@channels.command("create", epilog=examples("nexus channel create Reviews --workspace Website"))
def channel_create(
    name: Annotated[str, typer.Argument(help="Its name; no two in a workspace may look alike.")],
    workspace: Annotated[str, typer.Option("--workspace", "-w", help="The workspace: an id or a name.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a channel. It has no members yet."""
    answer = ask(home, "channel.create", {"name": name, "workspace": workspace}, "Making the channel")
    _said(answer, as_json, f"Channel {escape(name)} made: {shown(answer.get('channelId'))}")


@channels.command("rename", epilog=examples("nexus channel rename Reviews 'Code reviews'"))
def channel_rename(
    channel: Channel,
    name: Annotated[str, typer.Argument(help="Its new name.")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a channel another name."""
    asked: Record = {"channel": channel, "name": name, "workspace": workspace}
    answer = ask(home, "channel.rename", asked, "Renaming the channel")
    _said(answer, as_json, f"Channel {shown(answer.get('formerName'))} is now called {shown(answer.get('name'))}.")


@channels.command("delete", epilog=examples("nexus channel delete Reviews --yes"))
def channel_delete(
    channel: Channel,
    yes: Annotated[bool, typer.Option("--yes", help="Yes: delete it, with who is a member.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a channel. Its members stay what they are otherwise; requests for it end."""
    if not yes:
        raise fail(
            "The channel is gone then, with who is a member and what waits for it; the agents stay. Add --yes to "
            "delete it.",
            exit_codes.USAGE,
        )
    answer = ask(home, "channel.delete", {"channel": channel, "workspace": workspace}, "Deleting the channel")
    _said(answer, as_json, f"Channel {_named(answer)} is deleted.")


@channels.command("add", epilog=examples("nexus channel add Reviews Ada"))
def channel_add(
    channel: Channel,
    agent: Agent,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an agent of the channel's workspace join it."""
    answer = _member(home, "channel.add", channel, agent, workspace)
    _said(answer, as_json, f"Agent {shown(answer.get('agent'))} is a member of {shown(answer.get('name'))}.")


@channels.command("remove", epilog=examples("nexus channel remove Reviews Ada"))
def channel_remove(
    channel: Channel,
    agent: Agent,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an agent out of a channel. What it asked for there ends."""
    answer = _member(home, "channel.remove", channel, agent, workspace)
    _said(answer, as_json, f"Agent {shown(answer.get('agent'))} is no member of {shown(answer.get('name'))} any more.")


@channels.command("requests", epilog=examples("nexus channel requests", "nexus channel requests -w Website --json"))
def channel_requests(workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show what agents have asked for and you have not decided: that another agent may join a channel."""
    answer = ask(home, "channel.requests", {"workspace": workspace}, "Reading the requests")
    waiting = records(answer, "requests")
    if as_json:
        print_json(answer)
    elif not waiting:
        print_line("No request waits.")
    else:
        for one in waiting:
            print_lines(_request(one))


@channels.command("accept", epilog=examples("nexus channel accept 01k3..."))
def channel_accept(
    request: Request,
    note: Note = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the agent join, and tell the one that asked."""
    _decide(home, request, "accept", note, workspace, as_json=as_json)


@channels.command("decline", epilog=examples("nexus channel decline 01k3... --note 'Not yet.'"))
def channel_decline(
    request: Request,
    note: Note = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decline a request, and tell the agent that asked."""
    _decide(home, request, "decline", note, workspace, as_json=as_json)


def _decide(
    home: Path | None,
    request: str,
    decision: Literal["accept", "decline"],
    note: str | None,
    workspace: str | None,
    *,
    as_json: bool,
) -> None:
    asked: Record = {"requestId": request, "decision": decision, "note": note, "workspace": workspace}
    answer = ask(home, "channel.decide", asked, "Deciding the request")
    agent, channel = shown(answer.get("agent")), shown(answer.get("channelName"))
    said = f"Agent {agent} has joined {channel}" if decision == "accept" else f"Agent {agent} does not join {channel}"
    _said(answer, as_json, f"{said}; {shown(answer.get('requester'))} is told.")


def _member(home: Path | None, verb: str, channel: str, agent: str, workspace: str | None) -> Record:
    asked: Record = {"channel": channel, "agent": agent, "workspace": workspace}
    return ask(home, verb, asked, "Changing the channel")


def _said(answer: Record, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(answer)
    else:
        print_line(sentence)


def _lines(answer: Record) -> Iterator[str]:
    yield f"Channel {_named(answer)} of workspace {shown(answer.get('workspace'))}"
    members = records(answer, "members")
    yield f"  {len(members)} members" + (":" if members else "")
    for one in members:
        away = "" if one.get("isHere") is True else "  (acts in another workspace now)"
        yield f"    {shown(one.get('name'))}  {shown(one.get('agentId'))}{away}"
    for one in records(answer, "requests"):
        yield from (f"  {line}" for line in _request(one))


def _request(one: Record) -> Iterator[str]:
    """What NEXUS knows first, and the agent's own words marked as such (common 5.4)."""
    yield f"Request {shown(one.get('requestId'))}"
    known: Record = {
        "asked by": one.get("requester"),
        "to join": one.get("agent"),
        "channel": one.get("channelName"),
        "workspace": one.get("workspace"),
        "at": one.get("at"),
    }
    yield from (f"  {line}" for line in fields(known))
    if one.get("note") is not None:
        yield f"  note, in the agent's own words: {shown(one.get('note'))}"


def _named(answer: Record) -> str:
    return f"{shown(answer.get('name'))} ({shown(answer.get('channelId'))})"
