"""A wire inside one process: frames pass through a scheduler's queue. For tests and the simulation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bus.wire import Connection, Listener, PathInUse, Scheduler


class MemoryWire:
    """All ends that share one instance can reach each other by path."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._listeners: dict[Path, _MemoryListener] = {}
        self._connected = 0

    def listen(self, path: Path, received: Callable[[bytes, bytes], None]) -> Listener:
        if path in self._listeners:
            raise PathInUse
        listener = _MemoryListener(self, path, received)
        self._listeners[path] = listener
        return listener

    def connect(self, path: Path, received: Callable[[bytes], None]) -> Connection:
        self._connected += 1
        return _MemoryConnection(self, path, self._connected.to_bytes(4, "big"), received)

    def listener_at(self, path: Path) -> _MemoryListener | None:
        return self._listeners.get(path)

    def closed(self, path: Path) -> None:
        self._listeners.pop(path, None)

    def later(self, callback: Callable[[], None]) -> None:
        self._scheduler.call_soon(callback)


class _MemoryListener:
    def __init__(self, wire: MemoryWire, path: Path, received: Callable[[bytes, bytes], None]) -> None:
        self._wire = wire
        self._path = path
        self._received = received
        self._peers: dict[bytes, _MemoryConnection] = {}
        self._is_open = True

    def take(self, connection: _MemoryConnection, frame: bytes) -> None:
        if self._is_open:
            self._peers[connection.peer] = connection
            self._received(connection.peer, frame)

    def send(self, peer: bytes, frame: bytes) -> bool:
        connection = self._peers.get(peer)
        if connection is None or not connection.is_open:
            self._peers.pop(peer, None)
            return False
        self._wire.later(lambda: connection.take(frame))
        return True

    def close(self) -> None:
        self._is_open = False
        self._wire.closed(self._path)


class _MemoryConnection:
    def __init__(self, wire: MemoryWire, path: Path, peer: bytes, received: Callable[[bytes], None]) -> None:
        self._wire = wire
        self._path = path
        self.peer = peer
        self._received = received
        self.is_open = True

    def send(self, frame: bytes) -> bool:
        self._wire.later(lambda: self._deliver(frame))
        return True

    def _deliver(self, frame: bytes) -> None:
        listener = self._wire.listener_at(self._path)
        if listener is not None:
            listener.take(self, frame)

    def take(self, frame: bytes) -> None:
        if self.is_open:
            self._received(frame)

    def close(self) -> None:
        self.is_open = False
