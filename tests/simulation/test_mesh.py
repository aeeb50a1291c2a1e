"""The mesh over every profile of faults: each task ends once, in order, with its originator told once (issue 6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulation.options import PROFILES, Options
from tests.simulation.runner import run
from tests.simulation.test_simulation import holds

_FEW = range(len(PROFILES))
_MANY = range(len(PROFILES), 300)
_A_TEST = 20


@pytest.mark.parametrize("seed", _FEW)
def test_every_task_ends_once_whatever_fails(seed: int) -> None:
    """mesh 4.2, 4.3, 4.4, 4.6, 4.7; common 8.1"""
    holds(run(seed, Options.of(seed, workload="mesh")))


@pytest.mark.simulation
@pytest.mark.parametrize("first", _MANY[::_A_TEST])
def test_many_seeds_of_the_mesh_break_no_invariant(first: int) -> None:
    """mesh 4.2, 4.3, 4.4, 4.6, 4.7; common 8.1"""
    for seed in range(first, min(first + _A_TEST, _MANY.stop)):
        holds(run(seed, Options.of(seed, workload="mesh")))


def test_a_seed_of_the_mesh_is_the_same_run_every_time() -> None:
    options = replace(Options.of(14, "everything", "mesh"), clients=2)
    assert run(14, options) == run(14, options)
