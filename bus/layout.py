"""What is done to every row when a release changes the layout of keys (bus/store.py, LAYOUT_VERSION).

A change of a record's meaning needs none of this: rows are upgraded when they are read (docs/decisions/0004).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from bus import store as keys
from bus.reshard import RowWriter
from bus.store import LAYOUT_VERSION, Store, every_row

RowUpgrade: TypeAlias = Callable[[bytes, bytes], Iterable[tuple[bytes, bytes]]]
"""A row of one layout as the rows of the next one: none, one or several. Pure."""

UPGRADES: Final[Mapping[int, RowUpgrade]] = MappingProxyType({})
"""For each older layout, the step to the next one. Empty: there has been one layout only."""


def can_upgrade(found: int, upgrades: Mapping[int, RowUpgrade], present: int = LAYOUT_VERSION) -> bool:
    """Whether there is a step from every layout between `found` and the present one."""
    return found < present and all(older in upgrades for older in range(found, present))


def rewrite(old: Store, new: Store, found: int, upgrades: Mapping[int, RowUpgrade], present: int) -> int:
    """Fill the empty `new` with the rows of `old`, brought up step by step. How many were written."""
    writer = RowWriter(new)
    for key, value in every_row(old, b""):
        if key == keys.fact_key("layout"):
            continue  # the new store has its own
        rows: Iterable[tuple[bytes, bytes]] = [(key, value)]
        for older in range(found, present):
            rows = [after for before in rows for after in upgrades[older](*before)]
        for row in rows:
            writer.put(*row)
    writer.flush()
    return writer.written
