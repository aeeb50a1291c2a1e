"""Which elements lie in a region: R-trees of their boxes (canvas 5). The only importer of rtree.

Invariants:
- What is found is exactly what a look at every box would find: the trees give candidates, the boxes themselves decide.
- libspatialindex sees only finite coordinates of some size, since it multiplies them. What lies further out is put at
  that edge; so it is found, and only the bounds of the whole are then not exact.
- Used by the one thread that has the owner's turn, like all of its state. The library's calls give up the interpreter.

Many elements are packed into trees of some thousand each, from left to right: packing is five times as fast as putting
one after the other, and so no step of it takes long. A region is looked for only in those that it meets. What is put
later goes into a tree of its own.

Loading the library takes a tenth of a second, so it is loaded when the first region of all is asked for: who has no
canvas never pays for it, and who only draws does not either.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from actors.canvas.geometry import Box
from actors.canvas.sorted_keys import sort_into

if TYPE_CHECKING:
    from rtree.index import Index

_NODE_ENTRIES: Final = 16
"""Measured: with the default of 100 a change costs 1,300 microseconds instead of 65, and a question as much."""
_PACKED_AT_ONCE: Final = 2_000
"""Some 6 ms."""
_FAR: Final = 1e30
_Corners = tuple[float, float, float, float]
_EVERYWHERE: Final = Box(-_FAR, -_FAR, _FAR, _FAR)


class _Tree:
    """Numbers by their corners. What is packed into it lies within `reach`, and nothing else may be put there later."""

    def __init__(self, items: list[tuple[int, _Corners]]) -> None:
        from rtree.index import Index, Property

        properties = Property(leaf_capacity=_NODE_ENTRIES, index_capacity=_NODE_ENTRIES)
        stream = ((number, corners, None) for number, corners in items) if items else None
        self.index: Index = Index(stream, properties=properties) if stream else Index(properties=properties)
        self._bounds: Box | None = None
        self.reach = self.bounds() if items else _EVERYWHERE

    def insert(self, number: int, box: Box) -> None:
        self.index.insert(number, _corners(box))
        self._bounds = None

    def delete(self, number: int, box: Box) -> None:
        self.index.delete(number, _corners(box))
        self._bounds = None

    def bounds(self) -> Box:
        """Of what is in it now; inside out when nothing is."""
        if self._bounds is None:
            self._bounds = Box(*self.index.bounds)
        return self._bounds


class Boxes:
    """Boxes by element id."""

    def __init__(self) -> None:
        self._loose = _Tree([])
        self._trees = [self._loose]
        self._placed: dict[str, tuple[_Tree, int, Box]] = {}
        self._ids: dict[int, str] = {}
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._placed)

    def fill(self, boxes: Iterator[tuple[str, Box]]) -> Iterator[None]:
        """Place many in what is empty yet; whoever runs it has a pause at each `yield`."""
        from_left: list[tuple[float, str, Box]] = []
        yield from sort_into(from_left, ((box.left, id_, box) for id_, box in boxes if _is_somewhere(box)))
        following = iter(from_left)
        while some := list(islice(following, _PACKED_AT_ONCE)):
            first = self._next_number
            self._next_number += len(some)
            tree = _Tree([(number, _corners(box)) for number, (_, _, box) in enumerate(some, first)])
            self._trees.append(tree)
            for number, (_, id_, box) in enumerate(some, first):
                self._placed[id_] = tree, number, box
                self._ids[number] = id_
            yield

    def put(self, id_: str, box: Box) -> None:
        """Place an element, or place it anew. One whose box is not even made of numbers lies nowhere."""
        if self.box(id_) == box:
            return
        self.drop(id_)
        if _is_somewhere(box):
            number = self._next_number
            self._next_number += 1
            self._loose.insert(number, box)
            self._placed[id_] = self._loose, number, box
            self._ids[number] = id_

    def drop(self, id_: str) -> None:
        """No effect for an element that is not here."""
        placed = self._placed.pop(id_, None)
        if placed is not None:
            tree, number, box = placed
            del self._ids[number]
            tree.delete(number, box)

    def box(self, id_: str) -> Box | None:
        placed = self._placed.get(id_)
        return None if placed is None else placed[2]

    def count_near(self, region: Box) -> int:
        """How many boxes meet the region; `near` may give fewer."""
        return sum(tree.index.count(_corners(region)) for tree in self._met_by(region))

    def near(self, region: Box) -> Iterator[str]:
        """Ids of the elements whose boxes meet the region, in no order."""
        for tree in self._met_by(region):
            for number in tree.index.intersection(_corners(region)):
                id_ = self._ids[number]
                if region.intersects(self._placed[id_][2]):
                    yield id_

    def bounds(self) -> Box | None:
        """The smallest box around all; None when there is nothing."""
        boxes = [box for tree in self._trees if _is_somewhere(box := tree.bounds())]
        if not boxes:
            return None
        return Box(
            min(box.left for box in boxes),
            min(box.top for box in boxes),
            max(box.right for box in boxes),
            max(box.bottom for box in boxes),
        )

    def _met_by(self, region: Box) -> Iterator[_Tree]:
        corners = Box(*_corners(region))
        return (tree for tree in self._trees if tree.reach.intersects(corners))


def _is_somewhere(box: Box) -> bool:
    """False for what is not made of numbers, and for the bounds of an empty tree."""
    return box.left <= box.right and box.top <= box.bottom


def _corners(box: Box) -> _Corners:
    return _near(box.left), _near(box.top), _near(box.right), _near(box.bottom)


def _near(coordinate: float) -> float:
    return min(max(coordinate, -_FAR), _FAR)
