"""What mailboxes write, as it is written: which threads are open, who has them, and what originators were told.

Fed with every batch that a disk stored, so it knows what a later look at the disk cannot tell: how far a lease that is
gone had been renewed, and how often a message left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from actors.mailbox.rows import Lease, Received, Sent
from actors.mailbox.thread import ENDS
from bus.address import Address
from bus.codec import unpack_row
from bus.store import Write
from bus.value import Record

_MAILBOX: Final = b"smailbox/"
_ORDER: Final = ("queued", "delivered", "working")
"""Of what an originator hears; then comes an end."""


class MeshWatch:
    """One for all disks of a run. `violated` is told of what must never be written."""

    def __init__(self, violated: Callable[[str], None]) -> None:
        self.open: dict[str, str] = {}
        """Thread that has not ended -> the agent that received it."""
        self.leased: dict[str, str] = {}
        """Thread -> the delivery that has it."""
        self.until: dict[str, int] = {}
        """Delivery -> the latest end that its lease ever had."""
        self.deliveries: dict[str, list[str]] = {}
        """Thread -> every delivery of it, in their order."""
        self.since: dict[str, int] = {}
        """Delivery -> when it was decided."""
        self.grace: set[str] = set()
        """Deliveries whose lease was given once more, since it was not seen to end."""
        self.told: Counter[tuple[str, str]] = Counter()
        """(thread, state) -> how many messages tell its originator."""
        self.journaled: set[str] = set()
        """Calls that left a record in a journal."""
        self._mirrored: dict[str, str] = {}
        self._violated = violated

    def wrote(self, writes: Sequence[Write]) -> None:
        for key, value in writes:
            if key.startswith(_MAILBOX):
                owner, row = key[1:].split(b"\x00", 1)
                kind, _, id_ = row.decode().partition("/")
                self._row(Address.parse(owner.decode()).id, kind, id_, None if value is None else unpack_row(value))
            elif key[:1] == b"o" and value is not None:
                self._message(unpack_row(value))
            elif key[:1] == b"j" and value is not None:
                record = unpack_row(value)
                assert isinstance(record, dict)
                self.journaled.add(str(record["call"]))

    def _row(self, agent_id: str, kind: str, id_: str, value: object) -> None:
        match kind:
            case "received":
                row = None if value is None else Received.model_validate(value)
                if row is None or row.has_ended:
                    self.open.pop(id_, None)
                else:
                    self.open[id_] = agent_id
            case "lease" if value is None:
                self.leased.pop(id_, None)
            case "lease":
                lease = Lease.model_validate(value)
                self.leased[id_] = lease.deliveryId
                if lease.deliveryId not in self.until:
                    self.deliveries.setdefault(id_, []).append(lease.deliveryId)
                    self.since[lease.deliveryId] = lease.since
                if lease.isGrace:
                    self.grace.add(lease.deliveryId)
                self.until[lease.deliveryId] = max(lease.until, self.until.get(lease.deliveryId, 0))
            case "sent" if value is not None:
                self._mirror(id_, Sent.model_validate(value).state)

    def _mirror(self, thread_id: str, state: str) -> None:
        former = self._mirrored.get(thread_id)
        self._mirrored[thread_id] = state
        goes_on = former is None or former == state or (former in _ORDER and state in ENDS)
        if not goes_on and not (state in _ORDER and _ORDER.index(state) > _ORDER.index(str(former))):
            self._violated(f"a mirror goes on: thread {thread_id} was {former} for its originator, then {state}")

    def _message(self, row: object) -> None:
        assert isinstance(row, list)
        verb, body = row[2], row[3]
        if verb == "thread_changed":
            assert isinstance(body, dict)
            self._tell(body)

    def _tell(self, body: Record) -> None:
        thread_id, state = str(body["threadId"]), str(body["state"])
        self.told[thread_id, state] += 1
        if self.told[thread_id, state] > 1:
            self._violated(f"an originator is told once: of thread {thread_id} that it is {state}, again")
