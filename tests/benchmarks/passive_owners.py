"""Many owners: memory of 100,000 that hold state, what it costs to wake one, and how soon a large shard opens again.

In this process, on a real store, through the product's host with turns run inline: no link, so no noise of sockets.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import uvloop

from actors.host import Host, Place
from actors.pool import InlineExecutor
from bus.address import Address
from bus.clock import SystemClock
from bus.codec import pack_row
from bus.envelope import Call, Envelope, LinkClass, Reply
from bus.journal import GroupWriter, InlineJournal
from bus.link import Peer
from bus.session import Session
from bus.store import Store, state_key
from bus.store_lmdb import LmdbStore
from tests.benchmarks.queue_owner import QueueRules

OWNERS = 100_000
RECORDS = 1_000_000
RECORDS_A_COMMIT = 20_000
WOKEN = 5_000
SEED = 7


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def address(number: int) -> Address:
    return Address("queue", "-", f"q{number:07d}")


class Asked:
    """A host on `store` and a way to ask its owners that hears each answer at once."""

    def __init__(self, store: Store) -> None:
        loop = asyncio.get_running_loop()
        self._clock = SystemClock()
        self.host = Host(
            Place(0, 1),
            {"queue": QueueRules()},
            store=store,
            clock=self._clock,
            scheduler=loop,
            executor=InlineExecutor(),
            beside=InlineExecutor(),
        )
        writer = GroupWriter(store, 0, self.host.group_stored, lambda: None)
        self.host.attach(InlineJournal(writer), writer, self._send)
        session = Session(b"benchmrk", loop, lambda _frame: True, over=lambda: None)
        self._peer = Peer(b"bench", LinkClass.PERSON, "bench", "i", session, self._clock.now_ms(), b"", b"")
        self._answers: list[Reply] = []

    def ask(self, number: int) -> None:
        call = Call(self._clock.new_id(), address(number), "size", {}, None, self._clock.now_ms() + 60_000)
        self.host.received(self._peer, call)
        self.host.hear_threads()
        answer = self._answers.pop()
        assert answer.ok == {"items": 1}, answer

    def _send(self, peer: Peer, envelope: Envelope) -> None:
        assert isinstance(envelope, Reply)
        self._answers.append(envelope)


def fill(store: Store, count: int, value: bytes) -> float:
    """One row each for `count` owners; answers the seconds it took."""
    started = time.perf_counter()
    for first in range(0, count, RECORDS_A_COMMIT):
        numbers = range(first, min(first + RECORDS_A_COMMIT, count))
        store.commit([(state_key(address(number), f"item/{1:012d}"), value) for number in numbers])
    return time.perf_counter() - started


def microseconds(ask: Callable[[int], None], numbers: Sequence[int]) -> str:
    """Median and 99th percentile of asking each."""
    took = []
    for number in numbers:
        before = time.perf_counter()
        ask(number)
        took.append(time.perf_counter() - before)
    took.sort()
    return f"p50 {took[len(took) // 2] * 1e6:.0f} us, p99 {took[int(len(took) * 0.99)] * 1e6:.0f} us"


async def owners(folder: Path) -> float:
    """Bytes of memory that each of them takes."""
    store = LmdbStore(folder)
    fill(store, OWNERS, pack_row({"title": "x" * 40, "at": 1_800_000_000_000}))
    asked = Asked(store)
    chance = random.Random(SEED)
    order = chance.sample(range(OWNERS), OWNERS)
    print(f"wake an owner from disk, the first ones: {microseconds(asked.ask, order[:WOKEN])}")
    gc.collect()
    before = resident_bytes()
    for number in order[WOKEN:]:
        asked.ask(number)
    gc.collect()
    grown = (resident_bytes() - before) / (OWNERS - WOKEN)
    print(f"memory of an owner that is awake and idle: {grown:.0f} bytes (the map's pages of the disk among them)")
    print(f"ask one that is awake, of {OWNERS}: {microseconds(asked.ask, chance.sample(range(OWNERS), WOKEN))}")
    store.close()
    return grown


async def large_shard(folder: Path) -> float:
    """Seconds until a shard of RECORDS rows is open again and has answered."""
    store = LmdbStore(folder)
    seconds = fill(store, RECORDS, pack_row({"title": "a small record", "at": 1}))
    print(f"{RECORDS} small records written: {seconds:.1f} s, {(folder / 'data.mdb').stat().st_size >> 20} MiB")
    store.close()
    started = time.perf_counter()
    store = LmdbStore(folder)
    asked = Asked(store)
    ready = time.perf_counter() - started
    asked.ask(RECORDS // 2)
    answered = time.perf_counter() - started
    print(f"the shard open again: {ready * 1e3:.0f} ms; its first answer: {answered * 1e3:.0f} ms")
    store.close()
    return answered


def main() -> None:
    for part in (owners, large_shard):
        with tempfile.TemporaryDirectory(prefix="nexus-bench-") as folder:
            uvloop.run(part(Path(folder)))
