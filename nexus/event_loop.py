"""What the processes with an event loop have in common: being told to end, and chance for handshakes."""

from __future__ import annotations

import asyncio
import hashlib
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


def derived_key(home_key: bytes, purpose: str) -> bytes:
    """A key for one purpose, the same in every gateway of the home, from which the home's key cannot be told."""
    return hashlib.blake2b(purpose.encode(), key=home_key, digest_size=32).digest()


def nonce() -> bytes:
    return os.urandom(16)
