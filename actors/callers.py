"""Who waits for which call at a host, whether the call came by their link or by a parcel (docs/decisions/0009).

Invariants:
- A call id is with its owner at most once until its answer, or that it was left open, is on disk: whoever comes
  meanwhile joins the wait and hears the same answer. So what is decided and not stored yet is never decided again.
- Who joins a call that comes by a parcel makes nothing happen: only the parcel gives it to its owner.
- What is with an owner is never forgotten; what merely waits is, when its deadline has passed.

Runs on the host's loop thread only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from actors.onward import Admitted, Admitting
from bus.link import Peer

Waiter: TypeAlias = Peer | Admitting | Admitted
"""Who is told the answer; for some that is not the end of it (actors/onward.py)."""


@dataclass(slots=True)
class _Waiting:
    waiters: list[Waiter]
    deadline_ms: int
    is_given: bool = False
    """It went to its owner."""
    is_open: bool = False
    """It was left open and that is on disk: nothing in memory depends on this entry any more."""

    def add(self, waiter: Waiter, deadline_ms: int) -> None:
        if waiter not in self.waiters:
            self.waiters.append(waiter)
        self.deadline_ms = max(self.deadline_ms, deadline_ms)


class Callers:
    """By call id."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def called(self, waiter: Waiter, call_id: str, deadline_ms: int) -> bool:
        """A call has come by a link; whether it must be given to its owner now."""
        waiting = self._waiting.get(call_id)
        if waiting is None:
            self._waiting[call_id] = _Waiting([waiter], deadline_ms, True)
            return True
        waiting.add(waiter, deadline_ms)
        was_given, waiting.is_given = waiting.is_given, True
        return not was_given

    def joined(self, peer: Peer, call_id: str, deadline_ms: int) -> bool:
        """Somebody waits for a call that comes by a parcel; whether nothing here knows of it, so that its answer may be
        on disk."""
        waiting = self._waiting.setdefault(call_id, _Waiting([], 0))
        waiting.add(peer, deadline_ms)
        return not waiting.is_given

    def given(self, call_id: str) -> None:
        """A parcel brought the call, and it goes to its owner."""
        self._waiting.setdefault(call_id, _Waiting([], 0)).is_given = True

    def left_open(self, call_id: str) -> None:
        """That it was left open is on disk."""
        waiting = self._waiting.get(call_id)
        if waiting is not None:
            waiting.is_open = True

    def answered(self, call_id: str) -> list[Waiter]:
        """Who is told its answer. Nobody waits for it any more."""
        waiting = self._waiting.pop(call_id, None)
        return [] if waiting is None else waiting.waiters

    def forget(self, now_ms: int) -> None:
        """Drop those whose deadline has passed, but for what is with an owner."""
        for call_id, waiting in list(self._waiting.items()):
            if waiting.deadline_ms < now_ms and (waiting.is_open or not waiting.is_given):
                del self._waiting[call_id]
