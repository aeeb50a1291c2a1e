"""Pages of an inbox: how much fits, and where the next one starts.

A cursor holds two places, one in the deliveries and one in the notifications. Both are places in an order, not counts,
so a cursor stays valid while things come and go (common 7.3). Clients see it sealed (nexus/gateway/cursor.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from bus.value import Record, Value
from tools.plain_json import encoded_bytes

Place = TypeVar("Place")

_CURSOR: Final = re.compile(r"([1-4])\.(\d{1,15})~(\d{1,15})\.([0-9A-Za-z_-]{0,64})\Z")
_FIRST: Final = (1, 0)
_NEWEST: Final = (10**15 - 1, "")


class BadCursor(ValueError):
    """The text is not a cursor of agent_inbox. The decision turns it into `invalid_arguments`."""


@dataclass(frozen=True, slots=True)
class Places:
    """Deliveries after `delivery` = (rank, arrival); notifications older than `notice` = (last change, thread)."""

    delivery: tuple[int, int] = _FIRST
    notice: tuple[int, str] = _NEWEST

    def cursor(self) -> str:
        return f"{self.delivery[0]}.{self.delivery[1]}~{self.notice[0]}.{self.notice[1]}"

    @classmethod
    def parse(cls, cursor: str | None) -> Places:
        """Read back what `cursor` wrote; None is the start. Raises BadCursor."""
        if cursor is None:
            return cls()
        found = _CURSOR.match(cursor)
        if found is None:
            raise BadCursor(cursor)
        return cls((int(found[1]), int(found[2])), (int(found[3]), found[4]))


@dataclass(slots=True)
class Page(Generic[Place]):
    """What was taken of a longer list."""

    items: list[Value] = field(default_factory=list)
    last: Place | None = None
    more: bool = False


def page_of(
    candidates: Iterable[tuple[Place, Record]],
    count_max: int,
    bytes_max: int,
    bytes_to_come: Callable[[Record], int] = lambda item: 0,
) -> Page[Place]:
    """Take candidates in order while they fit. The first is always taken: limits see to it that any one fits.

    `bytes_to_come` is by how much an item may still grow before it leaves.
    """
    page: Page[Place] = Page()
    used = 0
    for place, item in candidates:
        used += encoded_bytes(item) + bytes_to_come(item) + 1  # and the comma
        if page.items and (len(page.items) >= count_max or used > bytes_max):
            page.more = True
            return page
        page.items.append(item)
        page.last = place
    return page
