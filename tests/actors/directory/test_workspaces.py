"""What must hold across workspaces."""

from __future__ import annotations

import pytest

from bus.address import DIRECTORY, workspace
from bus.limits import workspaces_max
from bus.value import Record
from tests.support.bench import PERSON, agent
from tests.support.exchange import Home
from tests.support.reading import at
from tools.errors import Code


@pytest.fixture
def home() -> Home:
    return Home()


def test_the_first_workspace_becomes_active_and_later_ones_do_not(home: Home) -> None:
    assert home.add_workspace("w1")["isActive"] is True
    assert home.add_workspace("w2")["isActive"] is False
    assert home.ok(DIRECTORY, "directory_list", {}, PERSON)["activeWorkspaceId"] == "w1"


def test_a_new_workspace_has_an_owner_with_its_name_and_a_local_room(home: Home) -> None:
    home.add_workspace("w1", "Greenhouse")
    detail = home.ok(workspace("w1"), "workspace_get", {"workspaceId": "w1"}, PERSON)["workspace"]
    assert isinstance(detail, dict)
    assert (detail["name"], detail["roomMode"]) == ("Greenhouse", "local")


@pytest.mark.parametrize("twin", ["greenhouse", "GREENHOUSE", " Greenhouse ", "Ｇreenhouse"])  # the last one full-width
def test_a_name_that_folds_to_another_workspaces_name_is_refused(home: Home, twin: str) -> None:
    home.add_workspace("w1", "Greenhouse")
    body: Record = {"workspaceId": "w2", "name": twin}
    refusal = home.refused(DIRECTORY, "workspace_add", body, PERSON)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert "Greenhouse" not in str(refusal.to_record()), "common 6.2: no name that someone typed"


def test_a_workspace_id_is_used_once(home: Home) -> None:
    home.add_workspace("w1")
    refusal = home.refused(DIRECTORY, "workspace_add", {"workspaceId": "w1", "name": "Other"}, PERSON)
    assert refusal.code is Code.WRONG_STATE


def test_an_id_that_no_owner_can_have_is_refused(home: Home) -> None:
    refusal = home.refused(DIRECTORY, "workspace_add", {"workspaceId": "a/b", "name": "Other"}, PERSON)
    assert refusal.code is Code.INVALID_ARGUMENTS


def test_there_are_no_more_workspaces_than_the_limit(home: Home) -> None:
    for number in range(workspaces_max):
        home.add_workspace(f"w{number}")
    refusal = home.refused(DIRECTORY, "workspace_add", {"workspaceId": "more", "name": "More"}, PERSON)
    assert (refusal.code, refusal.details["limit"]) == (Code.WRONG_STATE, workspaces_max)


def test_using_a_workspace_makes_it_the_active_one(home: Home) -> None:
    home.add_workspace("w1")
    home.add_workspace("w2")
    home.ok(DIRECTORY, "workspace_use", {"workspaceId": "w2"}, PERSON)
    assert home.ok(DIRECTORY, "directory_list", {}, PERSON)["activeWorkspaceId"] == "w2"
    assert [event.type for event in home.events][-1] == "workspace.activated"


def test_using_the_active_workspace_changes_nothing(home: Home) -> None:
    home.add_workspace("w1")
    assert home.bench(DIRECTORY).decide("workspace_use", {"workspaceId": "w1"}, PERSON).effects == ()


def test_using_an_unknown_workspace_is_not_found(home: Home) -> None:
    assert home.refused(DIRECTORY, "workspace_use", {"workspaceId": "none"}, PERSON).code is Code.NOT_FOUND


def test_agents_see_every_workspace_by_id_and_name_but_no_path(home: Home) -> None:
    """common 7.4"""
    body: Record = {"workspaceId": "w1", "name": "One", "root": "/srv/garden"}
    home.ok(DIRECTORY, "workspace_add", body, PERSON)
    seen = home.ok(DIRECTORY, "workspaces_seen", {}, agent("a1", "w1"))
    assert seen == {"workspaces": [{"workspaceId": "w1", "name": "One"}], "activeWorkspaceId": "w1"}


def test_the_person_sees_paths_and_how_many_agents_there_are(home: Home) -> None:
    body: Record = {"workspaceId": "w1", "name": "One", "root": "/srv/garden"}
    home.ok(DIRECTORY, "workspace_add", body, PERSON)
    home.add_agent("a1")
    listed = at(home.ok(DIRECTORY, "directory_list", {}, PERSON), "workspaces", 0)
    assert (listed["root"], listed["agents"]) == ("/srv/garden", 1)


def test_a_body_that_does_not_fit_is_refused_with_the_path_of_each_bad_field(home: Home) -> None:
    """common 6.3"""
    refusal = home.refused(DIRECTORY, "workspace_add", {"workspaceId": "w1", "name": "two\nlines"}, PERSON)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert at(refusal.details, "fields", 0, "path") == "name"


def test_the_directory_reloads_to_what_it_was(home: Home) -> None:
    home.add_workspace("w1")
    home.add_workspace("w2")
    home.add_agent("a1")
    home.add_agent("a2", "w2")
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    home.ok(DIRECTORY, "workspace_use", {"workspaceId": "w2"}, PERSON)
    home.assert_reloads()
