"""One suite over every store: what bus/store.py promises."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bus import store as keys
from bus.address import Address
from bus.codec import pack_row
from bus.envelope import Mark
from bus.limits import store_map_bytes
from bus.reserve_file import ReserveFile
from bus.store import Store, StoreFull
from bus.store_lmdb import RESERVE_FILE, LmdbStore, StoreInUse, UnknownLayout
from bus.store_memory import MemoryStore

Make = Callable[[], Store]


@pytest.fixture(params=["memory", "lmdb"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[Store] = []

    def new() -> Store:
        store: Store = MemoryStore() if request.param == "memory" else LmdbStore(tmp_path / f"shard{len(made)}")
        made.append(store)
        return store

    yield new
    for store in made:
        store.close()


def test_a_commit_is_read_back_and_a_removed_key_is_gone(make: Make) -> None:
    store = make()
    store.commit([(b"xa", b"1"), (b"xb", b"2")])
    store.commit([(b"xa", None), (b"xc", b"3")])
    assert store.get(b"xa") is None
    assert store.scan(b"x") == [(b"xb", b"2"), (b"xc", b"3")]


def test_a_later_write_to_a_key_in_one_commit_wins(make: Make) -> None:
    store = make()
    store.commit([(b"xa", b"1"), (b"xa", b"2"), (b"xb", b"1"), (b"xb", None)])
    assert store.scan(b"x") == [(b"xa", b"2")]


def test_a_scan_keeps_to_its_prefix_starts_after_a_key_and_ends_at_its_limit(make: Make) -> None:
    store = make()
    store.commit([(b"w", b""), *((b"x%d" % n, b"v") for n in range(5)), (b"y", b"")])
    assert [key for key, _ in store.scan(b"x", b"x1", 2)] == [b"x2", b"x3"]
    assert [key for key, _ in store.scan(b"x", b"a", 1)] == [b"x0"]


def test_a_scan_ends_below_a_key_and_may_both_start_and_end(make: Make) -> None:
    store = make()
    store.commit([(b"w", b""), *((b"x%d" % n, b"v") for n in range(5)), (b"y", b"")])
    assert [key for key, _ in store.scan(b"x", before=b"x2")] == [b"x0", b"x1"]
    assert [key for key, _ in store.scan(b"x", b"x0", before=b"x2")] == [b"x1"]
    assert [key for key, _ in store.scan(b"x", b"x0", 1, b"x3")] == [b"x1"]
    assert [key for key, _ in store.scan(b"x", before=b"y5")] == [b"x0", b"x1", b"x2", b"x3", b"x4"]
    assert store.scan(b"x", before=b"x") == store.scan(b"x", b"x3", before=b"x1") == []


def test_rows_beside_others_are_found_without_those(make: Make) -> None:
    store = make()
    names = (b"a", b"b/1", b"b/2", b"c", b"d/1", b"e", b"f")
    store.commit([(b"w", b""), *((b"x" + name, b"v") for name in names), (b"y", b"")])
    left_out = [b"xb/", b"xd/", b"xe/"]
    wanted = [b"xa", b"xc", b"xe", b"xf"]
    assert [key for key, _ in keys.rows_beside(store, b"x", left_out, None, 9)] == wanted
    for limit in (1, 2, 3, 4):
        found: list[bytes] = []
        while rows := keys.rows_beside(store, b"x", left_out, found[-1] if found else None, limit):
            assert len(rows) <= limit
            found += [key for key, _ in rows]
        assert found == wanted
    assert keys.rows_beside(store, b"xb", [b"xb/"], None, 9) == []


def test_keys_of_a_prefix_are_counted_up_to_a_limit(make: Make) -> None:
    store = make()
    store.commit([(b"w", b""), *((b"x%d" % n, b"v") for n in range(5)), (b"y", b"")])
    assert (store.count(b"x", 99), store.count(b"x", 3), store.count(b"z", 9)) == (5, 3, 0)


def test_the_last_key_of_a_prefix_is_found_with_and_without_followers(make: Make) -> None:
    store = make()
    assert store.last(b"x") is None
    store.commit([(b"x1", b"a"), (b"x2", b"b")])
    assert store.last(b"x") == (b"x2", b"b")
    store.commit([(b"y1", b"c")])
    assert store.last(b"x") == (b"x2", b"b")
    assert store.last(b"w") is None


def test_the_last_key_below_another_is_found(make: Make) -> None:
    store = make()
    store.commit([(b"w", b""), (b"x1", b"a"), (b"x3", b"b"), (b"y", b"c")])
    assert store.last(b"x", b"x3") == (b"x1", b"a")
    assert store.last(b"x", b"x2") == (b"x1", b"a")
    assert store.last(b"x", b"x9") == store.last(b"x", b"z") == (b"x3", b"b")
    assert store.last(b"x", b"x1") is None
    assert store.last(b"x", b"a") is None


def test_owners_are_listed_once_each_by_kind_and_after_one(make: Make) -> None:
    store = make()
    owners = [Address("agent", "-", "a1"), Address("agent", "-", "a2"), Address("canvas", "w", "c")]
    store.commit([(keys.state_key(owner, row), pack_row(1)) for owner in owners for row in ("head", "x", "y")])
    assert list(keys.owners(store, None, None, 10)) == owners
    assert list(keys.owners(store, "agent", owners[0], 10)) == owners[1:2]


def test_outbox_rows_stand_in_the_order_of_their_marks(make: Make) -> None:
    store = make()
    marks = [Mark(9, 0), Mark(9, 1), Mark(10, 0), Mark(300, 0), Mark(70_000, 2)]
    store.commit([(keys.outbox_key(1, mark), b"v") for mark in reversed(marks)])
    assert [keys.mark_of(key) for key, _ in store.scan(keys.outbox_prefix(1))] == marks
    assert store.scan(keys.outbox_prefix(2)) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=4)), max_size=6), max_size=6))
def test_any_commits_leave_what_a_dictionary_would_hold(
    make: Make, commits: list[list[tuple[bytes, bytes | None]]]
) -> None:
    store = make()
    expected: dict[bytes, bytes] = {}
    for commit in commits:
        writes = [(b"x" + key, value) for key, value in commit]
        store.commit(writes)
        for key, value in writes:
            if value is None:
                expected.pop(key, None)
            else:
                expected[key] = value
    assert store.scan(b"x") == sorted(expected.items())


def test_a_full_store_refuses_the_whole_commit_and_keeps_what_it_had() -> None:
    store = MemoryStore(bytes_max=20)
    store.commit([(b"xa", b"12345678")])
    with pytest.raises(StoreFull):
        store.commit([(b"xb", b"1"), (b"xc", b"1234567890123456")])
    assert store.scan(b"x") == [(b"xa", b"12345678")]


def test_a_reserve_is_room_that_no_commit_has_until_it_is_released() -> None:
    """common 8.5"""
    store = MemoryStore(bytes_max=100)
    assert store.reserve(60)
    assert (store.room().growth, store.reserved_bytes()) == (40, 60)
    with pytest.raises(StoreFull):
        store.commit([(b"xa", bytes(50))])
    store.release_reserve()
    store.commit([(b"xa", bytes(50))])
    assert not store.reserve(60)
    assert store.reserved_bytes() == 0


def test_a_reserve_is_kept_over_the_opening_of_a_store_and_released_once(make: Make) -> None:
    """common 8.5"""
    store = make()
    store.commit([(b"xa", b"1")])
    assert store.reserved_bytes() == 0
    assert store.reserve(1 << 20)
    assert store.reserved_bytes() >= 1 << 20
    store.release_reserve()
    store.release_reserve()
    assert store.reserved_bytes() == 0
    assert store.scan(b"x") == [(b"xa", b"1")]


def test_a_reserve_that_was_cut_short_is_made_whole(tmp_path: Path) -> None:
    """common 8.5: a host that is killed while it makes the file leaves a part of it."""
    store = LmdbStore(tmp_path / "s")
    (tmp_path / "s" / RESERVE_FILE).write_bytes(bytes(4096))
    assert store.reserved_bytes() < 1 << 20
    assert store.reserve(1 << 20)
    assert store.reserved_bytes() >= 1 << 20
    store.close()


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL])
def test_a_reserve_is_written_where_the_file_system_allocates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """common 8.5"""

    def cannot(descriptor: int, offset: int, size: int) -> None:
        raise OSError(number, "cannot")

    monkeypatch.setattr(os, "posix_fallocate", cannot)
    file = ReserveFile(tmp_path / "reserve")
    assert file.hold(3 << 20)
    assert file.size() >= 3 << 20
    content = (tmp_path / "reserve").read_bytes()
    assert len(set(content[: 1 << 16])) == 256, "nothing that a file system could make smaller"


def test_a_reserve_for_which_there_is_no_room_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """common 8.5"""

    def full(descriptor: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    file = ReserveFile(tmp_path / "reserve")
    assert not file.hold(1 << 20)
    assert list(tmp_path.iterdir()) == []


def test_what_deleted_rows_leave_inside_is_told_as_room(tmp_path: Path) -> None:
    """common 8.5"""
    store = LmdbStore(tmp_path / "s")
    rows = [(b"x%06d" % number, bytes(2_000)) for number in range(2_000)]
    store.commit(list(rows))
    before = store.room()
    for at in range(0, len(rows), 100):
        store.commit([(key, None) for key, _ in rows[at : at + 100]])
    after = store.room()
    assert after.within - before.within > 3_500_000
    assert before.until_largest < after.until_largest <= store_map_bytes
    store.commit(rows[:1_000])
    assert after.within - store.room().within > 1_500_000
    store.close()


def test_a_second_opener_of_a_shard_is_refused(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path / "s")
    with pytest.raises(StoreInUse):
        LmdbStore(tmp_path / "s")
    store.close()


def test_a_shard_of_an_unknown_layout_is_refused_and_left_alone(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path / "s")
    store.commit([(keys.fact_key("layout"), pack_row(99))])
    store.close()
    with pytest.raises(UnknownLayout):
        LmdbStore(tmp_path / "s")


def test_files_of_a_shard_are_for_their_owner_only(tmp_path: Path) -> None:
    """security 2.23: file modes hold whatever the umask is (the supervisor also sets 077)."""
    LmdbStore(tmp_path / "s").close()
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "s").iterdir()}
    assert modes == dict.fromkeys(modes, 0)
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0


def test_a_snapshots_copy_holds_what_was_there_when_it_was_taken(make: Make, tmp_path: Path) -> None:
    store = make()
    store.commit([(b"xa", b"1"), (b"xb", b"2" * 5_000)])
    snapshot = store.snapshot()
    store.commit([(b"xa", b"changed"), (b"xb", None), (b"xc", b"3")])
    snapshot.copy_to(tmp_path / "copy")
    with pytest.raises(FileExistsError):
        snapshot.copy_to(tmp_path / "copy")
    snapshot.close()
    copy = LmdbStore(tmp_path / "copy")
    assert copy.scan(b"x") == [(b"xa", b"1"), (b"xb", b"2" * 5_000)]
    copy.close()
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
