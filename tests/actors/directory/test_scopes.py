"""Where agents act and under which name, as the person says (common 3.1)."""

from __future__ import annotations

import pytest

from actors.agent.state import AgentState, Head
from actors.agent.state import apply as apply_to_agent
from actors.decision import Delete, Put, Send, TellHosts
from actors.directory.invariants import problems
from actors.directory.state import DirectoryState, apply
from bus import address
from bus.address import DIRECTORY
from bus.limits import agents_per_workspace_max
from bus.value import Record
from tests.support.bench import PERSON, agent, owner
from tests.support.exchange import Home
from tests.support.reading import at
from tools.errors import Code, Refusal

CYRILLIC_ADA = "\u0410da"


@pytest.fixture
def home() -> Home:
    home = Home()
    for workspace_id in ("w1", "w2", "w3"):
        home.add_workspace(workspace_id)
    home.add_agent("a1", name="Ada")
    home.add_agent("b1", "w2", name="Bo")
    return home


def _head(home: Home, agent_id: str) -> Head:
    head = home.bench(address.agent(agent_id)).state.head
    assert isinstance(head, Head)
    return head


def _pin(home: Home, agent_id: str, workspace_id: str) -> Record | Refusal:
    return home.call(DIRECTORY, "agent_pin", {"agentId": agent_id, "workspaceId": workspace_id}, PERSON)


def _inherit(home: Home, agent_id: str, inherits: bool = True) -> Record | Refusal:
    return home.call(DIRECTORY, "agent_inherit", {"agentId": agent_id, "inherits": inherits}, PERSON)


def _rename(home: Home, agent_id: str, name: str) -> Record | Refusal:
    return home.call(DIRECTORY, "agent_rename", {"agentId": agent_id, "name": name}, PERSON)


def test_pinning_moves_an_agents_scope_and_its_mailbox_before_the_person_is_answered(home: Home) -> None:
    decision = home.bench(DIRECTORY).decide("agent_pin", {"agentId": "a1", "workspaceId": "w2"}, PERSON)
    assert [(str(one.to), one.verb, one.before_reply) for one in decision.effects if isinstance(one, Send)] == [
        ("agent/-/a1", "scope_changed", True),
        ("workspace/w1/w1", "member_left", True),
    ]
    before = _head(home, "a1").version
    assert _pin(home, "a1", "w2") == {"agentId": "a1", "name": "Ada", "workspaceId": "w2", "inherits": False}
    assert (_head(home, "a1").workspaceId, _head(home, "a1").version) == ("w2", before + 1)
    assert home.bench(address.mailbox("a1")).state.facts.workspaceId == "w2"
    home.assert_reloads()


def test_every_host_hears_that_stamps_of_the_former_scope_end(home: Home) -> None:
    """common 2.1"""
    moved: Record = {"agentId": "a1", "workspaceId": "w2", "inherits": False}
    decision = home.bench(address.agent("a1")).decide("scope_changed", moved, owner(DIRECTORY))
    told = [(effect.verb, effect.body) for effect in decision.effects if isinstance(effect, TellHosts)]
    assert told == [("authority_changed", {"agentId": "a1", "version": _head(home, "a1").version + 1})]


def test_an_agent_that_was_pinned_elsewhere_meets_its_new_peers_and_no_longer_the_old(home: Home) -> None:
    home.add_agent("a2")
    _pin(home, "a1", "w2")
    refusal = home.trigger("a2", "a1")
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.NOT_FOUND
    home.triggered("b1", "a1")


def test_pinning_where_it_is_changes_nothing(home: Home) -> None:
    assert home.bench(DIRECTORY).decide("agent_pin", {"agentId": "a1", "workspaceId": "w1"}, PERSON).effects == ()


@pytest.mark.parametrize(("agent_id", "workspace_id"), [("none", "w1"), ("a1", "none")])
def test_pinning_what_is_not_there_is_not_found(home: Home, agent_id: str, workspace_id: str) -> None:
    refusal = _pin(home, agent_id, workspace_id)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.NOT_FOUND


def test_an_agent_cannot_be_pinned_where_another_has_a_name_that_looks_like_its_own(home: Home) -> None:
    """security 2.4"""
    home.add_agent("c1", "w2", name=CYRILLIC_ADA)
    refusal = _pin(home, "a1", "w2")
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert _head(home, "a1").workspaceId == "w1"


def test_an_agent_that_inherits_follows_the_active_workspace(home: Home) -> None:
    """common 3.1"""
    assert _inherit(home, "b1") == {"agentId": "b1", "name": "Bo", "workspaceId": "w1", "inherits": True}
    decision = home.bench(DIRECTORY).decide("workspace_use", {"workspaceId": "w3"}, PERSON)
    told = [(str(one.to), one.verb, one.before_reply) for one in decision.effects if isinstance(one, Send)]
    assert told == [("agent/-/b1", "scope_changed", True)]
    home.ok(DIRECTORY, "workspace_use", {"workspaceId": "w3"}, PERSON)
    assert (_head(home, "b1").workspaceId, _head(home, "b1").inherits) == ("w3", True)
    assert _head(home, "a1").workspaceId == "w1", "pinned agents stay"
    facts = home.ok(address.agent("b1"), "agent_facts", {}, agent("b1", "w3"))
    assert facts["inherits"] is True
    home.assert_reloads()


def test_whether_an_agent_inherits_is_told_to_itself_and_the_person_only(home: Home) -> None:
    home.add_agent("a2")
    assert "inherits" not in home.ok(address.agent("a1"), "agent_facts", {}, agent("a2", "w1"))
    assert home.ok(address.agent("a1"), "agent_facts", {}, PERSON)["inherits"] is False


def test_one_that_inherits_no_more_stays_where_it_is(home: Home) -> None:
    _inherit(home, "b1")
    assert _inherit(home, "b1", inherits=False) == {
        "agentId": "b1",
        "name": "Bo",
        "workspaceId": "w1",
        "inherits": False,
    }
    home.ok(DIRECTORY, "workspace_use", {"workspaceId": "w3"}, PERSON)
    assert _head(home, "b1").workspaceId == "w1"


def test_one_that_inherits_has_a_name_that_no_agent_of_any_workspace_has(home: Home) -> None:
    home.add_agent("c1", "w3", name="ADA")
    refusal = _inherit(home, "a1")
    assert isinstance(refusal, Refusal)
    assert "any workspace" in str(refusal.details)
    home.ok(DIRECTORY, "agent_rename", {"agentId": "c1", "name": "Cyd"}, PERSON)
    assert not isinstance(_inherit(home, "a1"), Refusal)
    for refused in (_rename(home, "c1", "ada"), _rename(home, "b1", CYRILLIC_ADA), _rename(home, "a1", "BO")):
        assert isinstance(refused, Refusal)
    body: Record = {"agentId": "c2", "name": "Ada", "workspaceId": "w3", "mode": "auto", "capabilities": []}
    assert home.refused(DIRECTORY, "agent_add", {**body, "tokenHash": bytes(32)}, PERSON).code is Code.INVALID_ARGUMENTS


def test_an_agent_may_not_take_the_name_of_one_that_inherits_in_another_workspace(home: Home) -> None:
    _inherit(home, "b1")
    home.add_agent("c1", "w3")
    refusal = home.refused(address.agent("c1"), "agent_update_self", {"name": "BO"}, agent("c1", "w3"))
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert "workspace" not in str(refusal.to_record()), "it says nothing of where the other one is (common 3.3)"


def test_those_that_inherit_count_wherever_they_may_come(home: Home) -> None:
    for number in range(agents_per_workspace_max - 2):
        home.add_agent(f"n{number}", "w3", ran=False)
    _inherit(home, "a1")
    _inherit(home, "b1")
    body: Record = {"agentId": "x", "name": "One more", "workspaceId": "w3", "mode": "auto", "capabilities": []}
    refusal = home.refused(DIRECTORY, "agent_add", {**body, "tokenHash": bytes(32)}, PERSON)
    assert (refusal.code, refusal.details["limit"]) == (Code.WRONG_STATE, agents_per_workspace_max)
    home.add_agent("y", "w2")
    refused = _inherit(home, "y")
    assert isinstance(refused, Refusal)
    assert refused.code is Code.WRONG_STATE


def test_a_new_name_of_the_persons_reaches_the_agent_and_those_it_writes_to(home: Home) -> None:
    assert _rename(home, "a1", "Grace") == {"agentId": "a1", "name": "Grace", "workspaceId": "w1", "inherits": False}
    assert _head(home, "a1").name == "Grace"
    assert home.bench(address.mailbox("a1")).state.facts.name == "Grace"
    assert [event.type for event in home.events][-1] == "agent.renamed"
    assert home.bench(DIRECTORY).decide("agent_rename", {"agentId": "a1", "name": "Grace"}, PERSON).effects == ()


def test_an_agent_may_change_the_case_of_its_own_name(home: Home) -> None:
    assert at(_rename(home, "a1", "ADA"), "name") == "ADA"


@pytest.mark.parametrize("name", [CYRILLIC_ADA, "A\u200dda", "\uff21da"])
def test_a_name_that_looks_like_another_agents_is_refused_everywhere(home: Home, name: str) -> None:
    """security 2.4"""
    home.add_agent("a2", name="Eve")
    body: Record = {"agentId": "a3", "name": name, "workspaceId": "w1", "mode": "auto", "capabilities": []}
    refusal = home.refused(DIRECTORY, "agent_add", {**body, "tokenHash": bytes(32)}, PERSON)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert isinstance(_rename(home, "a2", name), Refusal)
    refusal = home.refused(address.agent("a2"), "agent_update_self", {"name": name}, agent("a2", "w1"))
    assert refusal.code is Code.INVALID_ARGUMENTS


def test_a_name_that_shows_nothing_is_refused(home: Home) -> None:
    """security 2.4"""
    assert isinstance(_rename(home, "a1", "\u200d"), Refusal)
    workspace: Record = {"workspaceId": "w9", "name": "\u200d"}
    assert home.refused(DIRECTORY, "workspace_add", workspace, PERSON).code is Code.INVALID_ARGUMENTS


def test_a_home_whose_names_look_alike_already_opens_and_its_twins_can_be_told_apart(home: Home) -> None:
    """Its names were allowed by an older release. Doctor tells of it; nothing raises."""
    state = home.bench(DIRECTORY).state
    assert isinstance(state, DirectoryState)
    twin = state.agents["a1"].model_copy(update={"name": CYRILLIC_ADA})
    apply(state, Put("agent/a9", twin.model_dump()))
    assert problems(state) == ["two agents of a workspace have the same name, or names that look alike"]
    assert state.agents_of("w1") == ["a1", "a9"]
    apply(state, Delete("agent/a1"))
    assert (state.agents_of("w1"), state.agent_named("w1", "Ada")) == (["a9"], "a9")
    assert problems(state) == []


def test_rows_of_an_older_release_are_of_agents_that_are_pinned() -> None:
    row: Record = {"name": "Ada", "persona": None, "kind": "agent", "color": "#1971c2", "workspaceId": "w1"}
    row |= {"createdAt": 1, "mode": "auto", "capabilities": ["mesh"], "ran": True, "version": 1, "removed": False}
    state = AgentState()
    apply_to_agent(state, Put("head", row))
    assert state.head is not None
    assert state.head.inherits is False
    directory = DirectoryState()
    apply(directory, Put("workspace/w1", {"name": "One", "root": None, "createdAt": 1}))
    apply(directory, Put("agent/a1", {"name": "Ada", "workspaceId": "w1", "createdAt": 1}))
    assert (directory.agents["a1"].inherits, directory.living_ids()) == (False, ["w1"])
