"""What commands print: text for people, one line of JSON for programs.

Everything that agents, pages or other people typed (names, titles, branches, log lines, event data) passes `escape`
before it reaches a terminal: control characters, terminal sequences (they begin with a control character) and
invisible or direction-changing characters are shown as escapes and do nothing (security 2.15). Nothing here is rich
markup, so square brackets in a name are square brackets.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import typer
from rich.cells import cell_len, set_cell_size
from typer.main import get_current_context  # type: ignore[attr-defined]  # click's own, which typer has inside

from bus.limits import progress_after_ms
from bus.value import Record, Value
from nexus import exit_codes
from tools.errors import Code, Refusal
from tools.times import rfc3339

progress_every_seconds: Final = 5.0
cell_characters_max: Final = 120
last_cells_min: Final = 20

_CODES: Final[Mapping[int, Code]] = {
    exit_codes.USAGE: Code.INVALID_ARGUMENTS,
    exit_codes.NOT_RUNNING: Code.UNAVAILABLE,
    exit_codes.START_FAILED: Code.UNAVAILABLE,
}
"""What a command that ends so was refused for, where it was not the runtime that said so; else `wrong_state`."""

_JOINERS: Final = frozenset("\u200c\u200d")
"""Emoji, Persian and Indic scripts need them; they change no direction and hide no text."""
_HIDDEN_CATEGORIES: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE0100), *range(0xE01F0, 0xE1000))))
)
"""Letters, marks and unassigned characters that draw nothing at all (Unicode, Default_Ignorable_Code_Point)."""
_TAKES_SELECTOR: Final = frozenset("0123456789#*")
"""The ASCII characters that have another form as an emoji."""


def escape(text: str) -> str:
    """`text` on one line with every control, direction and invisible character shown as an escape."""
    return "".join(
        _escaped(character) if is_hidden(character, before) else character
        for before, character in zip(" " + text, text, strict=False)
    )


def is_hidden(character: str, before: str = " ") -> bool:
    """Whether it acts on the text around it or draws nothing. `before` is the one before it, which a selector of
    variations may give another form; where it has nothing to change, it only hides."""
    if character in _JOINERS:
        return False
    if _is_selector(character):
        can_change = before in _TAKES_SELECTOR if before.isascii() else not _is_selector(before)
        return not can_change or is_hidden(before)
    return character in _BLANK or unicodedata.category(character) in _HIDDEN_CATEGORIES


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _escaped(character: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if short:
        return short
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def json_text(value: object) -> str:
    """`value` as one line of JSON in ASCII, so that no character of it can act on a terminal."""
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def print_json(value: object) -> None:
    """One line, at once even into a pipe: whoever reads it may wait for it."""
    typer.echo(json_text(value))
    sys.stdout.flush()


def print_line(text: str, *, to_stderr: bool = False) -> None:
    """Print our own sentence; parts that others typed must have passed `escape` or `shown`."""
    typer.echo(text, err=to_stderr)


def shown(value: Value) -> str:
    """Any value as escaped text for a cell or a sentence: absent as `-`, lists joined, records as JSON."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return escape(value)
        case list() if all(isinstance(item, str) for item in value):
            return ", ".join(shown(item) for item in value) or "-"
        case int() | float():
            return str(value)
        case _:
            return json_text(value)


def table(columns: Sequence[str], rows: Iterable[Sequence[Value]], cells: int | None = None) -> list[str]:
    """Aligned lines under a heading. Widths count terminal cells, so wide characters keep the columns straight.

    `cells`: how wide the lines may be; the last column is cut to it, though to no less than a part worth reading.
    """
    texts = [[_cell(value) for value in row] for row in rows]
    if cells is not None:
        before = [
            max([cell_len(heading), *(cell_len(row[number]) for row in texts)])
            for number, heading in enumerate(columns[:-1])
        ]
        room = max(last_cells_min, cells - sum(before) - 2 * len(before))
        texts = [[*row[:-1], _cut(row[-1], room)] for row in texts]
    widths = [
        max([cell_len(heading), *(cell_len(row[number]) for row in texts)]) for number, heading in enumerate(columns)
    ]
    return [_aligned([heading.upper() for heading in columns], widths), *(_aligned(row, widths) for row in texts)]


def _cell(value: Value) -> str:
    text = shown(value)
    return text if len(text) <= cell_characters_max else text[: cell_characters_max - 1] + "…"


def _cut(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def terminal_cells() -> int | None:
    """The width of the terminal that is printed to; None when it is none, and nothing has to be cut."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def fields(record: Mapping[str, Value]) -> list[str]:
    """A record as `name: value` lines, names aligned."""
    width = max((len(name) for name in record), default=0)
    return [f"{escape(name) + ':':<{width + 1}} {shown(value)}" for name, value in record.items()]


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)


def print_list(
    answer: Mapping[str, Value], as_json: bool, columns: Sequence[str], rows: Sequence[Sequence[Value]], nothing: str
) -> None:
    """What a command that lists prints: the answer as JSON, a table, or the sentence `nothing`."""
    if as_json:
        print_json(answer)
    elif rows:
        print_lines(table(columns, rows))
    else:
        print_line(nothing)


def time_text(milliseconds: Value) -> str:
    """Milliseconds since the epoch as RFC 3339 UTC (common 1.7); anything else as it is."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int):
        return shown(milliseconds)
    try:
        return rfc3339(milliseconds)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)


def error_lines(error: Mapping[str, Value]) -> list[str]:
    """A refusal's record for a person: the sentence, bad fields, candidates of an ambiguous name, a file's fault, why a
    task is not delivered."""
    listed = error.get("fields")
    bad_fields = listed if isinstance(listed, list) else []
    # The message of bad fields speaks to an agent that calls a tool; what is wrong stands in the fields.
    lines = ["Refused: correct this and try again." if bad_fields else f"Refused: {shown(error.get('message'))}"]
    for field in bad_fields:
        if isinstance(field, dict):
            lines.append(f"  {shown(field.get('path'))}: {shown(field.get('problem'))}")
    candidates = error.get("candidates")
    for candidate in candidates if isinstance(candidates, list) else []:
        if isinstance(candidate, dict):
            place = candidate.get("workspaceId")
            inside = f"  (workspace {shown(place)})" if place else ""
            lines.append(f"  {shown(candidate.get('id'))}  {shown(candidate.get('name'))}{inside}")
    if isinstance(error.get("complaint"), str):
        lines.append(shown(error.get("complaint")))
    withheld = error.get("withheld")
    entries = [entry for entry in withheld if isinstance(entry, dict)] if isinstance(withheld, list) else []
    # Two tiers may be withheld for one reason.
    lines += dict.fromkeys(f"  {shown(entry.get('detail'))}" for entry in entries)
    if error.get("retryable") is True:
        lines.append("It may work when tried again in a moment.")
    return lines


def fail(message: str, code: int = exit_codes.REFUSED, error: Mapping[str, Value] | None = None) -> typer.Exit:
    """Print `message` to standard error; raise what this returns.

    Of a command with --json standard output gets `{"error": ...}` too: what follows from the exit code, and
    `error` where there is more to it or the runtime has said it.
    """
    if _is_asked_for_json():
        print_json({"error": {**local_error(message, code), **(error or {})}})
    typer.echo(message, err=True)
    return typer.Exit(code)


def local_error(message: str, exit_code: int) -> Record:
    """What a command refuses by itself, in the form of the refusals of the runtime (common 6.1)."""
    refused = _CODES.get(exit_code, Code.WRONG_STATE)
    return Refusal(refused, message, retryable=refused is Code.UNAVAILABLE).to_record()


def _is_asked_for_json() -> bool:
    context = get_current_context(silent=True)
    return context is not None and context.params.get("as_json") is True


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Say on standard error what is going on once it takes over a second, and every few seconds after."""
    finished = threading.Event()

    def speak() -> None:
        started = time.monotonic()
        wait = progress_after_ms / 1000
        while not finished.wait(wait):
            typer.echo(f"{doing} ... {time.monotonic() - started:.0f} s", err=True)
            wait = progress_every_seconds

    thread = threading.Thread(target=speak, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
