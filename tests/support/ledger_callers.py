"""Many callers of ledgers over the bus, in the test's process, who repeat by call id until they hear an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bus.address import Address
from bus.client import BusClient, DeadlinePassed
from bus.clock import SystemClock
from bus.envelope import LinkClass, Reply
from bus.link import Identity
from bus.value import Record
from bus.wire_zmq import ZmqWire
from nexus.config import Home
from nexus.event_loop import nonce
from tests.support.ledger import LEDGERS
from tests.support.loop import until

REPEAT_EVERY = 16
"""Every so many acknowledged calls, one is called again and must be answered the same."""


@dataclass
class Callers:
    """`acknowledged` and `out_of_turn` are what Books.check takes; `refused` counts answers by their code."""

    client: BusClient
    clock: SystemClock
    within_ms: int = 20_000
    filler: bytes = b""
    acknowledged: dict[str, tuple[Address, int]] = field(default_factory=dict)
    out_of_turn: set[str] = field(default_factory=set)
    refused: dict[str, int] = field(default_factory=dict)
    is_over: bool = False

    async def append(self, caller: int, number: int, ledger: Address) -> None:
        """One entry, repeated under one id until it is acknowledged."""
        call_id = self.clock.new_id()
        while (reply := await self._try(call_id, caller, number, ledger)) is None:
            self.out_of_turn.add(call_id)
        self._acknowledged(call_id, ledger, reply)
        if len(self.acknowledged) % REPEAT_EVERY == 0:
            again = await self._try(call_id, caller, number, ledger)
            assert again is None or again.ok == reply.ok, (again, reply)

    async def _try(self, call_id: str, caller: int, number: int, ledger: Address) -> Reply | None:
        body: Record = {"caller": caller, "number": number, "filler": self.filler}
        try:
            reply = await self.client.call(ledger, "append", body, call_id=call_id, within_ms=self.within_ms)
        except DeadlinePassed:
            return None
        if reply.error is not None:
            code = str(reply.error["code"])
            self.refused[code] = self.refused.get(code, 0) + 1
            assert code in ("unavailable", "storage_full"), reply.error
            return None
        return reply

    def _acknowledged(self, call_id: str, ledger: Address, reply: Reply) -> None:
        assert reply.ok is not None
        at = reply.ok["at"]
        assert isinstance(at, int)
        self.acknowledged[call_id] = (ledger, at)

    async def keep_calling(self, caller: int) -> None:
        """Two calls in flight to one ledger, then the next ledger, until it is over."""
        number = 0
        while not self.is_over:
            ledger = LEDGERS[(caller + number // 2) % len(LEDGERS)]
            await asyncio.gather(self.append(caller, number, ledger), self.append(caller, number + 1, ledger))
            number += 2

    async def more(self, count: int, seconds: float = 60.0) -> None:
        """Until so many more calls were acknowledged."""
        goal = len(self.acknowledged) + count
        await until(lambda: len(self.acknowledged) >= goal, seconds)


@asynccontextmanager
async def callers_of(home: Home, **options: int | bytes) -> AsyncIterator[Callers]:
    """With the home's key, on the person's class of link."""
    loop = asyncio.get_running_loop()
    wire, clock = ZmqWire(loop), SystemClock()
    identity = Identity(LinkClass.PERSON, "test", clock.new_id(), home.key())
    hosts = [home.shard_socket(shard) for shard in range(home.settings.shards)]
    client = BusClient(wire, hosts, identity, clock=clock, scheduler=loop, nonce=nonce)
    try:
        yield Callers(client, clock, **options)  # type: ignore[arg-type]
    finally:
        client.close()
        wire.close()


@asynccontextmanager
async def busy(callers: Callers, count: int) -> AsyncIterator[None]:
    """While inside, `count` callers keep calling; each has heard its last answer when it is left."""
    async with asyncio.TaskGroup() as group:
        for caller in range(count):
            group.create_task(callers.keep_calling(caller))
        try:
            yield
        finally:
            callers.is_over = True
