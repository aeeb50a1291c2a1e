"""`--start` begins one NEXUS at a time, without the token, and says when it failed; and how long messages wait."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bus.limits import (
    shim_absent_ms_max,
    shim_back_off_ms_first,
    shim_back_off_ms_max,
    shim_repeats_max,
    shim_retry_ms_max,
    shim_start_ms_max,
)
from nexus import exit_codes
from nexus.shim import starting
from nexus.shim.carrier import StartFailed
from nexus.shim.patience import Patience
from nexus.shim.starting import StartsNexus
from tests.support.waiting import eventually

RECORDS = """
import json, os, sys
with open(sys.argv[1], "a") as file:
    file.write(json.dumps([sys.argv[3:], sorted(name for name in os.environ if name.startswith("NEXUS"))]) + "\\n")
sys.exit(int(sys.argv[2]))
"""


def starter(tmp_path: Path, code: int) -> StartsNexus:
    program = (sys.executable, "-c", RECORDS, str(tmp_path / "started"), str(code))
    environment = {"NEXUS_TOKEN": "nx_a_b", "NEXUS_TOKEN_FILE": "/f", "NEXUS_HOME": "/h"}
    return StartsNexus(Path("/home-of-nexus"), environment, lambda sentence: None, program)


def starts(tmp_path: Path) -> list[object]:
    file = tmp_path / "started"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def ended(nexus: StartsNexus) -> None:
    eventually(lambda: nexus._starting is not None and nexus._starting.poll() is not None, what="the command's end")


def test_the_exit_codes_are_those_of_the_command() -> None:
    assert (starting._OK, starting._ALREADY_RUNNING) == (exit_codes.OK, exit_codes.ALREADY_RUNNING)


def test_one_is_started_at_a_time_and_gets_no_token(tmp_path: Path) -> None:
    """security 2.16"""
    nexus = starter(tmp_path, 0)
    assert nexus.begin()
    assert nexus.begin()
    ended(nexus)
    assert starts(tmp_path) == [[["up", "--detach", "--home", "/home-of-nexus"], ["NEXUS_HOME"]]]
    assert nexus.begin(), "it is on its way"
    assert nexus.begin(), "and gone again, so another is started"
    ended(nexus)
    assert len(starts(tmp_path)) == 2


def test_a_start_that_failed_is_told_and_tried_again_at_the_next_message(tmp_path: Path) -> None:
    nexus = starter(tmp_path, exit_codes.PORT_TAKEN)
    nexus.begin()
    ended(nexus)
    with pytest.raises(StartFailed, match="nexus up"):
        nexus.begin()
    assert nexus.begin()
    ended(nexus)


@pytest.mark.parametrize(
    ("is_expected", "is_starting", "within_ms"),
    [(False, False, shim_absent_ms_max), (True, False, shim_retry_ms_max), (False, True, shim_start_ms_max)],
)
def test_a_message_waits_longer_for_what_is_coming(is_expected: bool, is_starting: bool, within_ms: int) -> None:
    patience = Patience()

    def pause(now_ms: int) -> int | None:
        return patience.pause_ms(now_ms, is_expected=is_expected, is_starting=is_starting)

    pauses = [pause(1_000) for _ in range(8)]
    assert pauses[:3] == [shim_back_off_ms_first, 2 * shim_back_off_ms_first, 4 * shim_back_off_ms_first]
    assert pauses[-1] == shim_back_off_ms_max
    assert pause(1_000 + within_ms - 1) is not None
    assert pause(1_000 + within_ms) is None


def test_a_message_is_repeated_a_bounded_number_of_times() -> None:
    patience = Patience()
    assert [patience.may_repeat() for _ in range(shim_repeats_max + 1)] == [True] * shim_repeats_max + [False]
