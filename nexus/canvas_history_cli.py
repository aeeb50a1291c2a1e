"""`nexus canvas history`, `at` and `revert`: what a canvas was, and the way back to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from bus.value import Record, Value, records
from nexus import exit_codes
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
from nexus.output import (
    escape,
    fail,
    json_text,
    print_json,
    print_line,
    print_lines,
    progress,
    shown,
    table,
    terminal_cells,
)
from nexus.scene_file import SceneFileProblem, scene_of, write_scene

Canvas = Annotated[str, typer.Argument(help="The canvas: an id or a title.")]
_FIELDS: Final = ("revision", "by", "at", "reason", "elementIds")
"""What --json says of a revision."""
_COLUMNS: Final = ("revision", "at", "by", "what", "elements", "reason")


def register(canvases: typer.Typer) -> None:
    """Add the commands to `nexus canvas`."""
    listed = ("nexus canvas history 'The plan'", "nexus canvas history 'The plan' --limit 20 --json")
    canvases.command("history", epilog=examples(*listed))(canvas_history)
    read = ("nexus canvas at 'The plan' 12 before.excalidraw", "nexus canvas at 'The plan' 12 -")
    canvases.command("at", epilog=examples(*read))(canvas_at)
    back = ("nexus canvas revert 'The plan' 12", "nexus canvas revert 'The plan' 12 --reason 'wrong branch' --yes")
    canvases.command("revert", epilog=examples(*back))(canvas_revert)


def canvas_history(
    canvas: Canvas,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only so many of the newest.")] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a canvas's revisions, newest first: who made each, when and why, and how many elements it touched.

    With --json the ids of the elements. Revision 1, with which a canvas began, names none.
    """
    revisions: list[Record] = []
    asked: Record = {"canvas": canvas, "limit": limit, "workspace": workspace}
    answer = stream(
        home, "canvas.history", asked, lambda page: revisions.extend(records(page, "revisions")), "Reading the history"
    )
    if as_json:
        print_json({"revisions": [{name: one.get(name) for name in _FIELDS} for one in revisions]})
        return
    names = answer.get("names")
    rows = [_row(one, names if isinstance(names, dict) else {}) for one in revisions]
    print_lines(table(_COLUMNS, rows, terminal_cells()))


def _row(revision: Record, names: Record) -> tuple[Value, ...]:
    by, approver = str(revision.get("by")), revision.get("approvedBy")
    who = str(names.get(by) or by)
    if approver is not None:
        who = f"{who}, approved by {names.get(str(approver)) or approver!s}"
    ids = revision.get("elementIds")
    count = len(ids) if isinstance(ids, list) else 0
    return revision.get("revision"), revision.get("at"), who, revision.get("what"), count, revision.get("reason")


def canvas_at(
    canvas: Canvas,
    revision: Annotated[int, typer.Argument(min=1, help="The revision: a number from `nexus canvas history`.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Where to; an existing file is replaced. `-`, the default, is standard output.",
            parser=typed_path,
            metavar="FILE",
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a canvas as it was at a past revision, as an Excalidraw file."""
    if file is not None:
        refuse_in_home(file, home)
    asked: Record = {"canvas": canvas, "revision": revision, "workspace": workspace}
    parts: list[Record] = []
    answer = stream(home, "canvas.at", asked, parts.append, "Reading that revision")
    scene = scene_of(parts, answer)
    if file is None or str(file) == "-":
        print_line(json_text(scene))
        return
    try:
        with progress(f"Writing {escape(str(file))}"):
            write_scene(file, scene)
    except SceneFileProblem as problem:
        raise fail(escape(str(problem)), exit_codes.REFUSED) from None
    elements = scene["elements"]
    count = len(elements) if isinstance(elements, list) else 0
    if as_json:
        print_json({"canvasId": answer.get("canvasId"), "revision": revision, "file": str(file), "elements": count})
    else:
        title = shown(answer.get("title"))
        print_line(f"{count} elements of {title} as of revision {revision} written to {escape(str(file))}")


def canvas_revert(
    canvas: Canvas,
    revision: Annotated[int, typer.Argument(min=1, help="The revision: a number from `nexus canvas history`.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Why, in one line; it stands in the history.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask on a terminal.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a past revision of a canvas back, as a new revision.

    Nothing is lost: what was made since is deleted softly, and reverting to the revision before this one has it again.
    On a terminal it asks first.
    """
    if not yes and not as_json and sys.stdin.isatty():
        question = f"Bring {escape(canvas)} back to revision {revision}? What was drawn since goes from the canvas."
        if not typer.confirm(question, default=False):
            print_line("Nothing was changed.")
            raise typer.Exit(exit_codes.REFUSED)
    asked: Record = {"canvas": canvas, "revision": revision, "reason": reason, "workspace": workspace}
    answer = ask(home, "canvas.revert", asked, "Reverting the canvas")
    if as_json:
        print_json(answer)
        return
    ids, title = answer.get("elementIds"), shown(answer.get("title"))
    if not ids:
        print_line(f"{title} is as it was at revision {revision} already: nothing was changed.")
    else:
        print_line(
            f"{title} is as it was at revision {revision} again; that is revision {shown(answer.get('revision'))} now."
        )
