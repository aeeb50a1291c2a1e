"""The verbs behind `nexus-bus`: what owners there are, what they hold, what waits, what happened. All of them read.

A place in the event log is a pair (shard, sequence); merging by time is for display (ARCHITECTURE, Events).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Annotated, Final, TypeAlias, cast

from pydantic import Field

from bus import address
from bus.address import Address, MalformedAddress
from bus.limits import (
    deliveries_peeked_max,
    events_per_page,
    events_shown_default,
    events_shown_max,
    follow_grace_ms,
    follow_retry_ms,
    follow_wait_ms,
    host_answer_ms_max,
    owner_rows_listed_max,
    owners_listed_max,
    page_items_max,
)
from bus.value import Record, Value, records
from nexus.gateway.person_owners import Owners, VerbRefused, text
from nexus.gateway.person_upkeep import Emit
from tools.base import Model
from tools.errors import Code, Refusal

_NO_OWNER: Final = Refusal(
    Code.NOT_FOUND, "No owner has that address, or it keeps nothing yet. `nexus-bus ls` shows those that do."
)
_NO_RECORD: Final = Refusal(
    Code.NOT_FOUND, "That shard's journal has no such record. `nexus-bus tail --json` shows sequences that it has."
)
_RECORD: Final = re.compile(r"(\d{1,4}):(\d{1,18})\Z")

Text = Annotated[str, Field(min_length=1, max_length=512)]
EventOrder: TypeAlias = tuple[int, int, int, int]


class Ls(Model):
    kind: Text | None = None


class Info(Model):
    address: Text | None = None


class Peek(Model):
    target: Text
    workspace: Text | None = None


class Tail(Model):
    count: Annotated[int, Field(ge=0, le=events_shown_max)] = events_shown_default
    follow: bool = False


class Get(Model):
    target: Text
    row: Text | None = None


async def every_host(owners: Owners) -> list[Record]:
    """Each shard host's statistics, or that it does not answer now."""

    async def one(shard: int) -> Record:
        try:
            found = await owners.read(address.host(shard), "statistics", {}, within_ms=host_answer_ms_max)
        except VerbRefused as refused:
            return {"shard": shard, "reachable": False, "code": refused.error.get("code")}
        return {"shard": shard, "reachable": True, **found}

    return list(await asyncio.gather(*map(one, range(owners.shards))))


async def ls(owners: Owners, asked: Ls) -> Record:
    """Owners in the order of their addresses, shard by shard."""
    listed: list[Value] = []
    for shard in range(owners.shards):
        after: str | None = None
        while len(listed) < owners_listed_max:
            body: Record = {"limit": page_items_max}
            if asked.kind is not None:
                body["kind"] = asked.kind
            if after is not None:
                body["after"] = after
            page = records(await owners.read(address.host(shard), "owners", body), "owners")
            listed += [{**one, "shard": shard} for one in page]
            if len(page) < page_items_max:
                break
            after = text(page[-1], "address")
    return {"owners": listed[:owners_listed_max], "truncated": len(listed) >= owners_listed_max}


async def info(owners: Owners, asked: Info) -> Record:
    if asked.address is None:
        return {"hosts": cast("list[Value]", await every_host(owners))}
    to = _parsed(asked.address)
    if to.kind == "host":
        return {"shard": _host_number(owners, to.id), **(await owners.read(to, "statistics", {}))}
    shard = to.shard(owners.shards)
    return {"shard": shard, **(await _found(owners, shard, "owner_info", {"address": str(to)}, _NO_OWNER))}


async def peek(owners: Owners, asked: Peek) -> Record:
    """What waits in a mailbox, none of it taken, leased or marked as seen."""
    if asked.target.startswith("mailbox/"):
        to = _parsed(asked.target)
    else:
        to = address.mailbox((await owners.directory()).agent(asked.target, asked.workspace).id)
    return {"mailbox": str(to), **(await owners.read(to, "mailbox_peek", {"limit": deliveries_peeked_max}))}


async def get(owners: Owners, asked: Get) -> Record:
    """One journal record (`SHARD:SEQUENCE`), one row of an owner, or its rows up to a ceiling."""
    if place := _RECORD.match(asked.target):
        shard = _host_number(owners, place[1])
        found = await _found(owners, shard, "journal_record", {"sequence": int(place[2])}, _NO_RECORD)
        return {"shard": shard, **found}
    to = _parsed(asked.target)
    if asked.row is None:
        rows, truncated = await _rows(owners, to)
        return {"address": str(to), "rows": cast("list[Value]", rows), "truncated": truncated}
    one = await row_of(owners, to, asked.row)
    if one is None:
        raise VerbRefused.by(
            Refusal(Code.NOT_FOUND, "That owner has no such row. Leave the row out to see which ones it has.")
        )
    return {"address": str(to), **one}


async def row_of(owners: Owners, to: Address, row: str) -> Record | None:
    """One row as it is stored: `row` and `value`; None without such a row."""
    after, limit = row[:-1], 1  # nearly always the next one, and those behind it may be large
    while True:
        body: Record = {"address": str(to), "limit": limit, **({"after": after} if after else {})}
        page = records(await _found(owners, to.shard(owners.shards), "owner_rows", body, _NO_OWNER), "rows")
        after = text(page[-1], "row") if page else row
        if after.encode() >= row.encode():
            return next((one for one in page if one.get("row") == row), None)
        limit = page_items_max


async def _found(owners: Owners, shard: int, verb: str, body: Record, missing: Refusal) -> Record:
    """What a host answers; its `not_found` speaks to agents, so the person is told by `missing` instead."""
    try:
        return await owners.read(address.host(shard), verb, body)
    except VerbRefused as refused:
        if refused.error.get("code") == Code.NOT_FOUND.value:
            raise VerbRefused.by(missing) from None
        raise


async def _rows(owners: Owners, to: Address) -> tuple[list[Record], bool]:
    """Rows in key order, and whether the ceiling cut them."""
    shard = to.shard(owners.shards)
    found: list[Record] = []
    after = ""
    while len(found) < owner_rows_listed_max:
        body: Record = {"address": str(to), "limit": page_items_max, **({"after": after} if after else {})}
        page = records(await _found(owners, shard, "owner_rows", body, _NO_OWNER), "rows")
        found += page
        if len(page) < page_items_max:
            return found[:owner_rows_listed_max], False
        after = text(page[-1], "row")
    return found[:owner_rows_listed_max], True


async def tail(owners: Owners, asked: Tail) -> Record:
    """The newest events over all shards, oldest first, and the cursor behind them."""
    events, cursor = await _newest(owners, asked.count)
    return {"events": cast("list[Value]", events), "cursor": {str(shard): at for shard, at in enumerate(cursor)}}


async def follow(owners: Owners, asked: Tail, emit: Emit) -> None:
    """Emit the newest events, then each one as it happens, until cancelled. A host that restarts is waited for."""
    events, cursor = await _newest(owners, asked.count)
    for event in events:
        await emit(event)
    await follow_from(owners, cursor, emit)


async def ends(owners: Owners) -> list[int]:
    """Each shard's place in its journal now, to follow from."""
    return (await _newest(owners, 0))[1]


async def follow_from(owners: Owners, cursor: Sequence[int], emit: Emit) -> None:
    """Emit each event behind the places of `cursor`, as it happens, until cancelled or `emit` raises."""

    async def pump(shard: int, after: int) -> None:
        while True:
            try:
                page, after = await _coming(owners, shard, after)
            except VerbRefused as refused:
                if refused.error.get("retryable") is not True:
                    raise
                await asyncio.sleep(follow_retry_ms / 1000)
                continue
            for event in page:
                await emit(event)

    pumps = [asyncio.ensure_future(pump(shard, after)) for shard, after in enumerate(cursor)]
    try:
        await asyncio.gather(*pumps)
    finally:
        for one in pumps:
            one.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _newest(owners: Owners, count: int) -> tuple[list[Record], list[int]]:
    found = await asyncio.gather(*(_newest_of(owners, shard, count) for shard in range(owners.shards)))
    merged = sorted((event for events, _ in found for event in events), key=_in_order)
    return merged[max(0, len(merged) - count) :] if count else [], [last for _, last in found]


async def _newest_of(owners: Owners, shard: int, count: int) -> tuple[list[Record], int]:
    """One shard's newest events and its journal's end, behind which following goes on."""
    answer = await owners.read(address.host(shard), "events", {"limit": count})
    return [{"shard": shard, **event} for event in records(answer, "events")], _number(answer, "last")


async def _coming(owners: Owners, shard: int, after: int) -> tuple[list[Record], int]:
    """The next events, waited for, and where to go on: behind the last one, since a page may be cut before `last`."""
    body: Record = {"after": after, "limit": events_per_page, "waitMs": follow_wait_ms}
    answer = await owners.read(address.host(shard), "events", body, within_ms=follow_wait_ms + follow_grace_ms)
    page = [{"shard": shard, **event} for event in records(answer, "events")]
    seen = [_number(event, "sequence") for event in page] or [_number(answer, "last")]
    return page, max(after, *seen)


def _in_order(event: Record) -> EventOrder:
    return _number(event, "at"), _number(event, "shard"), _number(event, "sequence"), _number(event, "index")


def _number(record: Record, field: str) -> int:
    value = record.get(field)
    return value if isinstance(value, int) else 0


def _parsed(typed: str) -> Address:
    try:
        return Address.parse(typed)
    except MalformedAddress:
        raise VerbRefused.by(
            Refusal(
                Code.INVALID_ARGUMENTS,
                "An address has the form kind/workspace/id, and a journal record SHARD:SEQUENCE. "
                "`nexus-bus ls` shows the addresses.",
            )
        ) from None


def _host_number(owners: Owners, typed: str) -> int:
    if typed.isdigit() and int(typed) < owners.shards:
        return int(typed)
    raise VerbRefused.by(
        Refusal(Code.NOT_FOUND, "There is no shard of that number. `nexus-bus info` shows the shards.")
    )
