"""What the list tells of a client: as whom it is connected, what it is served, what is missing (common 1.3, 2.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus.connect.clients import CLIENTS
from nexus.connect.listing import Connection, State
from nexus.person_client import NOT_RUNNING_TEXT, NotRunning
from tests.support.connecting import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("client", [*CLIENTS])
def test_a_connected_client_is_told_with_the_agents_name_and_its_families(desk: Desk, client: str) -> None:
    """common 1.3"""
    assert desk.listed(client).connections == []
    desk.connect(client, families={"families": ["canvas"]})
    credential = f"connect-{client}"
    assert desk.listed(client).connections == [Connection("a1", "Ada", credential, State.CONNECTED, ["canvas"])]
    desk.disconnect(client)
    assert desk.listed(client).connections == []


def test_a_client_that_is_configured_by_hand_may_be_connected_as_several_agents(desk: Desk) -> None:
    desk.connect("generic", "Bo")
    desk.connect("generic", "Ada")
    found = desk.listed("generic")
    assert found.file is None
    assert [(one.agent_name, one.state) for one in found.connections] == [
        ("Ada", State.CONNECTED),
        ("Bo", State.CONNECTED),
    ]


def test_a_credential_that_was_revoked_is_told(desk: Desk) -> None:
    """common 2.1"""
    desk.connect("codex")
    desk.person.tokens.clear()
    (found,) = desk.listed("codex").connections
    assert (found.agent_name, found.state, found.families) == ("Ada", State.REVOKED, None)


def test_an_agent_that_was_removed_is_told_by_its_id(desk: Desk) -> None:
    desk.connect("codex")
    desk.person.removed.add("a1")
    (found,) = desk.listed("codex").connections
    assert (found.agent_id, found.agent_name, found.state) == ("a1", None, State.AGENT_REMOVED)


def test_a_token_or_an_entry_that_is_missing_is_told(desk: Desk) -> None:
    desk.connect("codex")
    desk.write(CLIENTS["codex"], "")
    (found,) = desk.listed("codex").connections
    assert (found.agent_name, found.state) == ("Ada", State.ENTRY_MISSING)
    desk.connect("codex")
    (desk.home.path / "credentials" / "a1.connect-codex.token").unlink()
    (found,) = desk.listed("codex").connections
    assert (found.agent_name, found.state) == ("Ada", State.TOKEN_MISSING)


def test_over_http_it_is_the_agent_whose_token_there_is(desk: Desk) -> None:
    desk.connect("cursor", "Bo", over_http=True)
    (found,) = desk.listed("cursor").connections
    assert (found.agent_id, found.state) == ("b1", State.CONNECTED)
    (desk.home.path / "credentials" / "b1.connect-cursor.token").unlink()
    (found,) = desk.listed("cursor").connections
    assert (found.agent_id, found.state) == (None, State.TOKEN_MISSING)


def test_an_entry_that_was_not_made_here_is_no_connection(desk: Desk) -> None:
    desk.write(CLIENTS["cursor"], '{"mcpServers": {"nexus": {"command": "nexus", "args": ["mcp"]}}}')
    assert desk.listed("cursor").connections == []


def test_a_broken_configuration_hides_no_credential(desk: Desk) -> None:
    desk.connect("gemini")
    desk.write(CLIENTS["gemini"], "{ broken")
    found = desk.listed("gemini")
    assert found.problem is not None and "cannot be edited" in found.problem
    assert [one.agent_name for one in found.connections] == ["Ada"]


def test_without_nexus_running_the_agent_is_told_by_its_id(desk: Desk) -> None:
    desk.connect("codex")

    def ask(verb: str) -> None:
        raise NotRunning(NOT_RUNNING_TEXT)

    desk.person.before = ask
    (found,) = desk.listed("codex").connections
    assert (found.agent_id, found.agent_name, found.state) == ("a1", None, State.NOT_TOLD)


def test_a_project_is_listed_apart_from_the_user(desk: Desk, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    desk.connect("claude-code", "Bo", project=project)
    assert desk.listed("claude-code").connections == []
    (found,) = desk.listed("claude-code", project).connections
    assert (found.agent_name, found.state) == ("Bo", State.CONNECTED)


def test_listing_changes_nothing(desk: Desk) -> None:
    desk.connect("codex")
    before, asked = desk.everything(), desk.person.changes()
    for client in CLIENTS:
        desk.listed(client)
    assert (desk.everything(), desk.person.changes()) == (before, asked)
