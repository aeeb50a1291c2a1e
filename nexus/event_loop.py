"""What the processes with an event loop have in common: being told to end, and chance for handshakes."""

from __future__ import annotations

import asyncio
import os

from nexus.children import Ended


def told_to_end(loop: asyncio.AbstractEventLoop, ended: Ended) -> asyncio.Future[None]:
    stop: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not stop.done():
            stop.set_result(None)

    def told() -> None:
        loop.call_soon_threadsafe(end)

    ended(told)
    return stop


def nonce() -> bytes:
    return os.urandom(16)
