"""The children of one supervisor: started in stages, restarted by `nexus/restart.py`, stopped in reverse order.

Who may touch it: the supervisor's main thread. It never waits: the supervisor calls `advance` whenever something may
have happened (a child wrote, a child died, `wake_at_ms` passed). Processes and time are handed in, so that the rules
are tested without either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bus.limits import child_start_ms_max, child_stop_grace_ms
from nexus.restart import ChildEvent, ChildState, back_off_ms, deaths_in_a_row, next_state


@dataclass(frozen=True)
class ChildPlan:
    """What to run. All of a stage are ready before the next stage starts, and stop after it.

    `arguments` follow the command that runs children; `inherited` are descriptors the child gets by these numbers.
    """

    name: str
    role: str
    stage: int
    arguments: tuple[str, ...] = ()
    inherited: tuple[int, ...] = ()


class ChildProcess(Protocol):
    """A started child. Nothing here blocks but `await_end`."""

    @property
    def pid(self) -> int: ...

    def has_ended(self) -> bool:
        """Whether it is gone (and was awaited, so that it leaves no zombie)."""
        ...

    def exit_code(self) -> int | None:
        """Of one that has ended; of one that a signal ended, its negative number."""
        ...

    def said_ready(self) -> bool: ...

    def stop(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it by force."""
        ...

    def await_end(self) -> None:
        """Wait for the end of one that was killed."""
        ...


@dataclass
class _Child:
    plan: ChildPlan
    state: ChildState = ChildState.WAITING
    process: ChildProcess | None = None
    due_ms: int = 0
    started_ms: int = 0
    deaths: int = 0
    was_ready: bool = False
    kill_ms: int | None = None

    def take(self, event: ChildEvent) -> None:
        self.state = next_state(self.state, event)


class Family:
    """All children and where each is in its life."""

    def __init__(self, plans: Sequence[ChildPlan], spawn: Callable[[ChildPlan], ChildProcess]) -> None:
        """`spawn` raises OSError when the system cannot start a process now, and has told the person why."""
        self._children = [_Child(plan) for plan in sorted(plans, key=lambda plan: plan.stage)]
        self._spawn = spawn
        self._stopping = False
        self.failure: str | None = None
        """The child that ended before it was ready for the first time, and its exit code (of a signal, negative)."""
        self.failure_code: int | None = None

    @property
    def is_ready(self) -> bool:
        """Whether every child became ready and none is being restarted."""
        return all(child.state is ChildState.RUNNING for child in self._children)

    @property
    def is_gone(self) -> bool:
        """Whether the family was stopped and no process of it is left."""
        return self._stopping and all(child.state is ChildState.STOPPED for child in self._children)

    def listing(self) -> list[tuple[ChildPlan, int]]:
        """The children that have a process now, with its id."""
        return [(child.plan, child.process.pid) for child in self._children if child.process is not None]

    def awaited(self) -> list[str]:
        """The names of the children that are not running."""
        return [child.plan.name for child in self._children if child.state is not ChildState.RUNNING]

    def stop(self) -> None:
        """Begin to stop: no more starts; `advance` then stops stage by stage, the last first."""
        self._stopping = True

    def end_by_force(self) -> None:
        """Kill every child and wait for its end: when the supervisor itself has failed."""
        alive = [child.process for child in self._children if child.process is not None]
        for process in alive:
            process.kill()
        for process in alive:
            process.await_end()

    def advance(self, now_ms: int) -> None:
        """Take in what has happened and do what is due."""
        for child in self._children:
            self._notice(child, now_ms)
        if self._stopping:
            self._stop_last_stage(now_ms)
        else:
            self._start_due(now_ms)
        for child in self._children:
            if child.process is not None and child.kill_ms is not None and now_ms >= child.kill_ms:
                child.process.kill()
                child.kill_ms = None

    def wake_at_ms(self) -> int | None:
        """When `advance` has something to do even if nothing happens; None while only events matter."""
        times = [child.kill_ms for child in self._children if child.process is not None and child.kill_ms is not None]
        if not self._stopping:
            open_stage = self._open_stage()
            times += [
                child.due_ms
                for child in self._children
                if child.state is ChildState.WAITING and child.plan.stage <= open_stage
            ]
        return min(times, default=None)

    def _notice(self, child: _Child, now_ms: int) -> None:
        process = child.process
        if process is None:
            return
        if process.said_ready() and child.state is ChildState.STARTING:
            child.take(ChildEvent.READY)
            child.was_ready = True
            child.kill_ms = None
        if process.has_ended():
            self._lost(child, now_ms)

    def _lost(self, child: _Child, now_ms: int) -> None:
        code = None if child.process is None else child.process.exit_code()
        child.process = None
        child.kill_ms = None
        child.take(ChildEvent.DIED)
        child.deaths = deaths_in_a_row(child.deaths, now_ms - child.started_ms)
        child.due_ms = now_ms + back_off_ms(child.deaths)
        if not child.was_ready and not self._stopping and self.failure is None:
            self.failure, self.failure_code = child.plan.name, code

    def _open_stage(self) -> int:
        """The first stage that was never ready as a whole, or the last one: later stages do not start yet."""
        not_ready = [child.plan.stage for child in self._children if not child.was_ready]
        return min(not_ready, default=self._children[-1].plan.stage if self._children else 0)

    def _start_due(self, now_ms: int) -> None:
        if self.failure is not None:
            return
        open_stage = self._open_stage()
        for child in self._children:
            if child.state is ChildState.WAITING and child.plan.stage <= open_stage and now_ms >= child.due_ms:
                child.take(ChildEvent.DUE)
                child.started_ms = now_ms
                child.kill_ms = now_ms + child_start_ms_max
                try:
                    child.process = self._spawn(child.plan)
                except OSError:  # no process, descriptor or disk to be had: that passes, and the others live on
                    self._lost(child, now_ms)

    def _stop_last_stage(self, now_ms: int) -> None:
        for child in self._children:
            if child.state is ChildState.WAITING:
                child.take(ChildEvent.STOP)
        alive = [child for child in self._children if child.process is not None]
        last_stage = max((child.plan.stage for child in alive), default=0)
        for child in alive:
            if child.plan.stage == last_stage and child.state is not ChildState.STOPPING:
                assert child.process is not None
                child.take(ChildEvent.STOP)
                child.process.stop()
                child.kill_ms = now_ms + child_stop_grace_ms
