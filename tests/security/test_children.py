"""Attacks 9, 16 and 23 as far as they concern NEXUS' own processes (contract/security.md 2)."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import actors
from tests.support.processes import Nexus, ended_afterwards

pytestmark = pytest.mark.processes

CANARY = "canary-7f3a"


@pytest.fixture
def nexus(tmp_path: Path) -> Iterator[Nexus]:
    with ended_afterwards(Nexus(tmp_path / "home")) as nexus:
        yield nexus


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose packages, if anyone imported them, would leave a trace and end the process."""
    folder = tmp_path / "hostile"
    for name in ("actors", "bus", "nexus", "uvloop"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w'); raise SystemExit(9)")
    return folder


def test_a_users_folder_and_python_path_do_not_shadow_children(nexus: Nexus, hostile: Path, tmp_path: Path) -> None:
    """security 2.16"""
    nexus.start(folder=hostile, environment={"PYTHONPATH": str(hostile), "PYTHONSTARTUP": str(hostile / "x.py")})
    report = nexus.report("shard-0")
    assert report["actors"] == actors.__file__
    assert report["folder"] == str(nexus.home)
    assert not {"", ".", str(hostile), str(nexus.home)} & set(report["import_path"])
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", ["shard-0", "gateway"])
def test_neither_a_variable_nor_a_descriptor_of_the_caller_reaches_children(nexus: Nexus, name: str) -> None:
    """security 2.16"""
    with tempfile.TemporaryFile() as canary:
        nexus.start(environment={"CANARY": CANARY, "NEXUS_TOKEN": CANARY}, pass_fds=(canary.fileno(),))
        status = os.fstat(canary.fileno())
        report = nexus.report(name)
    assert CANARY not in str(report["environment"])
    assert not [key for key in report["environment"] if key.startswith(("NEXUS", "PYTHON"))]
    assert [status.st_dev, status.st_ino] not in report["descriptors"]


def test_a_shard_host_gets_none_of_the_listening_sockets(nexus: Nexus) -> None:
    nexus.start()
    shard, gateway = nexus.report("shard-0"), nexus.report("gateway")
    # Input, output, log, ready pipe and family lock; the gateway has three sockets more.
    assert len(gateway["descriptors"]) - len(shard["descriptors"]) == 3


@pytest.mark.parametrize("name", ["shard-0", "gateway"])
def test_children_are_closed_to_others_and_leave_no_core(nexus: Nexus, name: str) -> None:
    nexus.start()
    report = nexus.report(name)
    assert report["umask"] == 0o077
    assert report["core_limit"] == [0, 0]
    assert report["session"] == report["pid"]
    if sys.platform == "linux":
        # The kernel gives the files of a process that cannot be dumped to root.
        assert Path(f"/proc/{report['pid']}/environ").stat().st_uid == 0


def test_everything_on_disk_is_for_this_user_only_under_a_lax_umask(nexus: Nexus) -> None:
    """security 2.23"""
    before = os.umask(0o000)
    try:
        nexus.start()
    finally:
        os.umask(before)
    nexus_home = nexus.home
    for entry in [nexus_home, *nexus_home.rglob("*")]:
        mode = stat.S_IMODE(entry.lstat().st_mode)
        assert mode == (0o700 if entry.is_dir() else 0o600), entry


def test_sockets_are_for_this_user_only(nexus: Nexus) -> None:
    nexus.start()
    sockets = [entry for entry in (nexus.home / "run").iterdir() if entry.is_socket()]
    assert {entry.name for entry in sockets} == {"mcp.sock", "person.sock", "supervisor.sock"}
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in sockets} == {0o600}


def test_no_key_stands_in_arguments_logs_or_answers(nexus: Nexus) -> None:
    """security 2.9"""
    started = nexus.start()
    key = (nexus.home / "home.key").read_bytes()
    arguments = [argument for name in ("shard-0", "gateway") for argument in nexus.report(name)["arguments"]]
    texts = [*arguments, str(started), nexus.run("status", "--json").out, nexus.run("doctor", "--json").out]
    texts += [file.read_text() for file in (nexus.home / "logs").glob("*.log")]
    assert not [text for text in texts if key.hex() in text or str(key) in text]
