"""The journal: commits of owners in the order they were handed in, grouped, each group one durable transaction.

Invariants:
- Commits become durable in the order of `submit`, whole or not at all; `released` is called only after the flush, so
  nothing leaves a host that is not on disk (ARCHITECTURE: a reply leaves only after the change is on disk).
- A commit without writes waits its turn all the same: it stands for a read that saw what earlier ones wrote.
- Callbacks follow the order of the disk: what is given back because it stands on an older failure hears of it only
  after what was submitted before it, in the same group, is stored and released. A stream that begins anew would
  otherwise give out once more what this very group stores.
- On a full disk agents' commits are given back and the others' written, from the reserve if need be (bus/reserve.py).
  What was decided on top of one that was given back is given back too, whoever's it is, to be decided anew.
- After the disk broke nobody knows what is stored, so nothing is said of that group, neither way, and nothing more is
  written: the host ends, and whoever waits asks the next one.
- After a group failed, every commit of an owner that was decided on top of it is handed back as failed, until the
  owner starts a new incarnation: commits carry the owner's incarnation and an older one is never written. The same
  holds for a stream of parcels and its run: no mark is ever written past a parcel whose effect is not stored.

Who may touch it: `submit` from any thread; the writer alone runs `write_group` and calls back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bus.address import Address
from bus.codec import pack_row
from bus.envelope import Mark, Notice, Parcel, Reply
from bus.hold import Hold, InlineHold
from bus.message_record import message_record
from bus.parcels import parcel_row
from bus.reserve import Reserve, is_refusable
from bus.retention import Retention
from bus.store import Store, StoreBroken, StoreFull, Write, journal_key, mark_key, outbox_key, sequence_of
from bus.value import Record, Value


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
    is_privileged: bool = False
    """Written on a full disk too, from the reserve (bus/reserve.py): no agent's call, but the person's, or what
    follows from a commit that is on disk."""
    released: Callable[[], None] | None = None
    """Runs on the writer's thread once the commit is durable; must be quick and must not raise."""
    failed: Callable[[bool], None] | None = None
    """Runs instead when it was not stored; True when for want of space."""
    credential: str = ""
    """Which of the agent's credentials, when `by` is an agent."""
    chain: tuple[str, ...] = ()
    """The agents whose tasks it was at (security 2.24)."""
    chain_more: int = 0
    """How many more there were."""
    opened: str | None = None
    """The call that its decision left open."""
    answers_added: int = 0
    """How many answer rows are new with this commit (an open call's row is written twice and counts once)."""
    timer: SettledTimer | None = None
    """The due timer whose effect it is."""
    timer_due_ms: int | None = None
    """The earliest timer that it sets."""
    notices: list[Notice] = field(default_factory=list)
    """What gateways that listen are told once the commit is durable; never stored."""
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
        self,
        store: Store,
        shard: int,
        group_done: Callable[[Sequence[Commit]], None],
        broken: Callable[[], None],
        reserve: Reserve | None = None,
    ) -> None:
        """`group_done` hears each durable group, after the commits' own callbacks; `broken` when the disk failed."""
        self._store = store
        self._shard = shard
        self._group_done = group_done
        self._broken = broken
        last = store.last(b"j")
        self._sequence = 0 if last is None else sequence_of(last[0])
        self.retention = Retention(store)
        self.reserve = reserve or Reserve(store)
        self._failed_incarnations: dict[Address, int] = {}
        self._failed_runs: dict[int, int] = {}
        self._is_broken = False

    @property
    def sequence(self) -> int:
        """The highest journal sequence that is durable."""
        return self._sequence

    def write_group(self, commits: Sequence[Commit]) -> None:
        """Store a group and call back. Never raises for what the disk does."""
        if self._is_broken or not commits:
            return
        self.reserve.look(commits)
        given_back: dict[int, bool] = {}
        current = self._without_refused(commits, given_back, agents_too=self.reserve.is_closed)
        try:
            stored = self._store_what_fits(current, given_back)
        except StoreBroken:
            self.break_off()
            return
        for commit in stored:
            if commit.released:
                commit.released()
        if stored:
            self._group_done(stored)
        for commit in commits:
            if commit.failed and id(commit) in given_back:
                commit.failed(given_back[id(commit)])

    def break_off(self) -> None:
        """The writer itself failed: nobody knows what is stored, and nothing more may be written."""
        if not self._is_broken:
            self._is_broken = True
            self._broken()

    def _store_what_fits(self, commits: list[Commit], given_back: dict[int, bool]) -> list[Commit]:
        """The commits that are stored. Raises StoreBroken.

        In three tries: all; without what agents write; that, with the reserve released for it.
        """
        if self._store_group(commits):
            return commits
        now_ms = max(commit.at_ms for commit in commits)
        self.reserve.did_not_fit(now_ms)
        others = self._without_refused(commits, given_back, agents_too=True)
        if len(others) < len(commits) and self._store_group(others):
            return others
        if self.reserve.release(now_ms) and self._store_group(others):
            return others
        for commit in others:
            self._give_back(commit, given_back, is_full=True)
        return []

    def _store_group(self, commits: Sequence[Commit]) -> bool:
        """Whether it did fit. Raises StoreBroken."""
        writes, sequence = self._writes_of(commits)
        try:
            if writes:
                self._store.commit(writes)
        except StoreFull:
            self.retention.undo()
            return False
        self._sequence = sequence
        return True

    def _without_refused(
        self, commits: Sequence[Commit], given_back: dict[int, bool], *, agents_too: bool
    ) -> list[Commit]:
        """What may be written, in order; the rest, and what stands on it, is noted in `given_back`."""
        current: list[Commit] = []
        for commit in commits:
            if self._stands_on_a_failure(commit):
                self._give_back(commit, given_back, is_full=False)
            elif agents_too and is_refusable(commit):
                self._give_back(commit, given_back, is_full=True)
            else:
                current.append(commit)
        return current

    def _give_back(self, commit: Commit, given_back: dict[int, bool], *, is_full: bool) -> None:
        self._remember_failure(commit)
        given_back[id(commit)] = is_full

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
    if commit.chain:
        record["chain"] = [*commit.chain]
    if commit.chain_more:
        record["chainMore"] = commit.chain_more
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
