"""Starting, asking and ending a whole NEXUS (the stand-in) as a person would. Ends only what it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import eventually

PROGRAM = (sys.executable, "-I", str(Path(__file__).with_name("stand_in_nexus.py")))
_command_seconds_max = 60


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """The one JSON line it printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found


class Nexus:
    """The `nexus` command on one home."""

    def __init__(self, home: Path, program: Sequence[str] = PROGRAM) -> None:
        self.home = home
        self.program = tuple(program)

    def run(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Outcome:
        """Run one command to its end."""
        done = subprocess.run(
            [*self.program, *arguments],
            env={**os.environ, "NEXUS_HOME": str(self.home), **(environment or {})},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_command_seconds_max,
            pass_fds=pass_fds,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """`up --detach` on any free port; what it printed."""
        outcome = self.run("up", "--detach", "--port", "0", "--json", *arguments, **options)
        assert outcome.code == 0, outcome
        return outcome.record

    def processes(self) -> dict[str, int]:
        """Name and process id of everything that runs."""
        outcome = self.run("status", "--json")
        assert outcome.code == 0, outcome
        return {process["name"]: process["pid"] for process in outcome.record["processes"]}

    def report(self, name: str) -> dict[str, Any]:
        """What a stand-in body wrote about itself last."""
        found: dict[str, Any] = json.loads((self.home / "logs" / f"{name}.report").read_text())
        return found

    def misbehave(self, **manners: str) -> None:
        """How bodies started from now on behave; `shard_0="ends"`."""
        manner = {name.replace("_", "-"): value for name, value in manners.items()}
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / ".stand-in.json").write_text(json.dumps(manner))


@contextlib.contextmanager
def ended_afterwards(nexus: Nexus) -> Iterator[Nexus]:
    """Stops what runs on the home when the test is over, however it ended."""
    try:
        yield nexus
    finally:
        if nexus.run("down").code not in (0, 3):
            end_by_force(nexus)


@contextlib.contextmanager
def started(nexus: Nexus) -> Iterator[dict[str, Any]]:
    """What `up` printed; NEXUS must stop cleanly afterwards. A start that is interrupted leaves nothing."""
    try:
        record = nexus.start()
    except BaseException:
        with ended_afterwards(nexus):
            raise
    try:
        yield record
    finally:
        assert nexus.run("down").code == 0


def end_by_force(nexus: Nexus) -> None:
    """Kill the supervisor of this home; its children end by themselves."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(nexus.processes()["supervisor"], signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and is only not yet awaited by anyone does not."""
    stat = Path(f"/proc/{pid}/stat")
    if sys.platform == "linux":
        try:
            return stat.read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
        except (FileNotFoundError, ProcessLookupError):
            return False
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith("Z")


def await_end(*pids: int, seconds: float = 10.0) -> None:
    """Wait until none of the processes runs."""
    eventually(lambda: not any(is_alive(pid) for pid in pids), seconds=seconds, what=f"the end of {pids}")
