"""A message as a host hands it to one of its owners: what to decide, who sent it, and what depends on it."""

from __future__ import annotations

from dataclasses import dataclass

from actors.decision import Message, Principal
from bus.envelope import Parcel
from bus.journal import Handled
from bus.message_record import message_record
from bus.value import Record


@dataclass(frozen=True, slots=True)
class DueTimer:
    """Which timer is due; what it sends is a row of its owner."""

    name: str
    due_ms: int


@dataclass(frozen=True, slots=True)
class AdmittedCall:
    """How an agent owner sent a call on (actors/admitted.py)."""

    parcel: Parcel
    """As it came. Its sender is told what becomes of the call."""
    deadline_ms: int | None
    """Host time after which it is refused instead of decided."""
    fingerprint: Record | None
    """What the call's target must still be."""
    as_of_now: bool
    """The target's current revision is put into the arguments."""


@message_record
class Delivery:
    """One message to one owner. Exactly one of `is_call`, `handled` and `timer` says what it is."""

    message: Message
    principal: Principal
    id: str
    """The call id, also of an admitted call; or the parcel's or timer's message id: stable over repeats."""
    origin_call: str
    """The call that led to it, for the event log."""
    is_call: bool = False
    """Somebody waits for a reply under `id`."""
    is_late: bool = False
    """The call's deadline had passed when it came: it is not decided, but may have been before (a repeat)."""
    keeps_answer: bool = False
    """The answer is kept also when it had no effects: the caller gave an idempotency key. Of an admitted call, whether
    it is kept at all."""
    is_look: bool = False
    """Decided without effects: the answer tells what would happen."""
    handled: Handled | None = None
    """For a parcel: the mark to advance with its effect."""
    timer: DueTimer | None = None
    gives_up: bool = False
    """The parcel or timer failed too often: it becomes a dead letter instead of being decided."""
    admitted: AdmittedCall | None = None
    """For a parcel that brings an agent's call."""

    @property
    def is_settled(self) -> bool:
        """Whether its sender is told what became of it."""
        return self.admitted is not None and not self.is_look
