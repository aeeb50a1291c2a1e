"""`nexus provider` and `nexus agent provider`: the agent programs of this machine, and which an agent is run with."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

from bus.value import Record, Value, records
from nexus.agent_place_cli import AgentArgument, change, who
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.output import escape, fields, print_json, print_line, print_lines, print_list, shown

ProviderArgument: TypeAlias = Annotated[
    str, typer.Argument(help="The provider's id, as `nexus provider list` shows it.", metavar="ID")
]

_COLUMNS: Final = ("id", "name", "version", "enabled", "mcp", "program")

providers = typer.Typer(help="Providers: the programs that agents are run with.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add `nexus provider`."""
    app.add_typer(providers, name="provider", no_args_is_help=True)


def register_for_agents(agents: typer.Typer) -> None:
    """Add `nexus agent provider`."""
    agents.command("provider", epilog=examples("nexus agent provider Ada codex", "nexus agent provider Ada --none"))(
        agent_provider
    )


@providers.command("list", epilog=examples("nexus provider list", "nexus provider list --installed --json"))
def provider_list(
    installed: Annotated[bool, typer.Option("--installed", help="Only those whose program is here.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the agent programs that NEXUS knows, where each lies, and whether you have enabled it."""
    answer = ask(home, "provider.list", {"installedOnly": installed}, "Looking for programs")
    rows: list[tuple[Value, ...]] = [
        (one.get("id"), one.get("name"), _version(one), _enabled(one), _connected(one), one.get("realPath"))
        for one in records(answer, "providers")
    ]
    print_list(answer, as_json, _COLUMNS, rows, "No agent program is installed: nexus provider list shows all")
    _complain(answer, as_json)


@providers.command("show", epilog=examples("nexus provider show codex", "nexus provider show codex --json"))
def provider_show(provider: ProviderArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show all of one program: where it lies, its files, how it reaches NEXUS, where its sign-in is."""
    answer = ask(home, "provider.show", {"provider": provider}, "Looking at the program")
    if as_json:
        print_json(answer)
        return
    told: dict[str, Value] = {
        "id": answer.get("id"),
        "name": answer.get("name"),
        "about": answer.get("tagline"),
        "documentation": answer.get("docs"),
        "program": answer.get("program"),
        "real path": answer.get("realPath"),
        "version": _version(answer),
        "enabled": _enabled(answer),
        "enabled path": answer.get("enabledPath"),
        "mcp": _connected(answer),
        "reaches mcp by": answer.get("transport"),
        "configuration": answer.get("configFiles"),
        "instructions": answer.get("instructionFiles"),
        "sign-in": answer.get("authHint"),
    }
    print_lines(fields(told))
    _complain(answer, as_json)


@providers.command("enable", epilog=examples("nexus provider enable codex"))
def provider_enable(provider: ProviderArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Let agents be run with the program that is installed now. Another one under its name must be enabled anew."""
    answer = ask(home, "provider.enable", {"provider": provider}, "Enabling the provider")
    if as_json:
        print_json(answer)
        return
    was = "is enabled" if answer.get("changed") is True else "was enabled already"
    print_line(f"{shown(answer.get('name'))} {was}: {shown(answer.get('path'))}")


@providers.command("disable", epilog=examples("nexus provider disable codex"))
def provider_disable(provider: ProviderArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """No agent is run with this program any more. Agents that have it keep it for when you enable it again."""
    answer = ask(home, "provider.disable", {"provider": provider}, "Disabling the provider")
    if as_json:
        print_json(answer)
        return
    was = "is disabled." if answer.get("changed") is True else "was not enabled."
    print_line(f"{escape(provider)} {was}")


def agent_provider(
    agent: AgentArgument,
    provider: Annotated[str | None, typer.Argument(help="The provider's id.", metavar="ID")] = None,
    none: Annotated[bool, typer.Option("--none", help="None any more.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which program an agent is run with: one that is installed and enabled."""
    asked: Record = {"agent": agent, "provider": provider, "none": none, "workspace": workspace}
    change(home, as_json, "agent.provider", asked, _chosen)


def _chosen(answer: Record) -> str:
    provider = answer.get("providerId")
    if provider is None:
        return f"Agent {who(answer)} is run with no program of its own any more."
    return f"Agent {who(answer)} is run with {shown(provider)}."


def _version(one: Record) -> str:
    if one.get("installed") is not True:
        return "not installed"
    version = one.get("version")
    return version if isinstance(version, str) else "unknown"


def _enabled(one: Record) -> str:
    if one.get("changed") is True:
        return "another program was; enable it anew"
    return "yes" if one.get("enabled") is True else "no"


def _connected(one: Record) -> str:
    return "connected" if one.get("mcpConnected") is True else "-"


def _complain(answer: Record, as_json: bool) -> None:
    complaint = answer.get("complaint")
    if isinstance(complaint, str) and not as_json:
        print_line(escape(complaint), to_stderr=True)
