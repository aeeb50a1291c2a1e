"""Random scripts over ledgers: additions, reads, messages with and without waiting, questions, and defects."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from bus.address import Address
from bus.value import Record
from tests.simulation.history import Heard, Operation

_OWNERS: Final = 5
_WEIGHTS: Final = {
    "add": 30,
    "read": 22,
    "glance": 5,
    "give": 28,
    "ask": 9,
    "alarm": 8,
    "poison": 1,
    "fail": 1,
    "half": 2,
    "refuse": 2,
}
_READS: Final = ("read", "glance", "refuse", "fail")


def ledgers(shards: int) -> Sequence[Address]:
    """Few enough that they are in each other's way, and spread over all shards."""
    names = [Address("ledger", "-", f"n{number}") for number in range(40)]
    chosen = [next(name for name in names if name.shard(shards) == shard) for shard in range(shards)]
    return [*chosen, *[name for name in names if name not in chosen]][:_OWNERS]


class LedgerScript:
    """One client's wishes. Links differ, so that calls of all classes are made."""

    def __init__(self, owners: Sequence[Address], rng: random.Random, heard: Heard) -> None:
        """`heard` is told of everything that was asked."""
        self._owners = owners
        self._rng = rng
        self._heard = heard
        self._by_gateway = rng.random() < 0.5

    def __call__(self) -> Operation | None:
        rng = self._rng
        verb = rng.choices(list(_WEIGHTS), weights=list(_WEIGHTS.values()))[0]
        to, other = rng.choice(self._owners), str(rng.choice(self._owners))
        body: Record = {}
        match verb:
            case "give":
                body = {"to": other, "wait": rng.random() < 0.5, "many": rng.choice((1, 1, 2, 4))}
                if rng.random() < 0.3:
                    body["onward"] = str(rng.choice(self._owners))
            case "alarm":
                body = {"name": rng.choice("xy"), "ms": rng.choice((1, 30, 400, 2_000))}
            case "ask" | "poison":
                body = {"to": other}
        return Operation(to, verb, body, verb not in _READS, by_gateway=self._by_gateway, heard=self._heard)
