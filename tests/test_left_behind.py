"""What tests leave running is ended with them (tests/support/left_behind.py)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.left_behind import VARIABLE, end_what_is_left

_DEAF = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); sys.stdout.flush(); signal.pause()"


def test_what_was_left_running_is_ended_even_if_it_heeds_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.support.left_behind._END_SECONDS_MAX", 0.1)
    run = f"a run of its own in {os.getpid()}"
    command = [sys.executable, "-c", _DEAF]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, VARIABLE: run}) as left,
        subprocess.Popen(command, stdout=subprocess.PIPE) as other,
    ):
        try:
            for process in (left, other):
                assert process.stdout is not None
                process.stdout.readline()
            assert len(end_what_is_left(run)) == 1
            assert left.wait(10) != 0 and other.poll() is None
            assert "left running" in capsys.readouterr().err
            assert end_what_is_left(run) == []
        finally:
            left.kill()
            other.kill()
