"""One runtime that is connected: what it holds, what it may hold, and how its deliveries come and go (mesh 5.1).

Invariants:
- No more is outstanding than the runtime's credit allows, in number and in bytes, whatever it does or leaves undone.
- A delivery is outstanding from its lease until the mailbox has said that its thread has ended or that it is lost.
- The mailbox is the authority: nothing here decides anything about a thread.

Event loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from bus.client import DeadlinePassed
from bus.clock import Clock
from bus.envelope import Reply
from bus.limits import admissions_per_call_max
from bus.runtime_frames import Credit, Deliver, Lost, RuntimeFrame, encode_runtime_frame
from bus.runtime_limits import runtime_frame_bytes_max, runtime_leased_at_once_max, runtime_leased_bytes_at_once_max
from bus.value import Record, records
from nexus.gateway.context_refs import deliveries_with_references, without_references
from nexus.gateway.identity import Identity
from nexus.gateway.reading import OwnerRefused
from nexus.gateway.runtime_authority import RuntimeAuthority
from tools.times import milliseconds_of


class LeaseFailed(Exception):
    """The mailbox refused to lease or renew, for a trouble of its own; it is asked again later."""


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
        self.requests_open = 0
        self.is_open = True
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
        if not self.is_open or free <= 0 or free_bytes < runtime_frame_bytes_max:
            return 0, 0
        return free, min(free_bytes, runtime_leased_bytes_at_once_max)

    def ended(self, delivery_id: str) -> bool:
        """Whether it was outstanding; now it is not."""
        return self._outstanding.pop(delivery_id, None) is not None

    async def lease(self, count: int, size: int) -> tuple[int, bool]:
        """Lease and deliver up to so many; how many came, and whether more may wait that had no room.

        Raises RuntimeRefused, DeadlinePassed and LeaseFailed.
        """
        body: Record = {"runtimeId": self.runtime_id, "count": count, "bytes": size}
        leased = records(_ok(await self.authority.call("mail_lease", body)), "deliveries")
        ids = [str(one.get("deliveryId")) for one in leased]
        # From here on they are this runtime's: each is delivered, or given back by whoever closes the session.
        self._outstanding |= dict.fromkeys(ids, 0)
        unsent: list[str] = []
        for delivery in await self._with_references(leased):
            if not self._deliver(delivery):
                unsent.append(str(delivery.get("deliveryId")))
        free_bytes = size - sum(self._outstanding.get(delivery_id, 0) for delivery_id in ids)
        if unsent:
            for delivery_id in unsent:
                self.ended(delivery_id)
            await self.give_back(unsent)
        return len(ids) - len(unsent), len(ids) == count or free_bytes < runtime_frame_bytes_max

    async def check(self) -> bool:
        """Ask what has become of all that is outstanding, which renews its leases, and tell the runtime what is lost;
        whether anything is.

        Raises RuntimeRefused, DeadlinePassed and LeaseFailed.
        """
        if not self._outstanding or not self.is_open:
            return False
        body: Record = {"runtimeId": self.runtime_id, "deliveryIds": [*self._outstanding]}
        return self.lost(_ok(await self.authority.call("mail_renew", body)))

    def lost(self, renewal: Record) -> bool:
        """Tell of what an answer to `mail_renew` lists as lost; whether that was outstanding."""
        has_lost = False
        for one in records(renewal, "lost"):
            words = [str(one.get(name) or "") for name in ("deliveryId", "threadId", "reason", "state")]
            self.send(Lost(*words))
            has_lost = self.ended(words[0]) or has_lost
        return has_lost

    async def give_back(self, delivery_ids: list[str]) -> None:
        """One that is not this runtime's any more changes nothing. Raises DeadlinePassed."""
        for delivery_id in delivery_ids:
            await self.authority.give_back(delivery_id, self.runtime_id)

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
