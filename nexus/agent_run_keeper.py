"""The process around one task's program, which sees to it that nothing of it lives on: `python -I -S FILE ...`.

    runtime -> keeper: T (end it), K (kill it), end of file (the runtime is gone)
    keeper -> runtime, one JSON line each: {"started": process group}, {"failed": reason}, {"ended": status}

Invariants:
- The program leads a session and process group of its own. When it has ended, or is to end, whatever it started ends
  too: asked first, killed after a grace. On Linux that holds also for what left its group, since the keeper adopts it;
  elsewhere for the group.
- A runtime that was killed is noticed by the end of file on the control socket, so its programs do not outlive it. A
  keeper that was killed takes the program with it (Linux) or leaves its group to the runtime.
- The program inherits standard input, output and error, and no other descriptor.
- At its end the keeper removes the folder of the run, so that task and token are gone however the runtime ended.

The standard library alone, and no `site`: it starts in a hundredth of a second. One thread.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_IS_LINUX: Final = sys.platform == "linux"
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_LOOK_AGAIN_SECONDS: Final = 0.02


class Keeper:
    """Starts the program, waits for its end or the order to end it, and clears up."""

    def __init__(self, control: socket.socket, grace_ms: int, orphaned_grace_ms: int, kill_ms_max: int) -> None:
        self._control = control
        self._grace = grace_ms / 1_000
        self._orphaned_grace = orphaned_grace_ms / 1_000
        self._kill_seconds_max = kill_ms_max / 1_000
        self._runtime_is_there = True
        self._wake, self._woken = socket.socketpair()
        self._group = 0
        self._status: int | None = None
        """Of the program, once it has ended: its exit status, or less than 0 for the signal that ended it."""
        self._kill_at: float | None = None
        for end in (self._wake, self._woken):
            end.setblocking(False)

    def run(self, command: Sequence[str]) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self._begin_end(self._grace))
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        if not self._start(command):
            return
        while self._status is None:
            self._wait()
            self._reap()
            self._kill_if_due()
        self._end_what_is_left()
        self._tell({"ended": self._status})

    def _start(self, command: Sequence[str]) -> bool:
        library = ctypes.CDLL(None, use_errno=True) if _IS_LINUX else None
        own_id = os.getpid()
        if library is not None:
            library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

        def die_with_keeper() -> None:
            assert library is not None
            library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != own_id:  # it ended before the line above
                os._exit(1)

        try:
            program = subprocess.Popen(
                command,
                start_new_session=True,
                # There is one thread, so nothing can be held that the forked process would wait for.
                preexec_fn=die_with_keeper if _IS_LINUX else None,  # noqa: PLW1509
                close_fds=True,
            )
        except (OSError, ValueError) as problem:
            self._tell({"failed": getattr(problem, "strerror", None) or str(problem)})
            return False
        self._group = program.pid
        program.returncode = 0  # it is awaited here, with what the keeper adopts
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for own in (0, 1, 2):  # or the runtime would never read the end of them
            os.dup2(nowhere, own)
        self._tell({"started": program.pid})
        return True

    def _wait(self) -> None:
        heeded = [self._woken, *([self._control] if self._runtime_is_there else [])]
        seconds = None if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())
        ready, _, _ = select.select(heeded, [], [], seconds)
        if self._woken in ready:
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4_096)
        if self._control in ready:
            self._heed()

    def _heed(self) -> None:
        try:
            said = self._control.recv(16)
        except ConnectionError:
            said = b""
        if not said:
            self._runtime_is_there = False
            self._begin_end(self._orphaned_grace)
        elif b"K" in said:
            self._begin_end(0.0)
        else:
            self._begin_end(self._grace)

    def _begin_end(self, grace: float) -> None:
        """Ask the program and all that it started to end; they are killed when the grace is over."""
        if self._kill_at is None:
            self._signal_all(signal.SIGTERM)
        self._kill_at = min(self._kill_at or float("inf"), time.monotonic() + grace)

    def _kill_if_due(self) -> None:
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._signal_all(signal.SIGKILL)
            self._kill_at = time.monotonic() + _LOOK_AGAIN_SECONDS  # for what was started meanwhile

    def _end_what_is_left(self) -> None:
        """The program is gone. What is left of its group, or was adopted, is asked, then killed."""
        begun = time.monotonic()
        if self._kill_at is None and self._is_anything_left():
            self._begin_end(self._grace)
        until = (self._kill_at or begun) + self._kill_seconds_max
        while self._is_anything_left() and time.monotonic() < until:
            heeded = [self._control] if self._runtime_is_there else []
            if select.select(heeded, [], [], _LOOK_AGAIN_SECONDS)[0]:
                self._heed()
            self._reap()
            self._kill_if_due()

    def _is_anything_left(self) -> bool:
        return bool(_descendants()) if _IS_LINUX else _signal_group(self._group, 0)

    def _signal_all(self, number: int) -> None:
        # Once its leader was awaited the number of a group may become another's; then Linux needs no group any more.
        to_group = self._status is None or not _IS_LINUX
        below = _descendants()
        if to_group:
            _signal_group(self._group, number)
        for process_id in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                # Each is told once: a second SIGTERM kills a program that is in the middle of its orderly end.
                if not to_group or os.getpgid(process_id) != self._group:
                    os.kill(process_id, number)

    def _reap(self) -> None:
        while True:
            try:
                process_id, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process_id == 0:
                return
            if process_id == self._group:
                self._status = os.waitstatus_to_exitcode(status)

    def _tell(self, record: dict[str, object]) -> None:
        with contextlib.suppress(OSError):  # nobody is there to hear it
            self._control.sendall(json.dumps(record).encode() + b"\n")


def _signal_group(group: int, number: int) -> bool:
    """Whether anybody of the group is there."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # macOS says so of a group whose members have all ended and are not awaited yet
    return True


def _descendants() -> list[int]:
    """Of this process, from the parents that Linux shows; none elsewhere."""
    if not _IS_LINUX:
        return []
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slower, and this runs in a loop
        if not entry.isdecimal():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if fields[0] not in (b"Z", b"X"):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _remove(folder: Path) -> None:
    """The files in it, and itself. What is not there was removed by the runtime."""
    try:
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        return


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--control", "--grace-ms", "--orphaned-grace-ms", "--kill-ms-max"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    control = socket.socket(fileno=given.control)
    control.set_inheritable(False)
    try:
        Keeper(control, given.grace_ms, given.orphaned_grace_ms, given.kill_ms_max).run(given.command)
    finally:
        _remove(given.folder)


if __name__ == "__main__":
    main()
