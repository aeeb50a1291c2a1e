"""`nexus canvas`: the person's commands on canvases, text by default."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from bus.value import Record, records
from nexus import canvas_history_cli, canvas_proposal_cli, exit_codes
from nexus.asking import (
    HomeOption,
    JsonOption,
    WorkspaceOption,
    ask,
    examples,
    refuse_in_home,
    stream,
    typed_path,
)
from nexus.canvas_pictures import (
    SCALE_MAX,
    SCALE_MIN,
    Format,
    look_of,
    must_be_possible,
    picture_of,
    write_picture,
)
from nexus.canvas_text import canvas_lines
from nexus.output import (
    escape,
    fail,
    fields,
    json_text,
    print_json,
    print_line,
    print_lines,
    print_list,
    progress,
    shown,
    time_text,
)
from nexus.scene_file import SceneFileProblem, lines_of, read_scene, scene_of, write_scene
from tools.canvas.scene_parts import announcement_of
from tools.fence import plain_name

_REPAIRED: Final = (
    "repaired: values that an editor would trip over, the order of elements, frames, labels and arrows that name what "
    "is not there; each counts once."
)
_WORKSPACE_HELP: Final = "The workspace: an id or a name."


class Role(StrEnum):
    VIEWER = "viewer"
    COMMENTER = "commenter"
    EDITOR = "editor"
    OWNER = "owner"
    NONE = "none"


canvases = typer.Typer(help="Canvases: shared Excalidraw scenes.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands on canvases to `nexus`."""
    app.add_typer(canvases, name="canvas", no_args_is_help=True)


@canvases.command(
    "import",
    epilog=examples(
        "nexus canvas import plan.excalidraw --workspace Website",
        "nexus canvas import plan.excalidraw -w Website --title 'The plan' --json",
    ),
)
def canvas_import(
    file: Annotated[
        Path, typer.Argument(help="An .excalidraw file. `-` is standard input.", parser=typed_path, metavar="FILE")
    ],
    workspace: Annotated[str, typer.Option("--workspace", "-w", help=_WORKSPACE_HELP)],
    title: Annotated[
        str | None, typer.Option(help="The canvas's title. Default: the file's name, without one Untitled.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a new canvas from an Excalidraw file."""
    named = plain_name(file.stem) if str(file) != "-" else ""
    name = title if title is not None else named or "Untitled"
    try:
        with progress(f"Reading {escape(str(file))}"):
            scene = read_scene(file)
    except SceneFileProblem as problem:
        raise fail(escape(str(problem)), exit_codes.REFUSED) from None
    asked: Record = {"workspace": workspace, "title": name, **announcement_of(scene)}
    answer = ask(home, "canvas.import", asked, f"Importing {escape(str(file))}", lines_of(scene))
    if as_json:
        print_json(answer)
        return
    print_line(f"Canvas {shown(answer.get('title'))} imported: {shown(answer.get('canvasId'))}")
    counted = {name: value for name, value in answer.items() if isinstance(value, int)}
    print_lines(f"  {line}" for line in fields(counted))
    if counted.get("repairedCount"):
        print_line(f"  {_REPAIRED}")
    for one in records(answer, "leftOut"):
        print_line(
            f"  left out: element {shown(one.get('position'))} ({shown(one.get('id'))}): {shown(one.get('why'))}"
        )


@canvases.command(
    "export",
    epilog=examples(
        "nexus canvas export 'The plan' plan.excalidraw",
        "nexus canvas export 'The plan' plan.png --scale 2",
        "nexus canvas export 'The plan' - --format svg --no-background > plan.svg",
    ),
)
def canvas_export(
    canvas: Annotated[str, typer.Argument(help="The canvas: an id or a title.")],
    file: Annotated[
        Path,
        typer.Argument(
            help="Where to; an existing file is replaced. `-` is standard output.", parser=typed_path, metavar="FILE"
        ),
    ],
    file_format: Annotated[
        Format | None, typer.Option("--format", help="Default: by the file's suffix, else excalidraw.")
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            min=SCALE_MIN, max=SCALE_MAX, help="Of a picture. Default: 1, or what a png has room for.", metavar="NUMBER"
        ),
    ] = None,
    background: Annotated[
        bool | None, typer.Option("--background/--no-background", help="Whether a picture has one. Default: yes.")
    ] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a canvas as an Excalidraw file, or as a picture that Excalidraw draws in a browser of this machine.

    Pictures show web pages and generated pages on the canvas as labelled rectangles.
    """
    refuse_in_home(file, home)
    look = look_of(file, file_format, scale, background)
    must_be_possible(look)
    asked: Record = {"canvas": canvas, "workspace": workspace}
    parts: list[Record] = []
    answer = stream(home, "canvas.export", asked, parts.append, "Exporting the canvas")
    scene = scene_of(parts, answer)
    if look.format is not Format.EXCALIDRAW:
        write_picture(file, picture_of(scene, look), look, answer, as_json)
        return
    elements = scene["elements"]
    count = len(elements) if isinstance(elements, list) else 0
    if str(file) == "-":
        print_line(json_text(scene))
        return
    try:
        with progress(f"Writing {escape(str(file))}"):
            write_scene(file, scene)
    except SceneFileProblem as problem:
        raise fail(escape(str(problem)), exit_codes.REFUSED) from None
    if as_json:
        print_json({"canvasId": answer.get("canvasId"), "file": str(file), "elements": count})
    else:
        print_line(f"{count} elements of {shown(answer.get('title'))} written to {escape(str(file))}")


@canvases.command(
    "grant", epilog=examples("nexus canvas grant 'The plan' Ada editor", "nexus canvas grant 'The plan' Ada none")
)
def canvas_grant(
    canvas: Annotated[str, typer.Argument(help="The canvas: an id or a title.")],
    agent: Annotated[str, typer.Argument(help="The agent: an id or a name, of the canvas's workspace.")],
    role: Annotated[Role, typer.Argument(help="What it may do there; `none` takes every role away.")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give an agent a role on a canvas. Without one it cannot even see that the canvas exists."""
    asked: Record = {"canvas": canvas, "agent": agent, "role": role.value, "workspace": workspace}
    answer = ask(home, "canvas.grant", asked, "Granting the role")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Agent {shown(answer.get('name'))} now has the role {role.value} on {shown(answer.get('title'))}.")


@canvases.command("revoke", epilog=examples("nexus canvas revoke 'The plan' Ada"))
def canvas_revoke(
    canvas: Annotated[str, typer.Argument(help="The canvas: an id or a title.")],
    agent: Annotated[str, typer.Argument(help="The agent: an id or a name; also one that was removed or moved.")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an agent's role on a canvas away: it cannot even see any more that the canvas exists."""
    asked: Record = {"canvas": canvas, "agent": agent, "workspace": workspace}
    answer = ask(home, "canvas.revoke", asked, "Taking the role away")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Agent {shown(answer.get('name'))} has no role on {shown(answer.get('title'))} any more.")


@canvases.command("list", epilog=examples("nexus canvas list", "nexus canvas list --workspace Website --json"))
def canvas_list(workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show canvases with their revision and last change."""
    answer = ask(home, "canvas.list", {"workspace": workspace}, "Reading the canvases")
    rows = [
        (one.get("canvasId"), one.get("title"), one.get("workspace"), one.get("revision"), _when(one))
        for one in records(answer, "canvases")
    ]
    columns = ("id", "title", "workspace", "revision", "updated")
    print_list(answer, as_json, columns, rows, "No canvas yet: nexus canvas import FILE --workspace W")


@canvases.command("delete", epilog=examples("nexus canvas delete 'The plan' --yes"))
def canvas_delete(
    canvas: Annotated[str, typer.Argument(help="The canvas: an id or a title.")],
    yes: Annotated[bool, typer.Option("--yes", help="Yes: delete it with its whole history.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a canvas with its whole history, for good."""
    if not yes:
        raise fail(
            "The canvas and its whole history will be gone for everybody, and nothing brings them back but a backup. "
            "`nexus canvas show` shows what is on it. Add --yes to delete it.",
            exit_codes.USAGE,
        )
    answer = ask(home, "canvas.delete", {"canvas": canvas, "workspace": workspace}, "Deleting the canvas")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Canvas {shown(answer.get('title'))} ({shown(answer.get('canvasId'))}) is deleted.")


@canvases.command("show", epilog=examples("nexus canvas show 'The plan'", "nexus canvas show 'The plan' --json"))
def canvas_show(
    canvas: Annotated[str, typer.Argument(help="The canvas: an id or a title.")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one canvas: revision, counts, types of elements, extent, roles, proposals, locks, first labels. With --json
    all labels."""
    answer = ask(home, "canvas.show", {"canvas": canvas, "workspace": workspace}, "Reading the canvas")
    if as_json:
        print_json(answer)
        return
    print_lines(canvas_lines(answer))


def _when(canvas: Record) -> str:
    return time_text(canvas.get("updatedAt"))


canvas_history_cli.register(canvases)
canvas_proposal_cli.register(canvases)
