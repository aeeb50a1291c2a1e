"""Cold rows: stored with an owner, never loaded, and read for one decision as they are then (actors/cold.py)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.cold import UncommittedCold, read
from actors.decision import (
    ColdRows,
    Context,
    Decision,
    Delete,
    Message,
    PrincipalKind,
    Put,
    RowEffect,
    Rules,
    Verb,
)
from actors.owner import Owner
from actors.pool import InlineExecutor, ThreadPool
from bus import limits
from bus.address import Address
from bus.clock import SystemClock
from bus.codec import pack_row, unpack_row
from bus.journal_thread import ThreadJournal
from bus.limits import load_rows_at_once_max
from bus.store import StoreFull, Write, state_key
from bus.store_memory import MemoryStore
from bus.value import Record, Value
from tests.support.hosts import Hosts
from tests.support.loop import until

DIARY: Final = Address("diary", "-", "one")
_ANY: Final = frozenset(PrincipalKind)
_DAY: Final = "day/"


def _write(state: dict[str, Value], message: Message, context: Context) -> Decision:
    day = str(message.body["day"])
    return Decision({}, (Put(_DAY + day, message.body.get("words")), Put("last", day)))


def _erase(state: dict[str, Value], message: Message, context: Context) -> Decision:
    return Decision({}, (Delete(_DAY + str(message.body["day"])), Put("last", None)))


def _wanted(message: Message) -> ColdRows | None:
    before, limit = message.body.get("before"), message.body.get("limit", 100)
    assert isinstance(limit, int)
    return ColdRows(_DAY, None if before is None else _DAY + str(before), limit)


def _read(state: dict[str, Value], message: Message, context: Context) -> Decision:
    days: list[Value] = [[row.row.removeprefix(_DAY), row.value] for row in context.cold]
    names: list[Value] = [*sorted(state)]
    return Decision({"days": days, "state": names})


def _keep(state: dict[str, Value], message: Message, context: Context) -> Decision:
    """A write that depends on what it reads."""
    return Decision({}, (Put(f"sum/{len(context.cold)}", True),))


class DiaryRules(Rules[dict[str, Value]]):
    kind = "diary"
    cold = (_DAY,)
    verbs: Mapping[str, Verb[dict[str, Value]]] = {
        "write": Verb(_write, _ANY),
        "erase": Verb(_erase, _ANY),
        "read": Verb(_read, _ANY, cold_rows=_wanted),
        "glance": Verb(_read, _ANY, cold_rows=_wanted, head_only=True),
        "keep": Verb(_keep, _ANY, cold_rows=_wanted),
        "other": Verb(lambda state, message, context: Decision({"cold": len(context.cold)}), _ANY),
    }

    def new_state(self) -> dict[str, Value]:
        return {}

    def apply(self, state: dict[str, Value], effect: RowEffect) -> None:
        assert not effect.row.startswith(_DAY), "a cold row is no part of the state"
        if isinstance(effect, Put):
            state[effect.row] = effect.value
        else:
            state.pop(effect.row, None)


class HeldStore(MemoryStore):
    """Once told, holds each write of the diary until it may end, and then stores or refuses it."""

    def __init__(self) -> None:
        super().__init__()
        self.holds = False
        self.refuses = False
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def commit(self, writes: Sequence[Write]) -> None:
        if self.holds and any(key.startswith(state_key(DIARY, "")) for key, _ in writes):
            self.has_begun.set()
            assert self.may_end.wait(10)
            if self.refuses:
                self.holds = False
                raise StoreFull
        super().commit(writes)


async def days(hosts: Hosts, **body: Value) -> list[Value]:
    listed = (await hosts.ok(DIARY, "read", body))["days"]
    assert isinstance(listed, list)
    return listed


def inline_hosts(store: MemoryStore | None = None) -> Hosts:
    return Hosts(roster={"diary": DiaryRules()}, stores=[store or MemoryStore()])


def test_a_decision_is_handed_the_rows_it_asks_for_highest_first_and_no_other_is() -> None:
    async def body() -> None:
        hosts = inline_hosts()
        for day in range(5):
            await hosts.ok(DIARY, "write", {"day": f"{day}", "words": f"w{day}"})
        assert await days(hosts, limit=2) == [["4", "w4"], ["3", "w3"]]
        assert await days(hosts, before="2") == [["1", "w1"], ["0", "w0"]]
        assert await days(hosts, before="0") == []
        assert await hosts.ok(DIARY, "other") == {"cold": 0}
        assert (await hosts.ok(DIARY, "read"))["state"] == ["last"]

    asyncio.run(body())


def test_cold_rows_are_there_after_a_restart_and_gone_when_they_were_deleted() -> None:
    async def body() -> None:
        hosts = inline_hosts()
        for day in ("1", "2", "3"):
            await hosts.ok(DIARY, "write", {"day": day, "words": day})
        await hosts.ok(DIARY, "erase", {"day": "2"})
        assert await days(hosts) == [["3", "3"], ["1", "1"]]
        hosts.restart(0)
        assert (await hosts.ok(DIARY, "glance"))["days"] == [["3", "3"], ["1", "1"]]
        assert await days(hosts) == [["3", "3"], ["1", "1"]]

    asyncio.run(body())


def test_loading_reads_none_of_thousands_of_cold_rows() -> None:
    """ARCHITECTURE, The store; canvas 5: passivated canvases cost nothing, whatever their past."""
    read_keys: list[bytes] = []

    class Watched(MemoryStore):
        def scan(
            self, prefix: bytes, after: bytes | None = None, limit: int | None = None, before: bytes | None = None
        ) -> list[tuple[bytes, bytes]]:
            found = super().scan(prefix, after, limit, before)
            read_keys.extend(key for key, _ in found)
            return found

    store = Watched()
    names = ["apart", *(f"{_DAY}{number:06d}" for number in range(5_000)), *(f"z/{n:06d}" for n in range(600))]
    store.commit([(state_key(DIARY, name), pack_row(name)) for name in names])
    owner = Owner(DIARY, DiaryRules(), 1, InlineExecutor(), lambda one, delivery: None)
    steps = 1
    while not owner.load_some(store):
        steps += 1
    assert owner.state is not None
    assert (len(owner.state), steps) == (601, 601 // load_rows_at_once_max + 1)
    assert len(read_keys) == 601


def test_a_decision_sees_cold_rows_that_are_decided_and_not_on_disk_yet() -> None:
    """common 8.1: and it is answered only when they are."""

    async def body() -> None:
        store, pool = HeldStore(), ThreadPool(2)
        hosts = Hosts(
            roster={"diary": DiaryRules()},
            stores=[store],
            clock=SystemClock(),
            executor=pool,
            make_journal=ThreadJournal,
        )
        for day in ("1", "3", "5"):
            await hosts.ok(DIARY, "write", {"day": day, "words": "old"})
        store.holds = True
        calls: list[tuple[str, Record]] = [
            ("write", {"day": "4", "words": "new"}),
            ("write", {"day": "3", "words": "new"}),
            ("erase", {"day": "5"}),
            ("write", {"day": "6", "words": "new"}),
        ]
        writes = [asyncio.ensure_future(hosts.ok(DIARY, verb, said)) for verb, said in calls]
        await until(store.has_begun.is_set)
        owner = hosts.running[0].host._owners[DIARY]
        await until(lambda: owner.submitted - owner.settled == 4)
        reading = [asyncio.ensure_future(days(hosts)), asyncio.ensure_future(days(hosts, before="6", limit=2))]
        await until(lambda: owner.submitted - owner.settled == 6)
        assert not any(one.done() for one in reading)
        store.may_end.set()
        await asyncio.gather(*writes)
        assert await reading[0] == [["6", "new"], ["4", "new"], ["3", "new"], ["1", "old"]]
        assert await reading[1] == [["4", "new"], ["3", "new"]]
        assert await days(hosts) == await reading[0]
        pool.close()

    asyncio.run(body())


def test_what_stood_on_cold_rows_that_were_not_stored_is_decided_anew_without_them() -> None:
    """common 8.1"""

    async def body() -> None:
        store, pool = HeldStore(), ThreadPool(2)
        hosts = Hosts(
            roster={"diary": DiaryRules()},
            stores=[store],
            clock=SystemClock(),
            executor=pool,
            make_journal=ThreadJournal,
        )
        await hosts.ok(DIARY, "write", {"day": "1", "words": "old"})
        owner = hosts.running[0].host._owners[DIARY]
        store.holds = store.refuses = True
        late = hosts.agents.call(
            DIARY, "write", {"day": "2", "words": "new"}, call_id=hosts.clock.new_id(), within_ms=8_000
        )
        write = asyncio.ensure_future(late)
        await until(store.has_begun.is_set)
        reading = asyncio.ensure_future(days(hosts))
        keeping = asyncio.ensure_future(hosts.ok(DIARY, "keep"))
        await until(lambda: owner.submitted - owner.settled == 3)
        store.may_end.set()
        assert await reading == [["1", "old"]]
        refused = (await write).error
        assert refused is not None
        assert refused["code"] == "storage_full"
        await keeping
        assert (await hosts.ok(DIARY, "read"))["state"] == ["last", "sum/1"]
        pool.close()

    asyncio.run(body())


@pytest.mark.parametrize("verb", ["read", "keep"])
def test_a_damaged_cold_row_fails_what_reads_it_and_nothing_else(verb: str) -> None:
    """common 8.1: the owner stays in use."""

    async def body() -> None:
        store = MemoryStore()
        hosts = inline_hosts(store)
        for day in ("1", "2", "3"):
            await hosts.ok(DIARY, "write", {"day": day, "words": day})
        store.commit([(state_key(DIARY, f"{_DAY}2"), b"torn")])
        refused = (await hosts.ask(DIARY, verb)).error
        assert refused is not None
        assert (refused["code"], "incidentId" in refused) == ("unavailable", True)
        assert await days(hosts, limit=1) == [["3", "3"]]
        assert await days(hosts, before="2") == [["1", "1"]]
        await hosts.ok(DIARY, "write", {"day": "2", "words": "mended"})
        assert await days(hosts, limit=2) == [["3", "3"], ["2", "mended"]]

    asyncio.run(body())


def test_what_is_read_at_once_is_bounded_in_rows_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    store.commit([(state_key(DIARY, f"{_DAY}{n:02d}"), pack_row("x" * 1_000)) for n in range(20)])

    def names(limit: int, bytes_max: int = limits.cold_rows_bytes_max) -> list[str]:
        wanted = ColdRows(_DAY, None, limit, bytes_max)
        return [row.row for row in read(store, DIARY, UncommittedCold(), _plain, wanted)]

    assert len(names(100)) == 20
    assert names(100, 2_500) == ["day/19", "day/18", "day/17"]
    assert names(100, 1) == ["day/19"]
    monkeypatch.setattr("actors.cold.cold_rows_max", 4)
    assert len(names(100)) == 4


def test_what_waits_for_the_disk_counts_as_what_is_on_it() -> None:
    """common 8.1: a backlog is read within the same bound."""
    waiting = UncommittedCold()
    for number in range(20):
        waiting.note(number, Put(f"{_DAY}{number:02d}", "x" * 1_000))
    wanted = ColdRows(_DAY, None, 100, 2_500)
    assert [row.row for row in read(MemoryStore(), DIARY, waiting, _plain, wanted)] == ["day/19", "day/18", "day/17"]


def test_parts_of_a_row_are_skipped_by_a_look_at_one_of_them_and_names_alone_unpack_nothing() -> None:
    """canvas 5: of a large row whose parts nobody asks for, one is met."""
    looks: list[bytes] = []

    class Watched(MemoryStore):
        def last(self, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None:
            found = super().last(prefix, before)
            looks.extend([found[0]] if found else [])
            return found

    store = Watched()
    names = ["1", *(f"2/{number}" for number in range(9)), "2", "3", "3/7"]
    store.commit([(state_key(DIARY, _DAY + name), b"torn" if "/" in name else pack_row(name)) for name in names])
    found = read(store, DIARY, UncommittedCold(), _plain, ColdRows(_DAY, None, 100, parts=False))
    assert [row.value for row in found] == ["3", "2", "1"]
    assert len(looks) == 5
    bare = read(store, DIARY, UncommittedCold(), _plain, ColdRows(_DAY, None, 100, names_only=True))
    assert [(row.row.removeprefix(_DAY), row.value) for row in bare] == [
        (name, None) for name in sorted(names, reverse=True)
    ]


def _plain(row: str, stored: bytes) -> Value:
    return unpack_row(stored)


DAYS: Final = st.integers(0, 9)
STEPS: Final = st.lists(st.tuples(DAYS, st.none() | st.integers(0, 99)), max_size=12)


@given(
    stored=STEPS,
    waiting=STEPS,
    come=st.integers(0, 12),
    before=st.none() | st.integers(0, 10),
    down_to=st.none() | st.integers(0, 10),
    limit=st.integers(1, 12),
)
def test_what_is_read_is_what_a_map_of_everything_decided_would_give(
    stored: list[tuple[int, int | None]],
    waiting: list[tuple[int, int | None]],
    come: int,
    before: int | None,
    down_to: int | None,
    limit: int,
) -> None:
    """Also when the first `come` of what waits have come to the disk and are not forgotten yet."""
    store, uncommitted, model = MemoryStore(), UncommittedCold(), dict[int, int]()
    for number, (day, words) in enumerate([*stored, *waiting]):
        row = f"{_DAY}{day:02d}"
        if words is None:
            model.pop(day, None)
        else:
            model[day] = words
        if number >= len(stored):
            uncommitted.note(number, Delete(row) if words is None else Put(row, words))
        if number < len(stored) + come:
            store.commit([(state_key(DIARY, row), None if words is None else pack_row(words))])
    lowest = None if down_to is None else f"{_DAY}{down_to:02d}"
    wanted = ColdRows(_DAY, None if before is None else f"{_DAY}{before:02d}", limit, down_to=lowest)
    found = [(row.row, row.value) for row in read(store, DIARY, uncommitted, _plain, wanted)]
    days_below = [day for day in sorted(model, reverse=True) if before is None or day < before]
    days_below = [day for day in days_below if down_to is None or day >= down_to]
    assert found == [(f"{_DAY}{day:02d}", model[day]) for day in days_below[:limit]]
