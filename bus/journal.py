"""The journal: commits of owners in the order they were handed in, grouped, each group one durable transaction.

Invariants:
- Commits become durable in the order of `submit`, whole or not at all; `released` is called only after the flush, so
  nothing leaves a host that is not on disk (ARCHITECTURE: a reply leaves only after the change is on disk).
- A commit without writes waits its turn all the same: it stands for a read that saw what earlier ones wrote.
- Callbacks follow the order of the disk: what is given back because it stands on an older failure hears of it only
  after what was submitted before it, in the same group, is stored and released. A stream that begins anew would
  otherwise give out once more what this very group stores.
- After the disk broke nobody knows what is stored, so nothing is said of that group, neither way, and nothing more is
  written: the host ends, and whoever waits asks the next one.
- After a group failed, every commit of an owner that was decided on top of it is handed back as failed, until the
  owner starts a new incarnation: commits carry the owner's incarnation and an older one is never written. The same
  holds for a stream of parcels and its run: no mark is ever written past a parcel whose effect is not stored.

Who may touch it: `submit` from any thread; the writer alone runs `write_group` and calls back.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import structlog

from bus.address import Address
from bus.codec import pack_row
from bus.envelope import Mark, Parcel, Reply
from bus.hold import Hold, InlineHold, ThreadHold
from bus.limits import commit_batch_max
from bus.message_record import message_record
from bus.parcels import parcel_row
from bus.retention import Retention
from bus.store import Store, StoreBroken, StoreFull, Write, journal_key, mark_key, outbox_key, sequence_of
from bus.value import Record, Value

_log = structlog.get_logger("journal")


@message_record
class Outgoing:
    """A message that leaves with a commit; its mark is given by the commit's sequence."""

    destination: int
    to: Address
    verb: str
    body: Record
    before_reply: bool
    sender: Address | None = None
    """Another than the commit's owner: of a dead letter that is put back."""
    call_id: str | None = None
    """The call that it belongs to, when that is another than the commit's: one that an earlier decision left open."""


@message_record
class Handled:
    """The parcel that a commit is the effect of: its source, mark and the run of the stream that brought it."""

    source: int
    mark: Mark
    run: int


class SettledTimer(Protocol):
    """Which timer of the commit's owner was due."""

    @property
    def name(self) -> str: ...

    @property
    def due_ms(self) -> int: ...


@dataclass(slots=True)
class Commit:
    """What one decision makes durable. `rows` are encoded already, so that a bad value cannot fail a group."""

    owner: Address
    incarnation: int
    call_id: str
    by: str
    at_ms: int
    rows: list[Write] = field(default_factory=list)
    events: list[tuple[str, Record]] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    handled: Handled | None = None
    released: Callable[[], None] | None = None
    """Runs on the writer's thread once the commit is durable; must be quick and must not raise."""
    failed: Callable[[bool], None] | None = None
    """Runs instead when it was not stored; True when for want of space."""
    credential: str = ""
    """Which of the agent's credentials, when `by` is an agent."""
    opened: str | None = None
    """The call that its decision left open."""
    answers_added: int = 0
    """How many answer rows are new with this commit (an open call's row is written twice and counts once)."""
    timer: SettledTimer | None = None
    """The due timer whose effect it is."""
    timer_due_ms: int | None = None
    """The earliest timer that it sets."""
    replies: list[Reply] = field(default_factory=list)
    """What callers may hear once the commit is durable: its own answer, and those of calls that it closes."""
    record: bytes | None = None
    """The journal's record, when whoever made the commit encoded it already; else the writer does."""
    sequence: int = 0
    """Given when written; 0 for a commit that writes no journal record."""
    parcels: list[Parcel] = field(default_factory=list)
    """What leaves, made when written."""

    @property
    def has_record(self) -> bool:
        """Whether it leaves one in the journal."""
        return bool(self.events or self.outgoing)

    @property
    def writes_anything(self) -> bool:
        return bool(self.rows or self.events or self.outgoing or self.handled)


class Journal(Protocol):
    """Owners' way to the disk. Implementations differ only in who runs the writer."""

    def submit(self, commit: Commit) -> None: ...

    def flush(self) -> None:
        """Returns when everything submitted before is stored or given back."""
        ...

    def hold(self, held: Callable[[], None]) -> Hold:
        """Once everything submitted before is stored, call `held` on the writer's thread and write nothing until the
        hold is released. `held` must not raise."""
        ...

    @property
    def waiting(self) -> int:
        """About how many commits wait for the writer."""
        ...


class GroupWriter:
    """Turns groups of commits into transactions. Used by one thread at a time: the writer's."""

    def __init__(
        self, store: Store, shard: int, group_done: Callable[[Sequence[Commit]], None], broken: Callable[[], None]
    ) -> None:
        """`group_done` hears each durable group, after the commits' own callbacks; `broken` when the disk failed."""
        self._store = store
        self._shard = shard
        self._group_done = group_done
        self._broken = broken
        last = store.last(b"j")
        self._sequence = 0 if last is None else sequence_of(last[0])
        self.retention = Retention(store)
        self._failed_incarnations: dict[Address, int] = {}
        self._failed_runs: dict[int, int] = {}
        self._is_broken = False

    @property
    def sequence(self) -> int:
        """The highest journal sequence that is durable."""
        return self._sequence

    def write_group(self, commits: Sequence[Commit]) -> None:
        """Store a group and call back. Never raises for what the disk does."""
        if self._is_broken:
            return
        current: list[Commit] = []
        refused: list[Commit] = []
        for commit in commits:
            if self._stands_on_a_failure(commit):
                self._remember_failure(commit)
                refused.append(commit)
            else:
                current.append(commit)
        if self._store_group(current):
            for commit in current:
                if commit.released:
                    commit.released()
            self._group_done(current)
        for commit in refused:
            if commit.failed:
                commit.failed(False)

    def break_off(self) -> None:
        """The writer itself failed: nobody knows what is stored, and nothing more may be written."""
        if not self._is_broken:
            self._is_broken = True
            self._broken()

    def _store_group(self, commits: Sequence[Commit]) -> bool:
        writes, sequence = self._writes_of(commits)
        try:
            if writes:
                self._store.commit(writes)
        except StoreFull:
            self.retention.undo()
            for commit in commits:
                self._remember_failure(commit)
                if commit.failed:
                    commit.failed(True)
            return False
        except StoreBroken:
            self.break_off()
            return False
        self._sequence = sequence
        return True

    def _stands_on_a_failure(self, commit: Commit) -> bool:
        if commit.incarnation <= self._failed_incarnations.get(commit.owner, -1):
            return True
        handled = commit.handled
        return handled is not None and handled.run <= self._failed_runs.get(handled.source, -1)

    def _remember_failure(self, commit: Commit) -> None:
        failed = self._failed_incarnations
        failed[commit.owner] = max(commit.incarnation, failed.get(commit.owner, -1))
        if commit.handled is not None:
            source, run = commit.handled.source, commit.handled.run
            self._failed_runs[source] = max(run, self._failed_runs.get(source, -1))

    def _writes_of(self, commits: Sequence[Commit]) -> tuple[list[Write], int]:
        writes: list[Write] = []
        sequence = self._sequence
        marks: dict[int, Mark] = {}
        for commit in commits:
            writes.extend(commit.rows)
            if commit.handled is not None:
                marks[commit.handled.source] = commit.handled.mark
                if commit.handled.source == self._shard:
                    writes.append((outbox_key(self._shard, commit.handled.mark), None))
            if commit.has_record:
                sequence += 1
                commit.sequence = sequence
                writes.append((journal_key(sequence), commit.record or journal_record(commit)))
            if commit.outgoing:
                self._address_parcels(commit)
                writes.extend(
                    (outbox_key(out.destination, parcel.mark), pack_row(parcel_row(parcel, out.before_reply)))
                    for out, parcel in zip(commit.outgoing, commit.parcels, strict=True)
                )
        writes.extend((mark_key(source), pack_row([mark.sequence, mark.index])) for source, mark in marks.items())
        if writes:
            added = sum(commit.answers_added for commit in commits)
            now_ms = max(commit.at_ms for commit in commits)
            writes += self.retention.writes(added, sequence, now_ms)
        return writes, sequence

    def _address_parcels(self, commit: Commit) -> None:
        commit.parcels = [
            Parcel(
                source=self._shard,
                mark=Mark(commit.sequence, index),
                sender=out.sender or commit.owner,
                to=out.to,
                verb=out.verb,
                body=out.body,
                message_id=f"{self._shard}:{commit.sequence}:{index}",
                origin_call=out.call_id or commit.call_id,
            )
            for index, out in enumerate(commit.outgoing)
        ]


def journal_record(commit: Commit) -> bytes:
    """What the journal keeps of a commit, as a row. Raises Unencodable."""
    events: list[Value] = [[kind, data] for kind, data in commit.events]
    record: Record = {
        "owner": str(commit.owner),
        "call": commit.call_id,
        "by": commit.by,
        "at": commit.at_ms,
        "events": events,
    }
    if commit.credential:
        record["credential"] = commit.credential
    # What ties the messages of one call together (`nexus-bus trace`).
    if commit.outgoing:
        record["sent"] = [[str(out.to), out.verb] for out in commit.outgoing]
    if commit.handled is not None:
        record["message"] = [commit.handled.source, commit.handled.mark.sequence, commit.handled.mark.index]
    return pack_row(record)


class InlineJournal:
    """Writes each commit at once, in the caller's thread. For tests and the simulation."""

    def __init__(self, writer: GroupWriter) -> None:
        self._writer = writer
        self._held_back: list[Commit] | None = None

    def submit(self, commit: Commit) -> None:
        if self._held_back is not None:
            self._held_back.append(commit)
        else:
            self._writer.write_group([commit])

    def flush(self) -> None:
        """Nothing waits here, unless a hold keeps it back."""

    def hold(self, held: Callable[[], None]) -> Hold:
        self._held_back = []
        held()
        return InlineHold(self._go_on)

    @property
    def waiting(self) -> int:
        return len(self._held_back or ())

    def _go_on(self) -> None:
        commits, self._held_back = self._held_back or [], None
        for commit in commits:
            self._writer.write_group([commit])


class _Stop:
    """Queued once, last: the writer ends when it gets there."""


_STOP: Final = _Stop()
_Item: TypeAlias = Commit | threading.Event | ThreadHold | _Stop


class ThreadJournal:
    """One writer thread: while it flushes a group, the next one gathers."""

    def __init__(self, writer: GroupWriter) -> None:
        self._writer = writer
        self._queue: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self._thread.start()

    def submit(self, commit: Commit) -> None:
        self._queue.put(commit)

    def flush(self) -> None:
        reached = threading.Event()
        self._queue.put(reached)
        reached.wait()

    def hold(self, held: Callable[[], None]) -> Hold:
        hold = ThreadHold(held)
        self._queue.put(hold)
        return hold

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def close(self) -> None:
        """Write what was submitted before, then end the thread."""
        self._queue.put(_STOP)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._write_until_stopped()
        except BaseException:
            _log.exception("writer_failed")
            self._writer.break_off()
            raise

    def _write_until_stopped(self) -> None:
        while True:
            group: list[Commit] = []
            after = self._gather(group)
            if group:
                self._writer.write_group(group)
            if isinstance(after, threading.Event):
                after.set()
            elif isinstance(after, ThreadHold):
                after.stand()
            elif isinstance(after, _Stop):
                return

    def _gather(self, group: list[Commit]) -> threading.Event | ThreadHold | _Stop | None:
        """Fill `group` with what waits; answers what stood behind it, if not a commit."""
        item = self._queue.get()
        while True:
            if not isinstance(item, Commit):
                return item
            group.append(item)
            if len(group) >= commit_batch_max:
                return None
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return None
