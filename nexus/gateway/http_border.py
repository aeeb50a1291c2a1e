"""What a connection may take of the gateway before anyone knows who speaks: bytes, headers, time, and its place.

A client without a token reaches the parser of HTTP, so its bounds are kept here, below the application, on uvicorn's
own protocol. Event loop thread only. Invariants
- Never more than `unread_bytes_max` bytes are given to the parser without it having passed a head, a piece of a body
  or an end of a message: what it gathers (a header line, a trailer) costs time that grows with the square of its size.
- A request that has begun is whole within `head_seconds` and then `body_seconds`, or the connection ends; so does one
  that sends nothing at all, and one that does not take what it is sent. Time that passes because the application is
  not reading yet (its agent's owner is restarting) does not count: the bound begins anew when it reads again.
- There are at most `connections_max` connections a listener: other users can fill the loopback port, and then the Unix
  socket, which only this user reaches, still answers. uvicorn's `limit_concurrency` counts connections of both and
  would refuse everyone's requests because of idle ones; it is set above both, where it bounds requests whose
  connection has gone while their owner is still to answer.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Final

import httptools
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bus.limits import (
    http_body_seconds_max,
    http_connections_max,
    http_head_seconds_max,
    http_headers_max,
    http_unread_bytes_max,
    http_write_seconds_max,
    keep_alive_seconds,
    other_descriptors_max,
    requests_stop_grace_seconds,
)
from nexus.gateway.headers import REQUEST_TARGET_KEY

_LISTENERS: Final = 2


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of each connection, but for `connections_max`."""

    unread_bytes_max: int = http_unread_bytes_max
    headers_max: int = http_headers_max
    head_seconds: float = http_head_seconds_max
    body_seconds: float = http_body_seconds_max
    write_seconds: float = http_write_seconds_max
    connections_max: int = http_connections_max


def server_config(app: Any, bounds: Bounds) -> uvicorn.Config:
    """How uvicorn serves `app` within `bounds`."""
    within = bounds

    class Bounded(BorderProtocol):
        bounds = within

    return uvicorn.Config(
        app,
        http=Bounded,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=keep_alive_seconds,
        timeout_graceful_shutdown=requests_stop_grace_seconds,
        limit_concurrency=(_LISTENERS + 1) * bounds.connections_max,
        proxy_headers=False,
    )


def connections_possible() -> int:
    """How many connections this process can have at each listener; raises its limit on descriptors if it may."""
    wanted = _LISTENERS * http_connections_max + other_descriptors_max
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return http_connections_max
    return max(1, (soft - other_descriptors_max) // _LISTENERS)


class BorderProtocol(HttpToolsProtocol):
    """One connection. uvicorn makes it from the class alone, so a subclass carries its bounds."""

    bounds: ClassVar[Bounds] = Bounds()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unread = 0
        """Bytes given to the parser since it last passed anything on."""
        self._header_count = 0
        self._is_in_request = False
        self._is_in_body = False
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._verdict = HTTPStatus.BAD_REQUEST

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, self._reads_again)
        if self._is_one_too_many():
            transport.abort()
        else:
            self._await_more()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_reading()
        self._cancel_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        while data and not self.transport.is_closing():
            room = self.bounds.unread_bytes_max + 1 - self._unread
            piece, data = data[:room], data[room:]
            self._unread += len(piece)
            self._parse(piece)
            if self._unread > self.bounds.unread_bytes_max:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if self._reading is None and (self._is_in_request or self._unread) and not self.transport.is_closing():
            self._await_more()

    def _parse(self, piece: bytes) -> None:
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            pass  # nothing is upgraded here: the request is answered as any other
        except httptools.HttpParserError:  # also what `on_header` raised
            self._refuse(self._verdict)

    # What the parser passes on.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_request = True
        self._is_in_body = False
        self._header_count = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        if self._header_count > self.bounds.headers_max:
            self._verdict = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise _TooManyHeaders
        if not self._is_in_body:  # a trailer comes when the headers have been judged
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._passed_on()
        self._is_in_body = True
        if not self.url.startswith(b"/"):  # uvicorn passes on no more of it than the path
            self.scope[REQUEST_TARGET_KEY] = self.url  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._passed_on()
        self._is_in_request = False
        self._is_in_body = False
        super().on_message_complete()

    def _passed_on(self) -> None:
        self._unread = 0
        self._cancel_reading()

    # Time.

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(self.bounds.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel_writing()
        super().resume_writing()

    def _await_more(self) -> None:
        seconds = self.bounds.body_seconds if self._is_in_body else self.bounds.head_seconds
        self._reading = self.loop.call_later(seconds, self._is_late)

    def _reads_again(self) -> None:
        """The client could send nothing while nobody read, so what is left of the bound would be too short."""
        if self._reading is not None:
            self._cancel_reading()
            self._await_more()

    def _is_late(self) -> None:
        self._reading = None
        if self.flow.read_paused or (not self._is_in_body and not self._is_answered):
            self._await_more()  # it waits for us
        elif self._is_in_request:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()

    def _cancel_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _cancel_writing(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    # Refusing.

    @property
    def _is_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer, unless that would fall into another answer, and end the connection."""
        if self.transport.is_closing():
            return
        if self._is_answered or (self._is_in_body and not self.cycle.response_started and not self.pipeline):
            head = f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head.encode())
        self.transport.close()

    def _is_one_too_many(self) -> bool:
        most = self.bounds.connections_max
        if len(self.connections) <= most:
            return False
        own = self._is_unix(self)
        return sum(self._is_unix(other) == own for other in self.connections) > most

    @staticmethod
    def _is_unix(connection: Any) -> bool:
        return connection.server is None or connection.server[1] is None


class _Flow(FlowControl):
    """uvicorn's, which says when the transport is read from again."""

    def __init__(self, transport: asyncio.Transport, resumed: Callable[[], None]) -> None:
        super().__init__(transport)
        self._resumed = resumed

    def resume_reading(self) -> None:
        was_paused = self.read_paused
        super().resume_reading()
        if was_paused:
            self._resumed()


class _TooManyHeaders(Exception):
    """Ends the parser's work on a request; it is answered with `_verdict`."""
