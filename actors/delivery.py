"""A message as a host hands it to one of its owners: what to decide, who sent it, and what depends on it."""

from __future__ import annotations

from dataclasses import dataclass

from actors.decision import Message, Principal
from bus.journal import Handled
from bus.message_record import message_record


@dataclass(frozen=True, slots=True)
class DueTimer:
    """Which timer is due; what it sends is a row of its owner."""

    name: str
    due_ms: int


@message_record
class Delivery:
    """One message to one owner. Exactly one of `is_call`, `handled` and `timer` says what it is."""

    message: Message
    principal: Principal
    id: str
    """The call id, or the parcel's or timer's message id: stable over repeats."""
    origin_call: str
    """The call that led to it, for the event log."""
    is_call: bool = False
    """Somebody waits for a reply under `id`."""
    is_late: bool = False
    """The call's deadline had passed when it came: it is not decided, but may have been before (a repeat)."""
    keeps_answer: bool = False
    """The answer is kept also when it had no effects: the caller gave an idempotency key."""
    handled: Handled | None = None
    """For a parcel: the mark to advance with its effect."""
    timer: DueTimer | None = None
    gives_up: bool = False
    """The parcel or timer failed too often: it becomes a dead letter instead of being decided."""
