"""A whole system under one scheduler: shards, their disks, clients, the network between them, and the nemesis."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from actors.decision import Rules
from actors.host_notices import RULES as HOST_RULES
from bus.address import Address
from bus.envelope import Reply
from tests.simulation import deletion, invariants, mesh, product
from tests.simulation.client import Client
from tests.simulation.history import CallRecord, History, Operation, Violation
from tests.simulation.host import Ground, HostLife, ShardSlot, preempted
from tests.simulation.invariants import Disks, Judge
from tests.simulation.ledger import LedgerRules
from tests.simulation.mesh import MeshScript
from tests.simulation.mesh_judge import MeshJudge
from tests.simulation.mesh_watch import MeshWatch
from tests.simulation.nemesis import Nemesis
from tests.simulation.options import Options
from tests.simulation.product_invariants import ProductJudge
from tests.simulation.purse import PurseJudge, PurseScript, purses
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.store import Disk
from tests.simulation.wire import Network
from tests.simulation.workload import LedgerScript, ledgers
from tests.support.purse import PurseRules

_TROUBLE_MS = 60_000
_QUIET_MS = 60_000
_SETTLE_MS = 700
_PREEMPT = 0.15
_SPREAD_MS = 4_000
_IDLING_MS = 30_000
"""How much longer trouble and quiet may take when clients wait and leases run."""
_DRAIN_MS = 60_000
"""Longer than any lease or deadline, and whatever comes after it."""
_CALLS_OF_DRAIN_MAX = 1_000_000
_SETUP_CALLS = {
    "ledger": 0,
    "product": product.SETUP_CALLS,
    "deletion": deletion.SETUP_CALLS,
    "mesh": mesh.SETUP_CALLS,
}
_PAID = 0.3
"""How many of a client's calls have to do with purses."""


class World:
    """Builds everything from a seed and options; `live` runs it to its end."""

    def __init__(self, seed: int, options: Options) -> None:
        self.options = options
        self.scheduler = scheduler = Scheduler(seed)
        self.history = History()
        self.violations: list[str] = []
        sockets = [Path(f"shard-{shard}") for shard in range(options.shards)]
        self.network = Network(scheduler, options.faults)
        self.roster: Mapping[str, Rules[Any]] = {"ledger": LedgerRules(), "agent": PurseRules(), "host": HOST_RULES}
        if options.workload != "ledger":
            self.roster = product.roster()
        ground = Ground(scheduler, self.network, sockets, preempted(self.roster, scheduler), options.answers_kept)
        disks = [Disk(scheduler, options.faults, path.name, self.violations.append) for path in sockets]
        self.disks = Disks(disks)
        self.slots = [ShardSlot(shard, ground, disk) for shard, disk in enumerate(disks)]
        self._mesh: MeshScript | None = None
        self._is_over: Callable[[], bool] = lambda: True
        """Whether nothing is left that only more calls can end."""
        self._at_quiet: Callable[[], None] = lambda: None
        """Judges what time alone must have ended."""
        self.judge, scripts = self._workload(seed)
        self.clients = [
            Client(
                number,
                ground,
                self.history,
                random.Random(f"{seed}/client/{number}"),
                script,
                self.judge.began,
                self._checked,
                options.idle_ms_max,
            )
            for number, script in enumerate(scripts)
        ]
        rng = random.Random(f"{seed}/nemesis")
        spread_ms = _SPREAD_MS + 2 * options.idle_ms_max
        self.nemesis = Nemesis(options.faults, scheduler, self.network, self.slots, self.clients, rng, spread_ms)
        ground.on_start = self.nemesis.host_began

    def _workload(self, seed: int) -> tuple[Judge, list[Callable[[], Operation | None]]]:
        clients = range(self.options.clients)
        scripts: list[Callable[[], Operation | None]] = []
        if self.options.workload == "product":
            home = product.HomeScript()
            scripts += [home.script(number, random.Random(f"{seed}/script/{number}")) for number in clients]
            return ProductJudge(self.disks), scripts
        if self.options.workload == "deletion":
            going = deletion.DeletionScript()
            scripts += [going.script(number, random.Random(f"{seed}/script/{number}")) for number in clients]
            return deletion.DeletionJudge(self.disks), scripts
        if self.options.workload == "mesh":
            return self._mesh_workload(seed)
        owners = ledgers(self.options.shards)
        scripts += [self._ledger_script(owners, random.Random(f"{seed}/script/{number}"), number) for number in clients]
        return PurseJudge(self.disks, clocks_jump=self.options.faults.clock_jumps > 0), scripts

    def _ledger_script(
        self, owners: Sequence[Address], rng: random.Random, number: int
    ) -> Callable[[], Operation | None]:
        """Calls of ledgers, and calls that a purse sends on to them."""
        paid = PurseScript(owners, purses(self.options.shards), rng)
        plain = LedgerScript(owners, rng, paid.heard_total)

        def following() -> Operation | None:
            if rng.random() >= _PAID:
                return plain()
            process = self.clients[number].process
            assert process is not None
            return paid.next(process.clock.new_id, process.clock.now_ms())

        return following

    def _mesh_workload(self, seed: int) -> tuple[Judge, list[Callable[[], Operation | None]]]:
        watch = MeshWatch(self.violations.append)
        for disk in self.disks.disks:
            disk.wrote = watch.wrote
        self._mesh = tasks = MeshScript(watch)
        judge = MeshJudge(self.disks, watch)
        self._is_over, self._at_quiet = judge.is_over, judge.at_quiet
        return judge, [
            tasks.script(number, random.Random(f"{seed}/script/{number}"), lambda number=number: self._now_of(number))  # type: ignore[misc]
            for number in range(self.options.clients)
        ]

    def _now_of(self, number: int) -> int:
        process = self.clients[number].process
        assert process is not None
        return process.clock.now_ms()

    def live(self) -> None:
        """Raises Violation."""
        self.scheduler.preempt_probability = _PREEMPT
        for slot in self.slots:
            slot.start()
        for client in self.clients:
            client.calls_left = self.options.calls
            if client.number == 0:
                client.calls_left += _SETUP_CALLS[self.options.workload]
            client.start()
        self.nemesis.begin()
        more_ms = _IDLING_MS if self.options.idle_ms_max else 0
        self.scheduler.run_until(lambda: self._has_asked_all or bool(self.violations), _TROUBLE_MS + more_ms)
        self._settle()
        self._at_quiet()
        while self._mesh is not None and not self._is_over():  # a task may come late, so once more after each quiet
            self._drain(self._mesh)
            self._settle()
        self._judge()
        for slot in self.slots:  # and once more with nothing but the disks
            if slot.life is not None:
                slot.life.process.kill()
        self._settle()
        self._judge()

    @property
    def _has_asked_all(self) -> bool:
        return all(client.calls_left == 0 for client in self.clients)

    @property
    def _is_quiet(self) -> bool:
        lives = [slot.life for slot in self.slots]
        return (
            all(client.is_done and client.process is not None and client.process.is_alive for client in self.clients)
            and all(life is not None and life.journal.is_idle for life in lives)
            and not any(disk.content.scan(b"o", limit=1) for disk in self.disks.disks)
            and not invariants.timers_left(self.disks)
        )

    def _drain(self, tasks: MeshScript) -> None:
        """Faults are over and honest runtimes answer what is left."""
        self.nemesis.heal()
        tasks.is_draining = True
        for client in self.clients:
            client.calls_left = _CALLS_OF_DRAIN_MAX
        is_over = self.scheduler.run_until(lambda: self._is_over() or bool(self.violations), _DRAIN_MS)
        self._no_violations()
        if not is_over:
            raise Violation(f"after quiet and time every thread has ended: open {tasks.watch.open}")

    def _settle(self) -> None:
        self.nemesis.heal()
        for client in self.clients:
            client.calls_left = 0
        more_ms = _IDLING_MS if self.options.idle_ms_max else 0
        is_quiet = self.scheduler.run_until(lambda: self._is_quiet or bool(self.violations), _QUIET_MS + more_ms)
        self._no_violations()
        if not is_quiet:
            raise Violation("everything becomes quiet after faults end: " + self._unquiet())
        self.scheduler.run_until(lambda: False, _SETTLE_MS)
        self._no_violations()

    def _unquiet(self) -> str:
        open_calls = [record.describe() for client in self.clients for record in client._open.values()]
        rows = {disk.name: len(disk.content.scan(b"o")) for disk in self.disks.disks}
        down = [slot.name for slot in self.slots if slot.life is None]
        timers = invariants.timers_left(self.disks)
        return f"open {open_calls}, outbox rows {rows}, timers {timers}, down {down}"

    def _judge(self) -> None:
        invariants.journals_are_whole(self.disks)
        invariants.outboxes_are_empty(self.disks)
        invariants.timers_are_over(self.disks)
        invariants.answers_are_kept(self.disks, self.history, self.judge.had_effects)
        invariants.lives_equal_reloads(self._lives(), self.disks, self.roster)
        self.judge.at_end(self.history)

    def _lives(self) -> list[HostLife]:
        return [slot.life for slot in self.slots if slot.life is not None]

    def _checked(self, record: CallRecord, reply: Reply) -> None:
        self.scheduler.note(repr(reply).encode())
        self.judge.checked(record, reply, self.scheduler.now_us)

    def _no_violations(self) -> None:
        if self.violations:
            raise Violation(self.violations[0])


def processes_of(world: World) -> list[Process]:
    """Every process that lives."""
    return [life.process for life in world._lives()]
