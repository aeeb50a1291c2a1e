"""A purse and counters on some hosts, and whoever joins the calls that the purse sends on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from actors.decision import Rules
from actors.host_notices import RULES as HOST_RULES
from bus import address
from bus.address import Address
from bus.admitted import STAMP_DISPATCHED
from bus.store import StoreBroken, Write
from bus.store_memory import MemoryStore
from bus.value import Record, Value
from tests.support.counter import CounterRules
from tests.support.hosts import Hosts
from tests.support.loop import until
from tests.support.purse import PublisherRules, PurseRules

ROSTER: Final[Mapping[str, Rules[Any]]] = {
    "counter": CounterRules(),
    "agent": PurseRules(),
    "settings": PublisherRules(),
    "host": HOST_RULES,
}
PURSE: Final = address.agent("a1")
SHARDS: Final = 2


def counter(far: bool = True) -> Address:
    """A counter on another shard than the purse, or on the same one."""
    names = (Address("counter", "-", f"n{n}") for n in range(100))
    return next(name for name in names if (name.shard(SHARDS) != PURSE.shard(SHARDS)) is far)


def at(hosts: Hosts, owner: Address) -> int:
    return owner.shard(len(hosts.stores))


async def rows_of(hosts: Hosts) -> Record:
    rows = (await hosts.ok(PURSE, "rows"))["rows"]
    assert isinstance(rows, dict)
    return rows


async def stamp_of(hosts: Hosts) -> Record:
    stamp = (await hosts.ok(PURSE, "admit"))["stamp"]
    assert isinstance(stamp, dict)
    return stamp


def joining(hosts: Hosts, to: Address, call_id: str, issued_ms: int = 0) -> asyncio.Task[Record | None]:
    """Waits for a call as the gateway does; the answer, or its error."""
    stamp: Record = {"agentId": "a1", "workspaceId": "w1", "credential": "default", "version": 1, "issuedMs": issued_ms}

    async def wait() -> Record | None:
        reply = await hosts.as_agent(to, "add", {}, {**stamp, STAMP_DISPATCHED: True}, call_id)
        return reply.ok if reply.ok is not None else reply.error

    return asyncio.ensure_future(wait())


async def send_on(hosts: Hosts, to: Address, call_id: str, tool: str = "add", **more: Value) -> None:
    await hosts.ok(PURSE, "send_on", {"to": str(to), "tool": tool, "callId": call_id, **more})


async def quiet(hosts: Hosts) -> None:
    await until(lambda: all(running.host.outbox.size == 0 for running in hosts.running))


def settled(times: int, **told: Value) -> Record:
    return {**told, "times": times}


class MortalStore(MemoryStore):
    """The host dies at its nth commit: before it is stored, or just after."""

    def __init__(self, dies_at: int, is_stored: bool) -> None:
        super().__init__()
        self._left = dies_at
        self._is_stored = is_stored

    def commit(self, writes: Sequence[Write]) -> None:
        self._left -= 1
        if self._left == 0 and not self._is_stored:
            raise StoreBroken
        super().commit(writes)
        if self._left == 0:
            raise StoreBroken
