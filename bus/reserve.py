"""Who may write when the disk is full: the person, and what follows from commits that are on disk (common 8.5).

A reserve is a part of the disk that nothing is written to. When a group does not fit, agents' commits are given back,
and for the others' the reserve is released. From then on agents write nothing until there is room again:

| reserve | agents write | until |
| --- | --- | --- |
| held | yes; for a moment not, after something did not fit and there is little room | it is released for a commit |
| not held, at least twice its size is free inside the store | yes, while its size stays free inside | it does not |
| not held | no | there is room for twice its size: on the disk, then it is held anew; or inside the store |

Invariants:
- A commit without writes is never refused: reads go on.
- Privileged (`Commit.is_privileged`) are commits of the person, of parcels and of timers. A parcel is what a commit
  that is on disk sent; streams are first in, first out, so one that were refused would keep the person's back.
- The room is looked at once in `reserve_look_ms` at most, but for each group while free room inside is the reserve.

Who may touch it: the journal's writer alone changes it; `refuses` and `state` are for any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import structlog

from bus.limits import reserve_bytes, reserve_look_ms
from bus.store import Store, Write

_WRITE_AMPLIFICATION = 2
"""A copied tree page may come with each row: what is free inside must do for that too."""
_log = structlog.get_logger("reserve")


class Written(Protocol):
    """What counts here of a `bus.journal.Commit`."""

    @property
    def is_privileged(self) -> bool: ...

    @property
    def writes_anything(self) -> bool: ...

    @property
    def at_ms(self) -> int: ...

    @property
    def rows(self) -> Sequence[Write]: ...


class ReserveState(StrEnum):
    """What the person is told."""

    HELD = "held"
    WITHIN = "within"
    """Not on the disk, but as much is free inside the store."""
    SPENT = "spent"
    """Agents' writes are refused."""


class Reserve:
    """The reserve of one store. `size` can be lowered by tests."""

    def __init__(self, store: Store, size: int = reserve_bytes) -> None:
        self._store = store
        self._size = size
        self._looked_ms = 0
        self._is_held = store.reserved_bytes() >= size
        self.is_closed = False
        """Whether agents' commits that write are refused."""
        self._judge()

    @property
    def state(self) -> ReserveState:
        if self._is_held:
            return ReserveState.HELD
        return ReserveState.SPENT if self.is_closed else ReserveState.WITHIN

    def refuses(self, commit: Written) -> bool:
        """Whether to give it back without trying. One a `reserve_look_ms` passes, so that the writer looks again."""
        return self.is_closed and is_refusable(commit) and commit.at_ms - self._looked_ms < reserve_look_ms

    def look(self, commits: Sequence[Written]) -> None:
        """Before a group is written: is it time to see whether agents may write?"""
        now_ms = max(commit.at_ms for commit in commits)
        if now_ms - self._looked_ms >= reserve_look_ms:
            self._looked_ms = now_ms
            self._judge()
        if not self._is_held and not self.is_closed:
            rows = (row for commit in commits if is_refusable(commit) for row in commit.rows)
            wanted = sum(len(key) + len(value or b"") for key, value in rows) * _WRITE_AMPLIFICATION
            if self._store.room().within - wanted < self._size:
                self._close(now_ms)

    def did_not_fit(self, now_ms: int) -> None:
        """A group was too large. If it was not only that group, agents wait a moment: their commits would be tried one
        after the other, and each takes along what was decided on top of it."""
        room = self._store.room()
        if room.growth + room.within < 2 * self._size:
            self._close(now_ms)

    def release(self, now_ms: int) -> bool:
        """Give the reserve to the commits that wait; whether there was one."""
        if not self._is_held:
            return False
        _log.warning("reserve_released")
        self._store.release_reserve()
        self._is_held = False
        self._close(now_ms)
        return True

    def _close(self, now_ms: int) -> None:
        self.is_closed = True
        self._looked_ms = now_ms

    def _judge(self) -> None:
        room = self._store.room()
        if not self._is_held and room.growth >= 2 * self._size and self._store.reserve(self._size):
            self._is_held = True
            _log.info("reserve_made")
        may_write = room.until_largest >= self._size if self._is_held else room.within >= 2 * self._size
        self.is_closed = not may_write


def is_refusable(commit: Written) -> bool:
    """An agent's commit that writes."""
    return not commit.is_privileged and commit.writes_anything
