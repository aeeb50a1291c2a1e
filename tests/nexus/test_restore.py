"""Restoring: nothing is lost silently, nothing half done is used, and the person learns which tokens live again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bus import address
from bus.address import Address
from bus.clock import SystemClock
from bus.codec import pack_row
from bus.store import state_key
from bus.store_lmdb import LmdbStore
from bus.stored_time import newest_record_ms
from nexus import exit_codes, generations
from nexus.archive import BackupRefused
from nexus.backup import back_up_stopped, lock_of
from nexus.cli import build_app
from nexus.config import Home, HomeRefused, open_home
from nexus.generations import changed_config, tidy
from nexus.restore import HomeInUse, restore
from tests.support.homes import HASH_A, HASH_B, agent_rows, all_rows, made_home, write_rows

ONE = Address("counter", "-", "one")


def states(home: Home) -> list[tuple[bytes, bytes]]:
    return sorted(pair for pair in all_rows(home) if pair[0].startswith(b"s"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = made_home(tmp_path / "home", 2)
    write_rows(home, [(ONE, "head", 5), *agent_rows("ada", "Ada", HASH_A), *agent_rows("bo", "Bo", HASH_A)])
    return home


@pytest.fixture
def file(home: Home, tmp_path: Path) -> Path:
    back_up_stopped(home, tmp_path / "b.tar")
    return tmp_path / "b.tar"


def test_a_new_home_holds_the_same_and_is_the_next_incarnation_with_a_key_of_its_own(home: Home, file: Path) -> None:
    restored = restore(file, file.parent / "new", may_replace=False)
    assert states(restored.home) == states(home)
    assert restored.home.settings.incarnation == 2
    assert (restored.home.home_id, restored.home.settings.shards) == (home.home_id, 2)
    assert restored.home.key() != home.key()
    assert restored.kept == ()
    events = [value for key, value in all_rows(restored.home) if key.startswith(b"j")]
    assert sum(b"home.restored" in value for value in events) == 2


def test_every_token_of_the_backup_is_listed_for_a_new_home_and_removed_agents_are_not(
    home: Home, tmp_path: Path
) -> None:
    rows = [(to, row, {**value, "removed": True} if row == "head" else value) for to, row, value in _dicts("cy", "Cy")]
    write_rows(home, rows, sequence=2)
    back_up_stopped(home, tmp_path / "c.tar")
    restored = restore(tmp_path / "c.tar", tmp_path / "new", may_replace=False)
    assert [(one.agent_id, one.agent, one.name) for one in restored.tokens] == [
        ("ada", "Ada", "default"),
        ("bo", "Bo", "default"),
    ]


def _dicts(agent_id: str, name: str) -> list[tuple[Address, str, dict[str, object]]]:
    return [(to, row, value) for to, row, value in agent_rows(agent_id, name, HASH_A) if isinstance(value, dict)]


def test_only_tokens_that_differ_or_are_gone_are_listed_when_a_home_is_put_back(home: Home, file: Path) -> None:
    write_rows(home, agent_rows("bo", "Bo", HASH_B), sequence=2)
    restored = restore(file, home.path, may_replace=True)
    assert [one.agent_id for one in restored.tokens] == ["bo"]
    assert restored.compared
    assert HASH_A.hex() not in json.dumps(restored.record())


def test_tokens_that_cannot_be_read_in_the_backup_are_not_passed_over_in_silence(home: Home, tmp_path: Path) -> None:
    agent = address.agent("ada")
    store = LmdbStore(home.shard_folder(agent.shard(2)))
    key = state_key(agent, "credential/default")
    good = store.get(key)
    assert good is not None
    store.commit([(key, good[:-1] + bytes([good[-1] ^ 1]))])
    store.close()
    back_up_stopped(home, tmp_path / "damaged.tar")
    command = ["restore", str(tmp_path / "damaged.tar"), "--home", str(tmp_path / "new")]
    result = CliRunner().invoke(build_app(), command)
    assert result.exit_code == 0, result.output
    assert "tokens of the backup could not be read" in " ".join(result.output.split())


def test_the_names_of_all_new_files_are_on_disk_before_the_switch(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Path] = []
    replace = generations.replace_file
    monkeypatch.setattr(generations, "sync", done.append)

    def replaced(place: Path, content: bytes) -> None:
        done.append(place)
        replace(place, content)

    monkeypatch.setattr(generations, "replace_file", replaced)
    restore(file, home.path, may_replace=True)
    before = done[: done.index(home.path / "config.toml")]
    assert {home.path / "shards" / "generation-2" / str(shard) for shard in (0, 1)} < set(before)


def test_a_restored_home_begins_no_earlier_than_its_newest_record_though_the_clock_was_set_back(
    home: Home, tmp_path: Path
) -> None:
    ahead = SystemClock().now_ms() + 86_400_000
    store = LmdbStore(home.shard_folder(0))
    last = store.last(b"j")
    assert last is not None
    told = {"owner": "counter/-/x", "call": "k", "by": "person", "at": ahead, "events": []}
    store.commit([(last[0], pack_row(told))])  # type: ignore[arg-type]
    store.close()
    back_up_stopped(home, tmp_path / "ahead.tar")
    restored = restore(tmp_path / "ahead.tar", tmp_path / "new", may_replace=False)
    store = LmdbStore(restored.home.shard_folder(0))
    assert newest_record_ms(store) == ahead
    store.close()


def test_a_home_with_content_is_refused_and_with_yes_its_shards_are_kept(home: Home, file: Path) -> None:
    write_rows(home, [(ONE, "head", 6)], sequence=2)
    with pytest.raises(HomeInUse, match="--yes"):
        restore(file, home.path, may_replace=False)
    restored = restore(file, home.path, may_replace=True)
    assert [place.relative_to(home.path) for place in restored.kept] == [
        Path("kept/generation-1/0"),
        Path("kept/generation-1/1"),
    ]
    old = LmdbStore(restored.kept[ONE.shard(2)])
    assert old.scan(b"scounter/-/one") != [pair for pair in all_rows(open_home(home.path)) if b"counter" in pair[0]]
    old.close()
    assert (home.kept / "config-of-generation-1.toml").exists()
    again = restore(file, home.path, may_replace=True)
    assert again.home.settings.incarnation == 3
    assert again.kept == (home.kept / "generation-2",)


def test_a_home_that_was_made_but_never_used_needs_no_yes(file: Path, tmp_path: Path) -> None:
    made_home(tmp_path / "fresh")
    assert restore(file, tmp_path / "fresh", may_replace=False).home.settings.shards == 2


def test_a_running_home_is_refused(home: Home, file: Path) -> None:
    with lock_of(home):
        result = CliRunner().invoke(build_app(), ["restore", str(file), "--home", str(home.path), "--yes"])
    assert result.exit_code == exit_codes.ALREADY_RUNNING
    assert "nexus down" in result.stderr


def test_a_folder_with_other_things_is_not_made_a_home(file: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(HomeRefused, match="other files"):
        restore(file, tmp_path / "mine", may_replace=True)


def test_a_damaged_backup_leaves_the_home_as_it_was(home: Home, file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[-8_000] ^= 1
    file.write_bytes(raw)
    before, config = all_rows(home), (home.path / "config.toml").read_text()
    with pytest.raises(BackupRefused):
        restore(file, home.path, may_replace=True)
    assert all_rows(open_home(home.path)) == before
    assert (home.path / "config.toml").read_text() == config
    assert sorted(entry.name for entry in (home.path / "shards").iterdir()) == ["0", "1"]


def test_a_restore_that_was_cut_short_before_the_switch_is_cleaned_up(home: Home) -> None:
    (home.path / "shards" / "generation-2" / "unpacked").mkdir(parents=True)
    before = all_rows(home)
    assert tidy(home) == []
    assert sorted(entry.name for entry in (home.path / "shards").iterdir()) == ["0", "1"]
    assert all_rows(home) == before


def test_a_restore_that_was_cut_short_after_the_switch_keeps_the_old_shards(home: Home, file: Path) -> None:
    restored = restore(file, home.path, may_replace=True)
    for place in restored.kept:  # as it is when the process ended right after config.toml was replaced
        place.rename(home.path / "shards" / place.name)
    assert [place.name for place in tidy(restored.home)] == ["0", "1"]
    assert not (home.path / "shards" / "0").exists()


def test_the_command_prints_what_was_restored_and_which_tokens_live_again(home: Home, file: Path) -> None:
    new = str(file.parent / "new")
    result = CliRunner().invoke(build_app(), ["restore", str(file), "--home", new])
    assert result.exit_code == 0, result.output
    assert "Ada (ada)" in result.stdout
    assert "--replace" in result.stdout
    result = CliRunner().invoke(build_app(), ["restore", str(file), "--home", new, "--yes", "--json"])
    record = json.loads(result.stdout)
    assert record["incarnation"] == 3
    assert record["tokens"] == []
    assert CliRunner().invoke(build_app(), ["restore", str(file), "--home", new]).exit_code == exit_codes.REFUSED


def test_settings_are_changed_without_touching_what_the_person_wrote() -> None:
    text = '# mine\nhome_id = "x"\nshards = 1  # one\nport = 4470\n'
    changed = changed_config(text, shards=2, incarnation=5)
    assert changed.endswith('# mine\nhome_id = "x"\nshards = 2\nport = 4470\n')
    assert "\nincarnation = 5\n" in changed
    assert changed_config(changed, incarnation=6).count("incarnation =") == 1
    with pytest.raises(HomeRefused, match="one setting"):
        changed_config("[table]\nshards = 1\n", shards=2)
