"""A Caller without a bus: answers from a scripted table and keeps every call in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from bus.address import Address
from bus.client import DeadlinePassed
from bus.envelope import Reply
from bus.value import Record
from tools.errors import Refusal

Scripted: TypeAlias = Record | Refusal | DeadlinePassed | Callable[[Address, Record], Record | Refusal]


@dataclass(frozen=True, slots=True)
class MadeCall:
    to: str
    verb: str
    body: Record
    call_id: str
    within_ms: int
    stamp: Record | None


class ScriptedCaller:
    """`script` maps (address, verb), or (kind, verb) for every owner of a kind, to what is answered."""

    def __init__(self, script: Mapping[tuple[str, str], Scripted]) -> None:
        self.script = dict(script)
        self.calls: list[MadeCall] = []

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
        self.calls.append(MadeCall(str(to), verb, body, call_id, within_ms, stamp))
        answer = self.script.get((str(to), verb), self.script.get((to.kind, verb)))
        assert answer is not None, f"nothing is scripted for {verb} at {to}"
        if isinstance(answer, DeadlinePassed):
            raise answer
        if callable(answer):
            answer = answer(to, body)
        if isinstance(answer, Refusal):
            return Reply(call_id, None, answer.to_record())
        return Reply(call_id, answer, None)

    def bodies(self, verb: str) -> list[Record]:
        return [made.body for made in self.calls if made.verb == verb]
