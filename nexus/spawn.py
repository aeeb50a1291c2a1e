"""Starting a child: by spawn, never fork, with an empty environment, no foreign descriptor, and a log of its own.

Who may touch it: the supervisor's main thread only. PR_SET_PDEATHSIG fires when the *thread* that spawned a child ends.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from bus.limits import log_bytes_max
from nexus.config import Home
from nexus.family import ChildPlan

_allowed: Final = frozenset({"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR"})
_desktop: Final = frozenset({"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "XDG_RUNTIME_DIR"})
"""How to reach the person's desktop: where, not with what secret."""


def child_environment(environment: Mapping[str, str], *, notifies: bool = False) -> dict[str, str]:
    """What of the environment a process of NEXUS gets: nothing that could hold a secret or change what it imports.

    One that `notifies` the person (the gateway, and the supervisor that starts it) also learns where the desktop is.
    """
    allowed = _allowed | _desktop if notifies else _allowed
    return {name: value for name, value in environment.items() if name in allowed or name.startswith("LC_")}


def open_log(home: Home, name: str) -> IO[bytes]:
    """The log of a process, to append to. One older one is kept once it has grown past its bound."""
    file = home.logs / f"{name}.log"
    with contextlib.suppress(FileNotFoundError):
        if file.stat().st_size > log_bytes_max:
            file.replace(home.logs / f"{name}.log.1")
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    return os.fdopen(descriptor, "ab", buffering=0)


class SpawnedChild:
    """A running child with its two pipes: `ready_descriptor` for what it says, its standard input for its stop."""

    def __init__(self, process: subprocess.Popen[bytes], ready_descriptor: int) -> None:
        self._process = process
        self._said = b""
        self.ready_descriptor = ready_descriptor

    @property
    def pid(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        if self._process.poll() is None:
            return False
        self._close_pipe()
        return True

    def exit_code(self) -> int | None:
        return self._process.returncode

    def read_ready(self) -> bool:
        """Read what the child said, without waiting. Answers whether more may come."""
        try:
            piece = os.read(self.ready_descriptor, 64)
        except BlockingIOError:
            return True
        self._said = (self._said + piece)[:64]
        return bool(piece)

    def said_ready(self) -> bool:
        return self._said.startswith(b"ready\n")

    def stop(self) -> None:
        self._close_pipe()
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def await_end(self) -> None:
        self._process.wait()

    def _close_pipe(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()


def spawn_child(home: Home, plan: ChildPlan, command: Sequence[str]) -> SpawnedChild:
    """Start the child. It runs in the home and in a session of its own, so that Ctrl-C reaches the supervisor alone."""
    ready_read, ready_write = os.pipe()
    os.set_blocking(ready_read, False)
    try:
        with open_log(home, plan.name) as log:
            process = subprocess.Popen(
                [
                    *command,
                    *plan.arguments,
                    *("--home", str(home.path), "--supervisor", str(os.getpid()), "--ready", str(ready_write)),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=home.path,
                env=child_environment(os.environ, notifies=plan.role == "gateway"),
                pass_fds=(*plan.inherited, ready_write),
                start_new_session=True,
                bufsize=0,
            )
    except BaseException:
        os.close(ready_read)
        raise
    finally:
        os.close(ready_write)
    return SpawnedChild(process, ready_read)


def spawn_supervisor(home: Path, log: IO[bytes], arguments: Sequence[str], report: int) -> subprocess.Popen[bytes]:
    """Start a supervisor that outlives this process and holds nothing of it but the `report` pipe."""
    return subprocess.Popen(
        list(arguments),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=home,
        env=child_environment(os.environ, notifies=True),
        pass_fds=(report,),
        start_new_session=True,
    )
