"""A runtime's end of its connection to the gateway: it introduces itself, keeps itself open, and repeats what was not
answered (mesh 5.1).

| state | heard | then |
| --- | --- | --- |
| greeting | Welcome | open: what was not answered is sent again, in its order |
| greeting | Refused, to be tried again | waits, then greets on a new connection |
| greeting again | Refused as not known, soon after the former connection | the same |
| greeting, open | Refused for good | over |
| open | Unknown, or nothing for too long | greets |

Invariants:
- A Hello is the first frame of a connection, or the answer to Unknown on an open one. Between it and Welcome nothing
  but the answer to it is heeded, so what the gateway takes for delivered is what `holding` told, or came after Welcome.
- A request keeps its number on all its tries and is answered once.

Event loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final

from bus.codec import Undecodable
from bus.runtime_frames import (
    PROTOCOL,
    Answered,
    Bye,
    Deliver,
    Hello,
    Lost,
    Ping,
    Pong,
    Refused,
    Request,
    RuntimeFrame,
    Unknown,
    Welcome,
    decode_runtime_frame,
    encode_runtime_frame,
)
from bus.runtime_limits import (
    runtime_bye_ms_max,
    runtime_deaf_ms_max,
    runtime_greeting_ms_max,
    runtime_heartbeat_ms,
    runtime_known_ms_max,
    runtime_retry_ms_first,
    runtime_retry_ms_max,
)
from bus.value import Record
from bus.wire import Connection, Wire

_NOT_KNOWN: Final = "unidentified_caller"
_BEAT_SECONDS: Final = runtime_heartbeat_ms / 1_000


class LinkState(Enum):
    GREETING = "greeting"
    WAITING = "waiting"
    """Refused for now; greets again soon."""
    OPEN = "open"
    OVER = "over"


class RuntimeLink:
    """Connects at once and again until `close`."""

    def __init__(
        self,
        wire: Wire,
        socket: Path,
        *,
        token: str,
        runtime_id: str,
        holding: Callable[[], tuple[str, ...]],
        opened: Callable[[Welcome], None],
        received: Callable[[Deliver | Lost], None],
        refused: Callable[[Refused], None],
    ) -> None:
        """`holding` says which deliveries the runtime has; `opened` may send at once; after `refused`, which is for
        good, nothing more comes."""
        self._wire = wire
        self._socket = socket
        self._token = token
        self._runtime_id = runtime_id
        self._holding = holding
        self._opened = opened
        self._received = received
        self._refused = refused
        self._loop = asyncio.get_running_loop()
        self._state = LinkState.GREETING
        self._connection: Connection | None = None
        self._since = 0.0
        """When it was last heard of, or, greeting, when the Hello was sent. Seconds of the loop."""
        self._retry_ms = runtime_retry_ms_first
        self._known_until = 0.0
        """Until when a refusal of the token may be one of a new gateway that was not told of it yet: a lent one counts
        there once whoever it was lent to has asked again (decision 0012)."""
        self._numbers = 0
        self._open: dict[int, tuple[Request, asyncio.Future[Answered]]] = {}
        self._farewell: asyncio.Event = asyncio.Event()
        self._timer: asyncio.Handle = self._loop.call_soon(self._connect)
        self._beat_timer = self._loop.call_later(_BEAT_SECONDS, self._beat)

    def send(self, frame: RuntimeFrame) -> None:
        """While open; what is lost with the connection must be said again when the next one opens."""
        if self._state is LinkState.OPEN and self._connection is not None:
            self._connection.send(encode_runtime_frame(frame))

    async def ask(self, verb: str, body: Record) -> Answered:
        """The answer, however often the connection or what is behind it begins anew. Raises Unencodable, and
        ConnectionError when the link is closed or refused first."""
        if self._state is LinkState.OVER:
            raise ConnectionError("the connection is closed")
        self._numbers += 1
        request = Request(self._numbers, verb, body)
        encode_runtime_frame(request)  # one that cannot be sent is refused before it is kept
        answer: asyncio.Future[Answered] = self._loop.create_future()
        self._open[request.number] = (request, answer)
        try:
            self.send(request)
            return await answer
        finally:
            del self._open[request.number]

    async def close(self) -> None:
        """Say Bye, wait for it to be heard, but not long, and end."""
        if self._state is LinkState.OPEN:
            self.send(Bye())
            try:
                async with asyncio.timeout(runtime_bye_ms_max / 1_000):
                    await self._farewell.wait()
            except TimeoutError:
                pass  # nobody is there to give anything back: the leases run out
        self._end()

    def _end(self) -> None:
        self._state = LinkState.OVER
        self._timer.cancel()
        self._beat_timer.cancel()
        self._disconnect()
        for _, answer in self._open.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the connection is closed"))

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        """On a new connection, so that nothing that lies unsent in the former one, or comes by it, is mistaken."""
        self._disconnect()
        connection = self._wire.connect(self._socket, lambda data: self._heard(connection, data))
        self._connection = connection
        self._greet()

    def _greet(self) -> None:
        assert self._connection is not None, "greets on a connection"
        self._state = LinkState.GREETING
        self._since = self._loop.time()
        hello = Hello(PROTOCOL, self._token, self._runtime_id, self._holding())
        self._connection.send(encode_runtime_frame(hello))

    def _beat(self) -> None:
        if self._loop.time() - self._beat_timer.when() > _BEAT_SECONDS:
            self._since = self._loop.time()  # the runtime's own loop was held up: what has come is not read yet
        silent_ms = (self._loop.time() - self._since) * 1_000
        limit_ms = runtime_deaf_ms_max if self._state is LinkState.OPEN else runtime_greeting_ms_max
        if self._state is not LinkState.WAITING and silent_ms > limit_ms:
            self._connect()
        self.send(Ping())
        self._beat_timer = self._loop.call_later(_BEAT_SECONDS, self._beat)

    def _heard(self, connection: Connection, data: bytes) -> None:
        if connection is not self._connection:
            return
        try:
            frame = decode_runtime_frame(data)
        except Undecodable:
            return  # of another version; what was asked for and did not come is asked for again
        if self._state is LinkState.OPEN:
            self._since = self._loop.time()
            self._known_until = self._since + runtime_known_ms_max / 1_000
            self._while_open(frame)
        elif self._state is LinkState.GREETING:
            self._while_greeting(frame)

    def _while_greeting(self, frame: RuntimeFrame) -> None:
        match frame:
            case Welcome():
                self._state = LinkState.OPEN
                self._since = self._loop.time()
                self._known_until = self._since + runtime_known_ms_max / 1_000
                self._retry_ms = runtime_retry_ms_first
                self._opened(frame)
                for request, _ in [*self._open.values()]:
                    self.send(request)
            case Refused(retryable=True):
                self._wait_and_greet()
            case Refused(code=code) if code == _NOT_KNOWN and self._loop.time() < self._known_until:
                self._wait_and_greet()
            case Refused():
                self._over(frame)
            case Unknown():
                self._wait_and_greet()  # the Hello was lost with the gateway that it was sent to
            case _:
                pass

    def _while_open(self, frame: RuntimeFrame) -> None:
        match frame:
            case Deliver() | Lost():
                self._received(frame)
            case Answered(number):
                _, answer = self._open.get(number, (None, None))
                if answer is not None and not answer.done():
                    answer.set_result(frame)
            case Unknown():
                self._greet()
            case Refused(retryable=True):
                self._wait_and_greet()
            case Refused():
                self._over(frame)
            case Bye():
                self._farewell.set()
            case Pong() | _:
                pass

    def _wait_and_greet(self) -> None:
        self._state = LinkState.WAITING
        self._disconnect()
        self._timer = self._loop.call_later(self._retry_ms / 1_000, self._connect)
        self._retry_ms = min(2 * self._retry_ms, runtime_retry_ms_max)

    def _over(self, refused: Refused) -> None:
        self._end()
        self._refused(refused)
