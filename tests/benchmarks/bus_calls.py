"""Durable, de-duplicated calls of 1 KiB to 64 owners straight over the bus, beside Redis Streams and NATS JetStream.

One client process for all; each server is a process of its own with its data on the same disk, and only one of them
is asked at a time. All promise the same: acknowledged is on disk, and an id that comes twice counts once.
`BENCH_ROUNDS` takes another number of rounds; `BENCH_TREES=a:b` compares checkouts of NEXUS with each other instead.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bus.address import Address
from bus.clock import Clock, SystemClock
from bus.envelope import Call, Envelope, LinkClass, Reply
from bus.link import Identity, LinkClient
from bus.wire_zmq import ZmqWire
from nexus.event_loop import nonce
from tests.benchmarks.closed_loop import Subject, interleaved, print_table
from tests.benchmarks.peer_nats import nats_calls, nats_server
from tests.benchmarks.peer_redis import redis_calls, redis_server
from tests.benchmarks.queue_host import KEY_BYTES, socket_of
from tests.benchmarks.serving import ended_afterwards, first_line

IN_FLIGHT = (1, 16, 64, 256)
OWNERS = 64
ITEM = os.urandom(1024)
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = 1.0
DEADLINE_MS = 60_000


class Calls:
    """Raw pipelined calls on one link, as the peers' clients make theirs."""

    def __init__(self, wire: ZmqWire, socket: Path, key: bytes, clock: Clock) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._awaited: dict[str, asyncio.Future[Reply]] = {}
        self.opened = asyncio.Event()
        identity = Identity(LinkClass.PERSON, "bench", clock.new_id(), key)
        self._link = LinkClient(
            wire,
            socket,
            identity,
            clock=clock,
            scheduler=self._loop,
            nonce=nonce,
            received=self._received,
            welcomed=lambda _welcome: self.opened.set(),
        )
        self._owners = [Address("queue", "-", f"q{number}") for number in range(OWNERS)]
        self._made = 0

    def to_next_owner(self, verb: str) -> asyncio.Future[Reply]:
        self._made += 1
        call_id = self._clock.new_id()
        to = self._owners[self._made % OWNERS]
        answer: asyncio.Future[Reply] = self._loop.create_future()
        self._awaited[call_id] = answer
        self._link.send(Call(call_id, to, verb, {"item": ITEM}, None, self._clock.now_ms() + DEADLINE_MS))
        return answer

    def close(self) -> None:
        self._link.close()

    def _received(self, envelope: Envelope) -> None:
        assert isinstance(envelope, Reply)
        answer = self._awaited.pop(envelope.call_id)
        if envelope.error is None:
            answer.set_result(envelope)
        else:
            answer.set_exception(RuntimeError(str(envelope.error)))


@dataclass(frozen=True, slots=True)
class QueueHost:
    pid: int
    calls: Calls

    def subject(self, verb: str) -> Subject:
        return Subject(lambda: self.calls.to_next_owner(verb), self.pid)


@asynccontextmanager
async def queue_host(folder: Path, tree: Path | None = None) -> AsyncIterator[QueueHost]:
    """A shard host process of its own, and a link to it; from another checkout's sources when `tree` names one."""
    folder.mkdir()
    key = os.urandom(KEY_BYTES)
    command = [sys.executable, "-m", "tests.benchmarks.queue_host", str(folder)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd=tree) as process,
        ended_afterwards(process),
    ):
        assert process.stdin is not None
        process.stdin.write(key)
        assert await first_line(process) == b"ready\n"
        wire = ZmqWire(asyncio.get_running_loop())
        calls = Calls(wire, socket_of(folder), key, SystemClock())
        try:
            await calls.opened.wait()
            yield QueueHost(process.pid, calls)
        finally:
            calls.close()
            wire.close()


async def _compare_trees(folder: Path, trees: Sequence[Path]) -> None:
    """The same host from several checkouts, interleaved: what a change gave."""
    async with AsyncExitStack() as stack:
        subjects: dict[str, Subject] = {}
        for number, tree in enumerate(trees):
            host = await stack.enter_async_context(queue_host(folder / str(number), tree))
            subjects[f"{number}: {tree.name}"] = host.subject("enqueue_told")
        print_table(await interleaved(subjects, IN_FLIGHT, ROUNDS, SECONDS), list(subjects)[1:])


async def _compare(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(queue_host(folder / "nexus"))
        subjects = {"NEXUS": ours.subject("enqueue"), "NEXUS, with an event": ours.subject("enqueue_told")}
        mine = list(subjects)
        if program := redis_server():
            subjects["Redis"] = await stack.enter_async_context(redis_calls(program, folder / "redis", ITEM, OWNERS))
        else:
            print("redis-server is missing: not on PATH, and only root can install it by apt")
        if program := nats_server():
            subjects["NATS"] = await stack.enter_async_context(nats_calls(program, folder / "nats", ITEM, OWNERS))
        else:
            print("nats-server is missing: install the bench extra")
        print_table(await interleaved(subjects, IN_FLIGHT, ROUNDS, SECONDS), mine)


def flush_ms(folder: Path) -> float:
    """Median time of a small write with fsync: what the disk charges everyone."""
    with (folder / "probe").open("wb", buffering=0) as file:
        took = []
        for _ in range(100):
            before = time.perf_counter()
            file.write(bytes(1024))
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - before)
    return sorted(took)[50] * 1e3


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nexus-bench-") as folder:
        print(f"fdatasync of 1 KiB appended: {flush_ms(Path(folder)):.2f} ms")
        if trees := os.environ.get("BENCH_TREES"):
            uvloop.run(_compare_trees(Path(folder), [Path(tree) for tree in trees.split(os.pathsep)]))
        else:
            uvloop.run(_compare(Path(folder)))
        print(f"fdatasync of 1 KiB appended, afterwards: {flush_ms(Path(folder)):.2f} ms")
