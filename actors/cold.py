"""Cold rows: what an owner has stored and does not hold in memory, read for a decision that asks (decision.py).

Invariants:
- A decision sees exactly what was decided before it: what is on disk, overlaid by what this owner's earlier decisions
  wrote and is not on disk yet. As with a state, it is decided anew if one of those was not stored (execute.py).
- A damaged cold row fails the decision that reads it and nothing else: the owner's state does not depend on it.

Who may touch it: the thread that has the owner's turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from actors.decision import ColdRow, ColdRows, Delete, RowEffect
from bus.address import Address
from bus.codec import CorruptRow, pack
from bus.limits import cold_rows_max
from bus.store import Store, row_of, state_key
from bus.value import Value

Present = Callable[[str, bytes], Value]
"""A stored row's value in its present version. Raises CorruptRow."""


class ColdRowDamaged(Exception):
    """A cold row that was asked for cannot be read. Caught in execute.py, which refuses that one message."""


class UncommittedCold:
    """What an owner's decisions wrote to cold rows, until it is on disk."""

    __slots__ = ("_effects",)

    def __init__(self) -> None:
        self._effects: deque[tuple[int, RowEffect]] | None = None
        """None as long as nothing is noted: most of a hundred thousand owners never write a cold row, and an empty
        deque takes 600 bytes."""

    def note(self, number: int, effect: RowEffect) -> None:
        """`number`: which commit of its owner it belongs to, counted from 1."""
        if self._effects is None:
            self._effects = deque()
        self._effects.append((number, effect))

    def settle(self, settled: int) -> None:
        """The owner's first `settled` commits are on disk."""
        while self._effects and self._effects[0][0] <= settled:
            self._effects.popleft()
        if not self._effects:
            self._effects = None

    def forget(self) -> None:
        self._effects = None

    def newest(self, wanted: ColdRows) -> dict[str, RowEffect]:
        """The last that was written to each row that is wanted, highest name first."""
        last = {effect.row: effect for _, effect in self._effects or () if wanted.wants(effect.row)}
        return {row: last[row] for row in sorted(last, key=str.encode, reverse=True)}


def read(
    store: Store, owner: Address, uncommitted: UncommittedCold, present: Present, wanted: ColdRows
) -> tuple[ColdRow, ...]:
    """The wanted rows, highest name first. Raises ColdRowDamaged.

    `uncommitted` is settled by what was on disk before this began, so a commit that comes to the disk meanwhile is
    read twice and found the same.
    """
    overlay = uncommitted.newest(wanted)
    rows: list[ColdRow] = []
    size = 0
    try:
        for row, stored in _merged(overlay, _stored(store, owner, wanted)):
            effect = overlay.get(row)
            if isinstance(effect, Delete):
                continue
            size += len(stored)
            if wanted.names_only:
                rows.append(ColdRow(row, None))
            elif effect is None:
                rows.append(ColdRow(row, present(row, stored)))
            else:
                rows.append(ColdRow(row, effect.value))
                size += len(pack(effect.value))  # what it will take: what waits for the disk is bounded like the disk
            if len(rows) == min(wanted.limit, cold_rows_max) or size >= wanted.bytes_max:
                break
    except CorruptRow as damaged:
        raise ColdRowDamaged from damaged
    return tuple(rows)


def _stored(store: Store, owner: Address, wanted: ColdRows) -> Iterator[tuple[str, bytes]]:
    """One by one, so that what is not read costs nothing, however large it is."""
    prefix = state_key(owner, wanted.prefix)
    down_to = prefix if wanted.down_to is None else state_key(owner, wanted.down_to)
    before = None if wanted.before is None else state_key(owner, wanted.before)
    while (found := store.last(prefix, before)) is not None and found[0] >= down_to:
        before, stored = found
        row = row_of(before)
        name, separator, _ = row.removeprefix(wanted.prefix).partition("/")
        if separator and not wanted.parts:
            before = state_key(owner, f"{wanted.prefix}{name}/")  # past all parts, to the row that they belong to
            continue
        yield row, stored


_NOT_STORED: Final = b""


def _merged(overlay: dict[str, RowEffect], stored: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Rows of both, each once, highest name first; those of `overlay` that are not stored with nothing for bytes."""
    waiting = deque(overlay)
    for row, content in stored:
        while waiting and waiting[0].encode() > row.encode():
            yield waiting.popleft(), _NOT_STORED
        if waiting and waiting[0] == row:
            waiting.popleft()
        yield row, content
    for row in waiting:
        yield row, _NOT_STORED
