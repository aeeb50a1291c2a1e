"""Reads of owners as one admitted caller, up to one deadline: what composed tools are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bus.address import Address
from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.limits import reads_at_once_max
from bus.value import Record
from tools.errors import Code

Question: TypeAlias = tuple[Address, str, Record]


class OwnerRefused(Exception):
    """An owner refused a read; `error` is its record, which the composed tool answers as its own."""

    def __init__(self, error: Record) -> None:
        super().__init__("refused by an owner")
        self.error = error


@dataclass(slots=True)
class Reading:
    """One composed call: `stamp` says as whom, `until_ms` is the host time after which nobody waits any more."""

    caller: Caller
    clock: Clock
    stamp: Record
    until_ms: int
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(reads_at_once_max))

    @property
    def agent_id(self) -> str:
        return str(self.stamp.get("agentId") or "")

    @property
    def workspace_id(self) -> str:
        return str(self.stamp.get("workspaceId") or "")

    async def ask(self, to: Address, verb: str, body: Record) -> Record:
        """One owner's answer. Raises OwnerRefused and DeadlinePassed."""
        async with self._turn:
            within_ms = self.until_ms - self.clock.now_ms()
            if within_ms <= 0:
                raise DeadlinePassed(was_sent=False)
            reply = await self.caller.call(
                to, verb, body, call_id=self.clock.new_id(), within_ms=within_ms, stamp=self.stamp
            )
        if reply.ok is None:
            raise OwnerRefused(reply.error or {})
        return reply.ok

    async def ask_each(self, questions: Sequence[Question]) -> list[Record | None]:
        """Answers in the order of the questions; None where the owner says not_found (gone since it was listed)."""
        return list(await asyncio.gather(*(self._ask_or_none(question) for question in questions)))

    async def _ask_or_none(self, question: Question) -> Record | None:
        try:
            return await self.ask(*question)
        except OwnerRefused as refused:
            if refused.error.get("code") == Code.NOT_FOUND.value:
                return None
            raise
