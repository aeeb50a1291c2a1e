"""The inbox of an owner: Pykka's, without blocking, and with a way back for what must be handled once more.

Invariant: messages are handed out in the order in which they were told, also when some come back: each goes before all
that were told after it. So calls of one link that the disk gave back are decided in their order again.

Who may touch it: `put` is for any thread, one at a time a message; `give_back` for any thread; the rest for the turn.
"""

from __future__ import annotations

import threading
from bisect import insort
from collections import deque
from collections.abc import Callable
from operator import itemgetter

from pykka._envelope import Envelope  # pykka 4.5 does not export what its own inbox protocol takes

from actors.delivery import Delivery


class PooledInbox:
    """Putting a message makes sure that a turn is due."""

    __slots__ = ("_again", "_lock", "_messages", "_told", "in_hand", "wake")

    def __init__(self) -> None:
        self._messages: deque[Envelope[Delivery]] = deque()
        self._again: list[tuple[int, Envelope[Delivery]]] = []
        self._lock = threading.Lock()
        self._told = 0
        self.in_hand = 0
        """The number of the message that was handed out last. Numbers rise in the order of telling."""
        self.wake: Callable[[], None] | None = None

    def put(self, envelope: Envelope[Delivery], /) -> None:
        self._messages.append(envelope)
        if self.wake is not None:
            self.wake()

    def give_back(self, delivery: Delivery, number: int) -> None:
        """It is handed out again, before everything that was told after it. `number` as it was `in_hand`."""
        with self._lock:
            insort(self._again, (number, Envelope(delivery)), key=itemgetter(0))
        if self.wake is not None:
            self.wake()

    def get(self) -> Envelope[Delivery]:
        if self._again:
            with self._lock:
                self.in_hand, envelope = self._again.pop(0)
            return envelope
        envelope = self._messages.popleft()
        self.in_hand = self._told = self._told + 1
        return envelope

    @property
    def has_earlier(self) -> bool:
        """Whether something came back that was told before what is in hand."""
        with self._lock:
            return bool(self._again) and self._again[0][0] < self.in_hand

    def empty(self) -> bool:
        return not self._messages and not self._again
