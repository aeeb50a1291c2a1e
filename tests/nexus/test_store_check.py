"""Homes whose stores are damaged, unsafe or not those of their configuration."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bus.codec import pack_row
from bus.reserve_file import ReserveFile
from bus.store import answer_key, fact_key
from bus.store_lmdb import LmdbStore
from nexus import exit_codes
from nexus.config import Home, HomeMissing, HomeRefused, create_home, open_home
from nexus.doctor import Outcome, examine
from nexus.store_check import refuse_unsafe_stores, store_problem
from nexus.supervisor import exit_code_of, start_refusal


@pytest.fixture(autouse=True)
def _umask_restored() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of two shards with something in each."""
    home = create_home(tmp_path / "home", cores=8)
    for shard in range(home.settings.shards):
        store = LmdbStore(home.shard_folder(shard))
        store.commit([(answer_key(f"call{n:05d}"), pack_row("x" * 500)) for n in range(2_000)])
        store.close()
    return home


def set_shards(home: Home, shards: int) -> None:
    config = home.path / "config.toml"
    config.write_text(re.sub(r"shards = \d", f"shards = {shards}", config.read_text()))


def store_checks(home: Home) -> list[tuple[Outcome, str]]:
    return [(check.outcome, check.text) for check in examine(home.path) if check.name in ("store", "home")]


@pytest.mark.parametrize("shards", [1, 3])
def test_another_number_of_shards_than_there_are_is_refused_and_changes_nothing(home: Home, shards: int) -> None:
    """common 8.1"""
    set_shards(home, shards)
    with pytest.raises(HomeRefused, match="Set it back to 2"):
        create_home(home.path, cores=8)
    assert sorted(entry.name for entry in (home.path / "shards").iterdir()) == ["0", "1"]
    assert any(outcome is Outcome.PROBLEM and "Set it back to 2" in text for outcome, text in store_checks(home))
    set_shards(home, 2)
    assert create_home(home.path, cores=8) == home


def test_a_missing_shard_is_not_made_anew(home: Home) -> None:
    """common 8.1"""
    (home.path / "shards" / "0").rename(home.path / "0")
    with pytest.raises(HomeRefused, match="missing: 0"):
        create_home(home.path, cores=8)


def test_a_home_that_was_cut_short_while_it_was_made_is_finished(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home", cores=8)
    home.shard_folder(1).rmdir()
    assert create_home(home.path, cores=8) == home
    assert home.shard_folder(1).is_dir()
    (home.path / "config.toml").unlink()
    assert create_home(home.path, cores=8).home_id != home.home_id  # nothing was stored under the first


def test_no_new_home_is_made_over_stored_data_whose_config_is_gone(home: Home) -> None:
    """common 8.1"""
    config = (home.path / "config.toml").read_text()
    (home.path / "config.toml").unlink()
    with pytest.raises(HomeRefused, match=r"config\.toml is gone") as refused:
        open_home(home.path)
    assert not isinstance(refused.value, HomeMissing)
    with pytest.raises(HomeRefused, match=r"config\.toml is gone"):
        create_home(home.path, cores=8)
    assert not (home.path / "config.toml").exists()
    (home.path / "config.toml").write_text(config)
    assert create_home(home.path, cores=8) == home


def test_sound_stores_are_found_sound_and_left_as_they_are(home: Home) -> None:
    before = {file: file.read_bytes() for file in home.path.rglob("data.mdb")}
    refuse_unsafe_stores(home)
    assert [outcome for outcome, _ in store_checks(home)] == [Outcome.GOOD, Outcome.GOOD]
    assert before == {file: file.read_bytes() for file in home.path.rglob("data.mdb")}


def test_a_home_without_any_store_yet_is_sound(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home", cores=8)
    refuse_unsafe_stores(home)
    assert [outcome for outcome, _ in store_checks(home)] == [Outcome.GOOD, Outcome.GOOD]
    assert not list(home.path.rglob("data.mdb"))


@pytest.mark.parametrize("name", ["", "data.mdb", "lock.mdb", "owner.lock", "reserve"])
def test_a_store_that_others_can_reach_is_refused_at_a_start_and_found_by_doctor(home: Home, name: str) -> None:
    """security 2.23"""
    assert ReserveFile(home.shard_folder(1) / "reserve").hold(4_096)
    place = home.shard_folder(1) / name
    place.chmod(place.stat().st_mode | 0o040)
    with pytest.raises(HomeRefused, match="chmod"):
        refuse_unsafe_stores(home)
    assert any(outcome is Outcome.PROBLEM and str(place) in text for outcome, text in store_checks(home))


def test_a_store_file_that_is_a_link_is_refused(home: Home, tmp_path: Path) -> None:
    """security 2.17"""
    file = home.shard_folder(0) / "data.mdb"
    file.rename(tmp_path / "data.mdb")
    file.symlink_to(tmp_path / "data.mdb")
    with pytest.raises(HomeRefused, match="symbolic link"):
        refuse_unsafe_stores(home)


def cut_to(size: int) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, size)


def overwritten(start: int, end: int) -> Callable[[Path], None]:
    def overwrite(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.seek(start)
            opened.write(b"\xa5" * ((end or file.stat().st_size) - start))

    return overwrite


@pytest.mark.parametrize(
    "damage",
    [cut_to(0), cut_to(5_000), cut_to(8_192), cut_to(100_000), overwritten(0, 8_192), overwritten(8_192, 0)],
    ids=["empty", "half a page", "no data", "half the data", "no head", "garbage"],
)
def test_a_damaged_file_is_named_by_doctor(home: Home, damage: Callable[[Path], None]) -> None:
    file = home.shard_folder(1) / "data.mdb"
    damage(file)
    (problem,) = [text for outcome, text in store_checks(home) if outcome is Outcome.PROBLEM]
    assert problem.startswith(str(file))
    assert "backup" in problem


def test_damaged_rows_and_another_releases_layout_are_named(home: Home) -> None:
    store = LmdbStore(home.shard_folder(0))
    store.commit([(answer_key("call00007"), b"\x01 not a row")])
    store.close()
    assert "1 damaged rows" in (store_problem(home.shard_folder(0)) or "")
    store = LmdbStore(home.shard_folder(1))
    store.commit([(fact_key("layout"), pack_row(99))])
    store.close()
    assert "another release" in (store_problem(home.shard_folder(1)) or "")


@pytest.mark.parametrize("code", [exit_codes.HOME_REFUSED, -signal.SIGBUS])
def test_a_child_that_cannot_use_the_home_makes_the_start_refuse_the_home(home: Home, code: int) -> None:
    refusal = start_refusal(home, "shard-0", code)
    assert exit_code_of(refusal) == exit_codes.HOME_REFUSED
    assert "nexus doctor" in str(refusal)


@pytest.mark.parametrize("code", [None, 0, 1, 74, -signal.SIGKILL])
def test_a_child_that_ends_for_another_reason_is_a_start_that_failed(home: Home, code: int | None) -> None:
    assert exit_code_of(start_refusal(home, "shard-0", code)) == exit_codes.START_FAILED
