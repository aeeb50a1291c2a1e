"""The wire over ZeroMQ ipc sockets, driven by file descriptor on the process's own event loop; only importer of zmq.

Not zmq.asyncio, which is four times slower here. Traps that this file is built around:
- the descriptor is edge-triggered: after every receive and after every send it must be drained until EAGAIN again;
- a ROUTER drops silently for unknown peers and full queues unless ROUTER_MANDATORY is set, and then says EHOSTUNREACH
  or EAGAIN; a frame that finds a full queue waits in `_waiting` and is tried again after the next drain;
- a second process can bind the same ipc path and steal it, so callers hold the shard's lock before they listen;
- ipc paths hold at most 107 bytes.
Everything here runs on the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import zmq

from bus.limits import (
    frame_bytes_max,
    socket_path_bytes_max,
    wire_frames_queued_max,
    wire_frames_waiting_max,
    wire_receives_a_turn_max,
)
from bus.runtime_limits import runtime_frame_bytes_max, runtime_frames_queued_max
from bus.wire import Connection, Listener

_RETRY_SECONDS: Final = 0.005
_RECONNECT_MS: Final = 20


_SocketT = TypeVar("_SocketT", bound="_Socket")


class PathTooLong(ValueError):
    """An ipc path over the operating system's limit; the home needs a shorter run folder."""


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """What a wire takes and keeps. The defaults are for processes of one home, which read what is sent to them."""

    frame_bytes: int = frame_bytes_max
    frames_queued: int = wire_frames_queued_max
    """For each peer, at each end."""
    frames_waiting: int = wire_frames_waiting_max
    """For all peers of a socket, in order. None for a wire with strangers: behind one that takes nothing any more the
    others would wait."""


RUNTIME_BOUNDS: Final = QueueBounds(runtime_frame_bytes_max, runtime_frames_queued_max, frames_waiting=0)
"""Of the wire to agents' runtimes, at both ends."""


class ZmqWire:
    """One ZeroMQ context for the process. `close` gives every socket back at once, dropping what is unsent."""

    def __init__(self, loop: asyncio.AbstractEventLoop, bounds: QueueBounds = QueueBounds()) -> None:
        self._loop = loop
        self._bounds = bounds
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._sockets: list[_Socket] = []

    def listen(self, path: Path, received: Callable[[bytes, bytes], None]) -> Listener:
        socket = self._context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._prepare(socket)
        socket.bind(_address(path))
        return self._kept(_ZmqListener(self._loop, self._bounds, socket, received))

    def connect(self, path: Path, received: Callable[[bytes], None]) -> Connection:
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MS)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, _RECONNECT_MS * 5)
        self._prepare(socket)
        socket.connect(_address(path))
        return self._kept(_ZmqConnection(self._loop, self._bounds, socket, received))

    def _prepare(self, socket: zmq.Socket[bytes]) -> None:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, self._bounds.frames_queued)
        socket.setsockopt(zmq.RCVHWM, self._bounds.frames_queued)
        socket.setsockopt(zmq.MAXMSGSIZE, self._bounds.frame_bytes)

    def _kept(self, socket: _SocketT) -> _SocketT:
        self._sockets = [*(one for one in self._sockets if one.is_open), socket]
        return socket

    def close(self) -> None:
        for socket in self._sockets:
            socket.close()
        self._context.term()


def _address(path: Path) -> str:
    if len(str(path).encode()) > socket_path_bytes_max:
        raise PathTooLong(f"a socket path may have {socket_path_bytes_max} bytes")
    return f"ipc://{path}"


class _Socket:
    """A ZeroMQ socket on the loop: drains on its descriptor and after each send, keeps what did not fit yet."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bounds: QueueBounds,
        socket: zmq.Socket[bytes],
        received: Callable[[list[bytes]], None],
    ) -> None:
        self._loop = loop
        self._frames_waiting_max = bounds.frames_waiting
        self._received = received
        self._socket = socket
        self._descriptor = int(socket.getsockopt(zmq.FD))
        self._waiting: deque[list[bytes]] = deque()
        self._drain_is_due = False
        self._retry: asyncio.TimerHandle | None = None
        self.is_open = True
        loop.add_reader(self._descriptor, self._drain)
        self._drain_soon()

    def _drain_soon(self) -> None:
        if not self._drain_is_due and self.is_open:
            self._drain_is_due = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        self._drain_is_due = False
        for _ in range(wire_receives_a_turn_max):
            if not self.is_open:
                return
            if not int(self._socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:  # cheaper than to receive and be told Again
                return
            parts = self._socket.recv_multipart(zmq.NOBLOCK)
            try:
                self._received(parts)
            except BaseException:
                self._drain_soon()  # the edge is spent: without another drain the socket would fall silent
                raise
        self._drain_soon()

    def _send(self, parts: list[bytes]) -> bool:
        if not self.is_open:
            return False
        if self._waiting:
            return self._keep(parts)
        try:
            self._socket.send_multipart(parts, zmq.NOBLOCK)
        except zmq.Again:
            return self._keep(parts)
        except zmq.ZMQError:
            return False
        self._drain_soon()
        return True

    def _keep(self, parts: list[bytes]) -> bool:
        if len(self._waiting) >= self._frames_waiting_max:
            return False
        self._waiting.append(parts)
        if self._retry is None:
            self._retry = self._loop.call_later(_RETRY_SECONDS, self._send_waiting)
        return True

    def _send_waiting(self) -> None:
        self._retry = None
        while self._waiting and self.is_open:
            try:
                self._socket.send_multipart(self._waiting[0], zmq.NOBLOCK)
            except zmq.Again:
                self._retry = self._loop.call_later(_RETRY_SECONDS, self._send_waiting)
                break
            except zmq.ZMQError:
                pass  # the peer is gone: a link that misses the frame finds out by silence
            self._waiting.popleft()
        self._drain_soon()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            if self._retry is not None:
                self._retry.cancel()
            self._loop.remove_reader(self._descriptor)
            self._socket.close(linger=0)


class _ZmqListener(_Socket):
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bounds: QueueBounds,
        socket: zmq.Socket[bytes],
        received: Callable[[bytes, bytes], None],
    ) -> None:
        def parts_received(parts: list[bytes]) -> None:
            if len(parts) == 2:
                received(parts[0], parts[1])

        super().__init__(loop, bounds, socket, parts_received)

    def send(self, peer: bytes, frame: bytes) -> bool:
        return self._send([peer, frame])


class _ZmqConnection(_Socket):
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bounds: QueueBounds,
        socket: zmq.Socket[bytes],
        received: Callable[[bytes], None],
    ) -> None:
        def parts_received(parts: list[bytes]) -> None:
            if len(parts) == 1:
                received(parts[0])

        super().__init__(loop, bounds, socket, parts_received)

    def send(self, frame: bytes) -> bool:
        return self._send([frame])
