"""What a configuration's syntax can do: read it, put one entry in, take one out. Pure."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from bus.value import Record

Keys: TypeAlias = tuple[str, ...]
"""Keys from the root to an entry."""


class Broken(Exception):
    """A configuration that does not parse, or whose place for servers holds something else. The text is for the
    person, without the file's name."""

    def __init__(self, why: str, text: str | None = None, at: int = 0) -> None:
        """`at`: the place in `text` where it shows."""
        super().__init__(why if text is None else f"line {text.count(chr(10), 0, at) + 1}: {why}")


class Syntax(Protocol):
    """One format. All raise Broken."""

    def data(self, text: str) -> Record:
        """What the file says; empty for an empty file."""
        ...

    def with_value(self, text: str, path: Keys, value: Record) -> str:
        """The text with `value` at `path`, in place of what was there; all else as it was."""
        ...

    def without(self, text: str, path: Keys) -> str:
        """The text without anything at `path`; all else as it was."""
        ...
