"""`nexus service`: start NEXUS with the user's session and keep it running."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from nexus import exit_codes, installation
from nexus.asking import HomeOption, JsonOption, examples, home_folder
from nexus.config import HomeRefused, create_home, usable_cores
from nexus.home_lock import is_held
from nexus.output import escape, fail, print_json, print_line, print_lines
from nexus.service.definition import PathRefused, Service
from nexus.service.installing import Launchd, Result, ServiceManager, ServiceRefused, Systemd

services = typer.Typer(
    help="NEXUS as a service of yours: started when you log in, and again when it fails.", rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus`."""
    app.add_typer(services, name="service", no_args_is_help=True)


@services.command("install", epilog=examples("nexus service install", "nexus service install --print"))
def service_install(
    only_print: Annotated[
        bool, typer.Option("--print", help="Show what would be written and where; change nothing.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the service (a systemd user unit, a launchd agent), enable it and start it."""
    path, manager = home_folder(home), _manager()
    service = Service(installation.command(), path)
    with _refusals():
        if only_print:
            _print_definition(manager, service, as_json)
            return
        opened = create_home(path, cores=usable_cores())
        runs_already = is_held(opened.lock_file) and manager.status().is_running is not True
        result = manager.install(service, starts=not runs_already)
    if as_json:
        print_json({**result.record(), "home": str(path)})
        return
    state = "is written" if result.changed else "was there already"
    print_line(f"The service {state}: {escape(str(result.file))}")
    if runs_already:
        print_line("NEXUS runs already, not as the service: the service takes over when you next log in.")
    _print_rest(result, "To start it, run:")
    if result.started:
        print_line("NEXUS runs as a service. See it with: nexus status")
    if isinstance(manager, Systemd):
        print_line("It runs while you are logged in. For longer than that: loginctl enable-linger")


@services.command("uninstall", epilog=examples("nexus service uninstall"))
def service_uninstall(as_json: JsonOption = False) -> None:
    """Stop the service and remove it. The home and all that is in it stay."""
    with _refusals():
        result = _manager().uninstall()
    if as_json:
        print_json(result.record())
    elif result.changed:
        print_line(f"The service is stopped and removed: {escape(str(result.file))}")
        _print_rest(result, "To finish, run:")
    else:
        print_line("There is no service of NEXUS; nothing was changed.")


@services.command("status", epilog=examples("nexus service status", "nexus service status --json"))
def service_status(as_json: JsonOption = False) -> None:
    """Say whether the service is installed, enabled and running."""
    status = _manager().status()
    if as_json:
        print_json(status.record())
        return
    if not status.is_installed:
        print_line("NEXUS is not installed as a service. Install it with: nexus service install")
        return
    print_line(f"The service is installed: {escape(str(status.file))}")
    if status.is_running is None:
        print_line("No service manager of yours answers here, so it cannot run as one now.")
    else:
        enabled = "is enabled" if status.is_enabled else "is not enabled"
        print_line(f"It {enabled} and {'runs' if status.is_running else 'does not run'}.")


def _print_definition(manager: ServiceManager, service: Service, as_json: bool) -> None:
    text = manager.definition(service)
    if as_json:
        print_json({"file": str(manager.file), "text": text})
        return
    print_line(f"This would be written to {escape(str(manager.file))}:")
    print_lines(("", *(f"  {escape(line)}" for line in text.splitlines()), ""))
    print_line("Nothing was changed.")


def _print_rest(result: Result, heading: str) -> None:
    if result.to_run:
        print_line(heading)
        print_lines(f"  {escape(line)}" for line in result.to_run)


def _manager() -> ServiceManager:
    if sys.platform == "darwin":
        return Launchd(Path.home())
    named = os.environ.get("XDG_CONFIG_HOME")
    return Systemd(Path(named) if named else Path.home() / ".config")


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (ServiceRefused, PathRefused) as refused:
        raise fail(escape(str(refused))) from None
    except HomeRefused as unsafe:
        raise fail(escape(str(unsafe)), exit_codes.HOME_REFUSED) from None
