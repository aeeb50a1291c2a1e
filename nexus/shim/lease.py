"""`--agent NAME`: a credential of this process' own, lent by the person's socket as long as the connection lasts.

It stops when it is closed or the connection ends, however this process ends. A gateway that was started anew lends the
same one again to whoever still has its token (nexus/gateway/person_lease.py), so that nothing is noticed of a restart;
until then that gateway refuses it, which here means no more than to wait.

`LeasedToken` is used by any thread; `_held`, `_connection` and `_why_ended` are guarded by `_changed`. The token is in
memory alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bus.limits import (
    person_answer_ms_max,
    person_request_bytes_max,
    shim_back_off_ms_first,
    shim_back_off_ms_max,
    shim_connect_ms_max,
    shim_repeats_max,
)
from nexus.shim.agents_socket import NotListening, Unreachable, connected
from nexus.shim.token import NoToken, NotYet

VERB: Final = "agent.credential_lease"

_RETRIED: Final = frozenset({"unavailable", "outcome_unknown"})
_GONE: Final = "not_found"
_GIVEN_BACK: Final = "The borrowed credential was given back."
_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Held:
    """What was lent."""

    agent_id: str
    credential: str
    token: str = field(repr=False)


class Denied(Exception):
    """The person's socket said no. The text is for the person. `is_gone`: there is no such agent or credential."""

    def __init__(self, message: str, *, is_gone: bool) -> None:
        super().__init__(message)
        self.is_gone = is_gone


class LeasedToken:
    """A token source that keeps a connection to the person's socket for as long as this process lives."""

    def __init__(self, person_socket: Callable[[], Path], agent: str, workspace: str | None) -> None:
        self._person_socket = person_socket
        self._asked: Mapping[str, object] = {"agent": agent, **({"workspace": workspace} if workspace else {})}
        self._changed = threading.Condition()
        self._held: Held | None = None
        self._is_connected = False
        self._lent_ns = 0
        """Since when the connection holds it, by the monotonic clock."""
        self._is_absent = False
        """Whether nobody listened the last time."""
        self._why_ended: str | None = None
        self._connection: socket.socket | None = None
        threading.Thread(target=self._keep, daemon=True).start()

    def current(self) -> str:
        with self._changed:
            if not self._is_connected and not self._is_absent and self._why_ended is None:
                self._changed.wait(shim_back_off_ms_max / 1_000)
            if self._why_ended is not None:
                raise NoToken(self._why_ended)
            if self._is_absent:
                raise NotListening
            if not self._is_connected or self._held is None:
                raise NotYet
            return self._held.token

    def has_other_than(self, refused: str, shown_ns: int) -> bool:
        """Refused while the connection is gone, or before it was lent anew: it comes again, perhaps the same. While the
        same connection lasts, it was revoked."""
        with self._changed:
            if not self._is_connected or self._held is None:
                return True
            return self._held.token != refused or self._lent_ns > shown_ns

    def close(self) -> None:
        """Give it back: its connection ends now, and so does it. Safe to repeat."""
        with self._changed:
            self._why_ended = self._why_ended or _GIVEN_BACK
            if self._connection is not None:
                with contextlib.suppress(OSError):  # it has ended already
                    self._connection.shutdown(socket.SHUT_RDWR)
            self._changed.notify_all()

    def _keep(self) -> None:
        pause_ms, denials = shim_back_off_ms_first, 0
        while self._why_ended is None:
            try:
                was_held = self._hold_once()
            except NotListening:
                was_held = False
                with self._changed:
                    self._is_absent = True
                    self._changed.notify_all()
            except (OSError, ValueError):
                was_held = False  # it is being restarted
            except (Denied, Unreachable) as denied:
                was_held, denials = False, denials + 1
                if self._is_final(denied, denials):
                    with self._changed:
                        self._why_ended = self._why_ended or str(denied)
                        self._changed.notify_all()
                    return
            finally:
                with self._changed:
                    self._is_connected, self._connection = False, None
            denials = 0 if was_held else denials
            pause_ms = shim_back_off_ms_first if was_held else min(2 * pause_ms, shim_back_off_ms_max)
            time.sleep(pause_ms / 1_000)

    def _is_final(self, why: Denied | Unreachable, denials: int) -> bool:
        """Whoever has been lent one before is not sent away by what a busy system may do to a request, such as not to
        say in time which process asks."""
        is_gone = isinstance(why, Denied) and why.is_gone
        return is_gone or self._held is None or denials > shim_repeats_max

    def _hold_once(self) -> bool:
        """One connection to its end; whether anything was lent. Raises Denied, NotListening, OSError, ValueError."""
        with connected(self._person_socket(), os.getuid()) as connection:
            with self._changed:
                if self._why_ended is not None:
                    return False
                self._connection = connection
            connection.settimeout((shim_connect_ms_max + person_answer_ms_max) / 1_000)
            again = {} if self._held is None else {"credential": self._held.credential, "token": self._held.token}
            request = {"verb": VERB, "arguments": {**self._asked, **again}}
            connection.sendall(json.dumps(request).encode() + b"\n")
            held = _lent(_first_line(connection))
            if held is None:
                return False
            connection.settimeout(None)
            with self._changed:
                self._held, self._is_connected, self._is_absent = held, True, False
                self._lent_ns = time.monotonic_ns()
                self._changed.notify_all()
            while connection.recv(_READ_BYTES):
                pass
            return True


def _first_line(connection: socket.socket) -> bytes:
    pending = bytearray()
    while b"\n" not in pending:
        piece = connection.recv(_READ_BYTES)
        pending += piece
        if not piece or len(pending) > person_request_bytes_max:
            raise ConnectionError
    return bytes(pending).partition(b"\n")[0]


def _lent(line: bytes) -> Held | None:
    """What was lent; None when that may be possible later. Raises Denied, or ValueError for what is no answer."""
    answer: Any = json.loads(line)
    match answer:
        case {"event": {"agentId": str() as agent_id, "credential": str() as credential, "token": str() as token}}:
            return Held(agent_id, credential, token)
        case {"error": {"code": str() as code, "message": str() as message}}:
            if code in _RETRIED:
                return None
            raise Denied(message, is_gone=code == _GONE)
        case _:
            raise ValueError("no answer of the person's socket")
