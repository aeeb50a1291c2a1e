"""The verbs behind `nexus-bus thread | redeliver | purge | pending --idle`, and what of the mesh needs the person.

What an operator sees of a thread does not depend on any mailbox being well: its rows come from the stores, its events
from the journals, and what its mailbox says of it now stands beside them, or why it says nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, cast

from pydantic import Field

from bus import address
from bus.address import Address
from bus.limits import (
    deliveries_idle_listed_max,
    mesh_needs_mailboxes_max,
    page_items_max,
    waiting_long_ms,
)
from bus.value import Record, Value, records
from nexus.gateway.person_bus import row_of
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, text
from nexus.gateway.person_table import Nothing, Run, Typed, checked
from nexus.gateway.person_threads import (
    ROWS_OF_THREAD,
    MailboxReads,
    ThreadNamed,
    history_of,
    places_of,
    recipient_of,
    told_of_thread,
)
from tools.base import Model
from tools.errors import Code, Refusal
from tools.task import ThreadState
from tools.times import milliseconds_of

_OPEN: Final[tuple[ThreadState, ...]] = ("queued", "delivered", "working")
_NOTHING_OF_IT: Final = Refusal(
    Code.NOT_FOUND,
    "No mailbox keeps a thread of that id, and the event log has nothing of it. `nexus thread list` shows those that "
    "are kept.",
)
_COUNTS_ALONE: Final[Record] = {"limit": 1}
"""Of a peek: one task at least comes along."""


class Idle(Model):
    idleMs: Annotated[int, Field(ge=0, le=1 << 53)]
    count: Annotated[int, Field(ge=1, le=deliveries_idle_listed_max)] = page_items_max


class Purge(Model):
    agent: Typed
    workspace: Typed | None = None
    confirmed: bool = False
    """Without it nothing is done, and the answer says what would be."""


class Removal(Model):
    agent: Typed
    workspace: Typed | None = None


async def thread(owners: Owners, asked: ThreadNamed) -> Record:
    """Owner, shard, rows, lease, attempts and events of one thread, whatever state its mailbox is in."""
    places, events = await asyncio.gather(places_of(owners, asked.threadId), history_of(owners, asked.threadId))
    holders = list(dict.fromkeys([*(to for _, to in places), *_told_by(events)]))
    rows = [row for to in holders for row in await _rows_of(owners, to, asked.threadId)]
    if not rows and not events:
        raise VerbRefused.by(_NOTHING_OF_IT)
    owner = next((to for role, to in places if role == "recipient"), None)
    answer: Record = {"threadId": asked.threadId, "owner": None, "shard": None, "now": None}
    if owner is not None:
        answer |= {"owner": str(owner), "shard": owner.shard(owners.shards)}
        answer["now"] = await _now(owners, owner, asked.threadId)
    return {**answer, "rows": cast("list[Value]", rows), "events": cast("list[Value]", events)}


async def redeliver(owners: Owners, asked: ThreadNamed) -> Record:
    """The lease is taken, and the task is offered again in its old place; no attempt is used up."""
    to = await recipient_of(owners, asked.threadId)
    return await told_of_thread(owners, to, "mail_redeliver", asked.threadId, reads=False)


async def purge(owners: Owners, asked: Purge) -> Record:
    """Every thread that waits in the mailbox ends cancelled; what is leased or at work goes on."""
    meant = (await owners.directory()).agent(asked.agent, asked.workspace)
    to = address.mailbox(meant.id)
    named: Record = {"agentId": meant.id, "name": meant.name, "mailbox": str(to)}
    if not asked.confirmed:
        counts = await owners.read(to, "mailbox_peek", _COUNTS_ALONE)
        return {**named, "wouldCancel": counts.get("leasable"), "leased": counts.get("leased")}
    cancelled = 0
    while True:
        step = await owners.ask(to, "mail_purge", {})
        ended = number(step.get("cancelled"))
        cancelled += ended
        if not ended or not number(step.get("remaining")):
            return {**named, "cancelled": cancelled, "leased": step.get("leased")}


async def removal(owners: Owners, asked: Removal) -> Record:
    """What would end if the agent were removed: its open tasks, the newest first, and its roles on canvases. What
    cannot be read must not keep an agent from being removed, so that is told instead."""
    directory = await owners.directory()
    meant = directory.agent(asked.agent, asked.workspace)
    named: Record = {"agentId": meant.id, "name": meant.name, **await _roles_of(owners, directory, meant.id)}
    body: Record = {"states": [*_OPEN], "limit": page_items_max}
    try:
        page = await owners.read(address.mailbox(meant.id), "threads_page", body)
    except VerbRefused as refused:
        if refused.error.get("code") != Code.NOT_FOUND.value:
            return {**named, "threads": [], "truncated": False, "unread": refused.error.get("code")}
        page = {}
    return {**named, "threads": page.get("threads") or [], "truncated": page.get("nextBefore") is not None}


async def _roles_of(owners: Owners, directory: Directory, agent_id: str) -> Record:
    """`canvases`: on how many it has a role, `ownedAlone`: of how many it alone is owner; in every workspace, for one
    that inherits has been in several. `canvasesUnread` instead, if they cannot be read."""
    places = [address.workspace(text(one, "workspaceId")) for one in directory.workspaces]
    try:
        found = await owners.read_each(places, "roles_of", {"agentId": agent_id})
    except VerbRefused as refused:
        return {"canvasesUnread": refused.error.get("code")}
    told = [one for one in found if one is not None]
    return {name: sum(number(one[name]) for one in told) for name in ("canvases", "ownedAlone")}


async def idle(owners: Owners, asked: Idle) -> Record:
    """Leased deliveries of which nothing was heard for that long, by mailbox, longest first in each."""
    directory = await owners.directory()
    places = [address.mailbox(text(one, "agentId")) for one in directory.agents]
    reads = MailboxReads(owners)
    answers = await reads.read_each(places, "mail_pending", {"idleMs": asked.idleMs, "limit": asked.count})
    found: list[Value] = []
    truncated = False
    for to, answer in answers:
        truncated = truncated or answer.get("truncated") is True
        found += [{"mailbox": str(to), **one} for one in records(answer, "pending")]
    return {
        "time": owners.clock.now_ms(),
        "deliveries": found[: asked.count],
        "truncated": truncated or len(found) > asked.count,
        "unread": reads.unread,
    }


async def needs(owners: Owners, _: Nothing) -> Record:
    """What of the mesh somebody should look at: agents that are paused, threads that were given up and can be queued
    again, mailboxes in which a task has waited for long."""
    directory = await owners.directory()
    places = [address.mailbox(text(one, "agentId")) for one in directory.agents[:mesh_needs_mailboxes_max]]
    reads = MailboxReads(owners)
    answers = await reads.read_each(places, "mailbox_peek", _COUNTS_ALONE)
    now_ms = owners.clock.now_ms()
    paused: list[Value] = []
    exhausted: list[Value] = []
    waiting_long: list[Value] = []
    for to, counts in answers:
        named: Record = {"agentId": to.id, "name": directory.agent_name(to.id), "mailbox": str(to)}
        waiting, oldest = counts.get("queued"), text(counts, "oldestQueuedAt")
        if counts.get("isPaused") is True:
            paused.append({**named, "waiting": waiting})
        if number(counts.get("deadLetters")):
            exhausted.append({**named, "threads": counts.get("deadLetters")})
        if oldest and now_ms - milliseconds_of(oldest) >= waiting_long_ms:
            waiting_long.append({**named, "waiting": waiting, "oldestQueuedAt": oldest})
    return {
        "time": now_ms,
        "paused": paused,
        "exhausted": exhausted,
        "waitingLong": waiting_long,
        "waitingLongMs": waiting_long_ms,
        "unread": reads.unread,
        "lookedAt": len(places),
        "truncated": len(places) < len(directory.agents),
    }


def number(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _told_by(events: Sequence[Record]) -> list[Address]:
    """The mailboxes of the agents that the events name: a thread may be forgotten by them and still be in the log."""
    found: dict[Address, None] = {}
    for event in events:
        data = event.get("data")
        for agent_id in (text(data, "from"), text(data, "to")) if isinstance(data, dict) else ():
            if address.is_id(agent_id):
                found[address.mailbox(agent_id)] = None
    return list(found)


async def _rows_of(owners: Owners, to: Address, thread_id: str) -> list[Record]:
    names = [f"{name}/{thread_id}" for rows in ROWS_OF_THREAD.values() for name in rows]
    found = await asyncio.gather(*(row_of(owners, to, name) for name in names))
    return [{"owner": str(to), "shard": to.shard(owners.shards), **row} for row in found if row is not None]


async def _now(owners: Owners, to: Address, thread_id: str) -> Record:
    """What the mailbox itself says of the thread by this moment: a lease that has run out is none."""
    try:
        known = await owners.read(to, "thread_get", {"threadId": thread_id})
    except VerbRefused as refused:
        return {"unread": text(refused.error, "code")}
    received = known.get("received")
    # The task is among the rows.
    return {name: value for name, value in received.items() if name != "task"} if isinstance(received, dict) else {}


VERBS: Final[Mapping[str, Run]] = {
    "bus.thread": checked(ThreadNamed, thread),
    "bus.redeliver": checked(ThreadNamed, redeliver),
    "bus.purge": checked(Purge, purge),
    "bus.removal": checked(Removal, removal),
    "bus.pending_idle": checked(Idle, idle),
    "bus.needs": checked(Nothing, needs),
}
