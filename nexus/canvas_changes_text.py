"""What a proposal would do, a sentence an element: what a person reads before approving it (canvas 1.2, 3.4).

Made of the answer of the verb canvas_proposal: `elements` as they would be, `changes` with what they were, `names`.
Everything in it was typed by agents or came from files, so all of it is escaped and cut (security 2.15).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bus.value import Record, Value, records
from nexus.output import json_text, shown

_LINES_SHOWN: Final = 30
_CHARACTERS_SHOWN: Final = 60
_FIELDS_SHOWN: Final = 8
_FOLLOWS: Final = frozenset({"boundElements"})
"""The other side of what an arrow or a label says of itself."""
_COURSE: Final = frozenset({"x", "y", "width", "height", "points", "startBinding", "endBinding", "fixedSegments"})
_BINDINGS: Final = ("startBinding", "endBinding")


def change_lines(proposal: Record) -> list[str]:
    """The first lines, and how many more elements would change."""
    elements = records(proposal, "elements")
    changes = {str(one.get("id")): one for one in records(proposal, "changes")}
    names = proposal.get("names")
    telling = _Telling(elements, changes, names if isinstance(names, dict) else {})
    told = [(telling.line(one), one) for one in elements]
    lines = [line for line, _ in told if line is not None]
    shown_lines = lines[:_LINES_SHOWN]
    count = proposal.get("elementCount")
    beyond = count - len(elements) if isinstance(count, int) and proposal.get("truncated") is True else 0
    more = len(lines) - len(shown_lines) + max(0, beyond)
    return [*shown_lines, *([f"and {more} more; --json prints the elements"] if more else [])]


class _Telling:
    def __init__(self, elements: list[Record], changes: Mapping[str, Record], names: Record) -> None:
        self._elements = {str(one.get("id")): one for one in elements}
        self._changes = changes
        self._names = names

    def line(self, element: Record) -> str | None:
        """None for what only follows from the change of another element that is told of."""
        change = self._changes.get(str(element.get("id")))
        if change is None:
            return f"changes {self._name(element)}"
        if change.get("isNew") is True:
            return None if self._goes_with_container(element) else self._creation(element, change)
        was = change.get("was")
        former = {name: value for name, value in was.items() if name not in _FOLLOWS} if isinstance(was, dict) else {}
        if "isDeleted" in former:
            if self._goes_with_container(element):
                return None
            done = "deletes" if element.get("isDeleted") is True else "restores"
            return f"{done} {_word(element.get('type'))} {self._name(element)}"
        return self._update(element, former, change) if former else None

    def _creation(self, element: Record, change: Record) -> str:
        unknown = _unknown(change)
        ends = [_target(element, side) for side in _BINDINGS]
        if all(ends):
            start, end = (self._called(str(id_)) for id_ in ends)
            words = self._names.get(str(element.get("id")))
            return f"connects {start} -> {end}{f' ({_quoted(words)})' if words else ''}{unknown}"
        size = f"{_number(element.get('width'))} x {_number(element.get('height'))}"
        place = f"{_number(element.get('x'))}, {_number(element.get('y'))}"
        return f"creates {_word(element.get('type'))} {self._name(element)} ({size} at {place}){unknown}"

    def _update(self, element: Record, former: Record, change: Record) -> str | None:
        if former.keys() <= {"x", "y"}:
            if self._goes_with_container(element):
                return None
            way = ", ".join(_difference(element, former, axis) for axis in ("x", "y"))
            return f"moves {self._name(element)} by {way}"
        if element.get("type") in ("arrow", "line") and former.keys() <= _COURSE:
            return f"leads {_word(element.get('type'))} {self._name(element)} anew{self._new_ends(element, former)}"
        told = [f"{_word(name)} {_value(old)} -> {_value(element.get(name))}" for name, old in former.items()]
        more = f", and {len(told) - _FIELDS_SHOWN} more fields" if len(told) > _FIELDS_SHOWN else ""
        return f"{self._name(element)}: {', '.join(told[:_FIELDS_SHOWN])}{more}{_unknown(change)}"

    def _new_ends(self, element: Record, former: Record) -> str:
        """Where an arrow is tied to something else than it was."""
        if all(_target(former, side) == _target(element, side) for side in _BINDINGS if side in former):
            return ""
        ends = (_target(element, side) for side in _BINDINGS)
        start, end = (self._called(id_) if id_ else "nothing" for id_ in ends)
        return f": {start} -> {end}"

    def _goes_with_container(self, element: Record) -> bool:
        """Whether it is a label, told with the shape that has changed in the same way."""
        container = self._elements.get(str(element.get("containerId")))
        one, other = self._changes.get(str(element.get("id"))), self._changes.get(str(element.get("containerId")))
        if container is None or one is None or other is None:
            return False
        if one.get("isNew") is True:
            return other.get("isNew") is True
        was, theirs = one.get("was"), other.get("was")
        if isinstance(was, dict) and "isDeleted" in was:
            return isinstance(theirs, dict) and "isDeleted" in theirs
        return isinstance(theirs, dict) and bool(theirs.keys() & _COURSE)

    def _name(self, element: Record) -> str:
        return self._called(str(element.get("id")))

    def _called(self, id_: str) -> str:
        """Its words in quotation marks; an id as it is."""
        words = self._names.get(id_)
        return _quoted(words) if words else _cut(shown(id_))


def _target(element: Record, side: str) -> str | None:
    binding = element.get(side)
    id_ = binding.get("elementId") if isinstance(binding, dict) else None
    return id_ if isinstance(id_, str) else None


def _quoted(words: Value) -> str:
    return f"'{_cut(shown(words))}'"


def _word(name: Value) -> str:
    return _cut(shown(name))


def _unknown(change: Record) -> str:
    listed = change.get("unknownFields")
    if not isinstance(listed, list) or not listed:
        return ""
    return f" (fields that Excalidraw does not know: {_cut(shown(listed))})"


def _value(value: Value) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    return _cut(shown(value) if value != "" else "nothing")


def _number(value: Value) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json_text(value)
    return f"{round(value, 2):.10g}" if abs(value) < 1e9 else f"{value:g}"


def _difference(element: Record, former: Record, axis: str) -> str:
    now, was = element.get(axis), former.get(axis, element.get(axis))
    if not isinstance(now, int | float) or not isinstance(was, int | float):
        return "?"
    return _number(now - was)


def _cut(words: str) -> str:
    return words if len(words) <= _CHARACTERS_SHOWN else words[: _CHARACTERS_SHOWN - 1] + "…"
