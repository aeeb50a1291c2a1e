"""What every process of NEXUS does to itself before anything else (contract/security.md 1 and 2.16, facts/bus.md).

A child ends when its supervisor is gone, by two independent means: on Linux the kernel kills it (PR_SET_PDEATHSIG),
and everywhere it reads end of file on a pipe whose other end only the supervisor holds.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from typing import Final

from bus.limits import child_stop_grace_ms

_pr_set_pdeathsig: Final = 1
_pr_set_dumpable: Final = 4


def harden() -> None:
    """Files for this user only, no core files, memory and environment hidden from other processes of the user."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        _prctl(_pr_set_dumpable, 0)


def die_with(supervisor_pid: int) -> None:
    """On Linux: be killed when the supervisor's main thread ends. Exits at once if the supervisor is gone already.

    SIGKILL rather than SIGTERM: every promise holds under a kill, and an interpreter that hangs heeds nothing else.
    """
    if sys.platform == "linux":
        _prctl(_pr_set_pdeathsig, signal.SIGKILL)
    # The supervisor may have ended before the line above: then no signal comes, but the parent is another process.
    if os.getppid() != supervisor_pid:
        os._exit(1)


def watch_pipe(descriptor: int, on_end: Callable[[], None], grace_ms: int = child_stop_grace_ms) -> threading.Thread:
    """Call `on_end` from another thread when the pipe reads end of file; then end the process if it outlasts its grace.

    The supervisor closes the pipe to stop a child, and the kernel closes it when the supervisor is killed.
    """

    def watch() -> None:
        while os.read(descriptor, 64):
            pass
        on_end()
        # Waits for the process to end; only a process that ignores the end is still here afterwards.
        threading.Event().wait(grace_ms / 1000)
        os._exit(1)

    thread = threading.Thread(target=watch, name="supervisor-watch", daemon=True)
    thread.start()
    return thread


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
