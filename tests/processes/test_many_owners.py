"""A shard with very many rows and very many owners, each in a process of its own, so that its memory is its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

_REOPEN_SECONDS_MAX = 2.0
_OWNER_BYTES_MAX = 4_096
_MEASURE = """
import sys, uvloop
from pathlib import Path
from tests.benchmarks import passive_owners
print("measured", uvloop.run(getattr(passive_owners, sys.argv[1])(Path(sys.argv[2]))))
"""


def measured(part: str, folder: Path) -> float:
    """What a part of the benchmark (tests/benchmarks/passive_owners.py) found."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, part, str(folder)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return float(done.stdout.rpartition("measured ")[2])


@pytest.mark.timeout(240)
def test_a_shard_of_a_million_records_is_open_again_and_answers_within_two_seconds(tmp_path: Path) -> None:
    assert measured("large_shard", tmp_path) < _REOPEN_SECONDS_MAX


@pytest.mark.timeout(240)
def test_a_hundred_thousand_owners_that_are_idle_take_less_than_4_kib_each(tmp_path: Path) -> None:
    assert measured("owners", tmp_path) < _OWNER_BYTES_MAX
