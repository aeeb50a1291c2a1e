"""Which call ids may have an answer on disk, so that a new call need not be looked up: a read of the store a call.

Invariant: every answer row's id is not greater than `_floor`, or is in `_recent`. At the start the floor is the highest
id that is stored; each id is noted before its answer is handed to the journal; what leaves `_recent` raises the floor.
Ids grow with time, so nearly every call is above the floor. No clock is believed: ids are compared with ids.

Any thread.
"""

from __future__ import annotations

import threading
from collections import deque

from bus.limits import known_calls_kept_max
from bus.store import Store


class KnownCalls:
    """`kept_max` can be lowered by tests."""

    def __init__(self, store: Store, kept_max: int = known_calls_kept_max) -> None:
        newest = store.last(b"a")
        self._floor = "" if newest is None else newest[0][1:].decode()
        self._recent: set[str] = set()
        self._oldest_first: deque[str] = deque()  # not a dict: finding the first key walks over all removed ones
        self._kept_max = kept_max
        self._lock = threading.Lock()

    def may_be_known(self, call_id: str) -> bool:
        """False: no answer to it is stored or on its way."""
        with self._lock:
            return call_id <= self._floor or call_id in self._recent

    def note(self, call_id: str) -> None:
        """Its answer is about to be handed to the journal."""
        with self._lock:
            if call_id in self._recent:
                return
            self._recent.add(call_id)
            self._oldest_first.append(call_id)
            if len(self._recent) > self._kept_max:
                oldest = self._oldest_first.popleft()
                self._recent.remove(oldest)
                self._floor = max(self._floor, oldest)
