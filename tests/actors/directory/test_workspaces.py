"""What must hold across workspaces."""

from __future__ import annotations

import pytest

from bus.address import DIRECTORY, workspace
from bus.limits import workspaces_max
from bus.value import Record, Value
from tests.support.bench import PERSON, agent
from tests.support.exchange import Home
from tests.support.reading import at
from tools.errors import Code
from tools.setting_catalogue import GRID_COLUMNS, Snapshot
from tools.workspace import WorkspaceCreateOutput, WorkspaceUpdateOutput


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


def _create(home: Home, **arguments: Value) -> Record:
    return home.ok(DIRECTORY, "workspace_create", {"name": "New", **arguments}, agent("a1", "w1"))


def test_an_agent_makes_a_workspace_in_the_background(home: Home) -> None:
    """workspace.md, workspace_create"""
    home.add_workspace("w1")
    home.add_agent("a1")
    made = WorkspaceCreateOutput.model_validate(_create(home, color="#123456", gridColumns=3))
    listed = home.ok(DIRECTORY, "directory_list", {}, PERSON)
    assert (listed["activeWorkspaceId"], at(listed, "agents", 0, "workspaceId")) == ("w1", "w1")
    detail = at(home.ok(workspace(made.id), "workspace_get", {"workspaceId": made.id}, PERSON), "workspace")
    assert (detail["name"], detail["color"], detail["gridColumns"]) == ("New", "#123456", 3)
    refusal = home.refused(workspace(made.id), "readable_canvases", {"limit": 9}, agent("a1", "w1"))
    assert refusal.code is Code.NOT_FOUND, "its creator cannot read inside it"


def test_a_workspace_that_is_made_by_a_repeat_of_a_call_is_the_same(home: Home) -> None:
    """common 8.2"""
    home.add_workspace("w1")
    directory = home.bench(DIRECTORY)
    first = directory.decide("workspace_create", {"name": "New"}, agent("a1", "w1"), "01mcc5rm000000000000000000")
    home.clock.advance(5)
    again = directory.decide("workspace_create", {"name": "New"}, agent("a1", "w1"), "01mcc5rm000000000000000000")
    assert first.reply == again.reply


def test_a_new_workspace_has_as_many_columns_as_the_setting_says(home: Home) -> None:
    home.add_workspace("w1")
    home.bench(DIRECTORY).settings = Snapshot(1, {GRID_COLUMNS.name: 5})
    made = _create(home)
    found = home.ok(workspace(str(made["id"])), "workspace_get", {"workspaceId": made["id"]}, PERSON)
    assert at(found, "workspace", "gridColumns") == 5


@pytest.mark.parametrize(
    ("field", "value"), [("color", "red"), ("color", "#ABCDEF"), ("gridColumns", 0), ("gridColumns", 13)]
)
def test_looks_outside_their_bounds_are_refused(home: Home, field: str, value: Value) -> None:
    home.add_workspace("w1")
    body: Record = {"workspaceId": "w1", field: value}
    assert home.refused(DIRECTORY, "workspace_update", body, PERSON).code is Code.INVALID_ARGUMENTS
    body = {"name": "New", field: value}
    assert home.refused(DIRECTORY, "workspace_create", body, agent("a1", "w1")).code is Code.INVALID_ARGUMENTS


def test_an_agent_changes_its_own_workspace_and_reads_it_so(home: Home) -> None:
    """workspace.md, workspace_update"""
    home.add_workspace("w1", "Greenhouse")
    body: Record = {"workspaceId": "w1", "name": "Garden", "color": "#123456", "gridColumns": 4}
    reply = home.ok(DIRECTORY, "workspace_update", body, agent("a1", "w1"))
    assert WorkspaceUpdateOutput.model_validate(reply).updated == ["name", "color", "gridColumns"]
    detail = at(home.ok(workspace("w1"), "workspace_get", {"workspaceId": "w1"}, agent("a1", "w1")), "workspace")
    assert (detail["name"], detail["color"], detail["gridColumns"]) == ("Garden", "#123456", 4)
    seen = home.ok(DIRECTORY, "workspaces_seen", {}, agent("a1", "w1"))
    assert at(seen, "workspaces", 0, "name") == "Garden"
    home.assert_reloads()


def test_what_is_not_given_stays(home: Home) -> None:
    home.add_workspace("w1", "Greenhouse")
    home.ok(DIRECTORY, "workspace_update", {"workspaceId": "w1", "gridColumns": 4}, agent("a1", "w1"))
    reply = home.ok(DIRECTORY, "workspace_update", {"workspaceId": "w1", "name": "Greenhouse"}, PERSON)
    assert reply == {"id": "w1", "name": "Greenhouse", "updated": []}
    detail = at(home.ok(workspace("w1"), "workspace_get", {"workspaceId": "w1"}, PERSON), "workspace")
    assert (detail["name"], detail["gridColumns"]) == ("Greenhouse", 4)


@pytest.mark.parametrize("other", ["w2", "none"])
def test_an_agent_changes_no_other_workspace_whether_there_is_one_or_not(home: Home, other: str) -> None:
    """common 3.2"""
    home.add_workspace("w1")
    home.add_workspace("w2")
    refusal = home.refused(DIRECTORY, "workspace_update", {"workspaceId": other, "name": "X"}, agent("a1", "w1"))
    assert refusal.code is Code.SCOPE_MISMATCH


def test_an_update_says_what_it_changes(home: Home) -> None:
    home.add_workspace("w1")
    assert home.refused(DIRECTORY, "workspace_update", {"workspaceId": "w1"}, PERSON).code is Code.INVALID_ARGUMENTS


@pytest.mark.parametrize("name", ["Greenhouse", "GREENHOUSE", "Gr\u0435enhouse", "Green\u200dhouse"])
def test_a_workspace_cannot_take_a_name_that_looks_like_anothers(home: Home, name: str) -> None:
    """security 2.4"""
    home.add_workspace("w1", "Greenhouse")
    home.add_workspace("w2")
    for verb, body in (("workspace_update", {"workspaceId": "w2", "name": name}), ("workspace_create", {"name": name})):
        refusal = home.refused(DIRECTORY, verb, body, agent("a1", "w2"))  # type: ignore[arg-type]
        assert refusal.code is Code.INVALID_ARGUMENTS
    home.ok(DIRECTORY, "workspace_update", {"workspaceId": "w1", "name": name}, PERSON)  # its own
