"""Runs a seed and says what came of it, with how to run it again."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import structlog

from actors.workspace import roles
from tests.simulation.history import Violation
from tests.simulation.options import Options
from tests.simulation.short_leases import short_leases
from tests.simulation.world import World


@dataclass(frozen=True, slots=True)
class Outcome:
    """`problem` is None when every invariant held."""

    seed: int
    options: Options
    problem: str | None
    trace: str
    """A digest of everything that happened, in order: the same for the same seed and options."""
    events: int
    calls: int
    crashes: int
    simulated_ms: int

    def report(self) -> str:
        options = self.options
        return (
            f"seed {self.seed} breaks: {self.problem}\n"
            f"  options: {options}\n"
            f"  trace {self.trace}, {self.events} events, {self.crashes} crashes, {self.simulated_ms} simulated ms\n"
            f"  again: python -m tests.simulation {self.seed}"
            f" --profile {options.profile!r} --workload {options.workload}"
        )


def run(seed: int, options: Options | None = None) -> Outcome:
    """One run: a pure function of its arguments."""
    options = options or Options.of(seed)
    problem: str | None = None
    # One canvas a message, so that ending the roles of an agent takes several, and trouble can come between them.
    with _quiet_logs(), short_leases(), patch.object(roles, "roles_ended_at_once_max", 1):
        world = World(seed, options)
        try:
            world.live()
        except Violation as violation:
            problem = str(violation)
        except Exception as defect:  # noqa: BLE001 - asyncio would log it and go on; here it is what we look for
            problem = f"an event raised: {''.join(traceback.format_exception(defect)[-4:])}"
    scheduler = world.scheduler
    return Outcome(
        seed,
        options,
        problem,
        scheduler.trace,
        scheduler.events_run,
        len(world.history.calls),
        world.nemesis.crashes,
        scheduler.now_us // 1_000,
    )


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Faults are the rule here, and writing down each would take longer than the run."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)
