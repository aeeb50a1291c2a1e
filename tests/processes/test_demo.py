"""`nexus demo` as a person runs it: real processes, the official MCP client, kill -9, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

seconds_max = 100
interrupted_exit_code = 130


def _demo(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "nexus", "demo", *arguments],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_demo_tells_its_thirteen_steps_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """common 8.1, canvas 3.2"""
    with _demo(tmp_path) as demo:
        told, said = demo.communicate(timeout=seconds_max)
    assert demo.returncode == 0, told + said
    assert re.findall(r"^ ?(\d+)\. ", told, re.MULTILINE) == [str(step) for step in range(1, 14)]
    assert "nx_" not in told + said, "no token is told"
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_told_to_stop_stops_nexus_and_removes_its_home(tmp_path: Path) -> None:
    with _demo(tmp_path) as demo:
        assert demo.stdout is not None
        while not (line := demo.stdout.readline()).startswith(" 2."):
            assert line, "the demo ended early"
        demo.send_signal(signal.SIGTERM)
        told, said = demo.communicate(timeout=seconds_max)
    assert demo.returncode == interrupted_exit_code, told + said
    assert list(tmp_path.iterdir()) == []


def test_a_scene_that_cannot_be_imported_ends_the_demo_with_1_and_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "broken.excalidraw"
    file.write_text("{\n  nonsense\n}")
    with _demo(tmp_path, "--file", str(file)) as demo:
        told, said = demo.communicate(timeout=seconds_max)
    assert demo.returncode == 1, told + said
    assert "line 2" in said
    assert list(tmp_path.iterdir()) == [file]
