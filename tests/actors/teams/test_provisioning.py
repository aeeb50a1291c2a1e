"""Cloud teams: all at once, from the person's file, and changed by nothing else (mesh.md)."""

from __future__ import annotations

import pytest

from bus.address import DIRECTORY, TEAMS
from bus.limits import teams_max
from bus.value import Record, Value
from tests.support.bench import PERSON
from tests.support.exchange import Home
from tools.errors import Code, Refusal


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    home.add_agent("a2")
    return home


def team(team_id: str, name: str, *members: str) -> Value:
    return {"teamId": team_id, "name": name, "description": None, "members": [*members]}


def provision(home: Home, *teams: Value) -> Record | Refusal:
    return home.call(TEAMS, "teams_provision", {"teams": [*teams]}, PERSON)


def listed(home: Home) -> dict[str, tuple[Value, ...]]:
    teams = home.ok(TEAMS, "team_list", {}, home.as_agent("a1"))["teams"]
    assert isinstance(teams, list)
    return {
        str(one["teamId"]): (one["name"], one["memberCount"], one["origin"]) for one in teams if isinstance(one, dict)
    }


def fields_of(answer: Record | Refusal) -> list[str]:
    assert isinstance(answer, Refusal) and answer.code is Code.INVALID_ARGUMENTS, answer
    listed = answer.details["fields"]
    assert isinstance(listed, list)
    return [str(one["path"]) for one in listed if isinstance(one, dict)]


def test_a_file_replaces_all_cloud_teams_and_leaves_local_ones(home: Home) -> None:
    """mesh 1"""
    local = str(home.ok(TEAMS, "team_create", {"name": "Own"}, home.as_agent("a1"))["teamId"])
    assert provision(home, team("c1", "Design", "a1", "a2", "a1"), team("c2", "Build")) == {"teams": 2, "removed": 0}
    assert provision(home, team("c2", "Builders", "a2"), team("c3", "Design")) == {"teams": 2, "removed": 1}
    assert listed(home) == {
        local: ("Own", 0, "local"),
        "c2": ("Builders", 1, "cloud"),
        "c3": ("Design", 0, "cloud"),
    }
    assert provision(home) == {"teams": 0, "removed": 2}
    assert listed(home) == {local: ("Own", 0, "local")}
    assert home.bench(TEAMS).reloaded() == home.bench(TEAMS).state


def test_who_does_not_exist_is_no_member(home: Home) -> None:
    """mesh 1: resolved current members"""
    provision(home, team("c1", "Design", "a1", "nobody"))
    assert listed(home)["c1"] == ("Design", 1, "cloud")
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a1"}, PERSON)
    teams = home.bench(TEAMS).state.teams
    assert teams["c1"].members == []


@pytest.mark.parametrize("by", ["agent", "person"])
def test_a_cloud_team_is_changed_by_nobody(home: Home, by: str) -> None:
    """mesh 1: cloud_managed"""
    provision(home, team("c1", "Design", "a1"))
    principal = PERSON if by == "person" else home.as_agent("a2")
    for verb, agent_id in (("team_add_member", "a2"), ("team_remove_member", "a1")):
        refused = home.refused(TEAMS, verb, {"teamId": "c1", "agentId": agent_id}, principal)
        assert refused.code is Code.CLOUD_MANAGED and refused.code.value == "cloud_managed"
    assert home.refused(TEAMS, "team_delete", {"teamId": "c1"}, PERSON).code is Code.CLOUD_MANAGED
    assert listed(home) == {"c1": ("Design", 1, "cloud")}


def test_a_file_with_anything_wrong_changes_nothing_and_every_place_is_named(home: Home) -> None:
    local = str(home.ok(TEAMS, "team_create", {"name": "Own"}, home.as_agent("a1"))["teamId"])
    provision(home, team("c1", "Design"))
    before = listed(home)
    wrong = provision(
        home,
        team("c1", "Design"),
        team("c1", "Another"),
        team("c2", "DESIGN"),
        team("c3", "own"),
        team(local, "Fresh"),
        team("a/b", "Slashed"),
        team("c4", "\u200d"),
    )
    assert fields_of(wrong) == [
        "teams.1.teamId",
        "teams.2.name",
        "teams.3.name",
        "teams.4.teamId",
        "teams.5.teamId",
        "teams.6.name",
    ]
    assert listed(home) == before


def test_local_and_cloud_teams_share_one_bound(home: Home) -> None:
    home.ok(TEAMS, "team_create", {"name": "Own"}, home.as_agent("a1"))
    many = [team(f"c{number}", f"Team number {number}") for number in range(teams_max)]
    assert fields_of(provision(home, *many)) == ["teams"]
    assert provision(home, *many[:-1]) == {"teams": teams_max - 1, "removed": 0}


def test_a_local_team_that_came_meanwhile_keeps_its_name(home: Home) -> None:
    call_id = home.begin(TEAMS, "teams_provision", {"teams": [team("c1", "Design")]}, PERSON)
    home.begin(TEAMS, "team_create", {"name": "Design"}, home.as_agent("a1"))
    home.settle()
    assert fields_of(home.answers[call_id]) == ["teams.0.name"]
    assert [one[2] for one in listed(home).values()] == ["local"]
