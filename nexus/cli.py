"""The `nexus` command: everything a person types, put together from one file a topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import typer

from nexus import __version__
from nexus.exit_codes import exit_code_table

# Each topic is imported when it is wanted: what all of them import takes half a second, which every command would pay.


def _lifecycle(app: typer.Typer) -> None:
    from nexus import lifecycle_cli

    lifecycle_cli.register(app)


def _demo(app: typer.Typer) -> None:
    from nexus import demo_cli

    demo_cli.register(app)


def _workspaces(app: typer.Typer) -> None:
    from nexus import workspace_cli

    workspace_cli.register(app)


def _canvases(app: typer.Typer) -> None:
    from nexus import canvas_cli

    canvas_cli.register(app)


def _agents(app: typer.Typer) -> None:
    from nexus import agent_cli

    agent_cli.register(app)


def _channels(app: typer.Typer) -> None:
    from nexus import channel_cli

    channel_cli.register(app)


def _teams(app: typer.Typer) -> None:
    from nexus import team_cli

    team_cli.register(app)


def _providers(app: typer.Typer) -> None:
    from nexus import provider_cli

    provider_cli.register(app)


def _approvals(app: typer.Typer) -> None:
    from nexus import approvals_cli

    approvals_cli.register(app)


def _plans(app: typer.Typer) -> None:
    from nexus import plan_cli

    plan_cli.register(app)


def _threads(app: typer.Typer) -> None:
    from nexus import thread_cli

    thread_cli.register(app)


def _settings(app: typer.Typer) -> None:
    from nexus import settings_cli

    settings_cli.register(app)


def _keeping(app: typer.Typer) -> None:
    from nexus import keep_cli

    keep_cli.register(app)


def _connecting(app: typer.Typer) -> None:
    from nexus import connect_cli

    connect_cli.register(app)


def _service(app: typer.Typer) -> None:
    from nexus import service_cli

    service_cli.register(app)


def _mcp(app: typer.Typer) -> None:
    from nexus import mcp_cli

    mcp_cli.register(app)


TOPICS: Final[Mapping[Callable[[typer.Typer], None], tuple[str, ...]]] = {
    _lifecycle: ("up", "down", "status", "doctor"),
    _demo: ("demo",),
    _workspaces: ("workspace",),
    _canvases: ("canvas",),
    _agents: ("agent", "guest"),
    _channels: ("channel",),
    _teams: ("team",),
    _providers: ("provider",),
    _approvals: ("approvals",),
    _plans: ("plan",),
    _threads: ("thread",),
    _settings: ("settings",),
    _keeping: ("backup", "restore", "reshard"),
    _connecting: ("connect", "disconnect"),
    _service: ("service",),
    _mcp: ("mcp",),
}
"""What each topic adds. Help lists plain commands first, then those with commands of their own."""


def build_app(command: str | None = None) -> typer.Typer:
    """The whole command; when `command` is one that there is, only its topic."""
    app = new_app()
    wanted = [register for register, commands in TOPICS.items() if command in commands]
    for register in wanted or TOPICS:
        register(app)
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
