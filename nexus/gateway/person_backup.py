"""A backup of the running home, as far as the hosts make it: a barrier over all shards, then their copies.

    hold every shard -> when all hold, release every shard -> copy each snapshot -> the command packs the copies

Nothing is written on any shard between the last hold and the first release, so the snapshots are of one moment: a
message is either in its sender's outbox or has its effect, never neither (docs/decisions/0005).
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

from pydantic import Field

from bus import address
from bus.limits import backup_copy_ms_max, backup_hold_ms_max
from bus.value import Record, Value
from nexus.gateway.person_owners import Owners, VerbRefused
from tools.base import Model
from tools.errors import unavailable

_TRIES: Final = 5
_NOT_STILL: Final = unavailable(
    "The shards could not be held still together; a host is busy or restarting. Try again in a moment."
)


class Backup(Model):
    backup: Annotated[str, Field(pattern=r"^[0-9a-z]{26}$")]
    """The id of the folder of copies, which the command made."""


async def backup(owners: Owners, asked: Backup) -> Record:
    """Copies of all shards under that id; how long the barrier was. Raises VerbRefused."""
    body: Record = {"backup": asked.backup}
    try:
        for _ in range(_TRIES):
            still = await _stand_still(owners, body)
            if still is not None:
                break
        else:
            raise VerbRefused.by(_NOT_STILL)
        started_ns = time.perf_counter_ns()
        copies = await _each(owners, "backup_copy", body, backup_copy_ms_max)
        refused = [answer for answer in copies if isinstance(answer, VerbRefused)]
        if refused:
            raise refused[0]
    finally:
        await _each(owners, "backup_discard", body, backup_hold_ms_max)
    copy_ms = round((time.perf_counter_ns() - started_ns) / 1e6, 1)
    return {**still, "copyMs": copy_ms}


async def _stand_still(owners: Owners, body: Record) -> Record | None:
    """One barrier: what stood where, or None if a shard went on before the others stood."""
    started_ns = time.perf_counter_ns()
    holds = await _each(owners, "backup_hold", body, backup_hold_ms_max)
    at_ms = owners.clock.now_ms()
    releases = await _each(owners, "backup_release", body, backup_hold_ms_max)
    barrier_ms = round((time.perf_counter_ns() - started_ns) / 1e6, 2)
    sequences: list[Value] = []
    held: list[Value] = []
    for hold, release in zip(holds, releases, strict=True):
        if isinstance(hold, VerbRefused) or isinstance(release, VerbRefused) or release.get("held") is not True:
            return None
        held_us = release.get("heldUs")
        sequences.append(hold.get("sequence"))
        held.append(round(held_us / 1000, 2) if isinstance(held_us, int) else None)
    return {"atMs": at_ms, "sequences": sequences, "barrierMs": barrier_ms, "heldMs": held}


async def _each(owners: Owners, verb: str, body: Record, within_ms: int) -> list[Record | VerbRefused]:
    """Every host's answer or refusal, by shard; none keeps the others from being asked."""

    async def one(shard: int) -> Record | VerbRefused:
        try:
            return await owners.read(address.host(shard), verb, body, within_ms=within_ms)
        except VerbRefused as refused:
            return refused

    return list(await asyncio.gather(*map(one, range(owners.shards))))
