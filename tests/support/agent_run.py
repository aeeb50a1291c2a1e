"""`nexus agent run` as a person starts it, with what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.processes.conftest import PRODUCT
from tests.support.waiting import eventually

PROGRAMS = Path(__file__).with_name("run_programs.py")
END_SECONDS = 30


class AgentRun:
    """One that runs. `events` are the objects that it has printed."""

    def __init__(self, process: subprocess.Popen[str], temporary: Path) -> None:
        self.process = process
        self.temporary = temporary
        """Where it makes its folders."""
        self.events: list[dict[str, Any]] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def said(self, event: str, **facts: object) -> dict[str, Any]:
        """The first event of that kind with these facts, once there is one."""

        def look() -> dict[str, Any] | None:
            wanted = {"event": event, **facts}
            return next((one for one in self.events if wanted.items() <= one.items()), None)

        return eventually(look, what=f"{event} {facts}, of {self.events}")

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """Its exit code."""
        code = self.process.wait(END_SECONDS)
        self._reading.join(END_SECONDS)
        return code

    def folders(self) -> list[Path]:
        """Those of tasks that are there."""
        return [*self.temporary.glob("nexus-run-*")]


@contextmanager
def agent_run(
    home: Path,
    agent: str,
    *options: str,
    command: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> Iterator[AgentRun]:
    """`nexus agent run AGENT OPTIONS -- COMMAND`; killed afterwards if it has not ended."""
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        behind = ("--", *command) if command else ()
        process = subprocess.Popen(
            [*PRODUCT, "agent", "run", agent, "--json", *options, *behind],
            env={**os.environ, "NEXUS_HOME": str(home), "TMPDIR": folder, **(environment or {})},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=pass_fds,
        )
        run = AgentRun(process, Path(folder))
        try:
            yield run
        finally:
            process.kill()
            run.ended()
            eventually(lambda: not run.folders(), what="the end of what it started")


def program(name: str, folder: Path) -> tuple[str, ...]:
    """One of tests/support/run_programs.py."""
    return (sys.executable, "-I", str(PROGRAMS), name, str(folder))


def noted(folder: Path, name: str) -> Any:
    """What a program has told, once it has."""
    file = folder / name
    eventually(file.exists, what=f"{name} of a program")
    return json.loads(file.read_text())
