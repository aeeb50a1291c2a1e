"""What the person has enabled, and which agent is run with it (knowledge.md, mesh 1, security 2.16)."""

from __future__ import annotations

import pytest

from actors.decision import Send
from bus import address
from bus.address import PROVIDERS
from bus.limits import providers_enabled_max
from bus.value import Record
from tests.support.admitting import Caller, Came
from tests.support.bench import GATEWAY, PERSON, owner
from tests.support.exchange import Home
from tools.catalogue import BY_NAME
from tools.errors import Code

A1, A2 = address.agent("a1"), address.agent("a2")
SET = BY_NAME["agent_set_provider"]


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_workspace("w2")
    for agent_id, workspace_id in (("a1", "w1"), ("a2", "w1"), ("b1", "w2")):
        home.add_agent(agent_id, workspace_id)
    return home


def enable(home: Home, path: str = "/opt/codex/bin/codex", provider_id: str = "codex") -> Record:
    body: Record = {"providerId": provider_id, "name": "Codex", "path": path}
    return home.ok(PROVIDERS, "provider_enable", body, PERSON)


def choose(home: Home, agent_id: str = "a2", provider_id: str = "codex") -> Came:
    return Caller(home, "a1").call(SET, {"agentId": agent_id, "providerId": provider_id})


def approve(home: Home, came: Came) -> None:
    assert came.error is not None
    body: Record = {"approvalId": came.error["approvalId"], "decision": "approve", "note": None, "how": "command"}
    home.ok(A1, "approval_decide", body, PERSON)


def provider_of(home: Home, agent_id: str) -> object:
    return home.bench(address.agent(agent_id)).state.head.provider


def test_a_provider_is_enabled_by_its_path_and_another_path_replaces_it(home: Home) -> None:
    """security 2.16"""
    assert enable(home)["changed"] is True
    assert enable(home)["changed"] is False
    assert enable(home, "/tmp/codex")["changed"] is True
    told = home.ok(PROVIDERS, "providers_enabled", {}, GATEWAY)["enabled"]
    assert [(one["providerId"], one["path"]) for one in told] == [("codex", "/tmp/codex")]  # type: ignore[union-attr, call-overload, index]
    assert home.ok(PROVIDERS, "provider_disable", {"providerId": "codex"}, PERSON)["changed"] is True
    assert home.ok(PROVIDERS, "provider_disable", {"providerId": "codex"}, PERSON)["changed"] is False
    assert home.ok(PROVIDERS, "providers_enabled", {}, GATEWAY)["enabled"] == []
    assert home.bench(PROVIDERS).reloaded() == home.bench(PROVIDERS).state


def test_an_agent_is_never_told_a_path(home: Home) -> None:
    """common 7.4"""
    with pytest.raises(AssertionError, match="may not send"):
        home.call(PROVIDERS, "providers_enabled", {}, home.as_agent("a1"))
    for verb in ("provider_enable", "provider_disable"):
        with pytest.raises(AssertionError, match="may not send"):
            home.call(PROVIDERS, verb, {"providerId": "codex"}, home.as_agent("a1"))


def test_enabled_providers_are_bounded(home: Home) -> None:
    for number in range(providers_enabled_max):
        enable(home, f"/opt/p{number}", f"p{number}")
    body: Record = {"providerId": "more", "name": "More", "path": "/opt/more"}
    assert home.refused(PROVIDERS, "provider_enable", body, PERSON).code is Code.WRONG_STATE
    assert enable(home, "/opt/other", "p0")["changed"] is True


def test_the_person_is_always_asked_and_the_card_names_program_and_path(home: Home) -> None:
    """common 4.2, 5.3, mesh 1"""
    enable(home)
    asked = choose(home)
    assert asked.code == "approval_required" and asked.error is not None
    card = home.ok(A1, "approval_show", {"approvalId": asked.error["approvalId"]}, PERSON)
    assert card["target"] == {"provider": "Codex", "program path": "/opt/codex/bin/codex"}
    assert provider_of(home, "a2") is None
    approve(home, asked)
    assert choose(home).ok == {"agentId": "a2", "providerId": "codex", "changed": True}
    assert provider_of(home, "a2") == "codex"
    seen = home.ok(A2, "agent_get", {"agentId": "a2"}, home.as_agent("a1"))
    assert seen["defaultProvider"] == "codex"
    assert home.bench(A2).reloaded() == home.bench(A2).state


def test_when_the_agents_owner_cannot_decide_the_call_is_answered_and_the_approval_is_free_again(home: Home) -> None:
    """common 5.2, 8.1"""
    enable(home)
    approve(home, choose(home))
    sent = Caller(home, "a1").call(SET, {"agentId": "a2", "providerId": "codex"}, settles=False)
    assert sent.was_dispatched
    home.step((A1, PROVIDERS))
    [parcel] = home.streams.pop((PROVIDERS, A2))
    chosen = parcel.send
    assert isinstance(chosen, Send)
    (approval,) = home.bench(A1).state.approvals
    assert home.bench(A1).state.approvals[approval].state == "in_use"
    home.bench(PROVIDERS).send("message_died", {"verb": chosen.verb, "body": chosen.body}, owner(PROVIDERS))
    home.settle_now(PROVIDERS)
    assert home.bench(A1).state.approvals[approval].state == "approved", "nothing happened, so it may be used"
    assert home.bench(A1).state.dispatched == {}
    assert choose(home).ok == {"agentId": "a2", "providerId": "codex", "changed": True}


def test_what_else_dies_answers_nothing(home: Home) -> None:
    decision = home.bench(PROVIDERS).decide(
        "message_died", {"verb": "settled", "body": {"callId": "c"}}, owner(PROVIDERS)
    )
    assert decision.effects == ()


def test_another_program_than_was_approved_lapses_and_asks_anew(home: Home) -> None:
    """common 5.3, security 2.3, 2.16"""
    enable(home)
    approve(home, choose(home))
    enable(home, "/tmp/early/codex")
    again = choose(home)
    assert again.code == "approval_lapsed"
    assert provider_of(home, "a2") is None


def test_a_program_that_changes_while_the_call_is_on_its_way_is_not_given(home: Home) -> None:
    """security 2.3"""
    enable(home)
    approve(home, choose(home))
    sent = Caller(home, "a1").call(SET, {"agentId": "a2", "providerId": "codex"}, settles=False)
    assert sent.was_dispatched
    [parcel] = home.streams[A1, PROVIDERS]
    assert getattr(parcel.send, "fingerprint") == {"provider": "Codex", "program path": "/opt/codex/bin/codex"}  # noqa: B009


def test_what_is_not_enabled_is_refused_before_a_card(home: Home) -> None:
    """common 4.6"""
    assert choose(home).code == "wrong_state"
    enable(home)
    home.ok(PROVIDERS, "provider_disable", {"providerId": "codex"}, PERSON)
    assert choose(home).code == "wrong_state"
    assert home.bench(A1).state.approvals == {}


def test_the_own_provider_is_refused_before_a_card(home: Home) -> None:
    """mesh 1"""
    enable(home)
    assert choose(home, "a1").code == "wrong_state"
    assert home.bench(A1).state.approvals == {}


@pytest.mark.parametrize("agent_id", ["b1", "nobody", "no/id"])
def test_an_agent_of_another_workspace_is_like_none(home: Home, agent_id: str) -> None:
    """common 3.3"""
    enable(home)
    came = home.refused(
        PROVIDERS, "agent_set_provider", {"agentId": agent_id, "providerId": "codex"}, home.as_agent("a1")
    )
    assert came.code is Code.NOT_FOUND
    assert provider_of(home, "b1") is None


def test_the_person_gives_any_agent_a_provider_and_takes_it_away(home: Home) -> None:
    enable(home)
    body: Record = {"agentId": "b1", "providerId": "codex"}
    assert home.ok(PROVIDERS, "agent_give_provider", body, PERSON)["changed"] is True
    assert home.ok(PROVIDERS, "agent_give_provider", body, PERSON)["changed"] is False
    assert provider_of(home, "b1") == "codex"
    dropped = home.ok(address.agent("b1"), "agent_drop_provider", {}, PERSON)
    assert dropped == {"agentId": "b1", "providerId": None, "changed": True}
    assert provider_of(home, "b1") is None
    assert [event.type for event in home.events if event.type == "agent.provider_changed"] == [
        "agent.provider_changed",
        "agent.provider_changed",
    ]


def test_a_disabled_provider_stays_the_default_of_agents_that_have_it(home: Home) -> None:
    enable(home)
    home.ok(PROVIDERS, "agent_give_provider", {"agentId": "a2", "providerId": "codex"}, PERSON)
    home.ok(PROVIDERS, "provider_disable", {"providerId": "codex"}, PERSON)
    assert provider_of(home, "a2") == "codex"


def test_a_removed_agent_gets_no_provider(home: Home) -> None:
    enable(home)
    home.ok(address.DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    body: Record = {"agentId": "a2", "providerId": "codex"}
    assert home.refused(PROVIDERS, "agent_give_provider", body, PERSON).code is Code.NOT_FOUND
    assert home.refused(A2, "agent_drop_provider", {}, PERSON).code is Code.NOT_FOUND
