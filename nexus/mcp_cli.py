"""`nexus mcp` among the other commands, for `nexus --help`; nexus/__main__.py runs the shim without coming here."""

from __future__ import annotations

import typer

from nexus.shim.command import DESCRIPTION, run


def register(app: typer.Typer) -> None:
    """Add the command to `nexus`."""
    app.command(
        "mcp",
        help=DESCRIPTION,
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(mcp)


def mcp(context: typer.Context) -> None:
    raise typer.Exit(run(context.args))
