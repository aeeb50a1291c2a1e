"""The elements of a scene that is being taken in, in its order, and who of them says to be tied to whom.

`claims` is kept with every element that is put, so that no step of an import has to look at all of them: a text claims
its container, an arrow what its ends name. Only live elements claim anything (canvas 4.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from actors.canvas.geometry import text
from actors.canvas.ties import SIDES, target_id
from bus.value import Record


@dataclass(slots=True)
class Gathered:
    """Changed only by `order_behind`, `put` and `drop`. Elements are replaced, never changed in place."""

    elements: dict[str, Record] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Ids in the scene's order."""
    place: dict[str, int] = field(default_factory=dict)
    """By id, its place in `order`."""
    claims: dict[str, dict[str, str]] = field(default_factory=dict)
    """By id of a holder, there or not: who says to be tied to it, and as what (`text` or `arrow`)."""

    def order_behind(self, ids: list[str]) -> None:
        for id_ in ids:
            self.place[id_] = len(self.order)
            self.order.append(id_)

    def put(self, element: Record) -> None:
        id_ = text(element, "id")
        self._withdraw(id_)
        self.elements[id_] = element
        for holder, kind in _claims_of(element):
            self.claims.setdefault(holder, {})[id_] = kind

    def drop(self, id_: str) -> None:
        self._withdraw(id_)
        self.elements.pop(id_, None)

    def find_live(self, id_: str, changed: Mapping[str, Record]) -> Record | None:
        """The live element, as it is in `changed` if it is there."""
        element = changed.get(id_) or self.elements.get(id_)
        return element if element is not None and element["isDeleted"] is not True else None

    def claimants(self, holder: str, kind: str) -> list[str]:
        """Who claims to be tied to `holder` as that, in no order."""
        return [id_ for id_, as_what in self.claims.get(holder, {}).items() if as_what == kind]

    def _withdraw(self, id_: str) -> None:
        before = self.elements.get(id_)
        for holder, _ in _claims_of(before) if before is not None else ():
            self.claims.get(holder, {}).pop(id_, None)


def _claims_of(element: Record) -> Iterator[tuple[str, str]]:
    if element.get("isDeleted") is True:
        return
    if element["type"] == "text" and text(element, "containerId"):
        yield text(element, "containerId"), "text"
    elif element["type"] == "arrow":
        for side in SIDES:
            target = target_id(element, side)
            if target is not None:
                yield target, "arrow"
