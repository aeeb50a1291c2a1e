"""`--start`: `nexus up --detach` in the background, when a message finds nobody listening."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from nexus.shim.carrier import StartFailed
from nexus.shim.token import TOKEN, TOKEN_FILE

# As nexus/exit_codes.py has them.
_OK: Final = 0
_ALREADY_RUNNING: Final = 4

# Isolated, so that neither the client's folder nor its PYTHON variables decide what is imported (security 2.16).
PROGRAM: Final = (sys.executable, "-I", "-m", "nexus")


class StartsNexus:
    """Starts NEXUS at most once at a time. Used by any thread. What it starts outlives this process."""

    def __init__(
        self, home: Path, environment: Mapping[str, str], tell: Callable[[str], None], program: Sequence[str] = PROGRAM
    ) -> None:
        self._command = [*program, "up", "--detach", "--home", str(home)]
        # The supervisor needs no token, so it gets none.
        self._environment = {name: value for name, value in environment.items() if name not in (TOKEN, TOKEN_FILE)}
        self._tell = tell
        self._lock = threading.Lock()
        self._starting: subprocess.Popen[bytes] | None = None

    def begin(self) -> bool:
        """True: it is on its way. Raises StartFailed when the last try failed; the next message tries again."""
        with self._lock:
            if self._starting is None:
                self._tell("Starting NEXUS.")
                self._starting = self._started()
                return True
            code = self._starting.poll()
            if code is None:
                return True
            self._starting = None
        if code in (_OK, _ALREADY_RUNNING):
            return True
        raise StartFailed(f"NEXUS could not be started (exit code {code}). Run `nexus up` in a terminal to see why.")

    def _started(self) -> subprocess.Popen[bytes]:
        # Standard output belongs to the protocol; what the command has to say goes where our own words go.
        try:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=self._environment,
                cwd=os.path.sep,
                start_new_session=True,
            )
        except OSError as error:
            raise StartFailed(f"NEXUS could not be started: {error.strerror}.") from error
