"""One task that was delivered to a runtime, and what the runtime may say of it (mesh 3.1, 4, 5.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from bus.runtime_frames import Lost
from bus.value import Record, Value, records

Ask: TypeAlias = Callable[[str, Record], Awaitable[Record]]
"""(verb, body) -> the answer. Raises RequestRefused, and ConnectionError once the client is closed."""


class RequestRefused(Exception):
    """NEXUS refused what was said of a delivery. `code` is from the closed enumeration of refusals (common 6.3)."""

    def __init__(self, code: str, message: str, details: Record) -> None:
        super().__init__(f"{code}: {message}{_particulars(details)}")
        self.code = code
        self.details = details


def _particulars(details: Record) -> str:
    """Which fields are bad and what they must be, and the limit that was met, for whoever reads the exception alone."""
    said = [" ".join((_text(field, "path"), _text(field, "problem"))) for field in records(details, "fields")]
    limit = details.get("limit")
    if isinstance(limit, int):
        said.append(f"the limit is {limit}")
    return f" ({'; '.join(said)})" if said else ""


class DeliveryLost(RequestRefused):
    """The delivery is not this runtime's any more, so nothing was changed: its thread has ended elsewhere, or its lease
    ran out and the task is offered again."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The agent that sent the task."""

    agent_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ContextReference:
    """What the task refers to, as far as this agent may read it. Either `kind` or `withheld` stands."""

    ref: str
    kind: str | None
    title: str | None
    revision: int | None
    withheld: str | None
    """Why it may not: `not_found`, `role_required`, `capability_disabled` or `unavailable`."""


@dataclass(frozen=True, slots=True)
class Task:
    """The Task Envelope. Another agent wrote it: it is to be weighed, it does not come from the person."""

    title: str
    instructions: str
    inputs: Mapping[str, Value] | None
    expected_output: str | None
    priority: str
    deadline: str | None
    """RFC 3339; after it the thread ends `expired`."""
    context: tuple[ContextReference, ...]

    @classmethod
    def of(cls, record: Record) -> Task:
        inputs = record.get("inputs")
        return cls(
            title=_text(record, "title"),
            instructions=_text(record, "instructions"),
            inputs=inputs if isinstance(inputs, dict) else None,
            expected_output=_text_or_none(record, "expectedOutput"),
            priority=_text(record, "priority"),
            deadline=_text_or_none(record, "deadline"),
            context=tuple(_reference(one) for one in records(record, "contextRefs")),
        )


class Delivery:
    """One attempt at one task. It is this runtime's until one of complete, partial, fail, reject or release has been
    answered, or `cancelled` is set: its lease is renewed meanwhile, by the client.

    Each method returns when NEXUS has answered, over restarts of NEXUS too; bound it with `asyncio.timeout` if need be.
    Each raises DeliveryLost, RequestRefused, and ConnectionError once the client is closed; TypeError for what is no
    JSON of its kind. Saying the same again changes nothing, but for progress; another end than the first is
    DeliveryLost.
    """

    def __init__(self, record: Record, ask: Ask) -> None:
        self._ask = ask
        sender = cast(Record, record.get("from") or {})
        self.record: Final = record
        """As it came: {threadId, deliveryId, attempt, from, workspaceId, queuedAt, chainDepth, task}."""
        self.thread_id: Final = _text(record, "threadId")
        self.delivery_id: Final = _text(record, "deliveryId")
        self.attempt: Final = _integer(record, "attempt")
        """1 at first; one more whenever a lease was lost. After five the thread ends `failed`."""
        self.sender: Final = Sender(_text(sender, "agentId"), _text(sender, "name"))
        self.workspace_id: Final = _text(record, "workspaceId")
        self.queued_at: Final = _text(record, "queuedAt")
        self.chain_depth: Final = _integer(record, "chainDepth")
        self.task: Final = Task.of(cast(Record, record.get("task") or {}))
        self.cancelled: Final = asyncio.Event()
        """Set when the delivery is lost: whatever works on it can stop, nobody takes its result. `why` says more."""
        self.why: Lost | None = None

    def __repr__(self) -> str:
        return f"<Delivery {self.delivery_id} of thread {self.thread_id}, attempt {self.attempt}>"

    async def start(self) -> None:
        """Work begins. Its sender is told, once; from here on it cannot be rejected."""
        await self._ask("start", {"deliveryId": self.delivery_id})

    async def progress(self, text: str) -> None:
        """One line for the person and the room. It is written twice when the answer to the first was lost, as in a
        restart of NEXUS: lines have no ids, and one too many does less harm than one that nobody sees."""
        await self._ask("progress", {"deliveryId": self.delivery_id, "text": text})

    async def complete(
        self, body: str, *, artifacts: Sequence[Value] = (), usage: Mapping[str, Value] | None = None
    ) -> None:
        """Done; `body` is the answer to its sender. `usage` is what it cost, for instance tokens. 64 KiB in all."""
        await self._finish("completed", body, artifacts, usage)

    async def partial(
        self, body: str, *, artifacts: Sequence[Value] = (), usage: Mapping[str, Value] | None = None
    ) -> None:
        """Done in part, and this is all that will come of it."""
        await self._finish("partial", body, artifacts, usage)

    async def fail(
        self, body: str, *, artifacts: Sequence[Value] = (), usage: Mapping[str, Value] | None = None
    ) -> None:
        """It could not be done; `body` says why."""
        await self._finish("failed", body, artifacts, usage)

    async def reject(self, reason: str) -> None:
        """Decline it, before `start`. `reason` is one line of at most 200 characters."""
        body: Record = {"deliveryId": self.delivery_id, "outcome": "rejected", "reason": reason}
        await self._ask("finish", body)

    async def release(self) -> None:
        """Give it back unfinished: it is offered again. That uses up an attempt if work had begun. One that is not this
        runtime's any more counts as given back: no DeliveryLost is raised for it."""
        await self._ask("release", {"deliveryId": self.delivery_id})

    def lost(self, lost: Lost) -> None:
        """Called by the client."""
        self.why = lost
        self.cancelled.set()

    async def _finish(
        self,
        outcome: Literal["completed", "partial", "failed"],
        text: str,
        artifacts: Sequence[Value],
        usage: Mapping[str, Value] | None,
    ) -> None:
        if isinstance(artifacts, str | bytes) or not isinstance(artifacts, Sequence):
            raise TypeError("artifacts is a list of JSON values")
        if usage is not None and not isinstance(usage, Mapping):
            raise TypeError("usage is a JSON object")
        body: Record = {"deliveryId": self.delivery_id, "outcome": outcome, "body": text}
        if artifacts:
            body["artifacts"] = [*artifacts]
        if usage is not None:
            body["usage"] = {**usage}
        await self._ask("finish", body)


def _reference(record: Record) -> ContextReference:
    withheld, revision = record.get("withheld"), record.get("revision")
    return ContextReference(
        ref=_text(record, "ref"),
        kind=_text_or_none(record, "kind"),
        title=_text_or_none(record, "title"),
        revision=revision if isinstance(revision, int) else None,
        withheld=_text(withheld, "reason") if isinstance(withheld, dict) else None,
    )


def _text(record: Record, name: str) -> str:
    return _text_or_none(record, name) or ""


def _text_or_none(record: Record, name: str) -> str | None:
    value = record.get(name)
    return value if isinstance(value, str) else None


def _integer(record: Record, name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) else 0
