"""Calls to owners with deadlines, over one link a shard.

A call that is open when its host dies is sent again, in order and under the same id, to the host's next incarnation;
the host answers from its record if the first try was committed. So a caller sees one answer or `DeadlinePassed`.
"""

from __future__ import annotations

from typing import Protocol

from bus.address import Address
from bus.envelope import Reply
from bus.value import Record


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
        """Send and await the one answer. Raises DeadlinePassed."""
        ...
