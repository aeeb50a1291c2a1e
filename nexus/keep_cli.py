"""`nexus backup`, `nexus restore` and `nexus reshard`: what keeps a home safe and fits it to its machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from bus.limits import shards_max
from nexus import exit_codes, person_client
from nexus.archive import BackupRefused
from nexus.asking import HomeOption, JsonOption, examples
from nexus.backup import Made, back_up_running, back_up_stopped, lock_of
from nexus.config import Home, HomeMissing, HomeRefused, home_path, open_home
from nexus.generations import tidy
from nexus.home_lock import AlreadyRunning, ChildrenLinger, is_held
from nexus.output import error_lines, escape, fail, print_json, print_line, progress, shown, time_text
from nexus.reshard import Resharded, ReshardRefused, reshard_home
from nexus.restore import HomeInUse, Restored, restore

_STOP_FIRST: Final = "Stop NEXUS on this home first: nexus down"


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus`."""
    app.command(
        "backup", epilog=examples("nexus backup monday.tar", "nexus backup /media/disk/nexus-monday.tar --json")
    )(backup)
    app.command(
        "restore",
        epilog=examples("nexus restore monday.tar --home ~/nexus-monday", "nexus restore monday.tar --yes --json"),
    )(restore_command)
    app.command("reshard", epilog=examples("nexus reshard 2", "nexus reshard 1 --json"))(reshard_command)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not be there yet.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write everything NEXUS keeps into one file, whether it runs or not. Browser profiles are left out."""
    with _refusals():
        made = _backup(open_home(home_path(home, os.environ)), _absolute(file))
    if as_json:
        print_json(made.record())
        return
    print_line(f"Backup of {escape(made.manifest.homeId)} written: {escape(str(made.file))}")
    size = made.file.stat().st_size / (1024 * 1024)
    print_line(f"  {size:.1f} MiB, {_shards(made.manifest.shards)}, as of {time_text(made.manifest.atMs)}")
    if made.held_ms:
        print_line(f"  NEXUS stood still for {made.barrier_ms} ms; copies {made.copy_ms} ms, file {made.pack_ms} ms")


def _backup(home: Home, file: Path) -> Made:
    os.umask(0o077)
    with progress("Writing the backup"):
        if is_held(home.lock_file):
            return back_up_running(home, file)
        with lock_of(home):
            tidy(home)
            return back_up_stopped(home, file)


def restore_command(
    file: Annotated[Path, typer.Argument(help="A file that `nexus backup` wrote.")],
    home: HomeOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Put aside what the home holds now; it is kept, not deleted.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in place, in a new home or instead of what a home holds. Lists tokens that work again."""
    with _refusals(), progress("Restoring the backup"):
        restored = restore(_absolute(file), home_path(home, os.environ), may_replace=yes)
    if as_json:
        print_json(restored.record())
    else:
        _print_restored(restored)


def _print_restored(restored: Restored) -> None:
    print_line(f"{escape(str(restored.home.path))} is now as of {time_text(restored.manifest.atMs)}.")
    for place in restored.kept:
        print_line(f"  kept: {escape(str(place))}")
    if not restored.listed:
        print_line("  The tokens of the backup could not be read. Any of them may work again: replace those in doubt.")
    elif restored.new:
        print_line("  Tokens: could not compare: this home is new. Every token of the backup is listed.")
    elif not restored.compared:
        print_line("  Tokens: could not compare: what the home held before could not be read. Every token is listed.")
    if restored.tokens:
        again = "work again" if restored.compared else "work here"
        print_line(f"These tokens {again}; replace those that should not: nexus agent token AGENT --replace")
    for one in restored.tokens:
        print_line(f"  {shown(one.agent)} ({shown(one.agent_id)})")
    print_line("Start it with: nexus up")


def reshard_command(
    shards: Annotated[int, typer.Argument(min=1, max=shards_max, help=f"How many shards, 1 to {shards_max}.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deal the home out over another number of shards, one process each. Stop NEXUS first; it makes a backup itself."""
    with _refusals(), progress("Writing the new shards"):
        os.umask(0o077)
        done = reshard_home(open_home(home_path(home, os.environ)), shards)
    if as_json:
        print_json(done.record())
    else:
        _print_resharded(done)


def _print_resharded(done: Resharded) -> None:
    if done.backup is None:
        print_line(f"The home has {_shards(done.before)} already; nothing was changed.")
        return
    now = _shards(done.home.settings.shards)
    print_line(f"{escape(str(done.home.path))} has {now} now, instead of {done.before}.")
    print_line(f"  backup of before: {escape(str(done.backup))}")
    for place in done.kept:
        print_line(f"  kept: {escape(str(place))}")
    print_line("Delete these when NEXUS runs as you want it. Start it with: nexus up")


def _shards(number: int) -> str:
    return "1 shard" if number == 1 else f"{number} shards"


def _absolute(file: Path) -> Path:
    return Path.cwd() / file.expanduser()


@contextmanager
def _refusals() -> Iterator[None]:
    """What can go wrong without being a defect, as its text and exit code."""
    try:
        yield
    except (BackupRefused, ReshardRefused, HomeInUse, ChildrenLinger) as refused:
        raise fail(escape(str(refused))) from None
    except HomeMissing as missing:
        raise fail(escape(str(missing))) from None
    except HomeRefused as unsafe:
        raise fail(escape(str(unsafe)), exit_codes.HOME_REFUSED) from None
    except AlreadyRunning:
        raise fail(_STOP_FIRST, exit_codes.ALREADY_RUNNING) from None
    except person_client.NotRunning:
        raise fail("NEXUS is starting or stopping on this home. Try again in a moment.") from None
    except person_client.Refused as refused_by_gateway:
        error = refused_by_gateway.error
        raise fail("\n".join(error_lines(error)), exit_codes.REFUSED, error) from None
