"""A shard host of the product in a simulated process: its loop, two owners' threads and the journal's writer.

The host, links, journal and execution are the product's own; only what they stand on is simulated. The writer gathers
what waits, as the real thread does, and commits it as one group while the next one gathers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from actors.assembly import RunningHost, Surroundings, start_host
from actors.decision import Context, Decide, Decision, Message, RowEffect, Rules, Upgrade, Verb
from actors.host import Place
from bus.hold import Hold
from bus.journal import Commit, GroupWriter
from bus.retention import Retention
from tests.simulation.scheduler import Kind, Lane, Process, ProcessDied, Scheduler
from tests.simulation.store import Disk
from tests.simulation.wire import Network

KEY = b"k" * 32
_OWNER_THREADS = 2


class SimulatedPool:
    """`actors.owner.Executor`: each turn is an event of one of the threads."""

    def __init__(self, process: Process) -> None:
        self._random = process.scheduler.random
        self._threads = [process.lane(Kind.OWNERS, number) for number in range(_OWNER_THREADS)]

    def submit(self, turn: Callable[[], None]) -> None:
        self._random.choice(self._threads).submit(turn)


class SimulatedJournal:
    """`bus.journal.Journal`: gathering and writing a group are two events of the writer's thread."""

    def __init__(self, process: Process, writer: GroupWriter, disk: Disk) -> None:
        self._disk = disk
        self._scheduler = process.scheduler
        self._lane = process.lane(Kind.WRITER)
        self._writer = writer
        self._queue: deque[Commit] = deque()
        self._is_awake = False

    @property
    def is_idle(self) -> bool:
        return not self._queue and not self._is_awake

    def submit(self, commit: Commit) -> None:
        self._scheduler.preempt()
        self._watch(commit)
        self._queue.append(commit)
        self._wake()
        self._scheduler.preempt()

    def _watch(self, commit: Commit) -> None:
        failed = commit.failed
        if failed is None or not commit.is_privileged:
            return

        def hears(is_full: bool) -> None:
            if is_full and self._disk.had_reserve:
                self._disk.violated(f"the reserve is the person's: {self._disk.name} refused {commit.call_id}")
            failed(is_full)

        commit.failed = hears

    def flush(self) -> None:
        if not self.is_idle:
            self._scheduler.wait_until(lambda: self.is_idle)

    def hold(self, held: Callable[[], None]) -> Hold:
        raise AssertionError("no backup is made in the simulation")

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def _wake(self) -> None:
        if not self._is_awake and self._queue:
            self._is_awake = True
            self._lane.after(self._scheduler.random.randrange(1, 300), self._write)

    def _write(self) -> None:
        size = self._scheduler.random.choice((1, 2, 3, len(self._queue), len(self._queue)))
        group = [self._queue.popleft() for _ in range(min(size, len(self._queue)))]
        self._writer.write_group(group)
        self._is_awake = False
        self._wake()


class _Preempted(Rules[Any]):
    """Rules during whose decisions other threads may get ahead."""

    def __init__(self, rules: Rules[Any], preempt: Callable[[], None]) -> None:
        self._rules = rules
        self._verbs = {
            name: replace(verb, decide=_preempted(verb.decide, preempt)) for name, verb in rules.verbs.items()
        }

    @property
    def kind(self) -> str:
        return self._rules.kind

    @property
    def verbs(self) -> Mapping[str, Verb[Any]]:
        return self._verbs

    @property
    def record_version(self) -> int:
        return self._rules.record_version

    @property
    def upgrades(self) -> Mapping[int, Upgrade]:
        return self._rules.upgrades

    @property
    def cold(self) -> tuple[str, ...]:
        return self._rules.cold

    @property
    def follows(self) -> frozenset[str]:
        return self._rules.follows

    def new_state(self) -> object:
        return self._rules.new_state()

    def apply(self, state: Any, effect: RowEffect) -> None:
        self._rules.apply(state, effect)


def _preempted(decide: Decide[Any], preempt: Callable[[], None]) -> Decide[Any]:
    def decide_then_wait(state: Any, message: Message, context: Context) -> Decision:
        decision = decide(state, message, context)
        preempt()
        return decision

    return decide_then_wait


@dataclass(slots=True)
class HostLife:
    """A host from its start to its death."""

    process: Process
    running: RunningHost
    journal: SimulatedJournal


@dataclass(slots=True)
class Ground:
    """What all hosts of a run have in common."""

    scheduler: Scheduler
    network: Network
    sockets: Sequence[Path]
    roster: Mapping[str, Rules[Any]]
    answers_kept: int | None
    on_start: Callable[[Process], None] = field(default=lambda process: None)


def preempted(roster: Mapping[str, Rules[Any]], scheduler: Scheduler) -> Mapping[str, Rules[Any]]:
    return {kind: _Preempted(rules, scheduler.preempt) for kind, rules in roster.items()}


class ShardSlot:
    """A shard: its disk, and at most one host at a time."""

    def __init__(self, shard: int, ground: Ground, disk: Disk) -> None:
        self.shard = shard
        self.disk = disk
        self.life: HostLife | None = None
        self.lives = 0
        self._ground = ground

    @property
    def name(self) -> str:
        return self._ground.sockets[self.shard].name

    def start(self) -> None:
        """Begin a life. What the host does at once, while it is assembled, is an event of its own loop."""
        process = Process(self._ground.scheduler, self.name)
        self.lives += 1
        process.on_death.append(self._died)
        self._ground.on_start(process)
        process.loop.call_soon(lambda: self._assemble(process))

    def _died(self) -> None:
        self.life = None

    def _assemble(self, process: Process) -> None:
        ground, journals = self._ground, list[SimulatedJournal]()

        def make_journal(writer: GroupWriter) -> SimulatedJournal:
            if ground.answers_kept is not None:
                writer.retention = Retention(writer._store, kept_max=ground.answers_kept)
            journals.append(SimulatedJournal(process, writer, self.disk))
            return journals[0]

        around = Surroundings(
            place=Place(self.shard, len(ground.sockets)),
            sockets=ground.sockets,
            key=KEY,
            store=self.disk.attached_to(process),
            wire=ground.network.wire_of(process),
            clock=process.clock,
            scheduler=process.loop,
            executor=SimulatedPool(process),
            nonce=lambda: ground.scheduler.random.randbytes(16),
        )
        running = start_host(around, ground.roster, make_journal, lambda: _end_at_once(process))
        self.life = HostLife(process, running, journals[0])


def _end_at_once(process: Process) -> None:
    """As nexus/shard_process.py does when the disk fails: from the writer's thread, while the others still run."""
    process.scheduler.meanwhile(process.scheduler.random.randrange(3_000))
    raise ProcessDied


def lane_age_ms(lane: Lane) -> float:
    return (lane.process.scheduler.now_us - lane.process.began_us) / 1_000
