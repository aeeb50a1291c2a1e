"""What an agent has stored, place by place, as the owners of those places tell: the rows `stored/<place>`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from actors.decision import Put, RowEffect

STORED: Final = "stored/"


@dataclass(slots=True)
class StoredBook:
    """`total` is the sum of `places`, in bytes."""

    places: dict[str, int] = field(default_factory=dict)
    """The address of a canvas or mailbox -> bytes."""
    total: int = 0

    def apply(self, effect: RowEffect) -> None:
        place = effect.row.removeprefix(STORED)
        self.total -= self.places.pop(place, 0)
        if isinstance(effect, Put):
            assert isinstance(effect.value, int)
            self.places[place] = effect.value
            self.total += effect.value
