"""What connecting itself made goes with disconnecting; what was there before stays, with its copies (common 2.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus.connect.clients import CLIENTS, Client
from tests.support.connecting import Desk

WITH_PROJECT = [client for client in CLIENTS.values() if client.project_files]
WITH_FILE = [client for client in CLIENTS.values() if client.name != "generic"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize("client", WITH_PROJECT, ids=lambda client: client.name)
def test_a_projects_configuration_that_connecting_made_is_gone_afterwards(
    desk: Desk, project: Path, client: Client
) -> None:
    desk.connect(client.name, project=project)
    made = project / client.project_files[0]
    assert files(project) == [made]
    done = desk.disconnect(client.name, project=project)
    assert (done.entry_changed, done.file_removed, done.backup, done.file) == (True, True, None, made)
    assert files(project) == []


@pytest.mark.parametrize("client", WITH_FILE, ids=lambda client: client.name)
def test_so_is_one_of_the_user(desk: Desk, client: Client) -> None:
    desk.connect(client.name)
    assert desk.disconnect(client.name).file_removed
    assert files(desk.folder) == []


def test_a_change_of_what_only_we_wrote_leaves_no_copy(desk: Desk, project: Path) -> None:
    desk.connect("claude-code", project=project)
    done = desk.connect("claude-code", project=project, over_http=True)
    assert done.entry_changed and done.backup is None
    assert desk.disconnect("claude-code", project=project).file_removed
    assert files(project) == []


@pytest.mark.parametrize("before", ["", "{}", "{}\n", '{\n  "mcpServers": {}\n}\n'])
def test_a_file_that_was_there_before_stays_however_little_it_said(desk: Desk, project: Path, before: str) -> None:
    file = project / ".mcp.json"
    file.write_text(before)
    copy = desk.connect("claude-code", project=project).backup
    assert copy is not None and copy.read_text() == before
    done = desk.disconnect("claude-code", project=project)
    assert done.entry_changed and not done.file_removed
    assert file.exists() and desk.entry(CLIENTS["claude-code"], file) is None


def test_what_the_person_added_to_a_file_that_connecting_made_stays_with_a_copy(desk: Desk, project: Path) -> None:
    file = project / ".mcp.json"
    desk.connect("claude-code", project=project)
    added = file.read_text().replace('"mcpServers": {', '"mcpServers": {\n    "other": {"command": "x"},')
    file.write_text(added)
    done = desk.disconnect("claude-code", project=project)
    assert not done.file_removed and '"other"' in file.read_text()
    assert done.backup is not None and done.backup.read_text() == added


def test_a_link_stays_a_link_to_a_file(desk: Desk, project: Path, tmp_path: Path) -> None:
    desk.connect("claude-code", project=project)
    file, real = project / ".mcp.json", tmp_path / "real.json"
    file.rename(real)
    file.symlink_to(real)
    assert not desk.disconnect("claude-code", project=project).file_removed
    assert file.is_symlink() and real.exists()
