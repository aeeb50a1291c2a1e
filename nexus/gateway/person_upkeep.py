"""The verbs behind `nexus-bus doctor | pending | dead | top`: what waits, what failed, whether the stores are sound.

A dead letter is named SHARD:SOURCE:SEQUENCE:INDEX: the shard that keeps it, and the parcel that it was.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeAlias, cast

from pydantic import Field

from bus import address
from bus.limits import inspection_deadline_ms, letters_listed_max, page_items_default, page_items_max
from bus.value import Record, Value, records
from nexus.gateway.person_owners import Owners, VerbRefused, text
from tools.base import Model
from tools.errors import Code, Refusal

Emit: TypeAlias = Callable[[Record], Awaitable[None]]

_fresh_seconds: Final = 1.05
_LETTER: Final = re.compile(r"(\d{1,3}):(\d{1,5}:\d{1,18}:\d{1,18})\Z")

_NO_LETTER: Final = Refusal(
    Code.NOT_FOUND,
    "There is no such dead letter, or it was retried or dropped already. `nexus-bus dead ls` shows those that are.",
)
_NOT_A_LETTER: Final = Refusal(
    Code.INVALID_ARGUMENTS, "A dead letter is named SHARD:SOURCE:SEQUENCE:INDEX. `nexus-bus dead ls` shows the names."
)


class Doctor(Model):
    pass


class Pending(Model):
    count: Annotated[int, Field(ge=0, le=page_items_max)] = page_items_default


class DeadList(Model):
    pass


class OneLetter(Model):
    letter: Annotated[str, Field(min_length=1, max_length=64)]


class Top(Model):
    fresh: bool = True
    """Wait for a window that begins now."""


async def doctor(owners: Owners, asked: Doctor, emit: Emit) -> Record:
    """Every problem as it is found; then how much was looked at. Hosts are looked at side by side, step by step."""
    counts = {"rows": 0, "owners": 0, "problems": 0}

    async def walk(shard: int, verb: str, counted: str) -> None:
        body: Record = {}
        while True:
            step = await owners.read(address.host(shard), verb, body, within_ms=inspection_deadline_ms)
            found = step.get(counted)
            counts[counted] += found if isinstance(found, int) else 0
            for problem in records(step, "problems"):
                counts["problems"] += 1
                await emit(problem)
            if step.get("next") is None:
                return
            body = {"after": step["next"]}

    async def one(shard: int) -> None:
        try:
            await walk(shard, "check_store", "rows")
            await walk(shard, "check_owners", "owners")
        except VerbRefused as refused:
            counts["problems"] += 1
            await emit({"shard": shard, "problem": f"the host could not be asked: {text(refused.error, 'code')}"})

    await asyncio.gather(*map(one, range(owners.shards)))
    return {"shards": owners.shards, "healthy": counts["problems"] == 0, **counts}


async def pending(owners: Owners, asked: Pending) -> Record:
    """What waits on every shard. A call that another shard has answered was copied by a reshard and is not open."""
    hosts = await _each(owners, "pending", {"limit": asked.count})
    calls = {str(call["call"]): call for host in hosts for call in records(host, "openCalls")}
    if calls and owners.shards > 1:
        answered = await _each(owners, "call_states", {"calls": list(calls)})
        for host in answered:
            states = host.get("states")
            for call, state in states.items() if isinstance(states, dict) else ():
                if state == "answered":
                    calls.pop(call, None)
    destinations = [{"shard": host["shard"], **one} for host in hosts for one in records(host, "destinations")]
    messages = [one for host in hosts for one in records(host, "messages")]
    return {
        "time": owners.clock.now_ms(),
        "destinations": cast("list[Value]", destinations),
        "messages": cast("list[Value]", messages[: asked.count]),
        "openCalls": [calls[call] for call in sorted(calls)],
    }


async def dead_list(owners: Owners, asked: DeadList) -> Record:
    """Dead letters of every shard with why they died."""
    found: list[Value] = []
    for shard in range(owners.shards):
        body: Record = {"limit": page_items_max}
        while len(found) < letters_listed_max:
            page = await owners.read(address.host(shard), "dead_list", body)
            found += [{**one, "letter": f"{shard}:{text(one, 'letter')}"} for one in records(page, "letters")]
            if page.get("next") is None:
                break
            body = {**body, "after": page["next"]}
    return {"letters": found[:letters_listed_max], "truncated": len(found) >= letters_listed_max}


async def dead_retry(owners: Owners, asked: OneLetter) -> Record:
    """Put one back into the stream: a new message, and the letter is gone, in one commit."""
    return await _letter(owners, "dead_retry", asked.letter)


async def dead_drop(owners: Owners, asked: OneLetter) -> Record:
    return await _letter(owners, "dead_drop", asked.letter)


async def _letter(owners: Owners, verb: str, named: str) -> Record:
    parts = _LETTER.match(named)
    if parts is None:
        raise VerbRefused.by(_NOT_A_LETTER)
    shard = int(parts[1])
    if shard >= owners.shards:
        raise VerbRefused.by(_NO_LETTER)
    try:
        answer = await owners.ask(address.host(shard), verb, {"letter": parts[2]})
    except VerbRefused as refused:
        if refused.error.get("code") == Code.NOT_FOUND.value:
            raise VerbRefused.by(_NO_LETTER) from None
        raise
    return {**answer, "letter": named}


async def top(owners: Owners, asked: Top) -> Record:
    """Rates of about the last second, per shard and by kind of owner."""
    if asked.fresh:
        await _each(owners, "activity", {})
        await asyncio.sleep(_fresh_seconds)
    hosts = await _each(owners, "activity", {})
    shards: list[Value] = []
    busiest: list[tuple[float, str, int]] = []
    kinds: dict[str, list[float]] = {}
    for shard, host in enumerate(hosts):
        seconds = max(1, _number(host.get("windowMs"))) / 1000
        for column, name in enumerate(("messages", "commits")):
            counted = host.get(name)
            for kind, count in counted.items() if isinstance(counted, dict) else ():
                kinds.setdefault(kind, [0.0, 0.0])[column] += _number(count) / seconds
        for one in records(host, "busiest"):
            busiest.append((_number(one.get("messages")) / seconds, str(one.get("address")), shard))
        commits = host.get("commits")
        written = sum(map(_number, commits.values())) if isinstance(commits, dict) else 0
        queues = {name: host.get(name) for name in _QUEUES}
        rates: Record = {"commitsPerSecond": round(written / seconds, 1)}
        rates["groupsPerSecond"] = round(_number(host.get("groups")) / seconds, 1)
        shards.append({"shard": shard, **rates, "meanGroup": host.get("meanGroup"), **queues})
    busiest.sort(key=lambda one: (-one[0], one[1]))
    return {
        "time": owners.clock.now_ms(),
        "shards": shards,
        "kinds": [
            {"kind": kind, "messagesPerSecond": round(messages, 1), "commitsPerSecond": round(commits, 1)}
            for kind, (messages, commits) in sorted(kinds.items())
        ],
        "busiest": [
            {"address": owner, "shard": shard, "messagesPerSecond": round(rate, 1)}
            for rate, owner, shard in busiest[:20]
        ],
    }


_QUEUES: Final = ("largestGroup", "liveOwners", "waitingCalls", "undeliveredMessages", "waitingCommits", "reserveHeld")


async def _each(owners: Owners, verb: str, body: Record) -> list[Record]:
    asked = (
        owners.read(address.host(shard), verb, body, within_ms=inspection_deadline_ms) for shard in range(owners.shards)
    )
    return list(await asyncio.gather(*asked))


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
