"""`nexus-bus`: look at owners, mailboxes and the journal of a running NEXUS.

These commands read and change nothing; nexus/bus_upkeep_cli.py and nexus/bus_mesh_cli.py have the others.
"""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from bus.events import CATALOGUE
from bus.limits import events_shown_default, events_shown_max
from bus.value import Record, records
from nexus import bus_mesh_cli, bus_upkeep_cli
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples, follow
from nexus.command import run_command
from nexus.mesh_needs import needs_lines
from nexus.output import escape, fields, json_text, print_json, print_line, print_lines, shown, table, time_text

_ADDRESS_HELP: Final = "An owner's address: kind/workspace/id, as `nexus-bus ls` shows it."

_OF_THE_MESH: Final = (None, "mailbox", "agent")

app = typer.Typer(
    help=(
        "Look at what runs on the bus: owners, mailboxes, threads, events. Only `redeliver`, `pause`, `resume`, "
        "`purge`, `dead retry` and `dead drop` change anything."
    ),
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.command("ls", epilog=examples("nexus-bus ls", "nexus-bus ls canvas", "nexus-bus ls --json"))
def ls(
    kind: Annotated[str | None, typer.Argument(help="Only this kind: app, workspace, agent, mailbox, canvas.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List owners: address, shard, rows stored, and whether they are in memory now. With mailboxes among them also what
    needs you: which agents are paused, what was given up, what has waited for long."""
    answer = ask(home, "bus.ls", {"kind": kind}, "Listing the owners")
    # After the list: looking into mailboxes brings them into memory.
    needs = ask(home, "bus.needs", {}, "Looking into the mailboxes") if kind in _OF_THE_MESH else {}
    if needs:
        answer["needs"] = needs
    if as_json:
        print_json(answer)
        return
    rows = [
        (one.get("address"), one.get("shard"), one.get("rows"), one.get("live")) for one in records(answer, "owners")
    ]
    print_lines(table(("address", "shard", "rows", "live"), rows))
    if answer.get("truncated") is True:
        print_line("There are more; name a kind to see fewer.", to_stderr=True)
    print_lines(["", *lines] if (lines := needs_lines(needs)) else [])


@app.command("info", epilog=examples("nexus-bus info", "nexus-bus info app/-/directory"))
def info(
    address: Annotated[str | None, typer.Argument(help=_ADDRESS_HELP)] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the statistics of every shard host, or of one owner."""
    answer = ask(home, "bus.info", {"address": address}, "Asking the hosts")
    if as_json:
        print_json(answer)
        return
    hosts = records(answer, "hosts")
    for number, one in enumerate(hosts or [answer]):
        if number:
            print_line("")
        print_lines(fields(one))


@app.command("peek", epilog=examples("nexus-bus peek Ada", "nexus-bus peek mailbox/-/01k5..."))
def peek(
    target: Annotated[str, typer.Argument(help="An agent (id or name) or the address of a mailbox.")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what waits in a mailbox without taking it: no lease, no attempt, not marked as seen."""
    answer = ask(home, "bus.peek", {"target": target, "workspace": workspace}, "Looking into the mailbox")
    if as_json:
        print_json(answer)
        return
    lists = {name: records(answer, name) for name, value in answer.items() if isinstance(value, list)}
    print_lines(fields({name: value for name, value in answer.items() if name not in lists}))
    for name, waiting in lists.items():
        print_line(f"{escape(name)}: {len(waiting)}")
        for one in waiting:
            print_line(f"  {json_text(one)}")


@app.command("tail", epilog=examples("nexus-bus tail", "nexus-bus tail -f", "nexus-bus tail -n 100 --json"))
def tail(
    following: Annotated[bool, typer.Option("--follow", "-f", help="Go on as events happen, until Ctrl-C.")] = False,
    count: Annotated[
        int, typer.Option("--count", "-n", min=0, max=events_shown_max, help="How many past events.")
    ] = events_shown_default,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what happened, oldest first: time, owner, event, by whom, in which call. With --json one event a line."""
    if not following:
        for event in records(ask(home, "bus.tail", {"count": count}, "Reading the events"), "events"):
            print_line(json_text(event) if as_json else event_line(event))
        return
    try:
        for event in follow(home, "bus.tail", {"count": count, "follow": True}):
            print_line(json_text(event) if as_json else event_line(event))
    except KeyboardInterrupt:
        return  # the way the person ends it


@app.command(
    "get", epilog=examples("nexus-bus get app/-/directory", "nexus-bus get app/-/directory ROW", "nexus-bus get 0:42")
)
def get(
    target: Annotated[str, typer.Argument(help="An owner's address, or SHARD:SEQUENCE for one journal record.")],
    row: Annotated[str | None, typer.Argument(help="Only this row of the owner.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an owner's stored rows, one of them, or one record of the journal."""
    answer = ask(home, "bus.get", {"target": target, "row": row}, "Reading the store")
    if as_json:
        print_json(answer)
        return
    if "rows" not in answer or row is not None:
        print_lines(fields(answer))
        return
    for one in records(answer, "rows"):
        print_line(f"{shown(one.get('row'))}  {json_text(one.get('value'))}")
    if answer.get("truncated") is True:
        print_line("There are more rows; name one to see it.", to_stderr=True)


bus_upkeep_cli.register(app)
bus_mesh_cli.register(app)


def event_line(event: Record) -> str:
    """One event for a person; a type that the catalogue does not know is marked, since it is a defect."""
    known = "" if event.get("type") in CATALOGUE else " (not in the catalogue)"
    head = f"{time_text(event.get('at'))}  {shown(event.get('owner'))}  {shown(event.get('type'))}{known}"
    return f"{head}  by {shown(event.get('by'))}  call {shown(event.get('callId'))}  {json_text(event.get('data'))}"


def main() -> None:
    """The script `nexus-bus`."""
    sys.exit(run_command(app, "nexus-bus", sys.argv[1:]))


if __name__ == "__main__":
    main()
