"""A network between simulated processes that loses, doubles, delays and reorders frames, and is cut at will.

It is meaner than the wire that the product promises itself (bus/wire.py: in order, lost only when an end dies), because
bus/sequence.py undertakes to mend all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bus.wire import Connection, Listener, PathInUse
from tests.simulation.options import Faults
from tests.simulation.scheduler import Process, Scheduler


class Network:
    """All processes' wires. `faults` may be exchanged while it runs."""

    def __init__(self, scheduler: Scheduler, faults: Faults) -> None:
        self.scheduler = scheduler
        self.faults = faults
        self.listeners: dict[Path, _Listener] = {}
        self.frames_lost = 0
        self._cut: dict[tuple[str, str], bool] = {}
        """Pairs of names that do not reach each other, and whether frames are held for later."""
        self._held: list[tuple[tuple[str, str], Callable[[], None]]] = []
        self._connected = 0

    def wire_of(self, process: Process) -> SimulatedWire:
        return SimulatedWire(self, process)

    def next_peer(self) -> bytes:
        self._connected += 1
        return self._connected.to_bytes(4, "big")

    def cut(self, one: str, other: str, holds: bool) -> None:
        self._cut[_pair(one, other)] = holds

    def join(self, one: str, other: str) -> None:
        """Make a link whole again; what was held arrives now."""
        pair = _pair(one, other)
        self._cut.pop(pair, None)
        arriving = [send for held, send in self._held if held == pair]
        self._held = [(held, send) for held, send in self._held if held != pair]
        for send in arriving:
            send()

    def join_all(self) -> None:
        for one, other in list(self._cut):
            self.join(one, other)

    def carry(self, way: Way, frame: bytes) -> None:
        """Take a frame from one end towards the other, with whatever happens to it."""
        self.scheduler.note(frame)
        pair = _pair(way.source.name, way.target_name)
        holds = self._cut.get(pair)
        if holds is not None:
            if holds:
                self._held.append((pair, lambda: self._carry(way, frame)))
            else:
                self.frames_lost += 1
            return
        self._carry(way, frame)

    def _carry(self, way: Way, frame: bytes) -> None:
        rng, faults = self.scheduler.random, self.faults
        if rng.random() < faults.frame_drop:
            self.frames_lost += 1
            return
        for _ in range(1 + (rng.random() < faults.frame_duplicate)):
            delay_us = rng.randrange(20, 150)
            if rng.random() < faults.frame_delay:
                delay_us += rng.randrange(faults.frame_delay_ms_max * 1_000)
            way.arrive(delay_us, frame, in_order=rng.random() >= faults.frame_reorder)


class Way:
    """One direction of one connection."""

    def __init__(self, network: Network, source: Process, target_name: str, take: Callable[[bytes], None]) -> None:
        """`take` gives the frame to whoever is there when it arrives."""
        self.source = source
        self.target_name = target_name
        self._scheduler = network.scheduler
        self._take = take
        self._last_us = 0
        self._carrier = Process(network.scheduler, f"wire {source.name} {target_name}")

    def arrive(self, delay_us: int, frame: bytes, in_order: bool) -> None:
        due_us = self._scheduler.now_us + delay_us
        if in_order:
            due_us = self._last_us = max(self._last_us, due_us)
        self._scheduler.at(self._carrier.loop, due_us - self._scheduler.now_us, lambda: self._take(frame))


class SimulatedWire:
    """`bus.wire.Wire` for one life of one process."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network = network
        self._process = process

    def listen(self, path: Path, received: Callable[[bytes, bytes], None]) -> Listener:
        if path in self._network.listeners:
            raise PathInUse
        listener = _Listener(self._network, path, self._process, received)
        self._network.listeners[path] = listener
        self._process.on_death.append(listener.close)
        return listener

    def connect(self, path: Path, received: Callable[[bytes], None]) -> Connection:
        connection = _Connection(self._network, path, self._process, received)
        self._process.on_death.append(connection.close)
        return connection


class _Listener:
    def __init__(
        self, network: Network, path: Path, process: Process, received: Callable[[bytes, bytes], None]
    ) -> None:
        self.process = process
        self._network = network
        self._path = path
        self._received = received
        self._peers: dict[bytes, tuple[_Connection, Way]] = {}
        self._is_open = True

    def take(self, connection: _Connection, frame: bytes) -> None:
        if not self._is_open:
            return
        if connection.peer not in self._peers:
            way = Way(self._network, self.process, connection.process.name, connection.take)
            self._peers[connection.peer] = (connection, way)
        self._received(connection.peer, frame)

    def send(self, peer: bytes, frame: bytes) -> bool:
        connection, way = self._peers.get(peer, (None, None))
        if connection is None or way is None or not connection.is_open:
            self._peers.pop(peer, None)
            return False
        self._network.carry(way, frame)
        return True

    def close(self) -> None:
        self._is_open = False
        if self._network.listeners.get(self._path) is self:
            del self._network.listeners[self._path]


class _Connection:
    def __init__(self, network: Network, path: Path, process: Process, received: Callable[[bytes], None]) -> None:
        self.peer = network.next_peer()
        self.process = process
        self.is_open = True
        self._network = network
        self._path = path
        self._received = received
        self._way = Way(network, process, path.name, self._deliver)

    def send(self, frame: bytes) -> bool:
        self._network.carry(self._way, frame)
        return True

    def _deliver(self, frame: bytes) -> None:
        """To whoever listens now: a frame may have been on its way while one host died and the next began."""
        listener = self._network.listeners.get(self._path)
        if listener is not None and self.is_open:
            listener.process.loop.call_soon(lambda: listener.take(self, frame))

    def take(self, frame: bytes) -> None:
        if self.is_open:
            self.process.loop.call_soon(lambda: self._take(frame))

    def _take(self, frame: bytes) -> None:
        if self.is_open:
            self._received(frame)

    def close(self) -> None:
        self.is_open = False


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
