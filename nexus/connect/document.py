"""One entry put into a configuration or taken out, whatever its syntax, and nothing else changed. Pure.

Invariant: what an edit answers says exactly what the file said before, but for the entry. An edit that would not is
given up (Broken), however the file is written.
"""

from __future__ import annotations

import copy

from bus.value import Record, Value
from nexus.connect.syntax import Broken, Keys, Syntax


def entry_at(data: Record, path: Keys) -> Value:
    """What is configured at `path`; None if nothing is. Raises Broken when a place above it is no object."""
    found: Value = data
    for depth, key in enumerate(path):
        if not isinstance(found, dict):
            raise Broken(f"`{'.'.join(path[:depth])}` is not an object")
        if key not in found:
            return None
        found = found[key]
    return found


def with_entry(syntax: Syntax, text: str, path: Keys, entry: Record) -> str:
    """The text with `entry` at `path`; the same text when it says so already. Raises Broken."""
    data = syntax.data(text)
    if entry_at(data, path) == entry:
        return text
    wanted = copy.deepcopy(data)
    place = wanted
    for key in path[:-1]:
        inner = place.setdefault(key, {})
        assert isinstance(inner, dict), "entry_at refuses other places"
        place = inner
    place[path[-1]] = entry
    return _sure(syntax, syntax.with_value(text, path, entry), wanted)


def without_entry(syntax: Syntax, text: str, path: Keys) -> str:
    """The text without what is at `path`; the same text when nothing is. Raises Broken."""
    data = syntax.data(text)
    if entry_at(data, path) is None:
        return text
    wanted = copy.deepcopy(data)
    place = wanted
    for key in path[:-1]:
        inner = place[key]
        assert isinstance(inner, dict), "entry_at refuses other places"
        place = inner
    del place[path[-1]]
    return _sure(syntax, syntax.without(text, path), wanted)


def _sure(syntax: Syntax, text: str, wanted: Record) -> str:
    if _full(syntax.data(text)) != _full(wanted):
        raise Broken("it is written in a way that cannot be edited safely; add or remove the entry by hand")
    return text


def _full(value: Value) -> Value:
    """Without objects that hold nothing: whether an empty table is written down says nothing."""
    if not isinstance(value, dict):
        return value
    inner = {key: _full(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one != {}}
