"""What `nexus doctor` finds."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from bus.journal import GroupWriter
from bus.store_lmdb import LmdbStore
from nexus import doctor
from nexus.config import Home, create_home
from nexus.doctor import Check, Outcome, check_file_system, check_port, examine, file_system_of
from nexus.person_client import PersonClient
from nexus.sockets import listen_on_port, port_of
from tests.nexus.test_person_port import LISTS
from tests.support.person_port import running_port
from tools.errors import unavailable

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:40 / /mnt/share rw - nfs4 server:/export rw
41 22 0:41 / /mnt/share\\040two rw - ext4 /dev/sdb rw
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(tmp_path / "home", cores=1)


def found(checks: list[Check], name: str) -> Check:
    return next(check for check in checks if check.name == name)


def test_a_good_home_has_no_problem(home: Home) -> None:
    checks = examine(home.path)
    assert not [check for check in checks if check.outcome is Outcome.PROBLEM]
    assert {"python", "home", "lock", "port", "sockets", "file system", "disk"} <= {check.name for check in checks}


def test_a_missing_home_is_no_problem_and_says_what_next(tmp_path: Path) -> None:
    check = found(examine(tmp_path / "deep" / "none"), "home")
    assert check.outcome is Outcome.WARNING
    assert "nexus up" in check.text


def test_a_file_that_others_can_read_is_a_problem(home: Home) -> None:
    leaked = home.artifacts / "blob"
    leaked.touch()
    leaked.chmod(0o644)
    check = found(examine(home.path), "home")
    assert check.outcome is Outcome.PROBLEM
    assert str(leaked) in check.text


def test_a_taken_port_is_a_warning() -> None:
    with listen_on_port(0) as listening:
        assert check_port(port_of(listening)).outcome is Outcome.WARNING


def test_the_reserve_is_told_of_and_a_shard_without_one_is_a_warning(home: Home) -> None:
    """common 8.5"""
    assert not [check for check in examine(home.path) if check.name == "reserve"], "nothing was made yet"
    store = LmdbStore(home.shard_folder(0))
    GroupWriter(store, 0, lambda commits: None, lambda: None)
    assert found(examine(home.path), "reserve").outcome is Outcome.GOOD
    store.release_reserve()
    store.close()
    check = found(examine(home.path), "reserve")
    assert check.outcome is Outcome.WARNING
    assert "shard 0" in check.text


@pytest.mark.parametrize(
    ("path", "kind"), [("/srv/home", "ext4"), ("/mnt/share/home", "nfs4"), ("/mnt/share two/home", "ext4")]
)
def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert file_system_of(Path(path), mounts) == kind
    wanted = Outcome.WARNING if kind == "nfs4" else Outcome.GOOD
    assert check_file_system(Path(path), mounts).outcome is wanted


def test_without_a_mount_table_nothing_is_claimed(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "none") is None


def test_what_the_mesh_needs_is_a_warning_each_and_nothing_while_nexus_does_not_run(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mesh 4.4"""
    assert not [check for check in examine(home.path) if check.name == "mesh"]
    with running_port(LISTS) as port:
        monkeypatch.setattr(doctor, "PersonClient", lambda run: PersonClient(port.run))
        port.caller.on("mailbox_peek", {"queued": 0}, "mailbox")
        assert found(examine(home.path), "mesh").outcome is Outcome.GOOD
        port.caller.on("mailbox_peek", {"isPaused": True, "queued": 2}, "mailbox/-/b1")
        check = found(examine(home.path), "mesh")
        assert check.outcome is Outcome.WARNING
        assert "Bo (b1) is paused and has 2 tasks waiting" in check.text
        port.caller.on("directory_list", unavailable(), "app/-/directory")
        assert "could not be looked at" in found(examine(home.path), "mesh").text


@pytest.mark.parametrize("line", [b"1234\n", b"not json\n", b"\xff\n"])
def test_whatever_else_listens_on_the_persons_socket_is_told_of_and_ends_no_examination(
    home: Home, line: bytes
) -> None:
    path = home.run / "person.sock"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen(1)
        answering = threading.Thread(target=lambda: listening.accept()[0].sendall(line))
        answering.start()
        check = found(examine(home.path), "mesh")
        answering.join(10)
    assert check.outcome is Outcome.WARNING
    assert "does not answer as NEXUS does" in check.text
