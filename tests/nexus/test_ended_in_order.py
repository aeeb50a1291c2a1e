"""What a command cleans up when it is told to end (nexus/ended_in_order.py)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import signal, sys, tempfile
from nexus.ended_in_order import ended_in_order
with ended_in_order(), tempfile.TemporaryDirectory(dir=sys.argv[1]):
    print("held", flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_cleans_up_and_ends_by_that_signal(
    number: signal.Signals, tmp_path: Path
) -> None:
    """0015: nothing lies around after a picture."""
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, str(tmp_path)], stdout=subprocess.PIPE) as held:
        assert held.stdout is not None and held.stdout.readline() == b"held\n"
        assert list(tmp_path.iterdir()) != []
        held.send_signal(number)
        assert held.wait(30) == -number
    assert list(tmp_path.iterdir()) == []
