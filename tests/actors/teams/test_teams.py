"""Teams as agents and the person make and fill them (mesh.md, team_*)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.decision import Send
from bus.address import DIRECTORY, TEAMS
from bus.limits import page_items_default, team_members_max, teams_max, teams_per_agent_max
from bus.value import Record
from tests.support.admitting import Caller
from tests.support.bench import PERSON, owner
from tests.support.exchange import Home
from tools.catalogue import BY_NAME
from tools.errors import Code, Refusal


@pytest.fixture
def home() -> Home:
    """Agents a1 and a2 in one workspace, b1 in another."""
    home = Home()
    home.add_workspace("w1")
    home.add_workspace("w2")
    for agent_id, workspace_id in (("a1", "w1"), ("a2", "w1"), ("b1", "w2")):
        home.add_agent(agent_id, workspace_id)
    return home


def make(home: Home, name: str = "Reviewers", by: str | None = "a1", **more: Any) -> str:
    principal = PERSON if by is None else home.as_agent(by)
    return str(home.ok(TEAMS, "team_create", {"name": name, **more}, principal)["teamId"])


def add(home: Home, team_id: str, agent_id: str, by: str | None = "a1") -> Record | Refusal:
    principal = PERSON if by is None else home.as_agent(by)
    return home.call(TEAMS, "team_add_member", {"teamId": team_id, "agentId": agent_id}, principal)


def code(answer: Record | Refusal) -> Code:
    assert isinstance(answer, Refusal), answer
    return answer.code


def members(home: Home, team_id: str) -> list[str]:
    return [*home.bench(TEAMS).state.teams[team_id].members]


def test_a_team_is_made_listed_filled_and_emptied(home: Home) -> None:
    """mesh 1"""
    team_id = make(home, description="Read before we merge.")
    assert add(home, team_id, "a2") == {"teamId": team_id, "agentId": "a2", "memberCount": 1, "changed": True}
    assert add(home, team_id, "a1") == {"teamId": team_id, "agentId": "a1", "memberCount": 2, "changed": True}
    listed = home.ok(TEAMS, "team_list", {}, home.as_agent("b1"))
    assert listed == {"teams": [{"teamId": team_id, "name": "Reviewers", "memberCount": 2, "origin": "local"}]}
    left = home.ok(TEAMS, "team_remove_member", {"teamId": team_id, "agentId": "a2"}, home.as_agent("a1"))
    assert left == {"teamId": team_id, "agentId": "a2", "memberCount": 1, "changed": True}
    shown = home.ok(TEAMS, "team_show", {"teamId": team_id}, home.as_agent("a1"))
    assert shown["members"] == ["a1"]
    assert shown["description"] == {"untrusted": True, "source": "team description", "text": "Read before we merge."}
    assert [event.type for event in home.events if event.type.startswith("team.")] == [
        *("team.created", "team.member_added", "team.member_added", "team.member_removed")
    ]
    assert home.bench(TEAMS).reloaded() == home.bench(TEAMS).state


def test_adding_who_is_in_already_changes_nothing(home: Home) -> None:
    team_id = make(home)
    add(home, team_id, "a2")
    assert add(home, team_id, "a2") == {"teamId": team_id, "agentId": "a2", "memberCount": 1, "changed": False}


@pytest.mark.parametrize("name", ["Reviewers", "REVIEWERS", "Rеviewers", "Reviewers "])
def test_names_that_look_alike_are_taken_whoever_made_the_team(home: Home, name: str) -> None:
    make(home)
    refused = home.refused(TEAMS, "team_create", {"name": name}, home.as_agent("b1"))
    assert refused.code is Code.INVALID_ARGUMENTS
    assert "Reviewers" not in refused.message, "common 6.2"


def test_an_agent_adds_only_whom_it_can_name_and_others_are_like_unknown_ones(home: Home) -> None:
    """common 3.3"""
    team_id = make(home)
    foreign, unknown = add(home, team_id, "b1"), add(home, team_id, "nobody")
    assert code(foreign) is Code.NOT_FOUND and foreign == unknown
    assert members(home, team_id) == []
    assert add(home, team_id, "b1", by="b1") == {"teamId": team_id, "agentId": "b1", "memberCount": 1, "changed": True}
    assert add(home, team_id, "a2", by=None) == {"teamId": team_id, "agentId": "a2", "memberCount": 2, "changed": True}


def test_an_agent_that_is_nowhere_adds_nobody_not_even_others_that_are_nowhere(home: Home) -> None:
    """common 3.3"""
    team_id = make(home)
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w2"}, PERSON)
    assert home.as_agent("b1").workspace_id == ""
    assert code(add(home, team_id, "b1", by="b1")) is Code.NOT_FOUND


def test_who_is_no_member_cannot_be_taken_out_and_nobody_learns_who_exists(home: Home) -> None:
    """common 3.3"""
    team_id = make(home)
    answers = [
        home.refused(TEAMS, "team_remove_member", {"teamId": team_id, "agentId": agent_id}, home.as_agent("a1"))
        for agent_id in ("a2", "b1", "nobody")
    ]
    assert answers[0].code is Code.NOT_FOUND and answers[0] == answers[1] == answers[2]


def test_a_removed_agent_is_a_member_of_nothing_before_the_person_is_answered(home: Home) -> None:
    """mesh 1: resolved current members"""
    teams = [make(home, name) for name in ("One", "Two")]
    for team_id in teams:
        add(home, team_id, "a2")
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    assert [members(home, team_id) for team_id in teams] == [[], []]
    assert code(add(home, teams[0], "a2")) is Code.NOT_FOUND


def test_an_agent_that_is_removed_while_it_is_added_is_no_member_in_the_end(home: Home) -> None:
    """The directory tells of both in one stream."""
    for remove_first in (True, False):
        agent_id = f"late{remove_first}"
        home.add_agent(agent_id)
        team_id = make(home, f"Team {remove_first}")
        body: Record = {"teamId": team_id, "agentId": agent_id}
        home.begin(TEAMS, "team_add_member", body, home.as_agent("a1"))
        if remove_first:
            home.begin(DIRECTORY, "agent_remove", {"agentId": agent_id}, PERSON)
            home.step((TEAMS, DIRECTORY))
        else:
            home.step((TEAMS, DIRECTORY))
            home.begin(DIRECTORY, "agent_remove", {"agentId": agent_id}, PERSON)
        home.settle()
        assert members(home, team_id) == []


def test_a_team_that_is_deleted_while_a_member_is_added_is_not_there(home: Home) -> None:
    team_id = make(home)
    call_id = home.begin(TEAMS, "team_add_member", {"teamId": team_id, "agentId": "a2"}, home.as_agent("a1"))
    home.ok(TEAMS, "team_delete", {"teamId": team_id}, PERSON)
    assert code(home.answers[call_id]) is Code.NOT_FOUND
    assert home.bench(TEAMS).state.pending == {}


@pytest.mark.parametrize("verb", ["team_add_member", "teams_provision"])
def test_when_the_directory_cannot_say_who_exists_the_call_is_answered_and_nothing_waits(home: Home, verb: str) -> None:
    """common 8.1"""
    team_id = make(home)
    bodies: dict[str, Record] = {
        "team_add_member": {"teamId": team_id, "agentId": "a2"},
        "teams_provision": {"teams": [{"teamId": "c1", "name": "Cloud", "members": ["a2"]}]},
    }
    call = home.begin(TEAMS, verb, bodies[verb], PERSON)
    [parcel] = home.streams.pop((TEAMS, DIRECTORY))
    asked = parcel.send
    assert isinstance(asked, Send)
    for _ in range(2):  # a dead letter may be told again
        home.bench(TEAMS).send("message_died", {"verb": asked.verb, "body": asked.body}, owner(TEAMS))
        home.settle_now(TEAMS)
    answer = home.answers[call]
    assert isinstance(answer, Refusal) and (answer.code, answer.retryable) == (Code.UNAVAILABLE, True)
    assert home.bench(TEAMS).state.pending == {}
    assert members(home, team_id) == []
    home.assert_reloads()


def test_teams_and_members_are_bounded_and_one_agent_leaves_room_for_others(home: Home) -> None:
    """security 2.23"""
    for number in range(teams_per_agent_max):
        make(home, f"Team number {number}")
    refused = home.refused(TEAMS, "team_create", {"name": "Too many"}, home.as_agent("a1"))
    assert (refused.code, refused.details["limit"]) == (Code.WRONG_STATE, teams_per_agent_max)
    last = make(home, "Of another", by="a2")
    for number in range(teams_per_agent_max + 1, teams_max):
        make(home, f"Team number {number}", by=None)
    full = home.refused(TEAMS, "team_create", {"name": "Too many"}, PERSON)
    assert (full.code, full.details["limit"]) == (Code.WRONG_STATE, teams_max)
    home.bench(TEAMS).state.teams[last].members.extend(f"m{number}" for number in range(team_members_max))
    crowded = add(home, last, "a2")
    assert code(crowded) is Code.WRONG_STATE


def test_a_list_is_paged_and_goes_on_where_it_ended(home: Home) -> None:
    """common 7.3"""
    made = [make(home, f"Team number {number}", by=None) for number in range(page_items_default + 2)]
    first = home.ok(TEAMS, "team_list", {}, PERSON)
    second = home.ok(TEAMS, "team_list", {"cursor": first["nextCursor"]}, PERSON)
    both = [one["teamId"] for page in (first, second) for one in page["teams"]]  # type: ignore[union-attr, call-overload, index]
    assert both == sorted(made) and "nextCursor" not in second


def test_only_the_person_deletes_and_what_is_gone_is_unknown(home: Home) -> None:
    """common 9"""
    team_id = make(home)
    assert home.ok(TEAMS, "team_delete", {"teamId": team_id}, PERSON) == {"teamId": team_id, "name": "Reviewers"}
    assert home.refused(TEAMS, "team_show", {"teamId": team_id}, PERSON).code is Code.NOT_FOUND
    with pytest.raises(AssertionError, match="may not send"):
        home.call(TEAMS, "team_delete", {"teamId": team_id}, home.as_agent("a1"))


def test_a_team_gives_its_members_nothing(home: Home) -> None:
    """mesh 1: never touch identity"""
    before = {agent_id: home.bench(home_address(agent_id)).state.head for agent_id in ("a1", "a2")}
    team_id = make(home)
    add(home, team_id, "a2")
    assert {agent_id: home.bench(home_address(agent_id)).state.head for agent_id in ("a1", "a2")} == before


def home_address(agent_id: str) -> Any:
    from bus import address

    return address.agent(agent_id)


def test_a_team_that_is_collected_has_its_id_before_it_is_made_and_a_later_step_uses_it(home: Home) -> None:
    """common 4.4"""
    home.ok(home_address("a1"), "agent_set_mode", {"mode": "plan_collect"}, PERSON)
    caller = Caller(home, "a1")
    made = caller.call(BY_NAME["team_create"], {"name": "Reviewers"})
    assert made.ok is not None and made.ok["executed"] is False
    team_id = made.ok["teamId"]
    assert isinstance(team_id, str)
    added = caller.call(BY_NAME["team_add_member"], {"teamId": team_id, "agentId": "a2"})
    assert added.ok is not None and added.ok["status"] == "collected"
    home.ok(home_address("a1"), "plan_run", {"planId": made.ok["planId"]}, PERSON)
    assert members(home, team_id) == ["a2"]


def test_an_approved_addition_runs_once_and_lapses_when_the_team_has_another_name(home: Home) -> None:
    """common 5.3"""
    team_id = make(home, by="a2")
    home.ok(home_address("a1"), "agent_set_mode", {"mode": "approval"}, PERSON)
    arguments: Record = {"teamId": team_id, "agentId": "a2"}
    asked = Caller(home, "a1").call(BY_NAME["team_add_member"], arguments)
    assert asked.code == "approval_required" and asked.error is not None
    card = home.ok(home_address("a1"), "approval_show", {"approvalId": asked.error["approvalId"]}, PERSON)
    assert card["target"] == {"team": "Reviewers", "teamId": team_id}
    decision: Record = {"approvalId": asked.error["approvalId"], "decision": "approve", "note": None, "how": "command"}
    home.ok(home_address("a1"), "approval_decide", decision, PERSON)
    came = Caller(home, "a1").call(BY_NAME["team_add_member"], arguments)
    assert came.ok == {"teamId": team_id, "agentId": "a2", "memberCount": 1, "changed": True}
