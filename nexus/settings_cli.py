"""`nexus settings`: see and change what the person can set."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from bus.value import Record, records
from nexus.asking import HomeOption, JsonOption, ask, examples
from nexus.output import fields, print_json, print_line, print_lines, shown, table

_NAME_HELP: Final = "The setting, as `nexus settings list` names it."

settings = typer.Typer(help="Settings: limits, budgets and habits of this NEXUS.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add `nexus settings`."""
    app.add_typer(settings, name="settings", no_args_is_help=True)


@settings.command("list", epilog=examples("nexus settings list", "nexus settings list --json"))
def settings_list(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show every setting with its value, its default and what agents may do with it."""
    answer = ask(home, "settings.list", {}, "Reading the settings")
    if as_json:
        print_json(answer)
        return
    rows = [
        (one.get("name"), one.get("value"), one.get("default"), one.get("tier")) for one in records(answer, "settings")
    ]
    print_lines(table(("setting", "value", "default", "to agents"), rows))
    print_line("nexus settings get NAME says what one means.")


@settings.command("get", epilog=examples("nexus settings get workspaces.gridColumns"))
def settings_get(
    name: Annotated[str, typer.Argument(help=_NAME_HELP)], home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Show one setting: what it means, its value, what it may be."""
    answer = ask(home, "settings.get", {"name": name}, "Reading the setting")
    if as_json:
        print_json(answer)
        return
    setting = answer.get("setting")
    print_lines(fields(setting if isinstance(setting, dict) else {}))


@settings.command("set", epilog=examples("nexus settings set workspaces.gridColumns 3"))
def settings_set(
    name: Annotated[str, typer.Argument(help=_NAME_HELP)],
    value: Annotated[str, typer.Argument(help="Its new value: true or false, a whole number, or one of its words.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a setting, at once and for everyone."""
    _print_change(ask(home, "settings.set", {"name": name, "value": value}, "Changing the setting"), as_json)


@settings.command("reset", epilog=examples("nexus settings reset workspaces.gridColumns"))
def settings_reset(
    name: Annotated[str, typer.Argument(help=_NAME_HELP)], home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Put a setting back to its default."""
    _print_change(ask(home, "settings.reset", {"name": name}, "Resetting the setting"), as_json)


def _print_change(answer: Record, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif answer.get("changed") is True:
        print_line(
            f"{shown(answer.get('name'))} is now {shown(answer.get('value'))}; it was {shown(answer.get('oldValue'))}."
        )
    else:
        print_line(f"{shown(answer.get('name'))} was {shown(answer.get('value'))} already.")
