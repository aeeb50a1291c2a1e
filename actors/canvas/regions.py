"""Which elements of a canvas a region query finds, lowest first (canvas 2, 5).

Two ways lead there and find the same. When few elements lie in the region, the tree names them and they are put in
order. When many do, the stacking order is walked from where the page before ended, which soon fills a page. So the
first page of a whole canvas costs as little as a corner of it.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from actors.canvas.boxes import Boxes
from actors.canvas.geometry import Box, text
from actors.canvas.state import CanvasState

Place = tuple[str, str]
"""(index, id): where an element stands in the stacking order. New and changed elements do not shift it."""

_MANY: Final = 8
"""A hit in so many elements: then a step of the walk costs about an eighth of what the tree needs for a hit."""


@dataclass(frozen=True, slots=True)
class Query:
    region: Box
    is_contained: bool
    """Elements must lie in the region whole."""
    types: frozenset[str] | None
    with_deleted: bool
    after: Place
    limit: int
    """No more than so many are given."""


def found_in(state: CanvasState, query: Query) -> Iterator[Place]:
    """Their places, lowest first."""
    placed = state.placed
    trees = (placed.live, placed.deleted) if query.with_deleted else (placed.live,)
    near = sum(tree.count_near(query.region) for tree in trees)
    if near * _MANY > len(state.entries):
        order = state.in_order()
        behind = range(bisect_right(order, query.after), len(order))
        walked = (order[at] for at in behind if _is_found(state, query, trees, order[at][1]))
        return islice(walked, query.limit)
    hits = (id_ for tree in trees for id_ in tree.near(query.region) if _is_found(state, query, trees, id_))
    places = ((text(state.entries[id_].element, "index"), id_) for id_ in hits)
    return iter(heapq.nsmallest(query.limit, (place for place in places if place > query.after)))


def _is_found(state: CanvasState, query: Query, trees: tuple[Boxes, ...], id_: str) -> bool:
    box = next((box for tree in trees if (box := tree.box(id_)) is not None), None)
    if box is None:
        return False
    if query.types is not None and state.entries[id_].element["type"] not in query.types:
        return False
    return query.region.contains(box) if query.is_contained else query.region.intersects(box)
