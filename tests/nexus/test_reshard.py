"""Resharding a home: nothing changes but where it lies, messages on the way arrive once, repeats hear the same."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import nexus.reshard
from bus.address import Address
from bus.clock import ManualClock
from bus.codec import pack_row
from bus.layout import RowUpgrade
from bus.reshard import reshard
from bus.store import LAYOUT_VERSION, Store, StoreFull, fact_key
from bus.store_lmdb import LmdbStore, stored_layout
from bus.store_memory import MemoryStore
from bus.value import Record
from nexus import exit_codes
from nexus.archive import read_manifest
from nexus.backup import lock_of
from nexus.cli import build_app
from nexus.config import Home, HomeRefused, open_home
from nexus.generations import tidy
from nexus.reshard import ReshardRefused, bring_up_to_date, reshard_home
from tests.support.homes import all_rows, made_home, write_rows
from tests.support.hosts import Hosts
from tests.support.loop import until

COUNTERS = [Address("counter", "-", f"c{number}") for number in range(8)]
ONE = Address("counter", "-", "one")
Step = tuple[str, int, int]
STEPS = st.lists(st.tuples(st.sampled_from(["add", "tell", "ask"]), st.integers(0, 7), st.integers(0, 7)), max_size=14)


class Life:
    """Counters that add, tell and ask each other before a reshard, and what must be true of them after it."""

    def __init__(self, before: int, old: Sequence[Store]) -> None:
        self.before = before
        self.old = old
        self.clock = ManualClock()
        self.totals = dict.fromkeys(COUNTERS, 0)
        self.answered: list[tuple[Address, str, Record, str, object]] = []
        self.left_open: list[tuple[Address, str, Record, str]] = []

    async def run(self, steps: Sequence[Step], later: Sequence[Step], dead: int) -> None:
        """`steps` with everybody there, then `later` while shard `dead` is gone and messages to it stay behind."""
        hosts = Hosts(self.before, stores=self.old, clock=self.clock)
        for step in steps:
            await self._step(hosts, step)
        await until(lambda: all(running.host.outbox.size == 0 for running in hosts.running))
        if self.before > 1:
            hosts.running[dead].close_links()
            for step in later:
                if COUNTERS[step[1]].shard(self.before) != dead:
                    await self._step(hosts, step, dead)
        for number, running in enumerate(hosts.running):
            if number != dead or self.before == 1:
                running.close_links()
        hosts.person.close()
        hosts.agents.close()

    async def _step(self, hosts: Hosts, step: Step, dead: int | None = None) -> None:
        verb, owner, other = step[0], COUNTERS[step[1]], COUNTERS[step[2]]
        body: Record = {} if verb == "add" else {"to": str(other)}
        call_id = hosts.clock.new_id()
        if verb == "ask" and dead is not None and other.shard(self.before) == dead:
            waiting = asyncio.ensure_future(hosts.ask(owner, verb, body, call_id))
            store = self.old[owner.shard(self.before)]
            await until(lambda: store.get(b"a" + call_id.encode()) is not None)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            self.left_open.append((owner, verb, body, call_id))
            return
        answer = await hosts.ok(owner, verb, body, call_id)
        self.answered.append((owner, verb, body, call_id, answer))
        if verb in ("add", "tell"):
            self.totals[owner if verb == "add" else other] += 1

    async def check(self, after: int, new: Sequence[Store]) -> None:
        hosts = Hosts(after, stores=new, clock=self.clock)
        await until(lambda: all(running.host.outbox.size == 0 for running in hosts.running))
        for counter, total in self.totals.items():
            assert (await hosts.ok(counter, "read"))["total"] == total
        for owner, verb, body, call_id, answer in self.answered:
            assert await hosts.ok(owner, verb, body, call_id) == answer
        for owner, verb, body, call_id in self.left_open:
            answer = await hosts.ok(owner, verb, body, call_id)
            assert isinstance(answer["total"], int)
        for counter, total in self.totals.items():
            assert (await hosts.ok(counter, "read"))["total"] == total
        # New work goes on, also between owners that lived together before.
        await hosts.ok(COUNTERS[0], "tell", {"to": str(COUNTERS[1]), "wait": True})
        assert (await hosts.ok(COUNTERS[1], "read"))["total"] == self.totals[COUNTERS[1]] + 1
        for running in hosts.running:
            running.close_links()
        hosts.person.close()
        hosts.agents.close()


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, later=STEPS, before=st.integers(1, 4), after=st.integers(1, 4), dead=st.integers(0, 3))
def test_after_a_reshard_owners_are_the_same_messages_arrive_once_and_repeats_hear_the_same(
    steps: list[Step], later: list[Step], before: int, after: int, dead: int
) -> None:
    old: list[Store] = [MemoryStore() for _ in range(before)]
    new: list[Store] = [MemoryStore() for _ in range(after)]
    _live(Life(before, old), steps, later, dead % before, new)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, later=STEPS, before=st.integers(1, 3), after=st.integers(1, 3), dead=st.integers(0, 2))
def test_the_same_on_disk(steps: list[Step], later: list[Step], before: int, after: int, dead: int) -> None:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        old: list[Store] = [LmdbStore(Path(folder) / f"old{number}") for number in range(before)]
        new: list[Store] = [LmdbStore(Path(folder) / f"new{number}") for number in range(after)]
        _live(Life(before, old), steps, later, dead % before, new)
        for store in (*old, *new):
            store.close()


def _live(life: Life, steps: list[Step], later: list[Step], dead: int, new: list[Store]) -> None:
    asyncio.run(life.run(steps, later, dead))
    rows = sorted(pair for store in life.old for pair in store.scan(b"s"))
    reshard(life.old, new, 1_800_000_000_000)
    assert sorted(pair for store in new for pair in store.scan(b"s")) == rows
    asyncio.run(life.check(len(new), new))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = made_home(tmp_path / "home", 2)
    write_rows(home, [(counter, "head", 5) for counter in COUNTERS])
    return home


def heads(home: Home) -> list[tuple[bytes, bytes]]:
    return sorted(pair for pair in all_rows(home) if pair[0].startswith(b"s"))


def test_a_home_is_resharded_with_a_backup_before_and_its_old_shards_kept(home: Home) -> None:
    before = heads(home)
    done = reshard_home(home, 4)
    assert heads(open_home(home.path)) == before
    assert done.home.settings.shards == 4
    assert done.backup is not None
    assert read_manifest(done.backup).shards == 2
    assert done.backup.stat().st_mode & 0o777 == 0o600
    assert [place.parent.name for place in done.kept] == ["generation-1", "generation-1"]
    for shard in range(4):
        store = LmdbStore(done.home.shard_folder(shard))
        assert all(Address.parse(key[1:].split(b"\0")[0].decode()).shard(4) == shard for key, _ in store.scan(b"s"))
        store.close()
    assert heads(reshard_home(done.home, 1).home) == before


def test_the_same_number_changes_nothing(home: Home) -> None:
    done = reshard_home(home, 2)
    assert (done.backup, done.rows, done.kept) == (None, 0, ())
    assert not home.backups.exists()


class Cut(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("place", ["new_generation", "reshard", "switch", "changed_config", "back_up_stopped"])
def test_cut_short_before_the_switch_the_home_is_as_it_was(
    home: Home, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    before = all_rows(home)

    def cut(*_: object, **__: object) -> None:
        raise Cut

    with monkeypatch.context() as patched, pytest.raises(Cut):
        patched.setattr(nexus.reshard, place, cut)
        reshard_home(home, 4)
    with lock_of(home):
        tidy(open_home(home.path))
    assert all_rows(open_home(home.path)) == before
    assert sorted(entry.name for entry in (home.path / "shards").iterdir()) == ["0", "1"]
    assert heads(reshard_home(home, 4).home) == sorted(pair for pair in before if pair[0].startswith(b"s"))


def test_cut_short_after_the_switch_the_next_command_puts_the_old_shards_aside(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = heads(home)
    calls: list[Home] = []

    def tidy_once(home: Home) -> list[Path]:
        calls.append(home)
        if len(calls) > 1:
            raise Cut
        return []

    with monkeypatch.context() as patched, pytest.raises(Cut):
        patched.setattr(nexus.reshard, "tidy", tidy_once)
        reshard_home(home, 4)
    found = open_home(home.path)
    assert found.settings.shards == 4
    assert heads(found) == before
    assert len(tidy(found)) == 2
    assert heads(found) == before


def test_a_full_disk_leaves_the_home_as_it_was(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreFull

    before = all_rows(home)
    with monkeypatch.context() as patched, pytest.raises(ReshardRefused, match="no room"):
        patched.setattr(nexus.reshard, "reshard", full)
        reshard_home(home, 3)
    assert all_rows(open_home(home.path)) == before
    assert sorted(entry.name for entry in (home.path / "shards").iterdir()) == ["0", "1"]


def test_the_command_refuses_a_running_home_and_prints_what_it_did(home: Home) -> None:
    def reshard_to(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(build_app(), ["reshard", *arguments, "--home", str(home.path)])
        return result.exit_code, result.output

    with lock_of(home):
        assert reshard_to("1")[0] == exit_codes.ALREADY_RUNNING
    assert reshard_to("5")[0] == exit_codes.USAGE
    code, text = reshard_to("1", "--json")
    assert (code, json.loads(text)["shards"]) == (0, 1)
    assert "already" in reshard_to("1")[1]


# A layout that is older than the present one.

OLDER = LAYOUT_VERSION


def renamed(key: bytes, value: bytes) -> list[tuple[bytes, bytes]]:
    """A pretended change of layout: one more row for each."""
    return [(key, value), (b"z" + key, value)]


def test_an_older_layout_is_backed_up_and_brought_up_to_date(home: Home) -> None:
    before = [pair for pair in all_rows(home) if pair[0] != fact_key("layout")]
    told: list[str] = []
    with lock_of(home):
        upgraded = bring_up_to_date(home, told.append, {OLDER: renamed, OLDER + 1: lambda *row: [row]}, OLDER + 2)
    stores = [LmdbStore(upgraded.shard_folder(shard), OLDER + 2) for shard in range(2)]
    rows = [pair for store in stores for pair in store.scan(b"") if pair[0] != fact_key("layout")]
    for store in stores:
        store.close()
    assert sorted(rows) == sorted([*before, *((b"z" + key, value) for key, value in before)])
    (backup,) = home.backups.glob("before-layout-*.tar")
    assert read_manifest(backup).layout == OLDER
    assert len(told) == 1
    assert len(list((home.kept / "generation-1").iterdir())) == 2


SOME_OTHER_STEP: dict[int, RowUpgrade] = {LAYOUT_VERSION + 50: lambda key, value: [(key, value)]}
"""An upgrade that does not lead from what is stored. Without any, a store is left to its host, which refuses it."""


@pytest.mark.parametrize("layout", [LAYOUT_VERSION + 1, "text"])
def test_a_newer_or_unreadable_layout_is_refused_and_nothing_is_touched(home: Home, layout: int | str) -> None:
    store = LmdbStore(home.shard_folder(0))
    store.commit([(fact_key("layout"), pack_row(layout))])
    store.close()
    assert stored_layout(home.shard_folder(0)) == (layout if isinstance(layout, int) else 0)
    with lock_of(home), pytest.raises(HomeRefused, match="layout"):
        bring_up_to_date(home, lambda text: None, SOME_OTHER_STEP)
    assert not home.backups.exists()


def test_an_older_layout_without_a_way_up_is_refused(home: Home) -> None:
    with pytest.raises(HomeRefused, match="restore a backup"):
        bring_up_to_date(home, lambda text: None, SOME_OTHER_STEP, OLDER + 1)


def test_the_present_layout_costs_nothing(home: Home) -> None:
    assert bring_up_to_date(home, lambda text: None) is home
