"""The home folder: common 2.4, security 2.23."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bus.limits import socket_path_bytes_max
from nexus import config
from nexus.config import (
    Home,
    HomeMissing,
    HomeRefused,
    create_home,
    home_path,
    open_home,
    prepare_sockets,
    remove_sockets,
    shards_for,
)


@pytest.fixture(autouse=True)
def _umask_restored() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(tmp_path / "home", cores=2)


def test_the_option_wins_over_the_variable_and_both_over_the_platform(tmp_path: Path) -> None:
    environment = {"NEXUS_HOME": str(tmp_path / "variable")}
    assert home_path(tmp_path / "option", environment) == tmp_path / "option"
    assert home_path(None, environment) == tmp_path / "variable"
    assert home_path(None, {}).name == "nexus"
    assert home_path(None, {"NEXUS_HOME": ""}) == home_path(None, {})
    assert home_path(Path("relative"), {}).is_absolute()


def test_a_new_home_is_open_to_nobody_else_under_any_umask(home: Home) -> None:
    entries = [home.path, *home.path.rglob("*")]
    assert {entry.name for entry in entries} > {
        "config.toml",
        "home.key",
        "shards",
        "0",
        "artifacts",
        "profiles",
        "logs",
    }
    for entry in entries:
        wanted = 0o700 if entry.is_dir() else 0o600
        assert stat.S_IMODE(entry.stat().st_mode) == wanted, entry


def test_opening_again_reads_what_was_fixed_at_creation(home: Home) -> None:
    again = create_home(home.path, cores=64)
    assert again == home == open_home(home.path)
    assert again.settings.shards == 1
    assert again.key() == home.key()
    assert len(home.key()) == 32


def test_homes_differ_in_id_and_key(tmp_path: Path) -> None:
    one, other = (create_home(tmp_path / name, cores=1) for name in ("one", "other"))
    assert one.home_id != other.home_id
    assert one.key() != other.key()


def test_no_key_is_in_what_a_log_would_print(home: Home) -> None:
    assert home.key().hex() not in repr(home)
    assert repr(home.key()) not in repr(home)


def test_first_starts_at_once_agree(tmp_path: Path) -> None:
    made: list[tuple[str, bytes]] = []

    def start() -> None:
        home = create_home(tmp_path / "home", cores=2)
        made.append((home.home_id, home.key()))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(made) == 8
    assert len(set(made)) == 1


@pytest.mark.parametrize(("cores", "shards"), [(1, 1), (2, 1), (7, 1), (8, 2), (11, 2), (12, 3), (16, 4), (128, 4)])
def test_shards_grow_with_cores_from_eight_up_to_four(cores: int, shards: int) -> None:
    assert shards_for(cores) == shards


def test_a_missing_home_is_told_apart_from_an_unsafe_one(tmp_path: Path) -> None:
    with pytest.raises(HomeMissing, match="nexus up"):
        open_home(tmp_path / "none")


def test_a_symbolic_link_is_refused(home: Home, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(home.path)
    with pytest.raises(HomeRefused, match="symbolic link"):
        open_home(link)
    with pytest.raises(HomeRefused, match="symbolic link"):
        create_home(link, cores=1)


def test_a_link_inside_is_refused(home: Home, tmp_path: Path) -> None:
    home.logs.rmdir()
    home.logs.symlink_to(tmp_path)
    with pytest.raises(HomeRefused, match="symbolic link"):
        open_home(home.path)


def test_a_folder_of_another_user_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    someone_else = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: someone_else)
    with pytest.raises(HomeRefused, match="another user"):
        open_home(home.path)


@pytest.mark.parametrize("name", ["", "run", "config.toml", "home.key"])
def test_what_others_can_open_is_refused(home: Home, name: str) -> None:
    place = home.path / name
    place.chmod(0o755 if place.is_dir() else 0o644)
    with pytest.raises(HomeRefused, match="chmod"):
        open_home(home.path).key()


def test_a_folder_with_other_files_is_not_made_a_home(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "thesis.odt").touch()
    with pytest.raises(HomeRefused, match="other files"):
        create_home(tmp_path, cores=1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.odt"]


@pytest.mark.parametrize(
    "text",
    ["port = ", 'home_id = "x"\nshards = 9', 'home_id = "x"\nshards = 1\nport = 70000', "shards = 1", "\xff"],
)
def test_a_damaged_configuration_is_refused_in_words(home: Home, text: str) -> None:
    (home.path / "config.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(HomeRefused, match=r"config\.toml"):
        open_home(home.path)


def test_a_damaged_key_is_refused(home: Home) -> None:
    (home.path / "home.key").write_bytes(b"short")
    with pytest.raises(HomeRefused, match="damaged"):
        home.key()


class TestSocketsElsewhere:
    @pytest.fixture
    def deep(self, tmp_path: Path) -> Iterator[Home]:
        home = prepare_sockets(create_home(tmp_path / ("d" * 100), cores=1))
        yield home
        if home.run.is_dir():
            remove_sockets(home)

    def test_sockets_stay_in_the_home_while_its_path_is_short(self, home: Home) -> None:
        short = Home(Path("/h"), home.settings, Path("/h/run"))
        assert config.socket_path_is_short(short.run)

    def test_a_long_home_gets_a_short_private_folder(self, deep: Home) -> None:
        assert len(os.fsencode(deep.supervisor_socket)) <= socket_path_bytes_max
        assert stat.S_IMODE(deep.run.stat().st_mode) == 0o700
        assert open_home(deep.path) == deep
        assert prepare_sockets(deep) == deep
        assert deep.lock_file.parent == deep.path / "run"

    def test_a_pointer_to_a_folder_that_is_not_private_is_not_believed(self, deep: Home) -> None:
        deep.run.chmod(0o777)
        assert open_home(deep.path).run != deep.run
        anew = prepare_sockets(deep)
        assert anew.run != deep.run
        remove_sockets(anew)

    def test_stopping_removes_the_folder_and_its_pointer(self, deep: Home) -> None:
        remove_sockets(deep)
        assert not deep.run.exists()
        assert not deep.pointer_file.exists()
