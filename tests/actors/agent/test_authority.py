"""What the person decides about an agent, and what the agent may give up itself (common 2, 4; work-plan-tool)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.decision import TellHosts
from bus import address
from bus.limits import credential_use_noted_ms, surface_rate_ms
from bus.value import Record, Value
from tests.support.admitting import Caller
from tests.support.bench import GATEWAY, PERSON, agent, owner
from tests.support.exchange import TOKEN_HASH, Home
from tests.support.reading import at
from tools.agent import AGENT_INBOX, AGENT_UPDATE_SELF
from tools.catalogue import BY_NAME
from tools.errors import Code
from tools.setting_catalogue import SURFACES_PER_HOUR, Snapshot
from tools.tool import TOOL_SET_ENABLED

AGENT = address.agent("a1")
GUEST = address.agent("guest")
OTHER_HASH = bytes([9] * 32)
UPDATE: Record = {"persona": "Counts."}


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    return home


def version(home: Home) -> Any:
    return home.bench(AGENT).state.head.version


NARROWING: list[tuple[str, Record]] = [
    ("agent_set_mode", {"mode": "plan"}),
    ("agent_set_capability", {"capability": "mesh", "held": False}),
    ("agent_set_withheld", {"tool": "agent_inbox", "withheld": True}),
    ("credential_revoke", {"name": "default"}),
    ("token_replace", {"tokenHash": OTHER_HASH}),
]


@pytest.mark.parametrize(("verb", "body"), NARROWING)
def test_whatever_narrows_tells_every_host_before_the_person_is_answered(home: Home, verb: str, body: Record) -> None:
    """common 2.1, security 2.10"""
    before = version(home)
    decision = home.bench(AGENT).decide(verb, body, PERSON)
    [told] = [effect for effect in decision.effects if isinstance(effect, TellHosts)]
    assert told == TellHosts("authority_changed", {"agentId": "a1", "version": before + 1})


@pytest.mark.parametrize(("verb", "body"), NARROWING)
def test_a_removed_or_unknown_agent_has_no_authority_to_change(home: Home, verb: str, body: Record) -> None:
    refusal = home.refused(address.agent("nobody"), verb, body, PERSON)
    assert refusal.code is Code.NOT_FOUND


def test_each_mode_shows_at_the_next_call(home: Home) -> None:
    """common 4.2"""
    caller = Caller(home, "a1")
    told = {}
    for mode in ("auto", "approval", "plan"):
        home.ok(AGENT, "agent_set_mode", {"mode": mode}, PERSON)
        told[mode] = caller.call(AGENT_UPDATE_SELF, {"persona": mode}).code
        assert caller.call(AGENT_INBOX, {}).ok is not None
    assert told == {"auto": None, "approval": "approval_required", "plan": "blocked_by_autonomy"}


def test_several_credentials_work_beside_each_other_and_are_revoked_one_by_one(home: Home) -> None:
    """common 2.1"""
    home.ok(AGENT, "credential_add", {"name": "laptop", "tokenHash": OTHER_HASH}, PERSON)
    taken: Record = {"name": "laptop", "tokenHash": bytes(32)}
    assert home.refused(AGENT, "credential_add", taken, PERSON).code is Code.INVALID_ARGUMENTS
    assert Caller(home, "a1", OTHER_HASH).call(AGENT_INBOX, {}).ok is not None
    home.ok(AGENT, "credential_revoke", {"name": "default"}, PERSON)
    assert home.ok(AGENT, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY) == {"authenticated": False}
    assert Caller(home, "a1", OTHER_HASH).call(AGENT_INBOX, {}).ok is not None
    assert home.refused(AGENT, "credential_revoke", {"name": "default"}, PERSON).code is Code.NOT_FOUND


def test_when_a_credential_was_used_is_noted_once_a_minute(home: Home) -> None:
    bench = home.bench(AGENT)
    body: Record = {"tokenHash": TOKEN_HASH}
    assert bench.decide("authenticate", body, GATEWAY).effects == ()
    home.clock.advance(credential_use_noted_ms)
    home.ok(AGENT, "authenticate", body, GATEWAY)
    assert bench.state.credentials["default"].usedAt == home.clock.now_ms()


def test_an_agent_gives_a_tool_up_and_only_the_person_gives_it_back(home: Home) -> None:
    """work-plan-tool; common 2.4"""
    caller = Caller(home, "a1")
    assert caller.call(TOOL_SET_ENABLED, {"tool": "agent_inbox"}).ok == {
        "tool": "agent_inbox",
        "enabled": False,
        "changed": True,
    }
    assert at(caller.call(TOOL_SET_ENABLED, {"tool": "agent_inbox", "enabled": False}).ok, "changed") is False
    assert caller.call(AGENT_INBOX, {}).code == "capability_disabled"
    widening = caller.call(TOOL_SET_ENABLED, {"tool": "agent_inbox", "enabled": True})
    assert widening.code == Code.INVALID_ARGUMENTS
    assert caller.call(TOOL_SET_ENABLED, {"tool": "no_such_tool"}).code == Code.INVALID_ARGUMENTS
    home.ok(AGENT, "agent_set_withheld", {"tool": "agent_inbox", "withheld": False}, PERSON)
    assert caller.call(AGENT_INBOX, {}).ok is not None


def test_who_gave_up_giving_up_can_give_up_no_more(home: Home) -> None:
    caller = Caller(home, "a1")
    caller.call(TOOL_SET_ENABLED, {"tool": "tool_set_enabled"})
    assert caller.call(TOOL_SET_ENABLED, {"tool": "agent_inbox"}).code == Code.CAPABILITY_DISABLED


def test_a_tool_is_given_up_by_its_own_agent_alone(home: Home) -> None:
    """common 2.1"""
    refusal = home.refused(AGENT, "tool_set_enabled", {"tool": "agent_inbox"}, agent("a2", "w1"))
    assert refusal.code is Code.NOT_FOUND


def create(home: Home, **how: Any) -> Any:
    return Caller(home, "a1").call(BY_NAME["canvas_create"], {"title": "Plan", "reason": "To plan."}, **how)


def test_a_surface_is_charged_in_the_commit_that_sends_the_call_on(home: Home) -> None:
    """common 8.1; work-plan-tool, creation budget"""
    came = create(home, settles=False)
    assert came.was_dispatched
    assert home.bench(AGENT).state.budget.lifetime == 1
    [dispatched] = home.bench(AGENT).state.dispatched
    [charged] = [event.data for event in home.events if event.type == "surface.charged"]
    assert charged == {"agentId": "a1", "tool": "canvas_create", "callId": dispatched}, "common 8.4: by its call"
    home.settle()
    assert home.bench(AGENT).state.dispatched == {}


def test_the_hourly_budget_says_when_it_resets_and_then_does(home: Home) -> None:
    """work-plan-tool, creation budget"""
    for _ in range(SURFACES_PER_HOUR.default):
        assert create(home).ok is not None
        home.clock.advance(1_000)
    came = create(home)
    assert came.code == "budget_exhausted"
    assert (at(came.error, "limit"), at(came.error, "limitName")) == (10, "hourly")
    assert at(came.error, "retryAfterSeconds") == surface_rate_ms // 1000 - 10
    home.clock.advance(surface_rate_ms - 10_000)
    assert create(home).ok is not None
    assert create(home).code == "budget_exhausted"


def test_the_lifetime_budget_is_raised_or_reset_by_the_person_alone(home: Home) -> None:
    """work-plan-tool, creation budget"""
    home.ok(AGENT, "agent_set_budget", {"lifetime": 1}, PERSON)
    assert create(home).ok is not None
    came = create(home)
    assert (at(came.error, "limit"), at(came.error, "limitName")) == (1, "lifetime")
    assert "resetsAt" not in (came.error or {})
    home.ok(AGENT, "agent_set_budget", {"reset": True}, PERSON)
    assert create(home).ok is not None


def test_a_card_or_a_refusal_is_not_charged(home: Home) -> None:
    """work-plan-tool, creation budget"""
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    assert create(home).code == "approval_required"
    home.ok(AGENT, "agent_set_mode", {"mode": "plan"}, PERSON)
    assert create(home).code == "blocked_by_autonomy"
    assert home.bench(AGENT).state.budget.lifetime == 0


def test_settings_bound_the_budget(home: Home) -> None:
    home.bench(AGENT).settings = Snapshot(1, {SURFACES_PER_HOUR.name: 1})
    assert create(home).ok is not None
    assert create(home).code == "budget_exhausted"
    home.bench(AGENT).settings = Snapshot(1, {SURFACES_PER_HOUR.name: 0})
    assert "resetsAt" not in create(home).error


def test_a_repeat_under_a_key_joins_the_dispatched_call_and_is_charged_once(home: Home) -> None:
    """common 8.2"""
    first = create(home, key="k")
    again = create(home, key="k")
    assert first.ok == again.ok
    assert home.bench(AGENT).state.budget.lifetime == 1


def test_a_repeat_under_a_key_does_not_run_anew_where_a_new_call_would_need_approval(home: Home) -> None:
    """common 8.2, 4.2"""
    caller = Caller(home, "a1")
    home.ok(AGENT, "admit", _keyed_admit(home), GATEWAY)  # admitted, and the call never reached its owner
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    reply = home.ok(AGENT, "admit", _keyed_admit(home), GATEWAY)
    assert at(reply, "stamp", "dispatched") is True, "it joins, which decides nothing"
    assert caller.call(AGENT_UPDATE_SELF, UPDATE).code == "approval_required"


def _keyed_admit(home: Home) -> Record:
    key: dict[str, Value] = {"key": "k", "arguments": bytes(32), "callId": home.clock.new_id()}
    return {
        "tokenHash": TOKEN_HASH,
        "tool": "agent_update_self",
        "arguments": "valid",
        "kind": "write",
        "scope": "workspace",
        "capability": "mesh",
        "idempotency": key,
    }


def test_the_guest_is_off_until_the_person_prints_its_token_and_off_again_at_once(home: Home) -> None:
    """common 2.3"""
    assert home.ok(GUEST, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY) == {"authenticated": False}
    home.ok(GUEST, "guest_on", {"tokenHash": TOKEN_HASH}, PERSON)
    known = home.ok(GUEST, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    assert (known["authenticated"], known["workspaceId"]) == (True, "")
    home.ok(GUEST, "guest_on", {"tokenHash": OTHER_HASH}, PERSON)
    assert home.ok(GUEST, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY) == {"authenticated": False}
    home.ok(GUEST, "guest_off", {}, PERSON)
    assert home.ok(GUEST, "authenticate", {"tokenHash": OTHER_HASH}, GATEWAY) == {"authenticated": False}
    assert home.refused(AGENT, "guest_on", {"tokenHash": OTHER_HASH}, PERSON).code is Code.NOT_FOUND


def test_nothing_widens_the_guest(home: Home) -> None:
    """common 2.3"""
    home.ok(GUEST, "guest_on", {"tokenHash": TOKEN_HASH}, PERSON)
    widening: list[tuple[str, Record]] = [
        ("agent_set_mode", {"mode": "auto"}),
        ("agent_set_capability", {"capability": "mesh", "held": True}),
        ("credential_add", {"name": "x", "tokenHash": OTHER_HASH}),
        ("agent_set_budget", {"lifetime": 5}),
    ]
    for verb, body in widening:
        assert home.refused(GUEST, verb, body, PERSON).code is Code.NOT_FOUND


def test_looking_at_how_tools_stand_changes_nothing(home: Home) -> None:
    """common 4.1; work-plan-tool, tool_list"""
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    facts: list[Value] = [
        {"tool": "agent_inbox", "arguments": "valid", "kind": "write", "scope": "workspace", "capability": "mesh"}
    ]
    decision = home.bench(AGENT).decide("outlooks", {"tools": facts}, home.as_agent("a1"))
    assert decision.effects == ()
    assert at(decision.reply, "tools", 0, "status") == "requires_approval"


def test_the_limits_of_the_gateway_ride_on_authentication_when_the_person_changed_them(home: Home) -> None:
    """common 8.5"""
    assert "limits" not in home.ok(AGENT, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    home.bench(AGENT).settings = Snapshot(1, {"limits.connections": 3})
    reply = home.ok(AGENT, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    assert reply["limits"] == {"connections": 3}


WIDENING: list[tuple[str, Record, Record]] = [
    ("agent_set_mode", {"mode": "plan"}, {"mode": "auto"}),
    ("agent_set_capability", {"capability": "mesh", "held": False}, {"capability": "mesh", "held": True}),
    ("agent_set_withheld", {"tool": "agent_inbox", "withheld": True}, {"tool": "agent_get", "withheld": False}),
]


@pytest.mark.parametrize(("verb", "narrowing", "widening"), WIDENING)
def test_what_widens_leaves_calls_alone_that_are_under_way(
    home: Home, verb: str, narrowing: Record, widening: Record
) -> None:
    """common 2.1"""
    home.ok(AGENT, verb, narrowing, PERSON)
    before = version(home)
    decision = home.bench(AGENT).decide(verb, widening, PERSON)
    assert not [effect for effect in decision.effects if isinstance(effect, TellHosts)]
    home.ok(AGENT, verb, widening, PERSON)
    assert version(home) == before


def test_a_removed_agents_owner_is_told_until_it_has_heard(home: Home) -> None:
    """common 2.1"""
    directory = home.bench(address.DIRECTORY)
    home.begin(address.DIRECTORY, "agent_remove", {"agentId": "a1"}, PERSON)
    home.streams.clear()  # the message died
    died: Record = {"verb": "agent_removed", "body": {"agentId": "a1"}}
    directory.send("message_died", died, owner(AGENT))
    directory.fire("tell/a1")
    [told] = [sent for sent in directory.sent if sent.verb == "agent_removed"]
    assert told.to == AGENT
    home.bench(AGENT).send("agent_removed", told.body, owner(address.DIRECTORY))
    assert home.ok(AGENT, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY) == {"authenticated": False}


def test_the_person_is_not_told_done_before_the_agents_owner_has_heard(home: Home) -> None:
    """common 2.1"""
    for holds in ({"isRemoved": True}, {"workspaceId": "w2"}, {"notWorkspaceId": "w1"}):
        body: Record = {**holds}
        assert home.refused(AGENT, "authority_tell", body, PERSON).retryable
    told = home.bench(AGENT).decide("authority_tell", {"workspaceId": "w1"}, PERSON)
    assert [effect.verb for effect in told.effects if isinstance(effect, TellHosts)] == ["authority_changed"]


def test_a_narrowed_credential_gives_up_no_tool_that_it_does_not_know(home: Home) -> None:
    """common 1.3"""
    home.ok(AGENT, "credential_narrow", {"name": "default", "families": ["tool"]}, PERSON)
    caller = Caller(home, "a1")
    unknown = caller.call(TOOL_SET_ENABLED, {"tool": "canvas_create"})
    assert unknown.error == caller.call(TOOL_SET_ENABLED, {"tool": "no_such_tool"}).error
    assert caller.call(TOOL_SET_ENABLED, {"tool": "tool_list"}).ok is not None


def test_serving_a_credential_more_families_leaves_calls_alone_that_are_under_way(home: Home) -> None:
    """common 1.3, 2.1"""
    home.ok(AGENT, "credential_narrow", {"name": "default", "families": ["canvas"]}, PERSON)
    before = version(home)
    home.ok(AGENT, "credential_narrow", {"name": "default", "families": ["canvas", "agent"]}, PERSON)
    home.ok(AGENT, "credential_narrow", {"name": "default", "families": None}, PERSON)
    assert version(home) == before
