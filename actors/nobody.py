"""The rules of a kind of owner that does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from actors.decision import RowEffect, Rules, Verb


class NobodyRules(Rules[None]):
    """Every verb is a defect of its sender, every parcel a dead letter."""

    kind = "nobody"
    verbs: Mapping[str, Verb[None]] = MappingProxyType({})

    def new_state(self) -> None:
        return None

    def apply(self, state: None, effect: RowEffect) -> None:
        """Nothing is ever stored under such an address."""

    def problems(self, state: None) -> list[str]:
        return []


NOBODY: Final[Rules[None]] = NobodyRules()
