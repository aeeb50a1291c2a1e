"""What every command of the person shares: its options, and asking the running NEXUS with an answer or an exit code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from bus.value import Record, Value
from nexus import exit_codes
from nexus.config import HomeMissing, HomeRefused, home_path, resolve_home
from nexus.output import error_lines, escape, fail, progress
from nexus.person_client import NOT_RUNNING_TEXT, NotRunning, PersonClient, Refused
from nexus.roots import lies_in_home
from tools.redact import redacted_data


def typed_path(text: str) -> Path:
    """The parser of every option and argument that names a file or a folder: no name is not the current folder."""
    if not text.strip():
        raise typer.BadParameter("it is empty; name a file or folder.")
    return Path(text)


HomeOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="The home folder of NEXUS. Default: NEXUS_HOME, else the platform's.",
        parser=typed_path,
        metavar="FOLDER",
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of text.")]
WorkspaceOption: TypeAlias = Annotated[
    str | None, typer.Option("--workspace", "-w", help="Look only in this workspace (an id or a name).")
]

EXIT_CODES: Final = "Exit codes: 0 done, 1 refused, 2 wrong usage, 3 NEXUS is not running, 5 the home folder is unsafe."


def examples(*lines: str) -> str:
    """The end of a command's help: examples as they are typed, and the exit codes."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines), "", EXIT_CODES))


def ask(
    home: Path | None,
    verb: str,
    arguments: Mapping[str, Value],
    doing: str,
    lines: Iterable[Mapping[str, Value]] = (),
) -> Record:
    """The answer of the running NEXUS. A refusal is printed and ends the command; absent arguments are left out."""
    try:
        with progress(doing):
            return _shown(verb, _client(home).ask(verb, _given(arguments), lines))
    except (NotRunning, Refused) as reason:
        raise ended(reason) from None


def follow(home: Path | None, verb: str, arguments: Mapping[str, Value]) -> Iterator[Record]:
    """Each event as it comes, until NEXUS ends or the person interrupts."""
    try:
        for event in _client(home).follow(verb, _given(arguments)):
            yield _shown(verb, event)
    except (NotRunning, Refused) as reason:
        raise ended(reason) from None


def stream(
    home: Path | None, verb: str, arguments: Mapping[str, Value], each: Callable[[Record], None], doing: str
) -> Record:
    """Each event of a verb that ends, and its last answer."""
    try:
        with progress(doing):
            return _client(home).stream(verb, _given(arguments), lambda event: each(_shown(verb, event)))
    except (NotRunning, Refused) as reason:
        raise ended(reason) from None


def refuse_in_home(file: Path, home: Path | None) -> None:
    """Ends the command when it would write into the home of NEXUS: its data lies there, under names of its own."""
    if str(file) != "-" and lies_in_home(file, home_folder(home)):
        raise fail(f"{escape(str(file))} lies in the home folder of NEXUS; name a file outside.", exit_codes.REFUSED)


def home_folder(home: Path | None) -> Path:
    """Where the home is, whether or not it was made. Ends the command for one that cannot be named."""
    try:
        return home_path(home, os.environ)
    except HomeRefused as unsafe:
        raise fail(escape(str(unsafe)), exit_codes.HOME_REFUSED) from None


def _client(home: Path | None) -> PersonClient:
    """Raises NotRunning for a home that was never made; ends the command for one that is unsafe to use."""
    try:
        return PersonClient(resolve_home(home).run)
    except HomeMissing as missing:
        raise NotRunning(NOT_RUNNING_TEXT) from missing
    except HomeRefused as unsafe:
        raise fail(escape(str(unsafe)), exit_codes.HOME_REFUSED) from None


def _shown(verb: str, answer: Record) -> Record:
    """What `nexus-bus` looks into and what agents wrote to each other is shown without credentials (common 7.2); the
    answer to another command of `nexus` may be one, such as a new token. Done here and not in the gateway, which serves
    others meanwhile."""
    shown = redacted_data(answer) if verb.startswith(("bus.", "thread.")) else answer
    assert isinstance(shown, dict)
    return shown


def _given(arguments: Mapping[str, Value]) -> Record:
    return {name: value for name, value in arguments.items() if value is not None}


def ended(reason: NotRunning | Refused) -> typer.Exit:
    """Prints why nothing came of it; raise what this returns."""
    if isinstance(reason, NotRunning):
        return fail(str(reason), exit_codes.NOT_RUNNING)
    return fail("\n".join(error_lines(reason.error)), exit_codes.REFUSED, reason.error)
