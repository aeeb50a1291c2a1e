"""Names that must differ clearly within a scope (ARCHITECTURE: NFKC, casefold, confusable skeleton). Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from tools.names import name_keys


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
