"""Keys of elements in ascending order: sorted in steps, then kept sorted.

One sort of a large scene would hold the interpreter for 30 ms, so short runs are sorted one a step and then merged, a
stretch a step.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice
from typing import Final, Generic, TypeVar

_AT_ONCE: Final = 1_000
"""Keys: some 2 ms."""

Sortable = TypeVar("Sortable", str, int)


class SortedKeys(Generic[Sortable]):
    """Pairs (what they are sorted by, element id), each once."""

    def __init__(self) -> None:
        self.keys: list[tuple[Sortable, str]] = []
        """Lowest first. Not to be changed."""

    def fill(self, keys: Iterator[tuple[Sortable, str]]) -> Iterator[None]:
        """Put those in, which come in no order; whoever runs it has a pause at each `yield`."""
        runs: list[list[tuple[Sortable, str]]] = []
        while run := sorted(islice(keys, _AT_ONCE)):
            runs.append(run)
            yield
        merged = heapq.merge(*runs)
        while stretch := list(islice(merged, _AT_ONCE)):
            self.keys += stretch
            yield

    def replace(self, was: tuple[Sortable, str] | None, now: tuple[Sortable, str] | None) -> None:
        """One element has another key, a first one, or none any more."""
        if was == now:
            return
        if was is not None:
            del self.keys[bisect_left(self.keys, was)]
        if now is not None:
            insort(self.keys, now)
