"""`nexus workspace`: the person's commands on workspaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from bus.limits import grid_columns_max
from bus.value import Record, records
from nexus import exit_codes
from nexus.asking import HomeOption, JsonOption, ask, examples, home_folder, typed_path
from nexus.output import escape, fail, print_json, print_line, print_list, shown
from nexus.roots import root_problem

_SHOWN_MAX: Final = 20
"""Canvases, and agents, that are named before the rest is only counted."""

Workspace = Annotated[str, typer.Argument(help="The workspace: an id or a name.")]

workspaces = typer.Typer(help="Workspaces: the scope that agents and canvases live in.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands on workspaces to `nexus`."""
    app.add_typer(workspaces, name="workspace", no_args_is_help=True)


@workspaces.command("add", epilog=examples("nexus workspace add Website", "nexus workspace add Website --root ~/site"))
def workspace_add(
    name: Annotated[str, typer.Argument(help="Its name; two workspaces cannot share one, or names that look alike.")],
    root: Annotated[
        Path | None,
        typer.Option("--root", help="A folder that belongs to it.", parser=typed_path, metavar="FOLDER"),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace."""
    place = None
    if root is not None:
        place = root.expanduser().resolve()
        problem = root_problem(place, home_folder(home), Path.home())
        if problem is not None:
            raise fail(f"{escape(str(root))} {problem}", exit_codes.REFUSED)
    answer = ask(
        home, "workspace.add", {"name": name, "root": None if place is None else str(place)}, "Adding the workspace"
    )
    if as_json:
        print_json(answer)
    else:
        print_line(f"Workspace {escape(name)} added: {shown(answer.get('workspaceId'))}")


@workspaces.command("list", epilog=examples("nexus workspace list", "nexus workspace list --json"))
def workspace_list(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show every workspace; the active one is marked."""
    answer = ask(home, "workspace.list", {}, "Reading the workspaces")
    rows = [
        ("*" if one.get("isActive") is True else "", one.get("workspaceId"), one.get("name"), one.get("root"))
        for one in records(answer, "workspaces")
    ]
    rows += [("", one.get("workspaceId"), one.get("name"), "(being deleted)") for one in records(answer, "deleting")]
    print_list(answer, as_json, ("", "id", "name", "root"), rows, "No workspace yet: nexus workspace add NAME")


@workspaces.command("use", epilog=examples("nexus workspace use Website"))
def workspace_use(workspace: Workspace, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Make a workspace the active one. Only agents that inherit come along; the others stay where they are pinned."""
    answer = ask(home, "workspace.use", {"workspace": workspace}, "Changing the active workspace")
    if as_json:
        print_json(answer)
    else:
        print_line(f"The active workspace is {shown(answer.get('name'))} ({shown(answer.get('workspaceId'))}).")


@workspaces.command(
    "update",
    epilog=examples("nexus workspace update Website --name Shop", "nexus workspace update Shop --color '#2f9e44'"),
)
def workspace_update(
    workspace: Workspace,
    name: Annotated[str | None, typer.Option("--name", help="Its new name.")] = None,
    color: Annotated[str | None, typer.Option("--color", help="Its color, as #rrggbb in lower case.")] = None,
    grid_columns: Annotated[
        int | None, typer.Option("--grid-columns", min=1, max=grid_columns_max, help="Columns of its pane grid.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a workspace's name, color or grid. What is not given stays."""
    if name is None and color is None and grid_columns is None:
        raise fail("Say what to change: --name, --color or --grid-columns.", exit_codes.USAGE)
    asked: Record = {"workspace": workspace, "name": name, "color": color, "gridColumns": grid_columns}
    answer = ask(home, "workspace.update", asked, "Changing the workspace")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Workspace {shown(answer.get('name'))} ({shown(answer.get('workspaceId'))}) is changed.")


@workspaces.command("delete", epilog=examples("nexus workspace delete Website", "nexus workspace delete Website --yes"))
def workspace_delete(
    workspace: Workspace,
    yes: Annotated[bool, typer.Option("--yes", help="Yes: destroy it with everything in it.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a workspace with everything in it, for good. Without --yes it only shows what that is."""
    if not yes:
        contents = ask(home, "workspace.contents", {"workspace": workspace}, "Reading the workspace")
        lines = (f"Deleting workspace {_named(contents)} destroys:", *_contents(contents))
        closing = "Nothing brings it back but a backup. Add --yes to delete it."
        error: Record = {"message": closing, "contents": contents}
        raise fail("\n".join((*lines, closing)), exit_codes.USAGE, error)
    answer = ask(home, "workspace.delete", {"workspace": workspace}, "Deleting the workspace")
    if as_json:
        print_json(answer)
        return
    print_line(f"Workspace {_named(answer)} is deleted, with:")
    for line in _contents(answer):
        print_line(line)


def _named(contents: Record) -> str:
    return f"{shown(contents.get('name'))} ({shown(contents.get('workspaceId'))})"


def _contents(contents: Record) -> Iterator[str]:
    canvases, channels, agents = (records(contents, name) for name in ("canvases", "channels", "agents"))
    yield f"  {len(canvases)} canvases with their history" + (":" if canvases else "")
    yield from _listed([shown(one.get("title")) for one in canvases])
    if channels:
        yield f"  {len(channels)} channels, with who is a member and what waits for you:"
        yield from _listed([shown(one.get("name")) for one in channels])
    yield f"  {len(agents)} agents pinned there stay, in no workspace" + (":" if agents else "")
    yield from _listed([shown(one.get("name")) for one in agents])


def _listed(names: list[str]) -> Iterator[str]:
    for name in names[:_SHOWN_MAX]:
        yield f"    {name}"
    if len(names) > _SHOWN_MAX:
        yield f"    and {len(names) - _SHOWN_MAX} more"
