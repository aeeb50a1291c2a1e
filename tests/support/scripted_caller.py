"""A bus whose owners are functions of the test: what was sent is kept, what comes back and what is told is scripted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from bus.address import Address
from bus.client import DeadlinePassed
from bus.envelope import Onward, Reply
from bus.value import Record
from tools.errors import Refusal


@dataclass(frozen=True, slots=True)
class Sent:
    """One call as an owner would see it."""

    to: Address
    verb: str
    body: Record
    call_id: str
    within_ms: int
    stamp: Record | None
    onward: Onward | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """An error record as it stands, for codes that no `Refusal` can have."""

    record: Record


@dataclass(frozen=True, slots=True)
class WentOn:
    """The call that rode on an admission was sent on: what admission said, and what the call's owner answered."""

    admission: Record
    answer: Record | Error


Scripted: TypeAlias = Record | Refusal | Error | WentOn | DeadlinePassed | Exception
"""A record is a success; a refusal is answered as one; an exception is raised to whoever called."""

Answerer: TypeAlias = Callable[[Sent], Scripted | Awaitable[Scripted]]

Script: TypeAlias = Mapping[tuple[str, str], Scripted | Answerer]
"""By where and verb: an owner's address, or a kind for every owner of it."""

ANYWHERE: Final = ""


class ScriptedCaller:
    """Fails the test when a verb is sent that no script answers."""

    def __init__(self, script: Script | None = None) -> None:
        self.sent: list[Sent] = []
        self.listeners: dict[str, list[Callable[[Record], None]]] = {}
        self._answerers: dict[tuple[str, str], Answerer] = {}
        for (where, verb), answer in (script or {}).items():
            self.on(verb, answer, where)

    def on(self, verb: str, answer: Scripted | Answerer, where: str = ANYWHERE) -> None:
        """Answer `verb` from now on, with the same each time or by a function of what was sent."""
        self._answerers[where, verb] = answer if callable(answer) else lambda sent: answer

    def sent_of(self, verb: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.verb == verb]

    def bodies(self, verb: str) -> list[Record]:
        return [sent.body for sent in self.sent_of(verb)]

    def listen(self, to: Address, topic: str, told: Callable[[Record], None]) -> Callable[[], None]:
        """As the bus does: told once soon, and of whatever the test gives notice of."""
        listeners = self.listeners.setdefault(topic, [])
        listeners.append(told)
        asyncio.get_running_loop().call_soon(told, {})

        def stop() -> None:
            with contextlib.suppress(ValueError):
                listeners.remove(told)

        return stop

    def notice(self, topic: str, data: Record) -> None:
        """Tell whoever listens."""
        for told in [*self.listeners.get(topic, ())]:
            told(data)

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
        sent = Sent(to, verb, body, call_id, within_ms, stamp, onward)
        self.sent.append(sent)
        answer = self._answerer(sent)(sent)
        if isinstance(answer, Awaitable):
            answer = await answer
        match answer:
            case Exception():
                raise answer
            case Error(record):
                return Reply(call_id, None, record)
            case WentOn(admission, said):
                ok, error = (None, said.record) if isinstance(said, Error) else (said, None)
                return Reply(call_id, ok, error, admission)
            case Refusal():
                return Reply(call_id, None, answer.to_record())
            case _:
                return Reply(call_id, answer, None)

    def _answerer(self, sent: Sent) -> Answerer:
        for where in (str(sent.to), sent.to.kind, ANYWHERE):
            if (where, sent.verb) in self._answerers:
                return self._answerers[where, sent.verb]
        raise AssertionError(f"nothing is scripted for {sent.verb} at {sent.to}")
