"""JSON, and JSON with comments and trailing commas, edited as text: what is not touched stays byte for byte.

Pure. A file is scanned into nodes that know where they stand; an edit is a few splices at these places. Whoever calls
compares the data of the result with what it should be (document.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bus.value import Record, Value
from nexus.connect.syntax import Broken, Keys

depth_max: Final = 100
"""How deep a configuration may be nested."""

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORDS: Final = {"true": True, "false": False, "null": None}
_DEFAULT_UNIT: Final = "  "


@dataclass(frozen=True, slots=True)
class Member:
    """`"key": value` of an object; `comma` is where the comma after it stands."""

    key: str
    start: int
    value: Node
    comma: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the span it stands in; `members` of an object only."""

    start: int
    end: int
    data: Value
    members: tuple[Member, ...] | None = None

    def member(self, key: str) -> Member | None:
        """The one that counts: of doubled keys the last."""
        return next((one for one in reversed(self.members or ()) if one.key == key), None)


@dataclass(frozen=True, slots=True)
class Json:
    """A syntax (nexus/connect/syntax.py). `comments`: whether comments and trailing commas are part of it."""

    comments: bool

    def data(self, text: str) -> Record:
        root = _scanned(text, self.comments)
        if root is None:
            return {}
        assert isinstance(root.data, dict), "_scanned refuses other roots"
        return root.data

    def with_value(self, text: str, path: Keys, value: Record) -> str:
        root = _scanned(text, self.comments)
        if root is None:
            gap = "" if not text.strip() else "\n"
            return f"{text.rstrip()}{gap}{_written(_nested(path, value), _DEFAULT_UNIT, '')}\n"
        node = root
        for depth, key in enumerate(path):
            member = node.member(key)
            if member is None:
                return _inserted(text, root, node, key, _nested(path[depth + 1 :], value))
            node = member.value
        indent = _indent_of_line(text, node.start)
        return _spliced(text, [(node.start, node.end, _written(value, _unit(text, root), indent, _newline(text)))])

    def without(self, text: str, path: Keys) -> str:
        while True:
            node = _scanned(text, self.comments)
            for key in path[:-1]:
                member = None if node is None else node.member(key)
                node = None if member is None else member.value
            if node is None:
                return text
            if node.member(path[-1]) is None:
                return _closed_up(text, node)
            text = _removed(text, node, path[-1])


def _nested(path: Sequence[str], value: Record) -> Record:
    for key in reversed(path):
        value = {key: value}
    return value


def _inserted(text: str, root: Node, node: Node, key: str, value: Record) -> str:
    """`"key": value` as the last member of the object `node`, in the manner of the others."""
    newline, unit, members = _newline(text), _unit(text, root), node.members
    if members is None:
        raise Broken("the place for it holds something else than an object", text, node.start)
    quoted = json.dumps(key, ensure_ascii=False)
    close = node.end - 1
    tail = node.start + len(text[node.start : close].rstrip())  # behind the last value or comment
    if not members:
        outer = _indent_of_line(text, node.start)
        member = f"{quoted}: {_written(value, unit, outer + unit, newline)}"
        return _spliced(text, [(tail, close, f"{newline}{outer}{unit}{member}{newline}{outer}")])
    last = members[-1]
    indent = _indent_before(text, members[0].start)
    if indent is None:
        member = f"{quoted}: {json.dumps(value, ensure_ascii=False)}"
        if last.comma is None:
            return _spliced(text, [(last.value.end, last.value.end, f", {member}")])
        return _spliced(text, [(last.comma + 1, last.comma + 1, f" {member},")])
    member = f"{newline}{indent}{quoted}: {_written(value, unit, indent, newline)}"
    if last.comma is None:
        return _spliced(text, [(last.value.end, last.value.end, ","), (tail, tail, member)])
    return _spliced(text, [(tail, tail, f"{member},")])


def _removed(text: str, node: Node, key: str) -> str:
    """Without the member that counts. Comments stay: they may say something about others."""
    members = node.members or ()
    number = max(at for at, one in enumerate(members) if one.key == key)
    member, previous = members[number], members[number - 1] if number else None
    end = member.value.end if member.comma is None else member.comma + 1
    indent = _indent_before(text, member.start)
    after = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    line_end = re.compile(r"\r?\n").match(text, after)
    is_last_without_comma = member.comma is None and previous is not None and previous.comma is not None
    if indent is not None and line_end is not None:
        cuts = [(member.start - len(indent), line_end.end(), "")]
    elif is_last_without_comma and previous is not None and not text[(previous.comma or 0) + 1 : member.start].strip():
        return _spliced(text, [(previous.comma or 0, end, "")])
    else:
        cuts = [(member.start, after, "")]
    if is_last_without_comma and previous is not None and previous.comma is not None:
        cuts.insert(0, (previous.comma, previous.comma + 1, ""))
    return _spliced(text, cuts)


def _closed_up(text: str, node: Node) -> str:
    """An object that holds nothing any more is written `{}`."""
    is_empty = node.members == () and not text[node.start + 1 : node.end - 1].strip()
    return _spliced(text, [(node.start, node.end, "{}")]) if is_empty else text


def _spliced(text: str, cuts: Sequence[tuple[int, int, str]]) -> str:
    """`cuts` from left to right."""
    for start, end, replacement in reversed(cuts):
        text = text[:start] + replacement + text[end:]
    return text


def _written(value: Record, unit: str, indent: str, newline: str = "\n") -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str, root: Node) -> str:
    """What one level is indented by."""
    return (_indent_before(text, root.members[0].start) if root.members else None) or _DEFAULT_UNIT


def _indent_before(text: str, at: int) -> str | None:
    """The spaces before `at`, if nothing else stands before it on its line, which is not the first."""
    line = text.rfind("\n", 0, at)
    before = text[line + 1 : at]
    return before if line >= 0 and not before.strip(" \t") else None


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _scanned(text: str, comments: bool) -> Node | None:
    """The object that the file holds; None for a file without any value. Raises Broken."""
    scanner = _Scanner(text, comments)
    scanner.skip()
    if scanner.at == len(text):
        return None
    root = scanner.value(depth_max)
    scanner.skip()
    if scanner.at != len(text):
        raise Broken("there is more after its end", text, scanner.at)
    if root.members is None:
        raise Broken("it holds something else than an object", text, root.start)
    return root


class _Scanner:
    """Reads values from left to right; `at` is where it stands."""

    def __init__(self, text: str, comments: bool) -> None:
        self._text = text
        self._comments = comments
        self.at = 1 if text.startswith("\ufeff") else 0

    def skip(self) -> None:
        """Over whitespace and comments."""
        while self.at < len(self._text):
            if self._text[self.at] in " \t\r\n":
                self.at += 1
            elif self._comments and self._text.startswith("//", self.at):
                end = self._text.find("\n", self.at)
                self.at = len(self._text) if end < 0 else end
            elif self._comments and self._text.startswith("/*", self.at):
                end = self._text.find("*/", self.at + 2)
                if end < 0:
                    raise self._broken("a comment does not end")
                self.at = end + 2
            else:
                return

    def value(self, depth: int) -> Node:
        """The value that begins here."""
        if depth == 0:
            raise self._broken("it is nested too deep")
        start, first = self.at, self._text[self.at : self.at + 1]
        if first == "{":
            members = self._members(depth)
            return Node(start, self.at, {one.key: one.value.data for one in members}, members)
        if first == "[":
            items = self._items(depth)
            return Node(start, self.at, items)
        if first == '"':
            string = self._string()
            return Node(start, self.at, string)
        for word, meaning in _WORDS.items():
            if self._text.startswith(word, start):
                self.at = start + len(word)
                return Node(start, self.at, meaning)
        number = _NUMBER.match(self._text, start)
        if number is None:
            raise self._broken("here should be a value")
        self.at = number.end()
        return Node(start, self.at, json.loads(number[0]))

    def _members(self, depth: int) -> tuple[Member, ...]:
        members: list[Member] = []
        self._step("{")
        while not self._is_closed("}", is_first=not members):
            start = self.at
            key = self._string()
            self.skip()
            self._step(":")
            self.skip()
            value = self.value(depth - 1)
            members.append(Member(key, start, value, self._comma("}")))
        return tuple(members)

    def _items(self, depth: int) -> list[Value]:
        items: list[Value] = []
        self._step("[")
        while not self._is_closed("]", is_first=not items):
            items.append(self.value(depth - 1).data)
            self._comma("]")
        return items

    def _is_closed(self, close: str, *, is_first: bool) -> bool:
        """Steps over the closing bracket if it is next. Behind a comma it may be only where trailing ones are."""
        self.skip()
        if not self._text.startswith(close, self.at):
            return False
        if not is_first and not self._comments and self._text[: self.at].rstrip().endswith(","):
            raise self._broken("there is a comma too many")
        self.at += 1
        return True

    def _comma(self, close: str) -> int | None:
        """Where the comma stands that must be next unless the bracket closes."""
        self.skip()
        if self._text.startswith(close, self.at):
            return None
        self._step(",")
        return self.at - 1

    def _string(self) -> str:
        match = _STRING.match(self._text, self.at)
        if match is None:
            raise self._broken("here should be a text in double quotes")
        try:
            string = json.loads(match[0])
        except ValueError:
            raise self._broken("this text has a wrong escape") from None
        self.at = match.end()
        return str(string)

    def _step(self, expected: str) -> None:
        if not self._text.startswith(expected, self.at):
            raise self._broken(f"here should be `{expected}`")
        self.at += 1

    def _broken(self, why: str) -> Broken:
        return Broken(why, self._text, self.at)
