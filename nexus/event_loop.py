"""What the processes with an event loop have in common: being told to end, and chance for handshakes."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import sys
from typing import Final

from bus.limits import gc_allocations_between, gc_looks_between
from nexus.children import Ended

_SWITCH_SECONDS: Final = 0.001
_NEVER: Final = 2**31 - 1


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


def let_threads_alternate() -> None:
    """Hand the interpreter over after 1 ms instead of 5.

    A call crosses threads some five times, and each crossing may wait that long for a thread that computes. Measured
    (tests/benchmarks/large_import.py): a commit beside a thread that computes takes about 2 ms instead of 7 to 41.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)


def leave_old_objects_alone() -> None:
    """Collect young garbage only, and seldom: messages leave no cycles.

    A collection of everything looks at every element of every canvas in memory, half a second for a large one, while
    no thread runs. What owners keep holds no cycles, so counting references frees it; cycles that calls make die young.
    A second look comes soon and is over so few: with the usual ten looks between, the one at what two large canvases
    had just brought into memory took 190 ms instead of 10.
    """
    gc.set_threshold(gc_allocations_between, gc_looks_between, _NEVER)


def leave_startup_objects_alone() -> None:
    """Let no collection look at what exists now and stays: the modules of a gateway take a tenth of a second."""
    gc.collect()
    gc.freeze()
