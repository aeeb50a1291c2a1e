"""A restore that is refused says so in one sentence, leaves no home where there was none, and a home as it was."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import nexus.archive
import nexus.generations
import nexus.restore
from bus.address import Address
from nexus import exit_codes
from nexus.archive import BackupRefused
from nexus.backup import back_up_stopped
from nexus.cli import build_app
from nexus.config import Home, open_home
from nexus.generations import tidy
from nexus.restore import restore
from tests.support.archives import Members, flip, members_of, with_content, with_manifest, write_tar
from tests.support.homes import HASH_A, agent_rows, all_rows, made_home, write_rows

ONE = Address("counter", "-", "one")
CONFIG, SHARD = 1, 2
Change = Callable[[Members], Members]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = made_home(tmp_path / "home")
    write_rows(home, [*((ONE, f"row{n}", "x" * 5_000) for n in range(40)), *agent_rows("ada", "Ada", HASH_A)])
    return home


@pytest.fixture
def file(home: Home, tmp_path: Path) -> Path:
    back_up_stopped(home, tmp_path / "b.tar")
    return tmp_path / "b.tar"


def run(file: Path, home: Path, *more: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(build_app(), ["restore", str(file), "--home", str(home), *more])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def content_of(home: Home) -> list[Path]:
    """All files but those of locks."""
    return sorted(place for place in home.path.rglob("*") if place.parent.name != "run")


def config(change: Callable[[str], str]) -> Change:
    return lambda members: with_content(members, CONFIG, change(members[CONFIG][1].decode()).encode())


def shard(change: Callable[[bytes], bytes]) -> Change:
    return lambda members: with_content(members, SHARD, change(members[SHARD][1]))


def flipped(members: Members) -> Members:
    return [*members[:SHARD], (members[SHARD][0], flip(members[SHARD][1])), *members[SHARD + 1 :]]


CHANGES: dict[str, Change] = {
    "checksum": flipped,
    "member missing": lambda members: members[:SHARD],
    "no LMDB": shard(lambda content: b"\xa5" * len(content)),
    "empty": shard(lambda content: b""),
    "cut": shard(lambda content: content[: len(content) // 2]),
    "two pages": shard(lambda content: content[:8_192]),
    "other sequence": lambda members: with_manifest(members, lambda manifest: manifest.update(sequences=[7])),
    "other id": lambda members: with_manifest(members, lambda manifest: manifest.update(homeId="other")),
    "time": lambda members: with_manifest(members, lambda manifest: manifest.update(atMs=10**30)),
    "config of brackets": config(lambda text: "x = " + "[" * 20_000),
    "config of no text": lambda members: with_content(members, CONFIG, b"\xff\xfe"),
    "config: port": config(lambda text: text.replace("port = 4470", "port = 99999")),
    "config: shards": config(lambda text: text.replace("shards = 1", "shards = true")),
    "config: incarnation": config(lambda text: f"incarnation = {10**30}\n{text}"),
    "config: no id": config(lambda text: text.replace("home_id", "name")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_bad_backup_leaves_no_home_behind_and_a_home_as_it_was(home: Home, file: Path, name: str) -> None:
    write_tar(file, CHANGES[name](members_of(file)))
    before, listed = all_rows(home), content_of(home)
    for place in (file.parent / "deep" / "new", home.path):
        code, printed, told = run(file, place, "--yes")
        assert (code, printed) == (exit_codes.REFUSED, "")
        assert len(told.strip().splitlines()) <= 4, told  # a sentence, wrapped
        assert "Nothing was changed" in " ".join(told.split())
        assert "unpacked" not in told
        assert ".restore-" not in told
    assert sorted(entry.name for entry in file.parent.iterdir()) == ["b.tar", "home"]
    assert content_of(home) == listed
    assert all_rows(open_home(home.path)) == before


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("module", "step"),
    [(nexus.archive, "_created"), *((nexus.restore, step) for step in ("new_generation", "_keep_config", "switch"))],
)
def test_a_full_disk_at_any_step_leaves_no_home_behind(
    file: Path, monkeypatch: pytest.MonkeyPatch, module: object, step: str
) -> None:
    empty = file.parent / "empty"
    empty.mkdir(mode=0o700)
    monkeypatch.setattr(module, step, full)
    for place in (file.parent / "new", empty):
        code, printed, told = run(file, place)
        assert (code, printed) == (exit_codes.REFUSED, "")
        assert "No space left" in " ".join(told.split())
    assert not (file.parent / "new").exists()
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("step", ["new_generation", "_keep_config", "switch"])
def test_a_full_disk_leaves_a_home_as_it_was(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = all_rows(home)
    with monkeypatch.context() as patched:
        patched.setattr(nexus.restore, step, full)
        assert run(file, home.path, "--yes")[0] == exit_codes.REFUSED
    assert all_rows(open_home(home.path)) == before
    assert [entry.name for entry in (home.path / "shards").iterdir()] == ["0"]


def test_a_full_disk_after_the_switch_is_told_as_what_it_is(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(nexus.generations, "_keep", full)
        code, _, told = run(file, home.path, "--yes")
    assert (code, "is in place" in " ".join(told.split())) == (exit_codes.REFUSED, True)
    assert "Nothing was changed" not in " ".join(told.split())
    assert open_home(home.path).settings.incarnation == 2
    assert [place.name for place in tidy(open_home(home.path))] == ["0"]


def test_a_pipe_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        code, _, told = run(place, tmp_path / "new")
        assert (code, "not a regular file" in " ".join(told.split())) == (exit_codes.REFUSED, True)
    assert not (tmp_path / "new").exists()


def test_only_known_settings_are_taken_over(file: Path) -> None:
    change = config(lambda text: text.replace("4470", "5000") + 'secret = "x"\n[table]\ny = 1\n')
    write_tar(file, change(members_of(file)))
    restored = restore(file, file.parent / "new", may_replace=False)
    text = (restored.home.path / "config.toml").read_text()
    assert (restored.home.settings.port, restored.home.settings.generation) == (5000, 2)
    assert "secret" not in text
    assert "table" not in text


def test_a_new_home_has_nothing_to_compare_with_and_says_so(home: Home, file: Path) -> None:
    code, printed, _ = run(file, file.parent / "new")
    assert code == 0
    assert "could not compare: this home is new" in " ".join(printed.split())
    assert "work again" not in printed
    record = json.loads(run(file, file.parent / "newer", "--json")[1])
    assert (record["compared"], [one["agentId"] for one in record["tokens"]]) == (False, ["ada"])
    record = json.loads(run(file, home.path, "--yes", "--json")[1])
    assert (record["compared"], record["tokens"]) == (True, [])


def test_a_home_whose_store_is_damaged_can_be_put_back_and_its_tokens_cannot_be_compared(
    home: Home, file: Path
) -> None:
    os.truncate(home.shard_folder(0) / "data.mdb", 8_192)
    with pytest.raises(nexus.restore.HomeInUse):
        restore(file, home.path, may_replace=False)
    restored = restore(file, home.path, may_replace=True)
    assert (restored.compared, restored.new) == (False, False)
    assert [one.agent_id for one in restored.tokens] == ["ada"]
    assert "could not be read" in " ".join(run(file, _with_damage(restored.home), "--yes")[1].split())


def _with_damage(home: Home) -> Path:
    (home.shard_folder(0) / "data.mdb").write_bytes(b"\xa5" * 20_000)
    return home.path


def test_what_a_killed_restore_left_is_removed_but_not_what_another_one_uses(file: Path) -> None:
    new = file.parent / "new"
    for name in (".restore-ab12_xyz", ".restore-inuse_00", ".restore-mine"):
        (new / name).mkdir(parents=True, mode=0o700)
    new.chmod(0o700)
    descriptor = os.open(new / ".restore-inuse_00", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    restore(file, new, may_replace=False)
    os.close(descriptor)
    assert {entry.name for entry in new.glob(".restore-*")} == {".restore-inuse_00", ".restore-mine"}


def test_a_backup_that_cannot_be_read_as_a_whole_is_refused_before_the_home_is_made(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    monkeypatch.setattr(nexus.restore, "create_home", lambda *_, **__: made.append(1))
    write_tar(file, CHANGES["cut"](members_of(file)))
    with pytest.raises(BackupRefused, match="Shard 0"):
        restore(file, file.parent / "new", may_replace=False)
    assert made == []
