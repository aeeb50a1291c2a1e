"""`nexus demo`: the main job on real input, in a home of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nexus.asking import examples, typed_path


def register(app: typer.Typer) -> None:
    """Add the command to `nexus`."""
    app.command("demo", epilog=examples("nexus demo", "nexus demo --file plan.excalidraw --keep"))(demo)


def demo(
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Your own .excalidraw file instead of ours.", parser=typed_path, metavar="FILE"),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary home to look around in.")] = False,
) -> None:
    """Show the main job on real input: two agents, one canvas, a delegated task, a crash, and the log of it all."""
    # Here, not above: it imports the MCP client, which every other command need not wait for.
    from nexus.demo import run

    raise typer.Exit(run(file, keep=keep))
