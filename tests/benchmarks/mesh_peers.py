"""The peers as queues: Redis Streams with consumer groups, NATS JetStream with pull consumers.

All that is promised is on disk before it is answered. A delivery is added, handed to a consumer and acknowledged, each
a round trip.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.benchmarks.closed_loop import Subject
from tests.benchmarks.peer_nats import nats_connection
from tests.benchmarks.peer_redis import redis_connection

_ADD_ONCE = b"""
if redis.call('SET', KEYS[2], 1, 'NX') then return redis.call('XADD', KEYS[1], '*', 'item', ARGV[1]) end
return redis.call('GET', KEYS[2])
"""
_TAKE = b"""
local found = redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 1, 'STREAMS', KEYS[1], '>')
return found[1][2][1][1] .. ' ' .. found[1][2][1][2][2]
"""
"""A script, so that the answer is one string: its id and the item."""
_MINUTE_NS = 60 * 10**9


@asynccontextmanager
async def redis_deliveries(program: str, folder: Path, item: bytes, mailboxes: int) -> AsyncIterator[Subject]:
    """`item` holds no line end."""
    async with redis_connection(program, folder) as (client, pid):
        add = await client.command(b"SCRIPT", b"LOAD", _ADD_ONCE)
        take = await client.command(b"SCRIPT", b"LOAD", _TAKE)
        for number in range(mailboxes):
            await client.command(b"XGROUP", b"CREATE", b"s%d" % number, b"g", b"$", b"MKSTREAM")
        numbers = itertools.count()

        async def deliver() -> None:
            number = next(numbers)
            stream = b"s%d" % (number % mailboxes)
            await client.command(b"EVALSHA", add, b"2", stream, b"id%d" % number, item)
            taken = await client.command(b"EVALSHA", take, b"1", stream)
            id_, _, got = taken.partition(b" ")
            assert got == item
            assert await client.command(b"XACK", stream, b"g", id_) == b":1"

        yield Subject(deliver, pid)


@asynccontextmanager
async def nats_deliveries(program: str, folder: Path, item: bytes, mailboxes: int) -> AsyncIterator[Subject]:
    async with nats_connection(program, folder) as (client, pid):
        for number in range(mailboxes):
            name = f"c{number}"
            consumer = {"durable_name": name, "ack_policy": "explicit", "filter_subject": f"bench.s{number}"}
            consumer |= {"ack_wait": _MINUTE_NS, "max_ack_pending": 10_000}  # type: ignore[dict-item]
            asked = json.dumps({"stream_name": "bench", "config": consumer}).encode()
            await client.request(f"$JS.API.CONSUMER.DURABLE.CREATE.bench.{name}".encode(), asked)
        numbers = itertools.count()

        async def deliver() -> None:
            number = next(numbers)
            to = number % mailboxes
            await client.request(b"bench.s%d" % to, item, b"id%d" % number)
            where = await client.pull(to, b"bench.c%d" % to)
            assert where.startswith(b"$JS.ACK."), where
            await client.request(where, b"+ACK")

        yield Subject(deliver, pid)
