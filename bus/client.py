"""Calls to owners with deadlines, over one link a shard.

A call that is open when its host dies is sent again, in order and under the same id, to the host's next incarnation;
the host answers from its record if the first try was committed. So a caller sees one answer or `DeadlinePassed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bus.address import Address
from bus.clock import Clock
from bus.codec import Unencodable
from bus.envelope import Call, Envelope, Reply, Welcome
from bus.link import Identity, LinkClient
from bus.value import Record
from bus.wire import Scheduler, Wire


class DeadlinePassed(Exception):
    """No answer in time. `was_sent` False: no host ever had the call, so nothing can have happened."""

    def __init__(self, was_sent: bool) -> None:
        super().__init__("no answer before the deadline")
        self.was_sent = was_sent


class Caller(Protocol):
    """What gateways and commands call owners through. One instance a link class (gateway, person)."""

    async def call(
        self,
        to: Address,
        verb: str,
        body: Record,
        *,
        call_id: str,
        within_ms: int,
        stamp: Record | None = None,
    ) -> Reply:
        """Send and await the one answer. Raises DeadlinePassed, and Unencodable for a body that is not plain data."""
        ...


@dataclass(slots=True)
class _Open:
    call: Call
    was_sent: bool = False
    answers: list[asyncio.Future[Reply]] = field(default_factory=list)
    """One for each that waits: two clients may use one idempotency key at once."""


class BusClient:
    """A process's links to all shard hosts as one Caller. Runs on the event loop's thread."""

    def __init__(
        self,
        wire: Wire,
        hosts: Sequence[Path],
        identity: Identity,
        *,
        clock: Clock,
        scheduler: Scheduler,
        nonce: Callable[[], bytes],
    ) -> None:
        """`hosts` are the shard hosts' socket paths, by shard number."""
        self._clock = clock
        self._open: list[dict[str, _Open]] = [{} for _ in hosts]
        self._links = [
            LinkClient(
                wire,
                path,
                identity,
                clock=clock,
                scheduler=scheduler,
                nonce=nonce,
                received=lambda envelope, shard=shard: self._received(shard, envelope),  # type: ignore[misc]
                welcomed=lambda welcome, shard=shard: self._welcomed(shard, welcome),  # type: ignore[misc]
            )
            for shard, path in enumerate(hosts)
        ]

    async def call(
        self,
        to: Address,
        verb: str,
        body: Record,
        *,
        call_id: str,
        within_ms: int,
        stamp: Record | None = None,
    ) -> Reply:
        """Send and await the one answer. Raises DeadlinePassed."""
        shard = int(to.id) if to.kind == "host" else to.shard(len(self._links))
        call = Call(call_id, to, verb, body, stamp, self._clock.now_ms() + within_ms)
        waiting = self._open[shard].get(call_id)
        if waiting is None:
            waiting = self._open[shard][call_id] = _Open(call)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        waiting.answers.append(answer)
        late = loop.call_later(within_ms / 1000, _give_up, answer, waiting)  # a third of what asyncio.timeout costs
        try:
            # Also when it is open already: a repeat under one idempotency key brings the fresher stamp and deadline.
            waiting.was_sent = self._links[shard].send(call) or waiting.was_sent
            return await answer
        finally:
            late.cancel()
            waiting.answers.remove(answer)
            if not waiting.answers:
                self._open[shard].pop(call_id, None)

    def close(self) -> None:
        for link in self._links:
            link.close()

    def _received(self, shard: int, envelope: Envelope) -> None:
        if isinstance(envelope, Reply):
            waiting = self._open[shard].get(envelope.call_id)
            for answer in waiting.answers if waiting is not None else ():
                if not answer.done():
                    answer.set_result(envelope)

    def _welcomed(self, shard: int, welcome: Welcome) -> None:
        for waiting in self._open[shard].values():
            try:
                waiting.was_sent = self._links[shard].send(waiting.call) or waiting.was_sent
            except Unencodable as bad:  # begun while the link was closed; those behind it must go out all the same
                for answer in waiting.answers:
                    if not answer.done():
                        answer.set_exception(bad)


def _give_up(answer: asyncio.Future[Reply], waiting: _Open) -> None:
    if not answer.done():
        answer.set_exception(DeadlinePassed(waiting.was_sent))
