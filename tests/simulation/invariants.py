"""What must hold for every workload, whatever failed; and for ledgers, which count everything that happens to them.

Judged against the disks, which is where the truth is: what clients were told is compared with what is stored at that
moment, and at the end, when everything is healed and quiet, with all that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from actors.decision import Put, Rules
from bus.address import Address
from bus.codec import unpack_row, unpack_versioned
from bus.envelope import Reply
from bus.retention import Retention
from bus.store import answer_key, row_of, sequence_of, state_key, state_prefix
from bus.value import Record, Value
from tests.simulation.history import CallRecord, Fate, History, Violation
from tests.simulation.host import HostLife
from tests.simulation.store import Disk, is_readable

BEFORE_REPLY_US = 5_000_000
"""As bus.limits.before_reply_wait_ms: after that a reply need not wait for other owners any more."""


def demand(holds: bool, rule: str, *seen: object) -> None:
    if not holds:
        raise Violation(f"{rule}: " + "; ".join(item if isinstance(item, str) else repr(item) for item in seen))


class Disks:
    """All shards' disks, read by owner."""

    def __init__(self, disks: Sequence[Disk]) -> None:
        self.disks = disks

    def of(self, owner: Address) -> Disk:
        return self.disks[owner.shard(len(self.disks))]

    def row(self, owner: Address, row: str) -> Value:
        """None when there is none, or when it is torn."""
        stored = self.of(owner).content.get(state_key(owner, row))
        return None if stored is None or not is_readable(stored) else unpack_row(stored)

    def rows(self, owner: Address, start: str = "") -> dict[str, Value]:
        found = self.of(owner).content.scan(state_prefix(owner) + start.encode())
        return {row_of(key): unpack_versioned(value)[1] for key, value in found if is_readable(value)}

    def owners(self, kind: str) -> list[Address]:
        found: dict[str, None] = {}
        for disk in self.disks:
            for key, _ in disk.content.scan(b"s" + kind.encode() + b"/"):
                found[key[1:].split(b"\x00", 1)[0].decode()] = None
        return [Address.parse(name) for name in found]

    @property
    def torn_owners(self) -> set[Address]:
        keys = (key for disk in self.disks for key in disk.torn)
        return {Address.parse(key[1:].split(b"\x00", 1)[0].decode()) for key in keys if key[:1] == b"s"}


class Judge(Protocol):
    """What a workload knows about right and wrong."""

    def began(self, record: CallRecord) -> None: ...

    def had_effects(self, record: CallRecord) -> bool:
        """Whether an answered call must have had effects, by what it was answered."""
        ...

    def checked(self, record: CallRecord, reply: Reply, now_us: int) -> None:
        """A reply has come. Raises Violation."""
        ...

    def at_end(self, history: History) -> None:
        """Everything is healed and quiet. Raises Violation."""
        ...


def same_answer(record: CallRecord, reply: Reply, had_effects: Callable[[CallRecord], bool]) -> None:
    """A repeat hears the first answer (common 8.1)."""
    is_forgotten = reply.error is not None and reply.error["code"] == "outcome_unknown"
    if record.fate is Fate.ANSWERED and record.ok is not None and had_effects(record) and not is_forgotten:
        demand(record.reply == reply, "a repeat hears the first answer", record.describe(), reply)


def journals_are_whole(disks: Disks) -> None:
    for disk in disks.disks:
        numbers = [sequence_of(key) for key, _ in disk.content.scan(b"j")]
        demand(numbers == list(range(1, len(numbers) + 1)), "the journal has no gaps", disk.name, numbers)


_TOLD: Final = (b"member/", b"gone/")
"""Timers by which an owner that could not decide is told again that an agent is gone."""


def timers_left(disks: Disks) -> list[bytes]:
    """Those of owners that can be read: what is damaged hears of none until it is mended, and is told until then."""
    torn = {str(owner).encode() for owner in disks.torn_owners}
    keys = [key for disk in disks.disks for key, _ in disk.content.scan(b"t")]
    parts = {key: key[9:].split(b"\x00", 1) for key in keys}
    return [key for key, (owner, name) in parts.items() if owner not in torn and not (torn and name.startswith(_TOLD))]


def timers_are_over(disks: Disks) -> None:
    left = timers_left(disks)
    demand(not left, "no timer is left behind", left)


def outboxes_are_empty(disks: Disks) -> None:
    for disk in disks.disks:
        demand(disk.content.scan(b"o") == [], "outboxes drain", disk.name)


def answers_are_kept(disks: Disks, history: History, had_effects: Callable[[CallRecord], bool]) -> None:
    """Acknowledged implies present: the answer of a call with effects is stored, as it was told."""
    for record in history.calls:
        if record.fate is not Fate.ANSWERED or record.ok is None or not had_effects(record):
            continue
        disk = disks.of(record.operation.to)
        stored = disk.content.get(answer_key(record.id))
        if stored is None and record.id <= Retention(disk.content).floor:
            continue  # so old that its answer is not kept any more, and a repeat is refused as unknown
        demand(stored is not None, "acknowledged implies present", record.describe())
        assert stored is not None
        demand(unpack_row(stored) == {"ok": record.ok}, "acknowledged implies present", record.describe())


def lives_equal_reloads(lives: Iterable[HostLife], disks: Disks, roster: Mapping[str, Rules[Any]]) -> None:
    """What an owner has in memory is what its rows alone would build."""
    for life in lives:
        for address, owner in life.running.host._owners.items():
            if owner.state is None or not owner.is_whole or owner.is_spoiled or address in disks.torn_owners:
                continue
            rules = roster[address.kind]
            state = rules.new_state()
            for row, value in disks.rows(address).items():
                if not row.startswith("~"):  # the host's own, about its owner
                    rules.apply(state, Put(row, value))
            demand(state == owner.state, "an owner's live state is what a reload builds", str(address))


class LedgerJudge:
    """Judges runs of ledgers."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self._told: dict[Address, int] = {}
        """The highest total of an owner that any client was told."""
        self._total_of: dict[tuple[Address, int], str] = {}

    def began(self, record: CallRecord) -> None:
        record.floor = self._told.get(record.operation.to, 0)

    def had_effects(self, record: CallRecord) -> bool:
        return record.operation.has_effects

    def checked(self, record: CallRecord, reply: Reply, now_us: int) -> None:
        same_answer(record, reply, self.had_effects)
        if reply.ok is None:
            return
        to, verb = record.operation.to, record.operation.verb
        if to in self._disks.torn_owners:
            return
        if verb in ("add", "read", "glance"):
            self._check_total(record, reply.ok["total"])
        if record.operation.has_effects and verb != "half":
            effect = self._disks.row(to, f"effect/{record.id}")
            demand(effect == 1, "acknowledged implies durable, once", record.describe(), reply, effect)
        if verb == "give" and record.operation.body["wait"] and now_us - record.begun_us < BEFORE_REPLY_US:
            receiver = Address.parse(str(record.operation.body["to"]))
            got, last = self._number(receiver, f"got/{_dotted(to)}"), reply.ok["last"]
            assert isinstance(last, int)
            if receiver not in self._disks.torn_owners:
                demand(got >= last, "before_reply is waited for", record.describe(), f"got {got}")

    def _check_total(self, record: CallRecord, total: Value) -> None:
        to = record.operation.to
        assert isinstance(total, int)
        if not record.operation.call_id:  # which may have been decided long before anybody asked for its answer
            demand(total >= record.floor, "no reply shows less than was told before", record.describe(), record.floor)
        stored = self._number(to, "head")
        demand(stored >= total, "no reply shows what is not stored", record.describe(), f"shows {total} of {stored}")
        self._told[to] = max(total, self._told.get(to, 0))
        if record.operation.verb == "add":
            first = self._total_of.setdefault((to, total), record.id)
            demand(first == record.id, "each addition has its own total", record.describe(), first)

    def at_end(self, history: History) -> None:
        torn = self._disks.torn_owners
        for record in history.calls:
            operation = record.operation
            if operation.has_effects and operation.to.kind == "ledger" and operation.to not in torn:
                self._check_effect(record)
        for owner in self._disks.owners("ledger"):
            if owner not in torn:
                self._check_owner(owner, torn)
        self._check_dead_letters()
        _calls_are_in_order(history)

    def _check_effect(self, record: CallRecord) -> None:
        effect = self._number(record.operation.to, f"effect/{record.id}")
        match record.fate:
            case Fate.ANSWERED if record.ok is not None:
                demand(effect == 1, "one effect a call", record.describe(), effect)
            case Fate.UNKNOWN:
                demand(effect <= 1, "one effect a call", record.describe(), effect)
            case _:
                demand(effect == 0, "a refused call changes nothing", record.describe(), effect)

    def _check_owner(self, owner: Address, torn: set[Address]) -> None:
        rows = self._disks.rows(owner)
        wrong = [row for row in rows if row.startswith("wrong/")]
        if not torn:
            demand(not wrong, "messages arrive in order, each once", str(owner), wrong)
        open_ = [row for row in rows if row.startswith("asked/")]
        demand(bool(torn) or not open_, "open calls are answered", str(owner), open_)
        for row, number in rows.items():
            if row.startswith("set/"):
                rang = self._number(owner, f"rang/{row.removeprefix('set/')}/{number!r}")
                demand(rang == 1, "a timer rings once", f"{owner} {row}", number, rang)
            if row.startswith("rang/"):
                demand(number == 1, "a timer rings once", f"{owner} {row}", number)
            if row.startswith("gave/"):
                receiver = Address.parse(row.removeprefix("gave/").replace(".", "/"))
                got = self._number(receiver, f"got/{_dotted(owner)}")
                demand(bool(torn) or got == number, "nothing is lost between owners", f"{owner} {row}", number, got)
        arrived = sum(int(str(number)) for row, number in rows.items() if row.startswith("got/"))
        added = self._number(owner, "head") - arrived
        effects = sum(row.startswith("effect/") for row in rows)
        demand(0 <= added <= effects, "the total is what was added and what arrived", str(owner), added, effects)

    def _check_dead_letters(self) -> None:
        letters = [unpack_row(value) for disk in self._disks.disks for _, value in disk.content.scan(b"d")]
        if not self._disks.torn_owners:
            hopeless = [letter for letter in letters if isinstance(letter, dict) and _is_hopeless(letter)]
            demand(letters == hopeless, "only what nobody can decide becomes a dead letter", letters)

    def _number(self, owner: Address, row: str) -> int:
        value = self._disks.row(owner, row)
        return value if isinstance(value, int) else 0


def _is_hopeless(letter: Record) -> bool:
    body = letter["body"]
    assert isinstance(body, dict)
    return letter["verb"] == "poisoned" or (letter["verb"] == "call_admitted" and body["tool"] == "fail")


def _calls_are_in_order(history: History) -> None:
    """Order is promised per link: what one client sent once each to one owner was decided in the order of sending."""
    last: dict[tuple[int, bool, Address], tuple[int, str]] = {}
    for record in history.calls:
        if record.operation.verb != "add" or record.copies != 1 or record.ok is None or record.operation.call_id:
            continue
        if record.operation.via is not None:  # admissions are answered in any order
            continue
        operation, total = record.operation, record.ok["total"]
        place = (record.client, operation.is_gateways, operation.to)
        assert isinstance(total, int)
        before = last.get(place, (0, ""))
        demand(total > before[0], "calls of one link are decided in order", record.describe(), before)
        last[place] = (total, record.id)


def _dotted(owner: Address) -> str:
    return str(owner).replace("/", ".")
