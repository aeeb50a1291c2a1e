"""The reserve: who may write on a full disk, and until when."""

from __future__ import annotations

from pathlib import Path

import pytest

from bus.address import Address
from bus.envelope import Mark
from bus.journal import Commit, GroupWriter, Handled
from bus.limits import reserve_look_ms
from bus.reserve import Reserve, ReserveState
from bus.store import Store, Write, mark_key
from bus.store_lmdb import LmdbStore
from bus.store_memory import MemoryStore
from tests.support.small_disk import enlarge, small_disk

A, B = Address("counter", "-", "a"), Address("counter", "-", "b")
SIZE = 1_000


class Rig:
    """A writer whose commits write `size` bytes each, by an agent or by the person."""

    def __init__(self, store: Store, size: int = SIZE) -> None:
        self.store = store
        self.told: list[str] = []
        self.reserve = Reserve(store, size)
        self.writer = GroupWriter(store, 0, lambda commits: None, self._broke, self.reserve)
        self.now_ms = 10 * reserve_look_ms

    def _broke(self) -> None:
        self.told.append("broken")

    def commit(
        self,
        name: str,
        size: int = 100,
        *,
        person: bool = False,
        owner: Address = A,
        incarnation: int = 1,
        handled: Handled | None = None,
    ) -> Commit:
        rows: list[Write] = [(b"x" + name.encode(), bytes(size))] if size else []
        return Commit(
            owner=owner,
            incarnation=incarnation,
            call_id=name,
            by="",
            at_ms=self.now_ms,
            rows=rows,
            handled=handled,
            is_privileged=person,
            released=lambda: self.told.append(f"{name} stored"),
            failed=lambda is_full: self.told.append(f"{name} {'full' if is_full else 'failed'}"),
        )

    def write(self, *commits: Commit) -> list[str]:
        """What the commits were told, in order."""
        self.told.clear()
        self.writer.write_group(commits)
        return list(self.told)

    def later(self) -> None:
        self.now_ms += reserve_look_ms


def full(left: int = 0) -> Rig:
    """A reserve of SIZE bytes that is held, and beside it `left` bytes on the disk."""
    rig = Rig(MemoryStore(bytes_max=10 * SIZE))
    assert rig.reserve.state is ReserveState.HELD
    rig.store.commit([(b"fill", bytes(9 * SIZE - 4 - left))])
    assert rig.store.room().growth == left
    return rig


def test_what_the_person_does_on_a_full_disk_is_stored_and_an_agents_write_is_given_back() -> None:
    """common 8.5"""
    rig = full()
    told = rig.write(rig.commit("agent"), rig.commit("person", person=True, owner=B))
    assert told == ["person stored", "agent full"]
    assert rig.reserve.state is ReserveState.SPENT


def test_what_fits_beside_the_reserve_does_not_release_it() -> None:
    """common 8.5"""
    rig = full(left=150)
    told = rig.write(rig.commit("agent", 140), rig.commit("person", 120, person=True, owner=B))
    assert told == ["person stored", "agent full"]
    assert rig.reserve.state is ReserveState.HELD


def test_agents_alone_never_have_the_reserve() -> None:
    """common 8.5"""
    rig = full()
    assert rig.write(rig.commit("one"), rig.commit("two", owner=B)) == ["one full", "two full"]
    assert rig.reserve.state is ReserveState.HELD


def test_what_the_person_decided_on_top_of_an_agents_write_is_given_back_once_and_then_stored() -> None:
    """common 8.5: the host decides it anew (actors/execute.py), under the owner's next incarnation."""
    rig = full()
    told = rig.write(rig.commit("agent"), rig.commit("person", person=True))
    assert told == ["agent full", "person failed"]
    assert rig.write(rig.commit("again", person=True, incarnation=2)) == ["again stored"]


def test_once_it_is_released_agents_are_refused_before_anything_is_tried_and_reads_go_on() -> None:
    """common 8.5"""
    rig = full()
    rig.write(rig.commit("person", person=True))
    assert rig.reserve.refuses(rig.commit("agent"))
    told = rig.write(rig.commit("agent", owner=B), rig.commit("read", 0), rig.commit("more", person=True))
    assert told == ["read stored", "more stored", "agent full"]


def test_when_the_reserve_is_used_up_the_person_hears_that_the_disk_is_full() -> None:
    """common 8.5: as long as the reserve lasts."""
    rig = full()
    told = [rig.write(rig.commit(str(number), 150, person=True, incarnation=number))[0] for number in range(1, 9)]
    assert told[:6] == [f"{number} stored" for number in range(1, 7)]
    assert told[6:] == ["7 full", "8 full"]


def test_the_reserve_is_made_again_when_there_is_room_for_twice_its_size_and_then_agents_write() -> None:
    """common 8.5"""
    rig = full()
    rig.write(rig.commit("person", person=True))
    rig.later()
    assert rig.write(rig.commit("early", owner=B)) == ["early full"]
    rig.store.commit([(b"fill", bytes(7 * SIZE))])
    assert rig.write(rig.commit("soon", owner=B, incarnation=2)) == ["soon full"], "looked at once a while"
    rig.later()
    assert not rig.reserve.refuses(rig.commit("later")), "one passes, so that the writer looks"
    assert rig.write(rig.commit("later", owner=B, incarnation=3)) == ["later stored"]
    assert rig.reserve.state is ReserveState.HELD
    assert rig.store.room().growth < 9 * SIZE


def test_after_something_did_not_fit_agents_wait_a_moment_so_that_nothing_is_decided_on_top_of_their_failures() -> None:
    """common 8.5"""
    rig = full(left=150)
    assert rig.write(rig.commit("large", 500)) == ["large full"]
    assert rig.write(rig.commit("small", 50, owner=B)) == ["small full"]
    rig.later()
    assert rig.write(rig.commit("small", 50, owner=B, incarnation=2)) == ["small stored"]


def test_one_write_that_is_too_large_does_not_stop_others_where_there_is_room() -> None:
    rig = full(left=3 * SIZE)
    assert rig.write(rig.commit("large", 4 * SIZE)) == ["large full"]
    assert rig.write(rig.commit("small", owner=B)) == ["small stored"]


def test_a_message_that_stands_on_an_agents_write_comes_again_and_no_mark_gets_past_it() -> None:
    """common 8.1, 8.5"""
    rig = full()
    first, second = Handled(1, Mark(1, 0), 0), Handled(1, Mark(2, 0), 0)
    told = rig.write(
        rig.commit("agent"),
        rig.commit("one", person=True, handled=first),
        rig.commit("two", person=True, owner=B, handled=second),
    )
    assert told == ["agent full", "one failed", "two failed"]
    assert rig.store.get(mark_key(1)) is None
    told = rig.write(
        rig.commit("one", person=True, incarnation=2, handled=Handled(1, Mark(1, 0), 1)),
        rig.commit("two", person=True, owner=B, incarnation=2, handled=Handled(1, Mark(2, 0), 1)),
    )
    assert told == ["one stored", "two stored"]


def test_a_start_on_a_full_disk_has_no_reserve_and_does_not_fail() -> None:
    """common 8.5"""
    store = MemoryStore(bytes_max=2 * SIZE)
    store.commit([(b"fill", bytes(SIZE))])
    rig = Rig(store)
    assert rig.reserve.state is ReserveState.SPENT
    assert rig.write(rig.commit("person", person=True), rig.commit("agent", owner=B)) == ["person stored", "agent full"]


def test_a_reserve_outlives_its_writer_and_needs_no_room_to_be_found_again() -> None:
    """common 8.5"""
    rig = full()
    assert Reserve(rig.store, SIZE).state is ReserveState.HELD


MIB = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "shard"
    folder.mkdir(mode=0o700)
    return folder


def filled(rig: Rig) -> int:
    """An agent writes until nothing fits; how many commits of 8 KiB that were."""
    number = 0
    while rig.write(rig.commit(f"a{number:06d}", 8_192, owner=B, incarnation=number)) == [f"a{number:06d} stored"]:
        number += 1
    return number


def test_on_a_full_disk_the_person_deletes_from_the_reserve_and_agents_write_into_what_was_freed(disk: Path) -> None:
    """common 8.5, security 2.23: on a real file system, which LMDB's file cannot leave again."""
    with small_disk(disk, "16m"):
        store = LmdbStore(disk)
        rig = Rig(store, 2 * MIB)
        rows = filled(rig)
        assert rows > 500
        assert store.room().growth < MIB
        writes = 0
        while rig.reserve.state is ReserveState.HELD:
            assert rig.write(rig.commit(f"p{writes}", 4_000, person=True, incarnation=writes)) == [f"p{writes} stored"]
            writes += 1
        rig.later()
        assert rig.write(rig.commit("agent", owner=B, incarnation=rows + 1)) == ["agent full"]
        for at in range(0, rows, 50):
            deletion = rig.commit(f"d{at}", 0, person=True, incarnation=10_000 + at)
            deletion.rows = [(b"xa%06d" % number, None) for number in range(at, at + 50)]
            assert rig.write(deletion) == [f"d{at} stored"]
        assert store.room().within > 4 * MIB
        rig.later()
        assert rig.write(rig.commit("agent", owner=B, incarnation=rows + 2)) == ["agent stored"]
        assert rig.reserve.state is ReserveState.WITHIN
        for number in range(100):
            again = rig.commit(f"b{number}", 8_192, owner=B, incarnation=rows + 3)
            assert rig.write(again) == [f"b{number} stored"]
        store.close()


def test_agents_never_write_into_the_room_inside_that_is_the_persons_reserve(disk: Path) -> None:
    """common 8.5"""
    with small_disk(disk, "16m"):
        store = LmdbStore(disk)
        rig = Rig(store, 2 * MIB)
        rows = filled(rig)
        assert rig.reserve.release(rig.now_ms)
        gone: list[Write] = [(b"xa%06d" % number, None) for number in range(700)]
        deletion = rig.commit("delete", 0, person=True)
        deletion.rows = gone
        assert rig.write(deletion) == ["delete stored"]
        (disk / "other").write_bytes(bytes(store.room().growth - 128 * 1024))
        rig.later()
        written = 0
        incarnation = rows + 1
        while rig.write(rig.commit(f"c{written}", 8_192, owner=B, incarnation=incarnation)) == [f"c{written} stored"]:
            written += 1
        assert written > 50
        assert rig.reserve.state is ReserveState.SPENT
        assert store.room().within >= 2 * MIB - 64 * 1024
        for number in range(20):
            assert rig.write(rig.commit(f"p{number}", 4_000, person=True)) == [f"p{number} stored"]
        store.close()


def test_on_a_disk_that_grew_the_reserve_is_made_again_in_a_file(disk: Path) -> None:
    """common 8.5"""
    with small_disk(disk, "12m"):
        store = LmdbStore(disk)
        rig = Rig(store, 2 * MIB)
        filled(rig)
        rig.reserve.release(rig.now_ms)
        rig.later()
        assert rig.write(rig.commit("agent", incarnation=1)) == ["agent full"]
        enlarge(disk, "32m")
        rig.later()
        assert rig.write(rig.commit("agent", incarnation=2)) == ["agent stored"]
        assert rig.reserve.state is ReserveState.HELD
        assert store.reserved_bytes() >= 2 * MIB
        store.close()
