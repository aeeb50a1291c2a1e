"""Shard hosts inside a test: memory wire, inline or real threads, and clients of both classes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from actors.assembly import RunningHost, Surroundings, start_host
from actors.decision import Rules
from actors.host import Place
from actors.owner import Executor
from actors.pool import InlineExecutor
from bus.address import Address
from bus.client import BusClient
from bus.clock import Clock, ManualClock
from bus.envelope import LinkClass, Reply
from bus.journal import GroupWriter, InlineJournal, Journal
from bus.link import Identity
from bus.store import Store
from bus.store_memory import MemoryStore
from bus.value import Record
from bus.wire_memory import MemoryWire
from tests.support.counter import CounterRules

KEY = b"k" * 32
ROSTER: Mapping[str, Rules[Any]] = {"counter": CounterRules()}


class Hosts:
    """`shards` hosts on one memory wire, each with a memory store that outlives it."""

    def __init__(
        self,
        shards: int = 1,
        *,
        roster: Mapping[str, Rules[Any]] = ROSTER,
        stores: Sequence[Store] | None = None,
        clock: Clock | None = None,
        executor: Executor | None = None,
        make_journal: Callable[[GroupWriter], Journal] = InlineJournal,
        backups: Path | None = None,
    ) -> None:
        self._backups = backups
        self.loop = asyncio.get_running_loop()
        self.wire = MemoryWire(self.loop)
        self.clock = clock or ManualClock()
        self.sockets = [Path(f"shard-{shard}") for shard in range(shards)]
        self.stores = list(stores) if stores else [MemoryStore() for _ in range(shards)]
        self.broken: list[int] = []
        self._roster = roster
        self._executor = executor or InlineExecutor()
        self._make_journal = make_journal
        self._nonces = itertools.count()
        self.running: list[RunningHost] = []
        for shard in range(shards):
            self.running.append(self._start(shard))
        self.agents = self._client(LinkClass.GATEWAY)
        self.person = self._client(LinkClass.PERSON)

    def restart(self, shard: int) -> None:
        """End a host without ceremony and start the next one on the same store."""
        self.running[shard].close_links()
        self.running[shard] = self._start(shard)

    async def ask(self, to: Address, verb: str, body: Record | None = None, call_id: str | None = None) -> Reply:
        """Call as the person."""
        return await self.person.call(to, verb, body or {}, call_id=call_id or self.clock.new_id(), within_ms=20_000)

    async def ok(self, to: Address, verb: str, body: Record | None = None, call_id: str | None = None) -> Record:
        """Call as the person and insist on a success."""
        reply = await self.ask(to, verb, body, call_id)
        assert reply.ok is not None, reply.error
        return reply.ok

    async def as_agent(
        self, to: Address, verb: str, body: Record, stamp: Record, call_id: str | None = None, within_ms: int = 20_000
    ) -> Reply:
        """Call as the gateway does for an agent that was given `stamp`."""
        call_id = call_id or self.clock.new_id()
        return await self.agents.call(to, verb, body, call_id=call_id, within_ms=within_ms, stamp=stamp)

    def _start(self, shard: int) -> RunningHost:
        around = Surroundings(
            place=Place(shard, len(self.sockets)),
            sockets=self.sockets,
            key=KEY,
            store=self.stores[shard],
            wire=self.wire,
            clock=self.clock,
            scheduler=self.loop,
            executor=self._executor,
            nonce=self._nonce,
            backups=self._backups,
        )
        return start_host(around, self._roster, self._make_journal, lambda: self.broken.append(shard))

    def _client(self, link_class: LinkClass) -> BusClient:
        identity = Identity(link_class, link_class.value, "i1", KEY)
        return BusClient(self.wire, self.sockets, identity, clock=self.clock, scheduler=self.loop, nonce=self._nonce)

    def _nonce(self) -> bytes:
        return next(self._nonces).to_bytes(8, "big") + bytes(8)
