"""The commands' end of the person's socket: one request a connection, standard library only, no event loop."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from bus.limits import person_answer_ms_max, person_connect_ms_max, person_request_bytes_max
from bus.value import Record, Value
from nexus.peer import peer_user_id
from tools.errors import Code, Refusal

_READ_BYTES: Final = 1 << 16

NOT_RUNNING_TEXT: Final = "NEXUS is not running on this home; start it with `nexus up`."


class NotRunning(Exception):
    """Nothing listens on the home's `run/person.sock`."""


class Refused(Exception):
    """The gateway answered `{"error": ...}`; `error` is that record."""

    def __init__(self, error: Record) -> None:
        super().__init__(str(error.get("message", "")))
        self.error = error

    @classmethod
    def because(cls, code: Code, message: str) -> Refused:
        return cls(Refusal(code, message).to_record())


class PersonClient:
    """Speaks to the NEXUS whose sockets lie in `run`. Holds no connection between requests."""

    def __init__(self, run: Path) -> None:
        self._path = run / "person.sock"

    def ask(self, verb: str, arguments: Mapping[str, Value], lines: Iterable[Mapping[str, Value]] = ()) -> Record:
        """The verb's answer; `lines` follow the request, one by one. Raises NotRunning or Refused."""
        request = _request_line(verb, arguments)
        with self._connected() as connection:
            is_listening = _send(connection, request)
            for line in lines:
                is_listening = is_listening and _send(connection, _written(line))
            for answer in _answers(connection):
                return answer
        raise _ended_early()

    def follow(self, verb: str, arguments: Mapping[str, Value]) -> Iterator[Record]:
        """The events of a following verb until the caller stops or NEXUS ends. Raises NotRunning or Refused."""
        request = _request_line(verb, arguments)
        with self._connected() as connection:
            _send(connection, request)
            connection.settimeout(None)
            yield from _answers(connection)

    def stream(self, verb: str, arguments: Mapping[str, Value], each: Callable[[Record], None]) -> Record:
        """Hand each event of a verb that ends to `each`; its last answer. Raises NotRunning or Refused."""
        request = _request_line(verb, arguments)
        with self._connected() as connection:
            _send(connection, request)
            connection.settimeout(None)
            for is_event, record in _lines(connection):
                if not is_event:
                    return record
                each(record)
        raise _ended_early()

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(person_connect_ms_max / 1000)
            connection.connect(os.fspath(self._path))
            if peer_user_id(connection) != os.getuid():
                raise Refused.because(
                    Code.UNIDENTIFIED_CALLER, "The person's socket of this home belongs to another user."
                )
            connection.settimeout(person_answer_ms_max / 1000)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as absent:
            connection.close()
            raise NotRunning(NOT_RUNNING_TEXT) from absent
        except OSError as broken:
            connection.close()
            raise Refused.because(
                Code.UNAVAILABLE,
                f"The person's socket of this home cannot be opened: {broken.strerror or 'timed out'}.",
            ) from broken
        except BaseException:
            connection.close()
            raise
        return connection


def _request_line(verb: str, arguments: Mapping[str, Value]) -> bytes:
    return _written({"verb": verb, "arguments": {**arguments}})


def _written(record: Mapping[str, Value]) -> bytes:
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as half:
        raise Refused.because(
            Code.INVALID_ARGUMENTS, "The text holds half a character (a lone surrogate); correct it and try again."
        ) from half
    if len(line) >= person_request_bytes_max:
        raise Refused.because(
            Code.TOO_LARGE, f"The request is larger than {person_request_bytes_max // (1024 * 1024)} MiB."
        )
    return line + b"\n"


def _send(connection: socket.socket, line: bytes) -> bool:
    """Whether the gateway still listens."""
    try:
        connection.sendall(line)
    except (BrokenPipeError, ConnectionResetError):
        return False  # the gateway may refuse before it has read all; its reason waits to be read
    except TimeoutError as slow:
        raise _too_slow() from slow
    return True


def _answers(connection: socket.socket) -> Iterator[Record]:
    return (record for _, record in _lines(connection))


def _lines(connection: socket.socket) -> Iterator[tuple[bool, Record]]:
    """For each line whether it is an event, and its payload. Raises Refused for an `error` line."""
    pending = bytearray()
    while True:
        try:
            piece = connection.recv(_READ_BYTES)
        except TimeoutError as slow:
            raise _too_slow() from slow
        except ConnectionResetError as reset:
            raise _ended_early() from reset
        if not piece:
            return
        searched = len(pending)
        pending += piece
        while (end := pending.find(b"\n", searched)) >= 0:
            line = bytes(pending[:end])
            del pending[: end + 1]
            searched = 0
            yield _payload(line)


def _payload(line: bytes) -> tuple[bool, Record]:
    try:
        answer = json.loads(line)
    except ValueError:
        raise _no_answer() from None
    if not isinstance(answer, dict):
        raise _no_answer()
    error = answer.get("error")
    if isinstance(error, dict):
        raise Refused(error)
    payload = answer.get("ok", answer.get("event"))
    return "event" in answer, payload if isinstance(payload, dict) else {}


def _no_answer() -> Refused:
    return Refused.because(
        Code.UNAVAILABLE, "Whatever listens on the person's socket of this home does not answer as NEXUS does."
    )


def _ended_early() -> Refused:
    return Refused.because(
        Code.OUTCOME_UNKNOWN,
        "NEXUS ended the connection before it answered. Look at what exists now before trying again.",
    )


def _too_slow() -> Refused:
    return Refused.because(
        Code.OUTCOME_UNKNOWN, "NEXUS did not answer in time. Look at what exists now before trying again."
    )
