"""Orders that are kept, of which no list can be the form: a mailbox takes from the front of a hundred thousand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from sortedcontainers import SortedList

Item = TypeVar("Item", bound="str | tuple[int, str] | tuple[int, int, str]")


class SortedItems(Generic[Item]):
    """A sorted collection of distinct items, whatever the order of adding. Each step costs about the same, however
    many there are."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._items = SortedList(items)

    def move(self, former: Item | None, now: Item | None) -> None:
        """Take `former` out and put `now` in; None is no item. Raises ValueError if `former` is not there."""
        if former == now:
            return
        if former is not None:
            self._items.remove(former)
        if now is not None:
            self._items.add(now)

    def add(self, item: Item) -> None:
        self._items.add(item)

    def remove(self, item: Item) -> None:
        """Raises ValueError if it is not there."""
        self._items.remove(item)

    def at(self, index: int) -> Item:
        """By its place in the order; negative ones count from the end. Raises IndexError."""
        item: Item = self._items[index]
        return item

    def first(self) -> Item | None:
        return self.at(0) if self._items else None

    def last(self) -> Item | None:
        return self.at(-1) if self._items else None

    def after(self, place: Item) -> Iterator[Item]:
        """The items behind `place`, in order."""
        return iter(self._items.irange(minimum=place, inclusive=(False, True)))

    def before(self, place: Item) -> Iterator[Item]:
        """The items before `place`, the last one first."""
        return iter(self._items.irange(maximum=place, inclusive=(True, False), reverse=True))

    def count_from(self, place: Item) -> int:
        """How many items are not before `place`."""
        return len(self._items) - int(self._items.bisect_left(place))

    def drop_some(self, count: int) -> None:
        """Let go of up to `count` items at the end."""
        del self._items[max(len(self._items) - count, 0) :]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __reversed__(self) -> Iterator[Item]:
        items: Iterator[Item] = reversed(self._items)
        return items

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SortedItems) and list(self._items) == list(other._items)

    def __hash__(self) -> int:
        raise TypeError("an order that changes has no hash")

    def __repr__(self) -> str:
        return f"SortedItems({list(self._items)!r})"
