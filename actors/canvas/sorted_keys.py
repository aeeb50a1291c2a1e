"""Keys of elements in ascending order: sorted in steps, then kept sorted.

One sort of a large scene would hold the interpreter for 30 ms, so short runs are sorted one a step, and then merged two
a step: a sort of two sorted runs is a merge, at a tenth of what one written in Python costs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Generic, TypeVar

_AT_ONCE: Final = 500
"""Keys: 1 to 4 ms with what it takes to make them. The last merge of 50,000 takes some 5."""

Sortable = TypeVar("Sortable", str, int)
Item = TypeVar("Item", bound=tuple[Any, ...])


def sort_into(made: list[Item], items: Iterator[Item]) -> Iterator[None]:
    """Fill the empty list `made` with the items, sorted; whoever runs it has a pause at each `yield`."""
    runs: deque[list[Item]] = deque()
    while run := sorted(islice(items, _AT_ONCE)):
        runs.append(run)
        yield
    while len(runs) > 1:
        runs.append(sorted(runs.popleft() + runs.popleft()))
        yield
    made += runs.popleft() if runs else ()


class SortedKeys(Generic[Sortable]):
    """Pairs (what they are sorted by, element id), each once."""

    def __init__(self) -> None:
        self.keys: list[tuple[Sortable, str]] = []
        """Lowest first. Not to be changed."""

    def fill(self, keys: Iterator[tuple[Sortable, str]]) -> Iterator[None]:
        """Put those in, which come in no order, step by step."""
        return sort_into(self.keys, keys)

    def replace(self, was: tuple[Sortable, str] | None, now: tuple[Sortable, str] | None) -> None:
        """One element has another key, a first one, or none any more."""
        if was == now:
            return
        if was is not None:
            del self.keys[bisect_left(self.keys, was)]
        if now is not None:
            insort(self.keys, now)
