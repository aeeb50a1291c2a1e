"""One runtime that is connected: what it holds, what it may hold, and how its deliveries come and go (mesh 5.1).

Invariants:
- No more is leased than leaves what is outstanding within the runtime's credit, in number and in bytes of frames, each
  reckoned at its largest until it is made. What a runtime brings along counts in number alone: its bytes are not known.
- A delivery is outstanding from its lease until the mailbox has said that its thread has ended or that it is lost.
- The mailbox is the authority: nothing here decides anything about a thread, and nothing here renews a lease unless
  the runtime asks for it (mesh 4.4).

Event loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from bus.client import DeadlinePassed
from bus.clock import Clock
from bus.envelope import Reply
from bus.limits import admissions_per_call_max
from bus.runtime_frames import Credit, Deliver, Lost, Request, RuntimeFrame, encode_runtime_frame
from bus.runtime_limits import runtime_frame_bytes_max, runtime_leased_at_once_max, runtime_leased_bytes_at_once_max
from bus.value import Record, records
from nexus.gateway.context_refs import deliveries_with_references, without_references
from nexus.gateway.identity import Identity
from nexus.gateway.reading import OwnerRefused
from nexus.gateway.runtime_authority import RuntimeAuthority
from tools.errors import Code
from tools.times import milliseconds_of

_NOT_HELD: Final = frozenset({Code.WRONG_STATE.value, Code.THREAD_CLOSED.value, Code.NOT_FOUND.value})
"""What the mailbox says of a delivery that is not the runtime's any more."""


class LeaseFailed(Exception):
    """The mailbox refused to lease, tell of leases or take them back, for a trouble of its own."""


@dataclass(frozen=True, slots=True)
class Leased:
    """What came of asking the mailbox for more."""

    count: int
    """Leased."""
    delivered: int
    """Of those, to the runtime."""
    waiting: int
    """How many can be leased that were not."""
    is_more_due: bool
    """The mailbox ends first what is over, and has not come to the end of that: it is to be asked again at once."""


class RuntimeSession:
    """`send` gives bytes to the runtime, and False when it takes none any more: then `gone` is called. `share` is what
    the session counts as until it is closed."""

    def __init__(
        self,
        route: bytes,
        runtime_id: str,
        authority: RuntimeAuthority,
        identity: Identity,
        holding: tuple[str, ...],
        *,
        number: int,
        clock: Clock,
        share: ExitStack,
        send: Callable[[bytes], bool],
        gone: Callable[[RuntimeSession], None],
    ) -> None:
        self.route = route
        self.runtime_id = runtime_id
        self.number = number
        """Of its Hello: the later one has the higher."""
        self.authority = authority
        self.identity = identity
        self.heard_ms = clock.now_ms()
        self.requests: dict[asyncio.Task[None], Request] = {}
        """What it has asked and was not answered yet."""
        self.is_open = True
        self.is_leaving = False
        """It has said Bye; open for as long as what it finished is being answered."""
        self._clock = clock
        self._share = share
        self._send = send
        self._gone = gone
        self._credit = Credit(0, 0)
        self._outstanding: dict[str, int] = dict.fromkeys(holding, 0)
        """By delivery id, the bytes of its frame. What a runtime brings along is counted without them."""

    @property
    def agent_id(self) -> str:
        return self.authority.agent_id

    @property
    def outstanding(self) -> tuple[str, ...]:
        return (*self._outstanding,)

    def is_finishing(self, delivery_id: str) -> bool:
        """Whether a finish of it is under way. A release would overtake one that waits to be admitted."""
        return any(request.body.get("deliveryId") == delivery_id for request in self._finishes().values())

    async def finishes_answered(self, within_ms: int) -> None:
        """Waits for those that are under way now, and no longer than that."""
        under_way = self._finishes()
        if under_way:
            await asyncio.wait(under_way, timeout=within_ms / 1_000)

    def _finishes(self) -> dict[asyncio.Task[None], Request]:
        return {
            task: request for task, request in self.requests.items() if request.verb == "finish" and not task.done()
        }

    def send(self, frame: RuntimeFrame) -> bool:
        """Raises Unencodable."""
        if not self.is_open:
            return False
        if self._send(encode_runtime_frame(frame)):
            return True
        self._gone(self)
        return False

    def close(self) -> None:
        """What is outstanding stays so in the mailbox, until it is released or its lease runs out."""
        if self.is_open:
            self.is_open = False
            self._share.close()

    def set_credit(self, credit: Credit) -> None:
        self._credit = credit

    def room(self) -> tuple[int, int]:
        """How many deliveries and bytes may be leased now; none unless a delivery of any size has room."""
        free = min(self._credit.deliveries - len(self._outstanding), runtime_leased_at_once_max)
        free_bytes = self._credit.bytes - sum(self._outstanding.values())
        # The mailbox counts tasks as JSON, the credit frames, and how the two compare is known of the largest alone.
        count = min(free, free_bytes // runtime_frame_bytes_max)
        if not self.is_open or self.is_leaving or count <= 0:
            return 0, 0
        return count, min(free_bytes, runtime_leased_bytes_at_once_max)

    def ended(self, delivery_id: str) -> bool:
        """Whether it was outstanding; now it is not."""
        return self._outstanding.pop(delivery_id, None) is not None

    async def lease(self, count: int, size: int) -> Leased:
        """Lease and deliver up to so many, of so many bytes as JSON.

        Raises RuntimeRefused, DeadlinePassed and LeaseFailed.
        """
        body: Record = {"runtimeId": self.runtime_id, "count": count, "bytes": size}
        answer = _ok(await self.authority.call("mail_lease", body))
        leased, waiting = records(answer, "deliveries"), answer.get("waiting")
        ids = [str(one.get("deliveryId")) for one in leased]
        # From here on they are this runtime's: each is delivered, or given back by whoever closes the session.
        self._outstanding |= dict.fromkeys(ids, 0)
        unsent: list[str] = []
        for delivery in await self._with_references(leased):
            if not self._deliver(delivery):
                unsent.append(str(delivery.get("deliveryId")))
        if unsent:
            for delivery_id in unsent:
                self.ended(delivery_id)
            await self.give_back(unsent)
        return Leased(
            count=len(ids),
            delivered=len(ids) - len(unsent),
            waiting=waiting if isinstance(waiting, int) else 0,
            is_more_due=answer.get("isMoreDue") is True,
        )

    async def check(self) -> bool:
        """Ask what has become of all that is outstanding, and tell the runtime what is lost; whether anything is. No
        lease is renewed by it: that is the runtime's to ask, or one that hangs would keep its tasks for ever.

        Raises RuntimeRefused, DeadlinePassed and LeaseFailed.
        """
        if not self._outstanding or not self.is_open:
            return False
        body: Record = {"runtimeId": self.runtime_id, "deliveryIds": [*self._outstanding]}
        return self.lost(_ok(await self.authority.call("mail_held", body)))

    def lost(self, answer: Record) -> bool:
        """Tell of what an answer to `mail_held` or `mail_renew` lists as lost; whether that was outstanding."""
        has_lost = False
        for one in records(answer, "lost"):
            words = [str(one.get(name) or "") for name in ("deliveryId", "threadId", "reason", "state")]
            self.send(Lost(*words))
            has_lost = self.ended(words[0]) or has_lost
        return has_lost

    async def give_back(self, delivery_ids: list[str]) -> None:
        """One that is not this runtime's any more changes nothing. Raises DeadlinePassed and LeaseFailed."""
        for delivery_id in delivery_ids:
            reply = await self.authority.give_back(delivery_id, self.runtime_id)
            if reply.error is None or reply.error.get("code") not in _NOT_HELD:
                _ok(reply)

    async def _with_references(self, leased: list[Record]) -> list[Record]:
        """Raises RuntimeRefused."""
        for _ in range(admissions_per_call_max):
            try:
                reading = await self.authority.reading()
                return await deliveries_with_references(reading, self.authority.credential, leased)
            except OwnerRefused:  # its authority has just been changed: it is judged anew
                continue
            except DeadlinePassed:
                break
        return without_references(leased)

    def _deliver(self, delivery: Record) -> bool:
        """False when the runtime does not have it."""
        lease_ms = lease_left_ms(delivery.get("leaseUntil"), self._clock)
        shown = {name: value for name, value in delivery.items() if name != "leaseUntil"}
        frame = Deliver(lease_ms, shown)
        size = len(encode_runtime_frame(frame))
        if not self.send(frame):
            return False
        self._outstanding[str(delivery.get("deliveryId"))] = size
        return True


def lease_left_ms(lease_until: object, clock: Clock) -> int:
    """From now; the two ends' clocks may differ, spans do not."""
    return max(0, milliseconds_of(lease_until) - clock.now_ms()) if isinstance(lease_until, str) else 0


def _ok(reply: Reply) -> Record:
    """Raises LeaseFailed."""
    if reply.ok is None:
        raise LeaseFailed((reply.error or {}).get("code"))
    return reply.ok
