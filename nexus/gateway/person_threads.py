"""The person's verbs about threads: all of them in one list, one whole, ending one, sending a task once more (mesh 4).

The recipient's mailbox is the authority on a thread, so lists are merged from the pages of all mailboxes and each
thread stands in them once. Which mailbox holds one is looked up in the stores, row by name, so that no mailbox is
loaded to say that it is another's. What cannot be read now, or no longer fits, is told and never left out in silence.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, TypeAlias, cast

from pydantic import Field

from bus import address
from bus.address import Address
from bus.client import DeadlinePassed
from bus.limits import (
    identifier_characters_max,
    inspection_deadline_ms,
    note_characters_max,
    page_items_max,
    person_reads_at_once_max,
    threads_listed_default,
    threads_listed_max,
    threads_looked_at_max,
)
from bus.value import Record, Value, records
from nexus.gateway.person_log import thread_records
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, text
from nexus.gateway.person_table import Run, Typed, checked
from tools.base import Model
from tools.errors import Code, Refusal
from tools.task import ThreadState

ThreadId = Annotated[str, Field(min_length=1, max_length=identifier_characters_max)]
"""Whatever was typed: what cannot be the id of a thread names none (common 1.7)."""
Role: TypeAlias = Literal["recipient", "originator"]

ROWS_OF_THREAD: Final[Mapping[Role, tuple[str, ...]]] = {
    "recipient": ("received", "task", "lease"),
    "originator": ("offer", "sent", "result"),
}
"""Rows `<name>/<thread>` of a mailbox (actors/mailbox/rows.py), by what it is to the thread."""

_KEPT_BY: Final[tuple[tuple[Role, str], ...]] = (
    ("recipient", "received"),
    ("originator", "sent"),
    ("originator", "offer"),
)
"""The rows by which a mailbox is known to be a side of the thread."""

_SIDE: Final[Mapping[Role, str]] = {"recipient": "received", "originator": "sent"}
"""The field of `thread_get`'s answer."""

NO_THREAD: Final = Refusal(
    Code.NOT_FOUND,
    "No thread has that id, or it ended long ago and is no longer kept. `nexus thread list` shows those that are; "
    "`nexus-bus thread` finds what the event log still has of it.",
)


class ThreadList(Model):
    states: list[ThreadState] | None = None
    """Only these; None: every state, open and ended."""
    limit: Annotated[int, Field(ge=1, le=threads_listed_max)] = threads_listed_default
    agent: Typed | None = None
    """Only those that this agent sent or was sent."""
    workspace: Typed | None = None
    """Only those opened in this workspace; with `agent`, also where it is looked for."""


class ThreadNamed(Model):
    threadId: ThreadId


class ThreadShow(ThreadNamed):
    history: bool = False
    """With its events, which are looked for in all journals."""


class ThreadCancel(ThreadNamed):
    note: Annotated[str, Field(min_length=1, max_length=note_characters_max)] | None = None


async def thread_list(owners: Owners, asked: ThreadList) -> Record:
    """Newest first over all mailboxes, those of removed agents too."""
    directory = await owners.directory()
    agent_id = None if asked.agent is None else directory.agent_or_removed(asked.agent, asked.workspace).id
    workspace_id = None if asked.workspace is None else directory.workspace(asked.workspace).id
    body: Record = {} if asked.states is None else {"states": [*asked.states]}

    def is_meant(thread: Record) -> bool:
        parties = (_party(thread, "from"), _party(thread, "to"))
        return (agent_id is None or agent_id in parties) and workspace_id in (None, thread.get("workspaceId"))

    reads = MailboxReads(owners)
    merged = _Merged(reads, mailboxes(directory), body, asked.limit)
    found: list[Record] = []
    truncated = False
    async for thread in merged.newest_first():
        if merged.looked_at > threads_looked_at_max or (is_meant(thread) and len(found) == asked.limit):
            truncated = True
            break
        if is_meant(thread):
            found.append({**thread, "workspace": directory.workspace_name(text(thread, "workspaceId"))})
    answer: Record = {"threads": cast("list[Value]", found), "truncated": truncated}
    if reads.unread:
        answer["unread"] = reads.unread
    return answer


async def thread_show(owners: Owners, asked: ThreadShow) -> Record:
    """Everything of one thread: what its recipient's mailbox decides by, and the result that its originator has."""
    directory = await owners.directory()
    places = await places_of(owners, asked.threadId)
    if not places:
        raise VerbRefused.by(NO_THREAD)
    known: Record = {"threadId": asked.threadId}
    # The recipient's word counts; the originator's mirror adds what only it keeps, such as the result.
    for role, to in sorted(places, key=lambda place: place[0] == "recipient"):
        told = (await told_of_thread(owners, to, "thread_get", asked.threadId)).get(_SIDE[role])
        if isinstance(told, dict):
            known |= {name: value for name, value in told.items() if value is not None or name not in known}
        if role == "originator":
            known["from"] = {"agentId": to.id, "name": directory.agent_name(to.id)}
    known["workspace"] = directory.workspace_name(text(known, "workspaceId"))
    if asked.history:
        known["history"] = cast("list[Value]", await history_of(owners, asked.threadId))
    return known


async def thread_cancel(owners: Owners, asked: ThreadCancel) -> Record:
    """The thread ends cancelled, a runtime that works on it is told at once; one that has ended is refused so."""
    to = await recipient_of(owners, asked.threadId)
    more: Record = {} if asked.note is None else {"note": asked.note}
    return await told_of_thread(owners, to, "thread_cancel", asked.threadId, more, reads=False)


async def thread_requeue(owners: Owners, asked: ThreadNamed) -> Record:
    """A new thread of the same task, for one whose delivery was given up."""
    to = await recipient_of(owners, asked.threadId)
    return await told_of_thread(owners, to, "thread_requeue", asked.threadId, reads=False)


def mailboxes(directory: Directory) -> list[Address]:
    """Of every agent, and of the removed ones that are still known."""
    listed = (*directory.agents, *directory.removed)
    return [address.mailbox(agent_id) for agent_id in dict.fromkeys(text(one, "agentId") for one in listed)]


async def recipient_of(owners: Owners, thread_id: str) -> Address:
    """The mailbox that is the authority on the thread. Raises VerbRefused when no mailbox keeps it."""
    found = [to for role, to in await places_of(owners, thread_id) if role == "recipient"]
    if not found:
        raise VerbRefused.by(NO_THREAD)
    return found[0]


async def places_of(owners: Owners, thread_id: str) -> list[tuple[Role, Address]]:
    """The mailboxes that keep anything of the thread, and what each is to it; looked up without waking any."""
    if not address.is_id(thread_id):
        return []

    async def holding(role: Role, row: str, shard: int) -> list[tuple[Role, Address]]:
        found: list[tuple[Role, Address]] = []
        body: Record = {"kind": "mailbox", "row": f"{row}/{thread_id}"}
        while True:
            step = await owners.read(address.host(shard), "owners_holding", body, within_ms=inspection_deadline_ms)
            listed = step.get("owners")
            found += [(role, Address.parse(str(one))) for one in (listed if isinstance(listed, list) else [])]
            if step.get("next") is None:
                return found
            body = {**body, "after": step["next"]}

    steps = [holding(role, row, shard) for role, row in _KEPT_BY for shard in range(owners.shards)]
    return list(dict.fromkeys(place for part in await asyncio.gather(*steps) for place in part))


async def history_of(owners: Owners, thread_id: str) -> list[Record]:
    """The events that tell of the thread, in the order of cause, from the journals of all shards."""
    events: list[Record] = []
    if not address.is_id(thread_id):
        return events
    for record in await thread_records(owners, thread_id):
        happened = record.get("events")
        for event in happened if isinstance(happened, list) else []:
            if isinstance(event, list) and len(event) == 2:
                told = {name: record.get(name) for name in ("shard", "sequence", "at", "owner", "by")}
                events.append({**told, "callId": record.get("call"), "type": event[0], "data": event[1]})
    return events


async def told_of_thread(
    owners: Owners, to: Address, verb: str, thread_id: str, more: Record | None = None, *, reads: bool = True
) -> Record:
    """A mailbox's answer; its `not_found` speaks to agents, so the person is told in other words."""
    try:
        return await owners.ask(to, verb, {"threadId": thread_id, **(more or {})}, reads=reads)
    except VerbRefused as refused:
        if refused.error.get("code") == Code.NOT_FOUND.value:
            raise VerbRefused.by(NO_THREAD) from None
        raise


def _party(thread: Record, side: str) -> str:
    agent = thread.get(side)
    return text(agent, "agentId") if isinstance(agent, dict) else ""


@dataclass(slots=True)
class MailboxReads:
    """Reads of many mailboxes for one request, a bounded number at once.

    A mailbox that cannot be read now is named in `unread`; one that is gone meanwhile is none. After one whose shard
    did not answer in time the others of that shard are not waited for.
    """

    owners: Owners
    unread: list[Value] = field(default_factory=list)
    """`{mailbox, code}` each."""
    _silent_shards: set[int] = field(default_factory=set)
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(person_reads_at_once_max))

    async def read(self, to: Address, verb: str, body: Record) -> Record | None:
        """The mailbox's answer; None when there is none."""
        shard = to.shard(self.owners.shards)
        async with self._gate:
            if shard in self._silent_shards:
                self.unread.append({"mailbox": str(to), "code": Code.UNAVAILABLE.value})
                return None
            try:
                return await self.owners.read(to, verb, body)
            except VerbRefused as refused:
                code = text(refused.error, "code")
                if isinstance(refused.__cause__, DeadlinePassed):  # a damaged mailbox says unavailable too, at once
                    self._silent_shards.add(shard)
                if code != Code.NOT_FOUND.value:
                    self.unread.append({"mailbox": str(to), "code": code})
                return None

    async def read_each(self, places: Sequence[Address], verb: str, body: Record) -> list[tuple[Address, Record]]:
        """The answers there are, in the order of `places`."""
        answers = await asyncio.gather(*(self.read(to, verb, body) for to in places))
        return [(to, answer) for to, answer in zip(places, answers, strict=True) if answer is not None]


@dataclass(slots=True)
class _Source:
    """One mailbox's threads: those read and not given out yet, newest last, and where to read on."""

    mailbox: Address
    buffered: list[Record] = field(default_factory=list)
    following: Value = None


@dataclass(slots=True)
class _Merged:
    """The threads of many mailboxes, newest first, with about as many read as are wanted.

    `limit` is how many whoever asks wants.
    """

    reads: MailboxReads
    places: Sequence[Address]
    body: Record
    limit: int
    looked_at: int = 0

    async def newest_first(self) -> AsyncIterator[Record]:
        sources = [_Source(to) for to in self.places]
        await asyncio.gather(*map(self._read, sources))
        heads = [(_NewestFirst(one.buffered[-1]), number) for number, one in enumerate(sources) if one.buffered]
        heapq.heapify(heads)
        while heads:
            _, number = heapq.heappop(heads)
            source = sources[number]
            yield source.buffered.pop()
            if not source.buffered and source.following is not None:
                await self._read(source)
            if source.buffered:
                heapq.heappush(heads, (_NewestFirst(source.buffered[-1]), number))

    async def _read(self, source: _Source) -> None:
        """The mailbox's next page. A page may hold nothing of the states that are wanted and still have a next one."""
        # Twice an even share: most lists are had in one round, and no round reads much more than is wanted.
        size = max(8, min(page_items_max, 2 * self.limit // max(1, len(self.places)) + 1))
        while True:
            before: Record = {} if source.following is None else {"before": source.following}
            page = await self.reads.read(source.mailbox, "threads_page", {**self.body, "limit": size, **before})
            source.following = None if page is None else page.get("nextBefore")
            source.buffered = [] if page is None else records(page, "threads")[::-1]
            self.looked_at += len(source.buffered)
            if source.buffered or source.following is None:
                return


class _NewestFirst:
    """The key of a thread by which a heap gives the newest first; of one moment, by id, as mailboxes do."""

    __slots__ = ("_key",)

    def __init__(self, thread: Record) -> None:
        self._key = (text(thread, "queuedAt"), text(thread, "threadId"))

    def __lt__(self, other: _NewestFirst) -> bool:
        return self._key > other._key


VERBS: Final[Mapping[str, Run]] = {
    "thread.list": checked(ThreadList, thread_list),
    "thread.show": checked(ThreadShow, thread_show),
    "thread.cancel": checked(ThreadCancel, thread_cancel),
    "thread.requeue": checked(ThreadNamed, thread_requeue),
}
