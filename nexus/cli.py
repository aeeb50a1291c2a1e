"""The `nexus` command: everything a person types, put together from one file a topic."""

from __future__ import annotations

import typer

from nexus import (
    __version__,
    agent_cli,
    approvals_cli,
    connect_cli,
    keep_cli,
    lifecycle_cli,
    mcp_cli,
    person_cli,
    plan_cli,
    service_cli,
    settings_cli,
    thread_cli,
)
from nexus.exit_codes import exit_code_table


def build_app() -> typer.Typer:
    """The whole command."""
    app = new_app()
    lifecycle_cli.register(app)
    person_cli.register(app)
    agent_cli.register(app)
    approvals_cli.register(app)
    plan_cli.register(app)
    thread_cli.register(app)
    settings_cli.register(app)
    keep_cli.register(app)
    connect_cli.register(app)
    service_cli.register(app)
    mcp_cli.register(app)
    return app


def new_app() -> typer.Typer:
    """A command without subcommands; without arguments it prints its help."""
    app = typer.Typer(
        name="nexus",
        help="One local runtime that several AI agents and you share. Begin with `nexus up`.",
        epilog=exit_code_table(),
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def nexus(
        context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version.")
    ) -> None:
        if version:
            typer.echo(__version__)
        elif context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return app
