"""One seeded scheduler for a whole system of processes and their threads, and the time that it makes.

Invariants:
- What runs next depends on the seed and on nothing else: events are ordered by due time, then by the order in which
  they were asked for; every delay is drawn from one generator. No loop, no thread, no real time.
- Events of one lane (one thread of one process) never overtake each other unless they asked for different delays.
- While a thread waits (for the disk, or because another was given its turn), other lanes run: `meanwhile`. A lane that
  waits further down in the call stack does not run, nor do the owners of a host whose writer waits, so that a wait for
  the writer always ends.
- An exception that leaves an event is the run's failure: it is kept, and everything stops (it must not travel through
  the frames of whoever waits further down, where product code might take it for its own).
- Nothing of a dead process runs: its events are skipped, and what it was in the middle of ends with `ProcessDied`.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from bus.clock import SystemClock

START_MS: Final = 1_800_000_000_000
_NESTED_MAX: Final = 4


class ProcessDied(BaseException):
    """Ends whatever a process was doing. No product code may catch it, as none could catch a kill."""


class Kind(Enum):
    """What a lane stands for."""

    LOOP = "loop"
    OWNERS = "owners"
    WRITER = "writer"


@dataclass(eq=False, slots=True)
class _Event:
    due_us: int
    number: int
    lane: Lane
    callback: Callable[[], object]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Scheduler:
    """The whole system's time and order. `trace` digests every event that ran and whatever `note` is told."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"{seed}/schedule")
        self.now_us = 0
        self.wall_offset_ms = 0
        self.events_run = 0
        self.before_event: Callable[[Lane], None] = lambda lane: None
        """Told of every event before it runs; may kill the lane's process."""
        self.preempt_probability = 0.0
        self.failure: Exception | None = None
        """The first exception that left an event; nothing runs any more."""
        self._queue: list[tuple[int, int, _Event]] = []
        """(due, number, event): compared without a call, and no two are equal."""
        self._asked = 0
        self._stack: list[Lane] = []
        self._trace = hashlib.blake2b(digest_size=16)

    @property
    def trace(self) -> str:
        return self._trace.hexdigest()

    def note(self, what: bytes) -> None:
        self._trace.update(what)

    def at(self, lane: Lane, delay_us: int, callback: Callable[[], object]) -> _Event:
        self._asked += 1
        event = _Event(self.now_us + delay_us, self._asked, lane, callback)
        heapq.heappush(self._queue, (event.due_us, event.number, event))
        return event

    def step(self) -> bool:
        """Run the next event. False when there is none."""
        while self._queue and self.failure is None:
            event = heapq.heappop(self._queue)[2]
            if not event.is_cancelled and event.lane.process.is_alive:
                self._run(event)
                return True
        return False

    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool:
        """Run until `condition` holds; False when it does not within the time. Raises the run's failure."""
        end_us = self.now_us + within_ms * 1_000
        while not condition():
            if self.now_us > end_us or not self.step():
                break
        if self.failure is not None:
            raise self.failure
        return condition()

    def meanwhile(self, duration_us: int) -> None:
        """The current lane waits; the others run. Raises ProcessDied if its process did not survive that."""
        process = self._stack[-1].process
        if len(self._stack) <= _NESTED_MAX:
            end_us = self.now_us + duration_us
            self._run_others(lambda: not self._queue or self._queue[0][0] > end_us)
            self.now_us = max(self.now_us, end_us)
        self._die_unless_alive(process)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """As `meanwhile`, for as long as it takes."""
        process = self._stack[-1].process
        self._run_others(lambda: condition() or not process.is_alive)
        self._die_unless_alive(process)

    def _die_unless_alive(self, process: Process) -> None:
        if self.failure is not None or not process.is_alive:
            raise ProcessDied

    def preempt(self) -> None:
        """A place in an owner's turn where the other threads of its host may get ahead."""
        if self._stack and self._stack[-1].kind is Kind.OWNERS and self.random.random() < self.preempt_probability:
            self.meanwhile(self.random.randrange(4_000))

    def _run_others(self, is_over: Callable[[], bool]) -> None:
        held: list[_Event] = []
        while self.failure is None and not is_over():
            assert self._queue, "a thread waits for something that cannot happen"
            event = heapq.heappop(self._queue)[2]
            if event.is_cancelled or not event.lane.process.is_alive:
                continue
            if self._waits(event.lane):
                held.append(event)
            else:
                self._run(event)
        for event in held:
            heapq.heappush(self._queue, (event.due_us, event.number, event))

    def _waits(self, lane: Lane) -> bool:
        for waiting in self._stack:
            if waiting is lane:
                return True
            if waiting.process is lane.process and waiting.kind is Kind.WRITER and lane.kind is Kind.OWNERS:
                return True
        return False

    def _run(self, event: _Event) -> None:
        self.now_us = max(self.now_us, event.due_us)
        self.events_run += 1
        self._trace.update(b"%d %s %d;" % (self.now_us, event.lane.name, event.number))
        depth = len(self._stack)
        try:
            self.before_event(event.lane)
            if event.lane.process.is_alive:
                self._stack.append(event.lane)
                event.callback()
        except ProcessDied:
            event.lane.process.kill()
        except Exception as problem:  # noqa: BLE001 - whatever it is, the run has failed
            self.failure = self.failure or problem
        finally:
            del self._stack[depth:]


class Process:
    """One life of one process: it has lanes, and dies at once and for good."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.name = name
        self.scheduler = scheduler
        self.is_alive = True
        self.began_us = scheduler.now_us
        self.clock = _clock_of(scheduler)
        self.loop = self.lane(Kind.LOOP)
        self.on_death: list[Callable[[], None]] = []

    def lane(self, kind: Kind, number: int = 0) -> Lane:
        return Lane(self, kind, f"{self.name}/{kind.value}{number}".encode())

    def kill(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self.scheduler.note(b"died " + self.name.encode())
            for tell in self.on_death:
                tell()


class Lane:
    """One thread of one process as a `bus.wire.Scheduler` and an `actors.owner.Executor`."""

    def __init__(self, process: Process, kind: Kind, name: bytes) -> None:
        self.process = process
        self.kind = kind
        self.name = name
        self._scheduler = process.scheduler
        self._last_us = 0

    def call_soon(self, callback: Callable[[], object], /) -> object:
        """In the order of asking, after a moment: other lanes may get ahead."""
        return self.after(self._scheduler.random.randrange(1, 60), callback)

    def call_soon_threadsafe(self, callback: Callable[[], object], /) -> object:
        return self.call_soon(callback)

    def call_later(self, seconds: float, callback: Callable[[], object], /) -> _Event:
        return self._scheduler.at(self, round(seconds * 1_000_000), callback)

    def submit(self, turn: Callable[[], None]) -> None:
        self.after(self._scheduler.random.randrange(1, 120), turn)

    def after(self, delay_us: int, callback: Callable[[], object]) -> _Event:
        """Not before what was asked for earlier in this way."""
        now_us = self._scheduler.now_us
        self._last_us = max(self._last_us, now_us + delay_us)
        return self._scheduler.at(self, self._last_us - now_us, callback)


def _clock_of(scheduler: Scheduler) -> SystemClock:
    """The product's clock, over the simulated machine's wall and monotonic time."""
    return SystemClock(
        wall_ns=lambda: (START_MS + scheduler.wall_offset_ms) * 1_000_000 + scheduler.now_us * 1_000,
        monotonic_ns=lambda: scheduler.now_us * 1_000,
        random=scheduler.random.randbytes,
    )
