"""Which elements lie in a region: an R-tree of their boxes (canvas 5). The only importer of rtree.

Invariants:
- What is found is exactly what a look at every box would find: the tree gives candidates, the boxes themselves decide.
- libspatialindex sees only finite coordinates of some size, since it multiplies them. What lies further out is put at
  that edge; so it is found, and only the bounds of the whole are then not exact.
- Used by the one thread that has the owner's turn, like all of its state. The library's calls give up the interpreter.

Loading the library takes a tenth of a second, so it is loaded when the first region of all is asked for: who has no
canvas never pays for it, and who only draws does not either.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from actors.canvas.geometry import Box

if TYPE_CHECKING:
    from rtree.index import Index

_NODE_ENTRIES: Final = 16
"""Measured: with the default of 100 a change costs 1,300 microseconds instead of 65, and a question as much."""
_FAR: Final = 1e30
_Corners = tuple[float, float, float, float]


class Boxes:
    """Boxes by element id."""

    def __init__(self) -> None:
        self._tree = _new_tree()
        self._placed: dict[str, tuple[int, Box]] = {}
        self._ids: dict[int, str] = {}
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._placed)

    def put(self, id_: str, box: Box) -> None:
        """Place an element, or place it anew. One whose box is not even a number lies nowhere."""
        placed = self._placed.get(id_)
        if placed is not None and placed[1] == box:
            return
        self.drop(id_)
        if box.left <= box.right and box.top <= box.bottom:
            number = self._next_number
            self._next_number += 1
            self._tree.insert(number, _corners(box))
            self._placed[id_] = number, box
            self._ids[number] = id_

    def drop(self, id_: str) -> None:
        """No effect for an element that is not here."""
        placed = self._placed.pop(id_, None)
        if placed is not None:
            number, box = placed
            del self._ids[number]
            self._tree.delete(number, _corners(box))

    def box(self, id_: str) -> Box | None:
        placed = self._placed.get(id_)
        return None if placed is None else placed[1]

    def count_near(self, region: Box) -> int:
        """How many boxes meet the region; `among` may give fewer."""
        return self._tree.count(_corners(region))

    def near(self, region: Box) -> Iterable[str]:
        """Ids of the elements whose boxes meet the region, in no order."""
        for number in self._tree.intersection(_corners(region)):
            id_ = self._ids[number]
            if region.intersects(self._placed[id_][1]):
                yield id_

    def bounds(self) -> Box | None:
        """The smallest box around all; None when there is nothing."""
        return Box(*self._tree.bounds) if self._placed else None


def _new_tree() -> Index:
    from rtree.index import Index, Property

    return Index(properties=Property(leaf_capacity=_NODE_ENTRIES, index_capacity=_NODE_ENTRIES))


def _corners(box: Box) -> _Corners:
    return _near(box.left), _near(box.top), _near(box.right), _near(box.bottom)


def _near(coordinate: float) -> float:
    return min(max(coordinate, -_FAR), _FAR)
