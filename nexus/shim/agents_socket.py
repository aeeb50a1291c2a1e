"""HTTP over the agents' Unix socket: one request and its answer, which another thread may break off.

Who may touch it: any thread; a connection is used by one at a time. The peer of each connection is checked before a
byte is sent, so that no token goes to whoever put a socket in the place of NEXUS' own (security 2.10).
"""

from __future__ import annotations

import http.client
import os
import pwd
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bus.limits import shim_answer_bytes_max, shim_connect_ms_max, shim_connections_kept_max
from nexus.peer import peer_user_id

ENDPOINT: Final = "/mcp"


class NotListening(Exception):
    """Nobody listens on the socket, so nothing was sent."""


class Unreachable(Exception):
    """The socket must not or cannot be used. The text is for the person."""


class Broken(Exception):
    """The connection ended before the answer did."""

    def __init__(self, *, was_sent: bool) -> None:
        super().__init__()
        self.was_sent = was_sent


class Cancelled(Exception):
    """Nobody waits for the answer any more."""


class Cancellation:
    """Whether somebody still waits for an answer. `cancel` breaks off the exchange that is open, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: socket.socket | None = None
        self._cancelled = threading.Event()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled.set()
            if self._open is not None:
                _shut_down(self._open)

    def pause(self, seconds: float) -> None:
        """Wait so long. Raises Cancelled as soon as nobody waits any more."""
        if self._cancelled.wait(seconds):
            raise Cancelled

    @contextmanager
    def covering(self, connection: socket.socket) -> Iterator[None]:
        with self._lock:
            if self._cancelled.is_set():
                raise Cancelled
            self._open = connection
        try:
            yield
        finally:
            with self._lock:
                self._open = None


class Answer:
    """The answer to one request while its connection is held."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status

    @property
    def is_stream(self) -> bool:
        return self._type() == "text/event-stream"

    @property
    def is_json(self) -> bool:
        return self._type() == "application/json"

    def header(self, name: str) -> str | None:
        return self._response.getheader(name)

    def body(self) -> bytes:
        """All of it. Raises Broken, also for more than anything of NEXUS is long."""
        whole = self._response.read(shim_answer_bytes_max + 1)
        if len(whole) > shim_answer_bytes_max or self._response.length not in (None, 0):
            raise Broken(was_sent=True)
        return whole

    def events(self) -> Iterator[bytes]:
        """The data of each server-sent event as it comes, until the stream or its connection ends."""
        data: list[bytes] = []
        size = 0
        while line := self._response.readline(shim_answer_bytes_max + 1):
            size += len(line)
            if size > shim_answer_bytes_max:
                raise Broken(was_sent=True)
            line = line.rstrip(b"\r\n")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line:
                if data:
                    yield b"\n".join(data)
                data, size = [], 0

    def _type(self) -> str:
        return (self._response.getheader("Content-Type") or "").partition(";")[0].strip().lower()


class AgentsSocket:
    """Where NEXUS serves agents. `path` is asked at each connection: a NEXUS started anew may listen elsewhere."""

    def __init__(self, path: Callable[[], Path], user_id: int) -> None:
        """`user_id` is the user whose NEXUS it must be."""
        self._path = path
        self._user_id = user_id
        self._lock = threading.Lock()
        self._kept: list[_Connection] = []
        self.has_answered = False

    @contextmanager
    def exchange(
        self, method: str, body: bytes | None, headers: Mapping[str, str], cancellation: Cancellation
    ) -> Iterator[Answer]:
        """One request. Raises NotListening, Unreachable, Broken or Cancelled, also out of the block that reads."""
        connection = self._kept_one() or self._opened()
        was_sent = is_kept = False
        try:
            assert connection.sock is not None
            with cancellation.covering(connection.sock):
                connection.request(method, ENDPOINT, body, dict(headers))
                was_sent = True
                response = connection.getresponse()
                self.has_answered = True
                yield Answer(response)
                if response.isclosed() and not response.will_close:
                    is_kept = self._keep(connection)
        except (OSError, http.client.HTTPException) as error:
            if cancellation.is_cancelled:
                raise Cancelled from error
            raise Broken(was_sent=was_sent) from error
        finally:
            if not is_kept:
                connection.close()

    def _kept_one(self) -> _Connection | None:
        while True:
            with self._lock:
                if not self._kept:
                    return None
                connection = self._kept.pop()
            if connection.is_quiet():
                return connection
            connection.close()

    def _keep(self, connection: _Connection) -> bool:
        with self._lock:
            if len(self._kept) >= shim_connections_kept_max:
                return False
            self._kept.append(connection)
            return True

    def _opened(self) -> _Connection:
        connection = _Connection(self._path(), self._user_id)
        connection.connect()
        return connection


class _Connection(http.client.HTTPConnection):
    """Over a Unix socket whose other end belongs to the right user."""

    sock: socket.socket | None

    def __init__(self, path: Path, user_id: int) -> None:
        super().__init__("localhost")
        self._path = path
        self._user_id = user_id

    def connect(self) -> None:
        self.sock = connected(self._path, self._user_id)

    def is_quiet(self) -> bool:
        """Whether nothing came since the last answer: what comes then is the other end's farewell."""
        assert self.sock is not None
        return not select.select([self.sock], [], [], 0)[0]


_NOT_NOW: Final = (
    FileNotFoundError,
    ConnectionRefusedError,
    NotADirectoryError,
    TimeoutError,
    ConnectionResetError,
    BlockingIOError,  # as many wait to be accepted as may
)


def connected(path: Path, user_id: int) -> socket.socket:
    """A connection to the socket at `path`, whose listener runs as `user_id`. Raises NotListening or Unreachable."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(shim_connect_ms_max / 1_000)
        connection.connect(os.fspath(path))
        peer = peer_user_id(connection)
        if peer != user_id:
            raise Unreachable(
                f"The socket {path} belongs to {_user_name(peer)}, not to {_user_name(user_id)}, so no token was sent. "
                "If that user runs the NEXUS that you mean, say so with --user."
            )
        connection.settimeout(None)
    except _NOT_NOW as gone:
        connection.close()
        raise NotListening from gone
    except OSError as error:
        connection.close()
        raise Unreachable(f"The socket {path} cannot be opened: {error.strerror}.") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _user_name(user_id: int) -> str:
    try:
        return f"the user {pwd.getpwuid(user_id).pw_name}"
    except KeyError:
        return f"the user with id {user_id}"


def _shut_down(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended already
