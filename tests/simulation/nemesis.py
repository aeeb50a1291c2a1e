"""What brings the faults about that are not a matter of a single frame or commit, and what ends all of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.simulation.client import Client
from tests.simulation.host import ShardSlot, lane_age_ms
from tests.simulation.options import Faults
from tests.simulation.scheduler import Lane, Process, Scheduler
from tests.simulation.wire import Network

_RECOVERY_MS = 30


class Nemesis:
    """Plans faults by the seed; `heal` ends them for good and starts whatever is down."""

    def __init__(
        self,
        faults: Faults,
        scheduler: Scheduler,
        network: Network,
        slots: Sequence[ShardSlot],
        clients: Sequence[Client],
        rng: random.Random,
        spread_ms: int = 4_000,
    ) -> None:
        """Faults that come a given number of times begin within the first `spread_ms` of a run."""
        self._spread_ms = spread_ms
        self.faults = faults
        self.crashes = 0
        self._scheduler = scheduler
        self._network = network
        self._slots = slots
        self._clients = clients
        self._rng = rng
        self._is_healed = False
        self._me = Process(scheduler, "nemesis")
        self._slot_of = {slot.name: slot for slot in slots}
        scheduler.before_event = self._before_event

    def begin(self) -> None:
        faults = self.faults
        plans = (
            (faults.partitions, self._partition),
            (faults.clock_jumps, self._jump),
            (faults.disk_full_periods, self._fill_disk),
            (faults.client_crashes, self._crash_client),
            (faults.torn_rows, self._tear),
        )
        for times, what in plans:
            for _ in range(times):
                self._later(self._rng.randrange(self._spread_ms), what)

    def host_began(self, process: Process) -> None:
        """Every life of a host is watched: when it ends, the next one begins after a while."""
        process.on_death.append(lambda: self._host_died(process))

    def heal(self) -> None:
        """No more faults. What is cut is joined, what is down comes up by itself."""
        self._is_healed = True
        calm = Faults()
        self.faults = self._network.faults = calm
        for slot in self._slots:
            slot.disk.faults = calm
            slot.disk.is_full = False
        self._network.join_all()
        self._scheduler.preempt_probability = 0.02

    def _later(self, milliseconds: int, what: Callable[[], None]) -> None:
        def unless_healed() -> None:
            if not self._is_healed:
                what()

        self._me.loop.call_later(milliseconds / 1_000, unless_healed)

    def _before_event(self, lane: Lane) -> None:
        if lane.process.name not in self._slot_of or self.crashes >= self.faults.crashes_max:
            return
        is_young = lane_age_ms(lane) < _RECOVERY_MS
        probability = self.faults.crash_in_recovery if is_young else self.faults.crash_at_event
        if probability and self._rng.random() < probability:
            lane.process.kill()

    def _host_died(self, process: Process) -> None:
        self.crashes += 1
        if self.crashes >= self.faults.crashes_max:
            for slot in self._slots:
                slot.disk.faults = replace(slot.disk.faults, crash_at_commit=0.0, disk_broken=0.0)
        slot = self._slot_of[process.name]
        self._me.loop.call_later(self._rng.randrange(1, self.faults.restart_ms_max) / 1_000, slot.start)

    def _partition(self) -> None:
        names = [slot.name for slot in self._slots] + [client.name for client in self._clients]
        pairs = [pair for pair in itertools.combinations(names, 2) if any(name in self._slot_of for name in pair)]
        one, other = self._rng.choice(pairs)
        self._network.cut(one, other, holds=self._rng.random() < 0.5)
        self._later(self._rng.randrange(50, self.faults.partition_ms_max), lambda: self._network.join(one, other))

    def _jump(self) -> None:
        self._scheduler.wall_offset_ms += self._rng.randrange(-1, 2, 2) * self._rng.randrange(
            self.faults.clock_jump_ms_max
        )

    def _fill_disk(self) -> None:
        disk = self._rng.choice(self._slots).disk
        disk.fill()

        def drain() -> None:
            disk.is_full = False

        self._later(self._rng.randrange(100, 1_500), drain)

    def _crash_client(self) -> None:
        client = self._rng.choice(self._clients)
        if client.process is not None and client.process.is_alive:
            client.die()
            self._me.loop.call_later(self._rng.randrange(1, 400) / 1_000, client.start)

    def _tear(self) -> None:
        disk = self._rng.choice(self._slots).disk
        rows = [key for key, _ in disk.content.scan(b"s") if key not in disk.torn]
        if rows:
            disk.tear(self._rng.choice(rows))
