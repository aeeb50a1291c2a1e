"""The person's verbs about agents: what each asks of owners, and what it refuses itself."""

from __future__ import annotations

import hashlib

import pytest

from bus.value import Record
from tests.nexus.test_person_port import LISTS
from tests.support.person_port import ask, refused_code, running_port
from tests.support.scripted_caller import Script
from tools.autonomy import GUEST_ID
from tools.errors import NOT_FOUND, Code, Refusal

DONE: Record = {"changed": True}


@pytest.mark.parametrize("mode", ["auto", "approval", "plan", "plan_collect"])
def test_an_agent_is_added_in_each_mode(mode: str) -> None:
    """common 4.2"""
    with running_port({**LISTS, ("app/-/directory", "agent_add"): {}}) as port:
        assert "ok" in ask(port, "agent.add", {"name": "Cy", "workspace": "w1", "mode": mode})
        assert port.caller.bodies("agent_add")[0]["mode"] == mode
        assert refused_code(ask(port, "agent.add", {"name": "Cy", "workspace": "w1", "mode": "god"}))
        assert len(port.caller.sent_of("agent_add")) == 1


@pytest.mark.parametrize(
    ("verb", "arguments", "owner_verb", "body"),
    [
        ("agent.mode", {"mode": "approval"}, "agent_set_mode", {"mode": "approval"}),
        (
            "agent.capability",
            {"capability": "mesh", "held": False},
            "agent_set_capability",
            {"capability": "mesh", "held": False},
        ),
        (
            "agent.withhold",
            {"tool": "canvas_list", "withheld": True},
            "agent_set_withheld",
            {"tool": "canvas_list", "withheld": True},
        ),
        ("agent.budget", {"lifetime": 0}, "agent_set_budget", {"lifetime": 0, "reset": False}),
        ("agent.budget", {"reset": True}, "agent_set_budget", {"reset": True}),
        ("agent.credential_revoke", {"name": "laptop"}, "credential_revoke", {"name": "laptop"}),
    ],
)
def test_a_change_goes_to_the_agents_own_owner_and_is_told_with_its_name(
    verb: str, arguments: Record, owner_verb: str, body: Record
) -> None:
    script: Script = {**LISTS, ("agent/-/b1", owner_verb): DONE, ("agent/-/b1", "agent_facts"): {"budget": {}}}
    with running_port(script) as port:
        answer = ask(port, verb, {"agent": "Bo", **arguments})["ok"]
        assert (answer["agentId"], answer["name"]) == ("b1", "Bo")
        assert port.caller.bodies(owner_verb) == [body]
        assert refused_code(ask(port, verb, {"agent": "Ada", **arguments})) == "invalid_arguments", "two are called Ada"
        owners_refusal = Refusal(Code.WRONG_STATE, "No.")
        port.caller.on(owner_verb, owners_refusal, "agent/-/b1")
        assert ask(port, verb, {"agent": "Bo", **arguments}) == {"error": owners_refusal.to_record()}


def test_a_tool_that_does_not_exist_is_not_withheld_and_near_names_are_told() -> None:
    with running_port(LISTS) as port:
        answer = ask(port, "agent.withhold", {"agent": "Bo", "tool": "canvas_lst", "withheld": True})
        assert refused_code(answer) == "invalid_arguments"
        assert "canvas_list" in answer["error"]["message"]
        assert "canvas_lst" not in answer["error"]["message"], "common 6.2: no text that someone typed"
        assert port.caller.sent == []


def test_a_tool_that_is_no_longer_served_can_be_given_back() -> None:
    with running_port({**LISTS, ("agent/-/b1", "agent_set_withheld"): DONE}) as port:
        assert "ok" in ask(port, "agent.withhold", {"agent": "Bo", "tool": "canvas_old", "withheld": False})


def test_a_budget_without_anything_to_change_is_refused() -> None:
    with running_port(LISTS) as port:
        assert refused_code(ask(port, "agent.budget", {"agent": "Bo"})) == "invalid_arguments"
        assert refused_code(ask(port, "agent.budget", {"agent": "Bo", "lifetime": -1})) == "invalid_arguments"
        assert port.caller.sent == []


def test_one_more_credential_has_a_token_of_its_own_of_which_the_owner_gets_the_hash() -> None:
    """common 2.1"""
    with running_port({**LISTS, ("agent/-/b1", "credential_add"): {}}) as port:
        tokens = [ask(port, "agent.credential_add", {"agent": "Bo", "name": name})["ok"]["token"] for name in "xy"]
        bodies = port.caller.bodies("credential_add")
    assert [body["name"] for body in bodies] == ["x", "y"]
    assert len(set(tokens)) == 2
    for token, body in zip(tokens, bodies, strict=True):
        assert token.startswith("nx_b1_")
        assert body["tokenHash"] == hashlib.sha256(token.removeprefix("nx_b1_").encode()).digest()


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a\nb", "-x", "\u0430", "x" * 65, "x\n"])
def test_a_credentials_name_is_plain(name: str) -> None:
    with running_port(LISTS) as port:
        for verb in ("agent.credential_add", "agent.credential_revoke"):
            assert refused_code(ask(port, verb, {"agent": "Bo", "name": name})) == "invalid_arguments"
        assert port.caller.sent == []


def test_credentials_are_listed_without_anything_secret_and_an_unknown_one_is_told_plainly() -> None:
    facts: Record = {"credentials": [{"name": "default", "createdAt": "t", "lastUsedAt": None}], "mode": "auto"}
    script: Script = {
        **LISTS,
        ("agent/-/b1", "agent_facts"): facts,
        ("agent/-/b1", "credential_revoke"): NOT_FOUND,
    }
    with running_port(script) as port:
        listed = ask(port, "agent.credential_list", {"agent": "Bo"})["ok"]
        assert listed == {"agentId": "b1", "name": "Bo", "credentials": facts["credentials"]}
        refused = ask(port, "agent.credential_revoke", {"agent": "Bo", "name": "laptop"})
        assert refused_code(refused) == "not_found"
        assert "nexus agent credential list" in refused["error"]["message"]


def test_an_agent_is_shown_with_what_the_directory_and_its_owner_know() -> None:
    facts: Record = {"mode": "plan", "capabilities": ["mesh"], "withheld": ["canvas_list"], "budget": {"lifetime": 5}}
    with running_port({**LISTS, ("agent/-/b1", "agent_facts"): facts}) as port:
        answer = ask(port, "agent.show", {"agent": "Bo"})["ok"]
    assert answer == {"agentId": "b1", "name": "Bo", "workspaceId": "w2", "workspace": "Shop", **facts}


def test_the_guests_token_is_made_anew_each_time_and_names_no_agent_of_the_directory() -> None:
    """common 2.3"""
    script: Script = {
        ("agent/-/guest", "guest_on"): {},
        ("agent/-/guest", "guest_off"): {},
        ("agent/-/guest", "agent_facts"): NOT_FOUND,
    }
    with running_port(script) as port:
        assert ask(port, "guest.status")["ok"] == {"isOn": False, "createdAt": None, "lastUsedAt": None}
        first, second = (ask(port, "guest.on")["ok"]["token"] for _ in range(2))
        hashes = [body["tokenHash"] for body in port.caller.bodies("guest_on")]
        assert first != second and first.startswith(f"nx_{GUEST_ID}_")
        assert hashes == [hashlib.sha256(one.removeprefix("nx_guest_").encode()).digest() for one in (first, second)]
        credential: Record = {"name": "default", "createdAt": "then", "lastUsedAt": "later"}
        port.caller.on("agent_facts", {"credentials": [credential]}, "agent/-/guest")
        assert ask(port, "guest.status")["ok"] == {"isOn": True, "createdAt": "then", "lastUsedAt": "later"}
        assert ask(port, "guest.off")["ok"] == {"isOn": False}
        port.caller.on("agent_facts", {"credentials": []}, "agent/-/guest")
        assert ask(port, "guest.status")["ok"]["isOn"] is False
