"""Keys of elements in ascending order, to be sorted in steps when they are first needed and kept sorted from then on.

One sort of a large scene would hold the interpreter for 30 ms, so short runs are sorted one a step and then merged, a
stretch a step. A change in the middle of that throws away what was done; a host lets nothing of the owner be decided
between two steps, so it is rare.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, Generic, TypeVar

_AT_ONCE: Final = 1_000
"""Keys: some 2 ms."""

Place = TypeVar("Place", str, int)


class SortedKeys(Generic[Place]):
    """Pairs (what they are sorted by, element id), each once."""

    def __init__(self) -> None:
        self._keys: list[tuple[Place, str]] = []
        self._is_whole = False
        self._sorting: Iterator[bool] | None = None

    def sort_some(self, keys: Callable[[], Iterator[tuple[Place, str]]]) -> bool:
        """The next step; whether all is sorted now. `keys` gives those of every element, in no order."""
        if self._is_whole:
            return True
        if self._sorting is None:
            self._keys = []
            self._sorting = _sort_into(self._keys, keys())
        self._is_whole = next(self._sorting, True)
        if self._is_whole:
            self._sorting = None
        return self._is_whole

    def sorted(self, keys: Callable[[], Iterator[tuple[Place, str]]]) -> list[tuple[Place, str]]:
        """All of them, lowest first. Not to be changed."""
        while not self.sort_some(keys):
            pass
        return self._keys

    def replace(self, was: tuple[Place, str] | None, now: tuple[Place, str] | None) -> None:
        """One element has another key, a first one, or none any more."""
        if was == now:
            return
        if not self._is_whole:
            self._sorting = None
            return
        if was is not None:
            del self._keys[bisect_left(self._keys, was)]
        if now is not None:
            insort(self._keys, now)


def _sort_into(made: list[tuple[Place, str]], keys: Iterator[tuple[Place, str]]) -> Iterator[bool]:
    """Yields False after each step but the last. Holds nothing of whom it works for: that would be a cycle."""
    runs: list[list[tuple[Place, str]]] = []
    while run := sorted(islice(keys, _AT_ONCE)):
        runs.append(run)
        yield False
    merged = heapq.merge(*runs)
    while stretch := list(islice(merged, _AT_ONCE)):
        made += stretch
        yield False
