"""An approval's card as lines for a person (common 5.4, security 2.4).

First what NEXUS knows, then what the agent wrote, marked as such and whole. What somebody typed (names, titles, the
agent's words) stands in quotes, on lines of its own, with everything that cannot be seen or moves other text shown as
an escape of JSON, so that what is read can be read only one way. No such text begins a line: of what NEXUS knows each
line begins with a label or a mark, of what the agent wrote with a bar.
"""

from __future__ import annotations

import json
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bus.value import Record, Value, records
from nexus.lookalikes import note_on
from nexus.output import escape, is_hidden, time_text

cells_default: Final = 100
cells_least: Final = 40
"""A narrower terminal breaks lines by itself; nothing is cut for it."""

marks_in_a_row_max: Final = 4
"""Marks over one letter that languages need; more only draw over the lines around."""

AGENT_PART: Final = "What the agent wrote (not checked):"
_END: Final = "End of what the agent wrote."
_BAR: Final = "  | "
_BAR_GOES_ON: Final = "  |> "
_GOES_ON: Final = "> "
_LABEL_CELLS: Final = 14
_OWN_SENTENCES: Final = frozenset({"why", "beware"})

STATES: Final[Mapping[str, str]] = {
    "pending": "waits for your decision",
    "approved": "approved; the same call may run once",
    "in_use": "approved; the call is running",
    "used": "approved, and the call has run",
    "denied": "denied",
    "expired": "expired; nothing ran",
    "lapsed": "lapsed: its target had changed, so nothing ran",
    "voided": "ended: the agent or its credential is gone",
}


def card_lines(card: Record, cells: int = cells_default) -> list[str]:
    """The whole card, as `approvals.show` answers it; `cells` is the terminal's width. No line is wider."""
    width = max(cells, cells_least)
    return [
        *_wrapped(f"Approval {escape(_text(card, 'approvalId'))}", width, _GOES_ON),
        *(line for label, value in _known(card) for line in _labelled(label, value, width)),
        *_wrapped(AGENT_PART, width, _GOES_ON),
        *_barred(_agent_lines(card), width),
        *_noted(_strings(card.get("reason")), _strings(card.get("arguments")), width),
        _END,
    ]


def quoted(value: Value, indent: int | None = None) -> str:
    """A value as JSON in which every character can be seen for what it is."""
    shown: list[str] = []
    previous, marks = "", 0
    for character in json.dumps(value, ensure_ascii=False, indent=indent):
        is_mark = unicodedata.category(character).startswith("M")
        marks = marks + 1 if is_mark else 0
        is_astray = is_mark and (marks > marks_in_a_row_max or not _takes_marks(previous))
        is_break = indent is not None and character == "\n"  # those of texts are escapes already
        is_escaped = is_astray or (_is_unclear(character) and not is_break)
        shown.append(_json_escape(character) if is_escaped else character)
        previous = "" if is_escaped else character
    return "".join(shown)


def _known(card: Record) -> Iterator[tuple[str, str]]:
    """Label and text of each line."""
    state = _text(card, "state")
    yield "state", STATES.get(state, escape(state))
    yield from _named("agent", _record(card, "agent"))
    yield from _named("workspace", _record(card, "workspace"))
    for name in ("tool", "kind", "why"):
        yield name, escape(_text(card, name)) or "-"
    target = {**_record(card, "target"), **_record(card, "now")}
    yield "target", "" if target else "nothing that NEXUS knows more of"
    for name, value in target.items():
        yield f"  {escape(name)}", quoted(value)
        yield from _note([value] if isinstance(value, str) else [])
    yield "credential", quoted(card.get("credential"))
    yield from _note([_text(card, "credential")])
    chain, more = records(card, "chain"), _count(card, "chainMore")
    is_led = len(chain) > 1 or more > 0
    yield "led to by", f"these, and {more} more that are not named" if more else "" if is_led else "the agent alone"
    for number, one in enumerate(chain if is_led else (), 1):
        yield from _named(f"  {number}.", one)
    plan = _record(card, "plan")
    if plan:
        yield "plan", f"step {quoted(plan.get('number'))} of {escape(_text(plan, 'planId'))}"
    yield "asked", time_text(card.get("createdAt"))
    yield "expires", time_text(card.get("expiresAt"))
    decision = _record(card, "decision")
    if decision:
        yield "decided", f"{time_text(decision.get('at'))}, how: {escape(_text(decision, 'how'))}"
        if decision.get("note") is not None:
            yield "your note", quoted(decision.get("note"))


def _named(label: str, one: Record) -> Iterator[tuple[str, str]]:
    """A name and its id on two lines, so that no direction of writing in the one moves the other."""
    yield label, quoted(one.get("name"))
    yield "  id", escape(_text(one, "id")) or "-"
    yield from _note([_text(one, "name")])


def _note(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    note = note_on(texts)
    if note is not None:
        yield "  beware", note


def _agent_lines(card: Record) -> Iterator[str]:
    reason = card.get("reason")
    yield f"reason: {'none given' if reason is None else quoted(reason)}"
    yield "arguments:"
    yield from quoted(_record(card, "arguments"), indent=2).split("\n")


def _barred(lines: Iterable[str], width: int) -> Iterator[str]:
    for line in lines:
        first, *rest = _pieces(line, width - len(_BAR_GOES_ON))
        yield _BAR + first
        yield from (_BAR_GOES_ON + piece for piece in rest)


def _noted(reason: Iterable[str], arguments: Iterable[str], width: int) -> Iterator[str]:
    for where, texts in (("reason", reason), ("arguments", arguments)):
        note = note_on(texts)
        if note is not None:
            yield from _wrapped(f"  beware of the {where} above: {note}", width, f"    {_GOES_ON}")


def _labelled(label: str, value: str, width: int) -> Iterator[str]:
    start = f"  {label + ': ':<{_LABEL_CELLS}}"
    if len(start) * 2 > width:  # a target's fact of a long name has a line for its name
        yield from _wrapped(start, width, f"  {_GOES_ON}")
        start = " " * (2 + _LABEL_CELLS)
    cells = width - len(start) - len(_GOES_ON)
    first, *rest = _sentences(value, cells) if label.strip() in _OWN_SENTENCES else _pieces(value, cells)
    yield (start + first).rstrip()
    yield from (f"{'':<{len(start)}}{_GOES_ON}{piece}" for piece in rest)


def _wrapped(text: str, width: int, goes_on: str) -> Iterator[str]:
    first, *rest = _sentences(text, width - len(goes_on))
    yield first
    yield from (goes_on + piece for piece in rest)


def _sentences(text: str, cells: int) -> list[str]:
    """NEXUS's own words, broken between words where that is possible."""
    return textwrap.wrap(text, cells) if text.isascii() and text.strip() else _pieces(text, cells)


def _pieces(text: str, cells: int) -> list[str]:
    """`text` in pieces that fit, none of it left out; marks stay with their letter. At least one piece."""
    pieces, piece, taken = [], "", 0
    for cluster in _clusters(text):
        wide = sum(map(_cells, cluster))
        if piece and taken + wide > cells:
            pieces.append(piece)
            piece, taken = "", 0
        piece += cluster
        taken += wide
    return [*pieces, piece]


def _clusters(text: str) -> Iterator[str]:
    cluster = ""
    for character in text:
        if cluster and not unicodedata.category(character).startswith("M"):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster


def _cells(character: str) -> int:
    """The most that a terminal may give it: a line that is broken too early lets nothing begin a line of its own."""
    return 2 if unicodedata.east_asian_width(character) in "WFA" else 1


def _takes_marks(character: str) -> bool:
    return character != "" and unicodedata.category(character)[0] in "LNMS"


def _is_unclear(character: str) -> bool:
    """Whether it draws nothing, or a gap that could as well be a space."""
    category = unicodedata.category(character)
    is_gap = category == "Zs" and character not in " \u3000"
    return is_hidden(character) or is_gap or category in ("Cf", "Cn")


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1] if not character.isascii() else f"\\u{ord(character):04x}"


def _strings(value: Value) -> Iterator[str]:
    """Every text in it, keys too. By a list of what is left, since arguments may be deeply nested."""
    left: list[Value] = [value]
    while left:
        match left.pop():
            case str() as text:
                yield text
            case list() as items:
                left += items
            case dict() as record:
                yield from record
                left += record.values()


def _record(record: Record, field: str) -> Record:
    value = record.get(field)
    return value if isinstance(value, dict) else {}


def _text(record: Record, field: str) -> str:
    value = record.get(field)
    return value if isinstance(value, str) else ""


def _count(record: Record, field: str) -> int:
    value = record.get(field)
    return value if isinstance(value, int) else 0
