"""Ending what tests left running: after Ctrl-C, or when a process that shared the tests was lost, nobody else does.

All that tests start inherits a variable of this run, and by it is known here. What ends by itself is waited for.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Final

import psutil

VARIABLE: Final = "TESTS_OF_NEXUS"
_END_SECONDS_MAX: Final = 10


def mark() -> str:
    """From now on, what this process starts is known by what is answered."""
    os.environ[VARIABLE] = f"run-{os.getpid()}"
    return os.environ[VARIABLE]


def end_what_is_left(run: str) -> list[str]:
    """The commands of what had to be ended, by force where it did not heed."""
    left = [process for process in psutil.process_iter() if _is_of(process, run)]
    _, left = psutil.wait_procs(left, timeout=1)
    told = [_command(process) for process in left]
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(left, timeout=_END_SECONDS_MAX)[1]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    if told:
        print(f"\nEnded what tests left running: {'; '.join(told)}", file=sys.stderr)
    return told


def _is_of(process: psutil.Process, run: str) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(VARIABLE) == run
    except psutil.Error:
        return False  # it has ended, or is another user's


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "one that has ended meanwhile"
