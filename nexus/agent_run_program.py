"""The program of one task while it runs: what it is given, what it says, how it ends (mesh 5.2).

It runs under a keeper (agent_run_keeper.py), a process that ends all of it, also when this one was killed. Event loop
of the main thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nexus import agent_run_keeper
from nexus.agent_run_limits import (
    run_drain_ms,
    run_errors_bytes_kept,
    run_grace_ms,
    run_kill_ms_max,
    run_line_bytes_max,
    run_orphaned_grace_ms,
    run_output_bytes_max,
)

_KEEPER: Final = (sys.executable, "-I", "-S", str(Path(agent_run_keeper.__file__).resolve()))
_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Order:
    """What is started. `folder` is the run's own, which the keeper removes."""

    command: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path
    folder: Path
    given: bytes
    """On standard input."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended, and what it had said."""

    status: int | None
    """Its exit status, less than 0 for the signal that ended it; None when it could not be started or was lost."""
    problem: str
    """Why there is no status."""
    output: bytes
    """The first `run_output_bytes_max` bytes of standard output."""
    output_bytes: int
    """How many there were."""
    errors: bytes
    """The end of standard error."""


class Program:
    """`await Program.started(...)`, then `await ended()` once; `end` and `kill` at any time."""

    def __init__(self, keeper: asyncio.subprocess.Process, control: socket.socket, order: Order) -> None:
        self._keeper = keeper
        self._control = control
        self._order = order
        self._group: int | None = None
        self._status: int | None = None
        self._problem = "the process that watches over the program was lost"
        self._output = bytearray()
        self._output_bytes = 0
        self._errors = bytearray()
        self._line = bytearray()

    @classmethod
    async def started(cls, order: Order) -> Program:
        """Raises OSError when not even the keeper can be started, for instance because the folder is gone."""
        ours, theirs = socket.socketpair()
        try:
            ours.setblocking(False)
            keeper = await asyncio.create_subprocess_exec(
                *_KEEPER,
                *("--control", str(theirs.fileno()), "--folder", str(order.folder)),
                *("--grace-ms", str(run_grace_ms), "--orphaned-grace-ms", str(run_orphaned_grace_ms)),
                *("--kill-ms-max", str(run_kill_ms_max)),
                "--",
                *order.command,
                env=dict(order.environment),
                cwd=order.cwd,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C in the terminal is for the runtime, which ends it
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(keeper, ours, order)

    def end(self) -> None:
        """Ask all of it to end, and kill it after a grace. Safe to repeat."""
        self._order_keeper(b"T")

    def kill(self) -> None:
        """At once."""
        self._order_keeper(b"K")

    async def ended(self, on_line: Callable[[str], None]) -> Ended:
        """When it and all that it started is gone. `on_line` is told each line of standard error. When this is
        cancelled all of it is killed first."""
        said = [asyncio.create_task(one) for one in (self._give(), self._read_output(), self._read_errors(on_line))]
        try:
            await self._hear()
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            # What escaped from the keeper (not on Linux) may hold the pipes for ever.
            _, late = await asyncio.wait(said, timeout=run_drain_ms / 1_000)
            for one in late:
                one.cancel()
            await asyncio.gather(*said, return_exceptions=True)
            self._control.close()
            await self._keeper.wait()
        if self._line:
            on_line(_text(self._line))
        return Ended(self._status, self._problem, bytes(self._output), self._output_bytes, bytes(self._errors))

    def _order_keeper(self, order: bytes) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            self._control.send(order)

    async def _hear(self) -> None:
        """What the keeper says, until it has ended."""
        loop = asyncio.get_running_loop()
        heard = bytearray()
        while True:
            try:
                piece = await loop.sock_recv(self._control, _READ_BYTES)
            except ConnectionError:
                piece = b""
            if not piece:
                break
            heard += piece
            while (end := heard.find(b"\n")) >= 0:
                self._note(json.loads(heard[:end]))
                del heard[: end + 1]
        if self._status is None and self._group is not None:  # it was killed: its group is nobody's
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGKILL)

    def _note(self, record: Mapping[str, object]) -> None:
        match record:
            case {"started": int() as group}:
                self._group = group
            case {"ended": int() as status}:
                self._status = status
            case {"failed": str() as reason}:
                self._problem = f"it could not be started: {reason}"
            case _:
                raise ValueError("the keeper says what no keeper says")

    async def _give(self) -> None:
        into = self._keeper.stdin
        assert into is not None
        # A program need not read what it is given: the task is in its file as well.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            into.write(self._order.given)
            await into.drain()
        into.close()

    async def _read_output(self) -> None:
        source = self._keeper.stdout
        assert source is not None
        while piece := await source.read(_READ_BYTES):
            self._output_bytes += len(piece)
            self._output += piece[: run_output_bytes_max - len(self._output)]

    async def _read_errors(self, on_line: Callable[[str], None]) -> None:
        source = self._keeper.stderr
        assert source is not None
        while piece := await source.read(_READ_BYTES):
            self._errors += piece
            del self._errors[:-run_errors_bytes_kept]
            # Programs that draw their progress end lines by a return.
            *lines, last = piece.replace(b"\r", b"\n").split(b"\n")
            for line in lines:
                self._line += line[: run_line_bytes_max - len(self._line)]
                on_line(_text(self._line))
                self._line.clear()
            self._line += last[: run_line_bytes_max - len(self._line)]


def _text(line: bytes | bytearray) -> str:
    return line.decode(errors="replace")
