"""Asking the supervisor of a home: one JSON line over `run/supervisor.sock`, one JSON line back.

Verbs: `status` answers what `nexus status --json` prints and `is_ready`; `down` answers the same and then ends
everything, holding the connection open until the supervisor itself ends.
"""

from __future__ import annotations

import json
import os
import socket

from bus.limits import control_answer_ms_max, control_line_bytes_max
from nexus.config import Home
from nexus.peer import peer_user_id


class NotRunning(Exception):
    """No supervisor answers on this home. The text is for the person."""

    def __init__(self, home: Home) -> None:
        super().__init__(f"NEXUS does not run on {home.path}. Start it with: nexus up")


class ControlLine:
    """An open connection to the supervisor. Raises NotRunning when there is none."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection.settimeout(control_answer_ms_max / 1000)
        try:
            self._connection.connect(str(home.supervisor_socket))
            # A socket that another user put there must not be able to answer for NEXUS.
            if peer_user_id(self._connection) != os.getuid():
                raise NotRunning(home)
        except OSError:
            self.close()
            raise NotRunning(home) from None

    def ask(self, verb: str) -> dict[str, object]:
        """The supervisor's answer to a verb."""
        received = b""
        try:
            self._connection.sendall(json.dumps({"verb": verb}).encode() + b"\n")
            while not received.endswith(b"\n") and len(received) < control_line_bytes_max:
                piece = self._connection.recv(4096)
                if not piece:
                    break
                received += piece
            answer = json.loads(received)
        except (OSError, ValueError):
            raise NotRunning(self._home) from None
        if not isinstance(answer, dict):
            raise NotRunning(self._home)
        return answer

    def close(self) -> None:
        self._connection.close()


def supervisor_answers(home: Home) -> bool:
    """Whether a supervisor answers on this home now."""
    try:
        ask(home, "status")
    except NotRunning:
        return False
    return True


def ask(home: Home, verb: str) -> dict[str, object]:
    """One verb, one answer. Raises NotRunning."""
    line = ControlLine(home)
    try:
        return line.ask(verb)
    finally:
        line.close()
