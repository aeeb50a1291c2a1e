"""Calls to owners with deadlines, over one link a shard.

A call that is open when its host dies is sent again, in order and under the same id, to the host's next incarnation;
the host answers from its record if the first try was committed. So a caller sees one answer or `DeadlinePassed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from bus.address import Address
from bus.admitted import STAMP_DISPATCHED
from bus.clock import Clock
from bus.codec import Unencodable
from bus.envelope import Call, Envelope, Listen, Notice, Onward, Reply, Welcome
from bus.link import Identity, LinkClient
from bus.value import Record
from bus.wire import Scheduler, Wire

_TOPICS_TOLD_AT_ONCE: Final = 1_000
"""An envelope is bounded."""


class DeadlinePassed(Exception):
    """No answer in time. `was_sent` False: no host ever had the call, so nothing can have happened. `went_on`: the call
    that rode on it may have been sent on."""

    def __init__(self, was_sent: bool, went_on: bool = False) -> None:
        super().__init__("no answer before the deadline")
        self.was_sent = was_sent
        self.went_on = went_on


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
        onward: Onward | None = None,
    ) -> Reply:
        """Send and await the one answer; `onward` is left out when another shard's host would have to take it. Raises
        DeadlinePassed, and Unencodable for a body that is not plain data."""
        ...


class Notices(Protocol):
    """Where a gateway is told that something has changed (docs/decisions/0012)."""

    def listen(self, to: Address, topic: str, told: Callable[[Record], None]) -> Callable[[], None]:
        """Call `told` with each notice of `topic` that the owner `to` gives, until the function that this returns is
        called; and once soon after now, and whenever notices may have been missed, with an empty record. `told` runs on
        the event loop's thread; it must be quick and must not raise."""
        ...


class CallerAndNotices(Caller, Notices, Protocol):
    """What a gateway needs of the bus."""


@dataclass(slots=True, eq=False)
class _Listener:
    told: Callable[[Record], None]


@dataclass(slots=True)
class _Open:
    call: Call
    was_sent: bool = False
    answers: list[asyncio.Future[Reply]] = field(default_factory=list)
    """One for each that waits: two clients may use one idempotency key at once."""


class BusClient:
    """A process's links to all shard hosts as one Caller and Notices. Runs on the event loop's thread."""

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
        self._scheduler = scheduler
        self._open: list[dict[str, _Open]] = [{} for _ in hosts]
        self._listeners: list[dict[str, list[_Listener]]] = [{} for _ in hosts]
        """By topic."""
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
        onward: Onward | None = None,
    ) -> Reply:
        shard = int(to.id) if to.kind == "host" else to.shard(len(self._links))
        if onward is not None and onward.to.shard(len(self._links)) != shard:
            onward = None
        call = Call(call_id, to, verb, body, stamp, self._clock.now_ms() + within_ms, onward)
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
            if call.stamp is not None and call.stamp.get(STAMP_DISPATCHED) is not True:
                waiting.call = call  # what is sent again after a restart; one that only joins has no arguments
            return await answer
        finally:
            late.cancel()
            waiting.answers.remove(answer)
            if not waiting.answers:
                self._open[shard].pop(call_id, None)

    def listen(self, to: Address, topic: str, told: Callable[[Record], None]) -> Callable[[], None]:
        shard, listener = to.shard(len(self._links)), _Listener(told)

        def first() -> None:
            if listener in listeners:
                listener.told({})

        listeners = self._listeners[shard].setdefault(topic, [])
        listeners.append(listener)
        if len(listeners) == 1:
            self._links[shard].send(Listen((topic,), ()))  # not open: said with all the others when it opens
        else:  # the host knows of it already, and tells what is new only
            self._scheduler.call_soon(first)

        def stop() -> None:
            if listener not in listeners:
                return
            listeners.remove(listener)
            if not listeners:
                del self._listeners[shard][topic]
                self._links[shard].send(Listen((), (topic,)))

        return stop

    def close(self) -> None:
        for link in self._links:
            link.close()

    def _received(self, shard: int, envelope: Envelope) -> None:
        if isinstance(envelope, Reply):
            waiting = self._open[shard].get(envelope.call_id)
            for answer in waiting.answers if waiting is not None else ():
                if not answer.done():
                    answer.set_result(envelope)
        elif isinstance(envelope, Notice):
            for listener in [*self._listeners[shard].get(envelope.topic, ())]:
                listener.told(envelope.data)

    def _welcomed(self, shard: int, welcome: Welcome) -> None:
        # The host of a new session knows of none. First, so that what a call finds out is not from before one listened.
        topics = [*self._listeners[shard]]
        for first in range(0, len(topics), _TOPICS_TOLD_AT_ONCE):
            self._links[shard].send(Listen((*topics[first : first + _TOPICS_TOLD_AT_ONCE],), ()))
        for waiting in self._open[shard].values():
            try:
                waiting.was_sent = self._links[shard].send(waiting.call) or waiting.was_sent
            except Unencodable as bad:  # begun while the link was closed; those behind it must go out all the same
                for answer in waiting.answers:
                    if not answer.done():
                        answer.set_exception(bad)


def _give_up(answer: asyncio.Future[Reply], waiting: _Open) -> None:
    if not answer.done():
        went_on = waiting.was_sent and waiting.call.onward is not None
        answer.set_exception(DeadlinePassed(waiting.was_sent, went_on))
