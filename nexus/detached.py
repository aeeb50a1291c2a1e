"""`nexus up --detach`: a supervisor that outlives the command, and the pipe over which it says how its start went.

The pipe carries JSON lines: `{"progress": text}` any number of times, then `{"ready": record}` or
`{"refused": text, "code": exit code}`. The daemon closes it then, so that nobody who waits for the end of the
command's output waits for the daemon.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nexus import exit_codes
from nexus.config import create_home, usable_cores
from nexus.spawn import open_log, spawn_supervisor
from nexus.supervisor import REFUSALS, Running, exit_code_of, supervise


@dataclass(frozen=True)
class Refused:
    """The detached supervisor did not start."""

    text: str
    exit_code: int


def start_detached(
    path: Path, port: int | None, command: Sequence[str], progress: Callable[[str], None]
) -> dict[str, object] | Refused:
    """Start a supervisor that outlives this process and wait for its word: what `nexus up` prints, or a refusal.

    Raises HomeRefused.
    """
    home = create_home(path, cores=usable_cores())
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as lines:
        try:
            arguments = [*command, "supervisor", "--home", str(path), "--report", str(writing)]
            with open_log(home, "supervisor") as log:
                spawn_supervisor(path, log, arguments + ([] if port is None else ["--port", str(port)]), writing)
        finally:
            os.close(writing)
        for line in lines:
            word = json.loads(line)
            if "progress" in word:
                progress(word["progress"])
            elif "ready" in word:
                return dict(word["ready"])
            else:
                return Refused(word["refused"], word["code"])
    log_file = home.logs / "supervisor.log"
    return Refused(f"NEXUS ended before it was ready. Its log says why: {log_file}", exit_codes.START_FAILED)


def run_detached(path: Path, port: int | None, report: int, command: Sequence[str]) -> int:
    """Be the detached supervisor; answers its exit code."""
    # Children must not hold the pipe, or the waiting command would not see its end.
    os.set_inheritable(report, False)
    reporter = PipeReporter(report)
    try:
        supervise(path, port, command, reporter)
    except tuple(REFUSALS) as refusal:
        reporter.refused(str(refusal), exit_code_of(refusal))
        return exit_code_of(refusal)
    return exit_codes.OK


class PipeReporter:
    """Tells the waiting command while it waits; what comes later goes to the supervisor's log."""

    def __init__(self, descriptor: int) -> None:
        self._stream = os.fdopen(descriptor, "wb", buffering=0)

    def progress(self, text: str) -> None:
        if self._stream.closed:
            sys.stderr.write(f"{text}\n")
        else:
            self._tell({"progress": text})

    def ready(self, running: Running) -> None:
        self._tell({"ready": running.record()})
        self._stream.close()

    def refused(self, text: str, code: int) -> None:
        if not self._stream.closed:
            self._tell({"refused": text, "code": code})
            self._stream.close()

    def _tell(self, word: dict[str, object]) -> None:
        # It is gone when the person pressed Ctrl-C meanwhile: they asked for a NEXUS that goes on without them.
        with contextlib.suppress(BrokenPipeError):
            self._stream.write(json.dumps(word).encode() + b"\n")
