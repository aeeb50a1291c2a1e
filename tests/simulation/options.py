"""What a run consists of: its faults, its size, and how both follow from the seed alone.

Probabilities are between 0 and 1 and are drawn at each occasion (a frame, a commit, an event of a process); times are
simulated. Everything is frozen and prints as what it takes to build it again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Faults:
    """Everything that may go wrong. All zero: nothing does, but the order of events is still the seed's."""

    frame_drop: float = 0.0
    frame_duplicate: float = 0.0
    frame_delay: float = 0.0
    frame_delay_ms_max: int = 400
    frame_reorder: float = 0.0
    """A frame may be overtaken by later ones of its connection."""
    partitions: int = 0
    """How often the link between two processes is cut, in either way: frames are lost, or held until it is whole."""
    partition_ms_max: int = 7_000
    crash_at_event: float = 0.0
    """A host dies just before one of its events, whichever thread's."""
    crash_at_commit: float = 0.0
    """A host dies while it commits: half of the time the commit is stored."""
    crash_in_recovery: float = 0.0
    """As `crash_at_event`, for the first moments of a host's life."""
    crashes_max: int = 6
    restart_ms_max: int = 600
    client_crashes: int = 0
    disk_full: float = 0.0
    """A commit does not fit; nothing of it is stored."""
    disk_full_periods: int = 0
    """How often nothing that grows fits for a while."""
    disk_broken: float = 0.0
    """EIO: half of the time the commit is stored all the same. The host ends."""
    slow_disk: float = 0.0
    slow_disk_ms_max: int = 120
    torn_rows: int = 0
    """How many stored state rows lose their checksum while hosts run."""
    clock_jumps: int = 0
    clock_jump_ms_max: int = 60_000


_WIRE: Final = Faults(frame_drop=0.03, frame_duplicate=0.05, frame_delay=0.1, frame_reorder=0.05)
_HARD_WIRE: Final = Faults(frame_drop=0.15, frame_duplicate=0.15, frame_delay=0.3, frame_reorder=0.2)

PROFILES: Final[Mapping[str, Faults]] = {
    "calm": Faults(),
    "wire": _WIRE,
    "hard wire": _HARD_WIRE,
    "partitions": Faults(partitions=4, frame_delay=0.05),
    "crashes": Faults(crash_at_event=0.001, crash_at_commit=0.02, crash_in_recovery=0.01),
    "crash loops": Faults(crash_at_event=0.0005, crash_at_commit=0.1, crash_in_recovery=0.03, crashes_max=14),
    "commits fail": Faults(disk_full=0.12, slow_disk=0.3),
    "commits fail often": Faults(disk_full=0.3, slow_disk=0.9, slow_disk_ms_max=100),
    "full disk": Faults(disk_full_periods=3, slow_disk=0.2, crash_at_commit=0.01),
    "broken disk": Faults(disk_broken=0.04, slow_disk=0.2),
    "slow disk": Faults(slow_disk=0.5, slow_disk_ms_max=400, frame_delay=0.1, disk_full=0.03),
    "clock": Faults(clock_jumps=4, crash_at_event=0.001, client_crashes=1),
    "clients": Faults(client_crashes=4, frame_drop=0.02, crash_at_commit=0.01),
    "torn rows": Faults(torn_rows=2, crash_at_event=0.001),
    "everything": replace(
        _WIRE,
        crash_at_event=0.0005,
        crash_at_commit=0.01,
        crash_in_recovery=0.01,
        partitions=2,
        client_crashes=1,
        disk_full=0.03,
        disk_full_periods=1,
        disk_broken=0.01,
        slow_disk=0.1,
        clock_jumps=2,
    ),
    "everything hard": replace(
        _HARD_WIRE,
        crash_at_event=0.001,
        crash_at_commit=0.04,
        crash_in_recovery=0.02,
        crashes_max=10,
        partitions=3,
        client_crashes=2,
        disk_full=0.1,
        disk_broken=0.02,
        slow_disk=0.3,
        clock_jumps=2,
    ),
}


_IDLE_MS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Options:
    """A whole run but for its seed."""

    profile: str
    faults: Faults
    shards: int
    workload: str
    """`ledger` (small owners that count everything), `product` (the rules of the roster) or, only when they are asked
    for, `deletion` (workspaces that come and go) and `mesh` (runtimes, leases and deadlines)."""
    clients: int
    calls: int
    """How many calls each client begins."""
    answers_kept: int | None
    """How many answers a shard keeps before the oldest go; None for the product's own limit."""
    idle_ms_max: int = 0
    """For how long a client may wait between bursts of calls, so that leases and deadlines end while it does."""

    @classmethod
    def of(cls, seed: int, profile: str | None = None, workload: str | None = None) -> Options:
        """What a seed stands for. Neighbouring seeds have different profiles, so that any range covers all."""
        rng = random.Random(f"{seed}/options")
        names = list(PROFILES)
        profile = profile or names[seed % len(names)]
        drawn = "product" if rng.random() < 0.35 else "ledger"
        workload = workload or drawn
        return cls(
            profile=profile,
            faults=PROFILES[profile],
            shards=rng.choice((1, 2, 2, 3)),
            workload=workload,
            clients=rng.choice((1, 2, 2, 3)),
            calls=rng.choice((8, 15, 25)),
            answers_kept=rng.choice((None, None, 6)),
            idle_ms_max=_IDLE_MS_MAX if workload == "mesh" else 0,
        )
