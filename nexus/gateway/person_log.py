"""The verbs behind `nexus-bus trace` and `nexus-bus export`, and the history of a thread: the journals of all shards,
read step by step."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, cast

from pydantic import Field

from bus import address
from bus.limits import events_per_page, inspection_deadline_ms, records_traced_max
from bus.value import Record, Value, records
from nexus.gateway.person_owners import Owners
from nexus.gateway.person_upkeep import Emit
from tools.base import Model


class Trace(Model):
    call: Annotated[str, Field(min_length=1, max_length=64)]


class Export(Model):
    sinceMs: Annotated[int, Field(ge=0, le=1 << 62)] | None = None


async def trace(owners: Owners, asked: Trace) -> Record:
    """Everything that is stored of one call: its commits in order, its answer's state, messages still under way."""
    found = await _records_of(owners, "trace_records", {"call": asked.call})
    rest = await asyncio.gather(
        *(
            owners.read(address.host(shard), "trace_rest", {"call": asked.call}, within_ms=inspection_deadline_ms)
            for shard in range(owners.shards)
        )
    )
    states = {host.get("state") for host in rest}
    state = next((known for known in ("answered", "open") if known in states), "none")
    return {
        "call": asked.call,
        "state": state,
        "records": cast("list[Value]", in_order(found)),
        "underWay": cast("list[Value]", [one for host in rest for one in records(host, "underWay")]),
        "deadLetters": [
            f"{shard}:{name!s}" for shard, host in enumerate(rest) for name in _list(host.get("deadLetters"))
        ],
    }


def in_order(found: Sequence[Record]) -> list[Record]:
    """By time, but never a message's effect before the commit that sent it: hosts share no clock below 1 ms."""
    by_time = sorted(found, key=lambda one: (_number(one["at"]), _number(one["shard"]), _number(one["sequence"])))
    places = {(one["shard"], one["sequence"]): one for one in by_time}
    ordered: list[Record] = []
    done: set[tuple[Value, Value]] = set()

    for record in by_time:
        chain = [record]
        while True:
            message = chain[-1].get("message")
            cause = places.get((message[0], message[1])) if isinstance(message, list) and len(message) == 3 else None
            if cause is None or any(one is cause for one in chain):
                break
            chain.append(cause)
        for one in reversed(chain):
            place = (one["shard"], one["sequence"])
            if place not in done:
                done.add(place)
                ordered.append(one)
    return ordered


async def thread_records(owners: Owners, thread_id: str) -> list[Record]:
    """The commits whose events tell of a thread, each with these events alone, in the order of cause."""
    return in_order(await _records_of(owners, "trace_thread", {"thread": thread_id}))


async def _records_of(owners: Owners, verb: str, about: Record) -> list[Record]:
    """What every host finds in its journal, up to a ceiling a shard."""

    async def of_shard(shard: int) -> list[Record]:
        found: list[Record] = []
        after: Value = 0
        while len(found) < records_traced_max:
            step = await owners.read(
                address.host(shard), verb, {**about, "after": after}, within_ms=inspection_deadline_ms
            )
            found += records(step, "records")
            after = step.get("next")
            if after is None:
                break
        return found

    return [one for part in await asyncio.gather(*map(of_shard, range(owners.shards))) for one in part]


async def export(owners: Owners, asked: Export, emit: Emit) -> Record:
    """Every event up to now, oldest first over all shards; holds one page a shard."""
    ends = await asyncio.gather(*(_last(owners, shard) for shard in range(owners.shards)))
    sources = [_events_of(owners, shard, end, asked.sinceMs) for shard, end in enumerate(ends)]
    waiting: list[tuple[tuple[int, int, int, int], int, Record]] = []
    count = 0

    async def next_of(number: int) -> None:
        async for event in sources[number]:
            heapq.heappush(waiting, (_place(event), number, event))
            return

    for number in range(len(sources)):
        await next_of(number)
    while waiting:
        _, number, event = heapq.heappop(waiting)
        await emit(event)
        count += 1
        await next_of(number)
    return {"events": count, "cursor": {str(shard): end for shard, end in enumerate(ends)}}


async def _last(owners: Owners, shard: int) -> int:
    return _number((await owners.read(address.host(shard), "events", {"limit": 0})).get("last"))


async def _events_of(owners: Owners, shard: int, end: int, since_ms: int | None) -> AsyncIterator[Record]:
    after = 0 if since_ms is None else await _first_since(owners, shard, since_ms)
    while after < end:
        body: Record = {"after": after, "limit": events_per_page}
        answer = await owners.read(address.host(shard), "events", body)
        page = [{"shard": shard, **event} for event in records(answer, "events")]
        for event in page:
            # A journal that was put together by a reshard is not in the order of time throughout.
            if _number(event.get("sequence")) <= end and (since_ms is None or _number(event.get("at")) >= since_ms):
                yield event
        if not page:
            return
        after = max(_number(event.get("sequence")) for event in page)


async def _first_since(owners: Owners, shard: int, since_ms: int) -> int:
    after: Value = 0
    while True:
        body: Record = {"since": since_ms, "after": after}
        step = await owners.read(address.host(shard), "first_since", body, within_ms=inspection_deadline_ms)
        if "after" in step:
            return _number(step["after"])
        after = step.get("next")


def _place(event: Record) -> tuple[int, int, int, int]:
    return tuple(_number(event.get(name)) for name in ("at", "shard", "sequence", "index"))  # type: ignore[return-value]


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
