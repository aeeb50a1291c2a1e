"""How frames get from one process to another: a listener that many connect to, and a connection to one listener.

Promises, held by one test suite over both implementations (bus/wire_zmq.py, bus/wire_memory.py): frames of one
connection arrive whole and in order; a frame may be lost when either end dies, and nobody is told (links find out);
a send never blocks. Everything runs on one event loop: callbacks come from it and sends are made on it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class PathInUse(Exception):
    """Somebody listens there already."""


class Listener(Protocol):
    """The end that others connect to."""

    def send(self, peer: bytes, frame: bytes) -> bool:
        """False when the peer is gone or does not take anything any more; the frame is then dropped."""
        ...

    def close(self) -> None: ...


class Connection(Protocol):
    """The end that connects to one listener, and again to its successor."""

    def send(self, frame: bytes) -> bool:
        """False when the listener has not taken anything for so long that no more can wait; the frame is dropped."""
        ...

    def close(self) -> None: ...


class Wire(Protocol):
    """Makes both kinds of end."""

    def listen(self, path: Path, received: Callable[[bytes, bytes], None]) -> Listener:
        """`received(peer, frame)` for each frame; `peer` stays the same while its connection lives."""
        ...

    def connect(self, path: Path, received: Callable[[bytes], None]) -> Connection:
        """Connects now or as soon as somebody listens at `path`, and again whenever a new listener takes over."""
        ...


class Scheduler(Protocol):
    """What links and hosts need of an event loop; asyncio's loops have it, the simulation brings its own."""

    def call_soon(self, callback: Callable[[], object], /) -> object: ...

    def call_soon_threadsafe(self, callback: Callable[[], object], /) -> object: ...

    def call_later(self, seconds: float, callback: Callable[[], object], /) -> Timer: ...


class Timer(Protocol):
    """What `call_later` gives back."""

    def cancel(self) -> None: ...
