"""Two commands that connect at once, and configurations that others write meanwhile: nothing is lost (common 2.1)."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nexus.connect import config_file
from nexus.connect.clients import CLIENTS
from nexus.connect.config_file import ChangedMeanwhile, ConfigRefused
from nexus.connect.connecting import Connecting, ConnectRefused, Wish
from nexus.connect.turn import NotOurTurn, turn
from tests.support.connecting import BEFORE, COMMAND, URL, Desk, FakePerson
from tests.support.homes import made_home

CLAUDE = CLIENTS["claude-code"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_of_two_agents_connected_at_once_one_is_refused_and_the_other_has_its_entry(desk: Desk) -> None:
    """common 2.1: each looks before the other writes, if they are not kept apart"""
    desk.write(CLAUDE, BEFORE["claude-code"])
    both_looked = threading.Barrier(2)
    outcomes: dict[str, Any] = {}

    def look(verb: str) -> None:
        if verb == "agent.show":
            with suppress(threading.BrokenBarrierError):
                both_looked.wait(timeout=0.3)

    def connect(agent: str) -> None:
        try:
            outcomes[agent] = desk.connect("claude-code", agent)
        except ConnectRefused as refused:
            outcomes[agent] = refused

    desk.person.before = look
    threads = [threading.Thread(target=connect, args=(agent,)) for agent in ("Ada", "Bo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [one for one in outcomes.values() if isinstance(one, ConnectRefused)]
    assert len(refused) == 1 and "connected as another agent" in str(refused[0])
    ((agent_id, _),) = desk.person.tokens
    assert f"/{agent_id}.connect-claude-code.token" in str(desk.entry(CLAUDE)["args"])
    assert len(list((desk.home.path / "credentials").iterdir())) == 1


@pytest.mark.parametrize("command", ["connect", "disconnect"])
def test_a_home_has_one_turn_from_the_first_look_to_the_last_write(desk: Desk, command: str) -> None:
    if command == "disconnect":
        desk.connect("codex")
    found: list[str] = []

    def look(verb: str) -> None:
        with pytest.raises(NotOurTurn, match="try again"), turn(desk.home, 0):
            pytest.fail("two had the turn")
        found.append(verb)

    desk.person.before = look
    getattr(desk, command)("codex")
    assert len(found) == 2
    with turn(desk.home, 0):
        pass  # it is free again


def test_an_entry_that_another_home_puts_in_meanwhile_stays_and_the_credential_is_taken_back(
    desk: Desk, tmp_path: Path
) -> None:
    """common 2.1"""
    desk.write(CLAUDE, BEFORE["claude-code"])
    other = Connecting(made_home(tmp_path / "other"), FakePerson(), desk.places, COMMAND, URL)

    def connect_the_other(verb: str) -> None:
        if verb == "agent.credential_add":
            other.connect(Wish(CLAUDE, "Bo"))

    desk.person.before = connect_the_other
    with pytest.raises(ConnectRefused, match="not made for this home"):
        desk.connect("claude-code")
    assert f"{tmp_path}/other/credentials/b1." in str(desk.entry(CLAUDE)["args"])
    assert desk.person.tokens == {} and not list((desk.home.path / "credentials").iterdir())


def test_disconnecting_leaves_an_entry_that_another_home_put_in_its_place(desk: Desk) -> None:
    """common 2.1"""
    desk.connect("claude-code")
    theirs = '{"mcpServers": {"nexus": {"command": "nexus", "args": ["mcp"]}}}'

    def replace(verb: str) -> None:
        if verb == "agent.credential_revoke":
            desk.write(CLAUDE, theirs)

    desk.person.before = replace
    done = desk.disconnect("claude-code")
    assert done.credential_changed and not done.entry_changed
    assert desk.file(CLAUDE).read_text() == theirs and desk.backups() == []


def test_what_is_written_while_the_copy_is_made_is_not_written_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.write(CLAUDE, "{}")
    read = config_file.read(file)
    backed_up = config_file._backed_up

    def late(*given: Any) -> Path:
        file.write_text('{"numStartups": 1}')
        return backed_up(*given)

    monkeypatch.setattr(config_file, "_backed_up", late)
    with pytest.raises(ChangedMeanwhile):
        config_file.write(read, "{ ours }")
    assert desk.everything() == {file: b'{"numStartups": 1}'}, "no copy, nothing half written"


def test_what_is_written_before_a_file_is_taken_away_stays(desk: Desk) -> None:
    file = desk.write(CLAUDE, "{}")
    read = config_file.read(file)
    file.write_text('{"numStartups": 1}')
    with pytest.raises(ChangedMeanwhile):
        config_file.remove(read)
    assert file.read_text() == '{"numStartups": 1}'


def test_a_folder_that_another_program_keeps_locked_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_file, "_lock_wait_ms", 0)
    file = desk.write(CLIENTS["zed"], BEFORE["zed"])
    descriptor = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(ConfigRefused, match="locked the folder"):
            desk.connect("zed")
    finally:
        os.close(descriptor)
    assert file.read_text() == BEFORE["zed"] and desk.person.tokens == {}


def test_where_no_folder_can_be_locked_it_is_written_all_the_same(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some network file systems."""

    def unsupported(*_: object) -> bool:
        raise OSError(errno.EBADF, "no locks here")

    monkeypatch.setattr(config_file, "take", unsupported)
    desk.connect("zed")
    assert desk.entry(CLIENTS["zed"]) is not None
