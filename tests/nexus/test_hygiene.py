"""A process ends with its supervisor, on every platform. Each runs in a process of its own, as it would end ours."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.waiting import eventually


def started(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_end_of_the_pipe_is_told() -> None:
    process = started(
        "import sys, threading; from nexus.hygiene import watch_pipe\n"
        "over = threading.Event(); watch_pipe(0, over.set); print('watching', flush=True)\n"
        "over.wait(); print('told')"
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "watching\n"
    process.stdin.write("what is written there means nothing")
    process.stdin.flush()
    assert process.poll() is None
    assert process.communicate(timeout=15)[0] == "told\n"
    assert process.returncode == 0


def test_a_process_that_heeds_nothing_is_ended_after_its_grace() -> None:
    process = started(
        "import threading; from nexus.hygiene import watch_pipe\n"
        "watch_pipe(0, lambda: None, grace_ms=50); threading.Event().wait()"
    )
    process.communicate(timeout=15)
    assert process.returncode == 1


def test_a_process_whose_supervisor_is_gone_already_ends_at_once() -> None:
    process = started("from nexus.hygiene import die_with; import os; die_with(os.getppid() + 1); print('lives')")
    assert process.communicate(timeout=15)[0] == ""
    assert process.returncode == 1


def test_a_process_under_its_supervisor_goes_on() -> None:
    process = started(f"from nexus.hygiene import die_with; die_with({os.getpid()}); print('lives')")
    out = process.communicate(timeout=15)[0]
    assert eventually(lambda: process.returncode is not None)
    assert (process.returncode, out) == (0, "lives\n")
