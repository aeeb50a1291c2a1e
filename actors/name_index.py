"""Names that must differ clearly within a scope (ARCHITECTURE: NFKC, casefold, confusable skeleton). Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tools.errors import Refusal, invalid_arguments
from tools.names import name_keys

SHOWS_NOTHING: Final = "shows nothing; choose one with letters or digits"
"""The problem of a name of which nothing can be seen."""


@dataclass(slots=True)
class NameIndex:
    """Who holds a name or one that looks like it, within one scope. Copes with twins: older homes may have some."""

    holders: dict[str, set[str]] = field(default_factory=dict)
    """By key of a name (tools/names.py), the ids."""

    def add(self, holder: str, name: str) -> None:
        for key in name_keys(name):
            self.holders.setdefault(key, set()).add(holder)

    def drop(self, holder: str, name: str) -> None:
        for key in name_keys(name):
            self.holders[key].discard(holder)
            if not self.holders[key]:
                del self.holders[key]

    def holder_of(self, name: str, but: str = "") -> str | None:
        """The first of those, in the order of their ids, that another one of this name could be taken for."""
        found = {holder for key in name_keys(name) for holder in self.holders.get(key, ())}
        return min(found - {but}, default=None)


def taken_by_another(what: str) -> str:
    """The problem of a name that one of `what` has, such as "team", or could be taken for."""
    return f"another {what} has this name or one that looks like it; choose one that differs clearly"


def name_problem(names: NameIndex, name: str, what: str, but: str = "") -> str | None:
    """Why none of `what` but the holder `but` can have this name, as the problem of a field."""
    if not name_keys(name):
        return SHOWS_NOTHING
    return None if names.holder_of(name, but) is None else taken_by_another(what)


def name_refusal(names: NameIndex, name: str, what: str, but: str = "") -> Refusal | None:
    """The same for a call whose argument is `name`."""
    problem = name_problem(names, name, what, but)
    return None if problem is None else invalid_arguments({"name": problem})
