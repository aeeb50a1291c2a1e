"""A backup of a home that does not run, and the file it is: private, whole or not there, and believed in nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bus.address import Address
from nexus import archive, exit_codes
from nexus.archive import BackupRefused, Manifest, read_manifest, unpack_archive
from nexus.backup import back_up_stopped, lock_of
from nexus.cli import build_app
from nexus.config import Home
from tests.support.archives import flip, members_of, with_manifest, write_tar
from tests.support.homes import all_rows, made_home, write_rows

ONE = Address("counter", "-", "one")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = made_home(tmp_path / "home", 2)
    write_rows(home, [(ONE, "head", 5), (ONE, "extra", "x" * 5_000)])
    return home


@pytest.fixture
def file(home: Home, tmp_path: Path) -> Path:
    back_up_stopped(home, tmp_path / "b.tar")
    return tmp_path / "b.tar"


def test_a_backup_is_private_and_holds_config_and_shards_but_no_key_and_no_profiles(home: Home, file: Path) -> None:
    """security 2.23"""
    (home.profiles / "cookies").write_text("secret")
    assert file.stat().st_mode & 0o777 == 0o600
    names = [entry.name for entry, _ in members_of(file)]
    assert names == ["manifest.json", "config.toml", "shards/0/data.mdb", "shards/1/data.mdb"]
    assert all(entry.mode == 0o600 for entry, _ in members_of(file))
    assert home.key() not in file.read_bytes()
    assert list(home.backups.iterdir()) == []


def test_artifacts_are_in_it_and_links_are_not_followed(home: Home, tmp_path: Path) -> None:
    (home.artifacts / "ab").mkdir()
    (home.artifacts / "ab" / "abcd").write_bytes(b"blob")
    (home.artifacts / "link").symlink_to(home.path / "home.key")
    made = back_up_stopped(home, tmp_path / "c.tar")
    assert [member.name for member in made.manifest.members][-1] == "artifacts/ab/abcd"
    unpack_archive(tmp_path / "c.tar", tmp_path / "out", wanted="artifacts/")
    assert (tmp_path / "out" / "artifacts" / "ab" / "abcd").read_bytes() == b"blob"


def test_a_config_that_is_changed_while_the_backup_is_packed_does_not_spoil_it(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, file = archive._digest, tmp_path / "d.tar"

    def digest_then_change(place: Path) -> str:
        found = digest(place)
        with (home.path / "config.toml").open("a") as config:
            config.write("# changed meanwhile\n")
        return found

    monkeypatch.setattr(archive, "_digest", digest_then_change)
    back_up_stopped(home, file)
    unpack_archive(file, tmp_path / "out")


def test_a_backup_never_replaces_a_file(home: Home, file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(BackupRefused, match="never replaces"):
        back_up_stopped(home, file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("why", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_hard_links_gets_a_whole_private_backup_and_nothing_beside_it(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    """security 2.23: as FAT and some shared folders answer."""
    before = members_of(file)
    file.unlink()
    monkeypatch.setattr(os, "link", _refusing(why))
    with lock_of(home):
        back_up_stopped(home, file)
        with pytest.raises(BackupRefused, match="is there already"):
            back_up_stopped(home, file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry, _ in members_of(file)] == [entry.name for entry, _ in before]
    unpack_archive(file, file.parent / "unpacked")
    assert not list(file.parent.glob(f".{file.name}-*"))


def test_without_hard_links_a_file_that_appears_meanwhile_stays_and_a_copy_that_fails_is_removed(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.unlink()

    def appears(source: Path, target: Path) -> None:
        target.write_bytes(b"mine")
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", appears)
    with lock_of(home), pytest.raises(BackupRefused, match="is there already"):
        back_up_stopped(home, file)
    assert file.read_bytes() == b"mine"
    file.unlink()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", _refusing(errno.EPERM))
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with lock_of(home), pytest.raises(BackupRefused, match="No space left"):
        back_up_stopped(home, file)
    assert not file.exists()


def _refusing(why: int) -> Callable[..., None]:
    def link(source: Path, target: Path) -> None:
        raise OSError(why, "no links here")

    return link


def test_a_backup_that_cannot_be_written_leaves_nothing(home: Home, tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="not a folder"):
        back_up_stopped(home, tmp_path / "no" / "b.tar")
    assert list(home.backups.iterdir()) if home.backups.exists() else True


def test_what_an_interrupted_backup_left_is_removed_by_the_next(home: Home, tmp_path: Path) -> None:
    left = home.backups / "01m8p8fjm82yabkctn48g3f8g0" / "0"
    left.mkdir(parents=True)
    (left / "data.mdb").write_bytes(b"half")
    back_up_stopped(home, tmp_path / "b.tar")
    assert list(home.backups.iterdir()) == []


def test_the_manifest_tells_what_the_backup_is_of(home: Home, file: Path) -> None:
    manifest = read_manifest(file)
    assert (manifest.homeId, manifest.shards, manifest.sequences) == (home.home_id, 2, [1, 1])
    assert unpack_archive(file, file.parent / "out") == manifest
    out = file.parent / "out"
    assert (out / "shards" / "0" / "data.mdb").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name", ["../config.toml", "/etc/passwd", "shards/../../x", "artifacts/../../x", "home.key", "profiles/x", "a\x00b"]
)
def test_a_member_whose_path_leads_outside_is_refused_before_anything_is_written(file: Path, name: str) -> None:
    """security 2.23"""
    members = members_of(file)

    def change(manifest: dict[str, Any]) -> None:
        manifest["members"].append({**manifest["members"][0], "name": name})

    entry = tarfile.TarInfo(name.replace("\x00", ""))
    write_tar(file, [*with_manifest(members, change), (entry, members[1][1])])
    with pytest.raises(BackupRefused, match="outside"):
        unpack_archive(file, file.parent / "out")
    assert not (file.parent / "out").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_a_member_that_is_no_plain_file_is_refused(file: Path, kind: bytes) -> None:
    """security 2.23"""
    members = members_of(file)
    link = tarfile.TarInfo("config.toml")
    link.type, link.linkname, link.size = kind, "/etc/passwd", 0

    def change(manifest: dict[str, Any]) -> None:
        manifest["members"][0]["bytes"] = 0

    write_tar(file, [*with_manifest(members, change)[:1], (link, b""), *members[2:]])
    with pytest.raises(BackupRefused, match="no plain file"):
        unpack_archive(file, file.parent / "out")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_member_that_does_not_match_its_checksum_is_refused(file: Path, number: int) -> None:
    members = members_of(file)
    members[number] = (members[number][0], flip(members[number][1]))
    write_tar(file, members)
    with pytest.raises(BackupRefused, match="checksum"):
        unpack_archive(file, file.parent / "out")


def test_a_file_that_is_cut_off_more_than_it_lists_or_something_else_is_refused(file: Path) -> None:
    whole, members = file.read_bytes(), members_of(file)
    for end in (0, 100, 512, 2_000, len(whole) // 2):
        file.write_bytes(whole[:end])
        with pytest.raises(BackupRefused):
            unpack_archive(file, file.parent / f"out{end}")
    write_tar(file, [*members, (tarfile.TarInfo("more"), b"")])
    with pytest.raises(BackupRefused, match="more than"):
        unpack_archive(file, file.parent / "more")
    with pytest.raises(BackupRefused, match="cannot be opened"):
        read_manifest(file.parent / "absent")
    file.write_bytes(b"not a tar at all" * 1_000)
    with pytest.raises(BackupRefused, match="not a NEXUS backup"):
        read_manifest(file)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 2}, "newer"),
        ({"shards": 3}, "one whole home"),
        ({"shards": 9}, "cannot read"),
        ({"members": []}, "one whole home"),
        ({"sequences": [1]}, "one whole home"),
        ({"atMs": 10**30}, "cannot read"),
        ({"atMs": -1}, "cannot read"),
        ({"incarnation": 10**30}, "cannot read"),
        ({"layout": 10**30}, "cannot read"),
        ({"sequences": [1, 10**30]}, "cannot read"),
        ({"homeId": 'x"\n'}, "cannot read"),
        ({"nexus": "x" * 1_000}, "cannot read"),
    ],
)
def test_a_manifest_that_is_newer_or_not_of_one_home_is_refused(file: Path, change: dict[str, Any], why: str) -> None:
    write_tar(file, with_manifest(members_of(file), lambda manifest: manifest.update(change)))
    with pytest.raises(BackupRefused, match=why):
        read_manifest(file)


def test_a_manifest_of_many_brackets_or_digits_is_refused_in_one_sentence(file: Path) -> None:
    members = members_of(file)
    for content in (b"[" * 200_000, b'{"format": ' + b"9" * 10_000 + b"}", b"\xff"):
        write_tar(file, [(members[0][0], content), *members[1:]])
        result = CliRunner().invoke(build_app(), ["restore", str(file), "--home", str(file.parent / "new")])
        assert (result.exit_code, result.stdout) == (exit_codes.REFUSED, "")
        assert "Nothing was changed" in result.stderr
        assert not (file.parent / "new").exists()


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", tmp_path, Path(os.devnull)):
        with pytest.raises(BackupRefused, match="not a regular file"):
            read_manifest(file)


HALF = ".before-reshard-to-2-20260101T000000Z.tar-ab12_xyz"


@pytest.mark.parametrize("command", [["backup", "c.tar"], ["reshard", "2"], ["reshard", "1"], ["restore", "b.tar"]])
def test_what_a_killed_reshard_left_is_removed_by_the_next_command_and_nothing_else(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(file.parent)
    mine = [".before-reshard-mine", "before-reshard-to-2-20260101T000000Z.tar", ".other.tar-ab12_xyz"]
    for name in (HALF, HALF.replace("reshard-to-2", "layout-3"), *mine):
        (home.backups / name).write_bytes(b"half")
    more = ["--yes"] if command[0] == "restore" else []
    result = CliRunner().invoke(build_app(), [*command, *more, "--home", str(home.path)])
    assert result.exit_code == 0, result.output
    left = {place.name for place in home.backups.iterdir()}
    assert set(mine) <= left
    assert {name for name in left if "tar-" in name} == {mine[2]}


def test_a_home_whose_id_somebody_changed_is_refused_in_one_sentence(home: Home, tmp_path: Path) -> None:
    config = home.path / "config.toml"
    config.write_text(config.read_text().replace(home.home_id, "two words"))
    result = CliRunner().invoke(build_app(), ["backup", str(tmp_path / "c.tar"), "--home", str(home.path)])
    assert (result.exit_code, result.stdout) == (exit_codes.REFUSED, "")
    assert "no backup may have" in result.stderr


def test_one_shard_is_told_in_the_singular(tmp_path: Path) -> None:
    small = made_home(tmp_path / "small", 1)
    for command in (["backup", str(tmp_path / "s.tar")], ["reshard", "1"]):
        result = CliRunner().invoke(build_app(), [*command, "--home", str(small.path)])
        assert "1 shard" in result.stdout
        assert "1 shards" not in result.stdout


def test_a_second_backup_at_once_is_refused(home: Home, tmp_path: Path) -> None:
    import fcntl

    descriptor = os.open(home.backup_lock_file, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(BackupRefused, match="Another backup"):
        back_up_stopped(home, tmp_path / "b.tar")
    os.close(descriptor)


def test_the_command_writes_a_backup_and_says_what_it_is(home: Home, tmp_path: Path) -> None:
    before = all_rows(home)
    file = tmp_path / "c.tar"
    result = CliRunner().invoke(build_app(), ["backup", str(file), "--home", str(home.path), "--json"])
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert (record["file"], record["shards"], record["barrierMs"]) == (str(file), 2, 0)
    assert record["bytes"] == file.stat().st_size
    assert all_rows(home) == before
    again = CliRunner().invoke(build_app(), ["backup", str(file), "--home", str(home.path)])
    assert again.exit_code == exit_codes.REFUSED
    assert "never replaces" in again.stderr
    missing = CliRunner().invoke(build_app(), ["backup", str(tmp_path / "d.tar"), "--home", str(tmp_path / "none")])
    assert missing.exit_code == exit_codes.REFUSED


@pytest.mark.parametrize("command", ["backup", "restore", "reshard"])
def test_each_command_that_keeps_a_home_has_examples_exit_codes_home_and_json(command: str) -> None:
    shown = CliRunner().invoke(build_app(), [command, "--help"]).stdout
    for part in (f"nexus {command}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown


def test_a_backup_of_a_home_that_another_process_uses_is_refused(home: Home, tmp_path: Path) -> None:
    from bus.store_lmdb import LmdbStore

    store = LmdbStore(home.shard_folder(1))
    with lock_of(home), pytest.raises(BackupRefused, match="in use"):
        back_up_stopped(home, tmp_path / "b.tar")
    store.close()
    assert not (tmp_path / "b.tar").exists()


def test_the_manifest_is_checked_for_its_form() -> None:
    with pytest.raises(ValueError, match="validation"):
        Manifest.model_validate({"format": 1})
