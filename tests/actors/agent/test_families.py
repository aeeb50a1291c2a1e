"""A credential that the person has narrowed to families of tools (common 1.3, decision 0012)."""

from __future__ import annotations

import pytest

from actors.agent.admission import AgentFacts, CallFacts, admit
from actors.agent.plan_admission import step_refusal
from actors.decision import Context, TellHosts
from bus import address
from bus.limits import credential_use_noted_ms
from bus.value import Record, Value
from nexus.gateway.admitting import call_facts
from tests.actors.agent.planning import AGENT as PLANNER
from tests.actors.agent.planning import Planning
from tests.support.admitting import Caller
from tests.support.bench import GATEWAY, PERSON
from tests.support.exchange import TOKEN_HASH, Home
from tests.support.reading import at
from tools.base import Family
from tools.catalogue import BY_NAME, TOOLS
from tools.errors import Code

AGENT = address.agent("a1")
LAPTOP = bytes([9] * 32)
CANVASES: Record = {"name": "laptop", "families": ["canvas"]}
CREATE: Record = {"title": "Plan", "reason": "To plan."}


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    home.ok(AGENT, "credential_add", {"name": "laptop", "tokenHash": LAPTOP}, PERSON)
    return home


def admitted(home: Home, tool: str, token_hash: bytes = LAPTOP, **facts: Value) -> Record:
    body: Record = {**call_facts(BY_NAME[tool]), "tokenHash": token_hash, **facts}
    return home.ok(AGENT, "admit", body, GATEWAY)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("arguments", ["valid", "invalid"])
def test_a_tool_of_another_family_is_answered_as_one_that_does_not_exist(tool: object, arguments: str) -> None:
    """common 1.3, 4.1: before arguments, scope, rights and mode are looked at"""
    assert tool in TOOLS
    for family in Family:
        agent = AgentFacts("w1", frozenset({"mesh"}), families=frozenset({family.value}))
        facts = CallFacts.model_validate({**call_facts(tool), "arguments": arguments})
        admission = admit(agent, facts)
        nothing_said = admission.verdict is None and admission.refusal is None
        assert nothing_said is (facts.family != family.value)


def test_a_tool_that_names_no_family_is_unknown_to_a_narrowed_credential() -> None:
    """common 1.3: what is not said is not served"""
    agent = AgentFacts("w1", frozenset({"mesh"}), families=frozenset({"agent"}))
    facts = CallFacts(tool="agent_get", arguments="valid", kind="read", scope="workspace")
    assert (admit(agent, facts).verdict, admit(agent, facts).refusal) == (None, None)


def test_narrowing_acts_on_that_credential_alone_and_at_once(home: Home) -> None:
    """common 1.3, 2.1"""
    assert "stamp" in admitted(home, "agent_get")
    version = home.bench(AGENT).state.head.version
    decision = home.bench(AGENT).decide("credential_narrow", CANVASES, PERSON)
    assert TellHosts("authority_changed", {"agentId": "a1", "version": version + 1}) in decision.effects
    home.ok(AGENT, "credential_narrow", CANVASES, PERSON)
    unknown = admitted(home, "agent_get")
    assert unknown == {"authenticated": True, "waiting": 0, "isUnknownTool": True}
    assert admitted(home, "canvas_list", arguments="unknown_tool") == unknown
    assert "stamp" in admitted(home, "canvas_list")
    assert "stamp" in admitted(home, "agent_get", TOKEN_HASH), "the other credential is as it was"


def test_authentication_tells_the_families_of_a_narrowed_credential_alone(home: Home) -> None:
    """common 1.3"""
    home.ok(AGENT, "credential_narrow", {"name": "laptop", "families": ["agent", "canvas", "agent"]}, PERSON)
    assert home.ok(AGENT, "authenticate", {"tokenHash": LAPTOP}, GATEWAY)["families"] == ["canvas", "agent"]
    assert "families" not in home.ok(AGENT, "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)


def test_a_credential_is_made_narrow_stays_so_when_its_use_is_noted_and_is_widened_by_the_person(home: Home) -> None:
    """common 1.3"""
    narrow: Record = {"name": "drawing", "tokenHash": bytes([7] * 32), "families": ["canvas"]}
    home.ok(AGENT, "credential_add", narrow, PERSON)
    home.clock.advance(credential_use_noted_ms)
    for _ in range(2):
        known = home.ok(AGENT, "authenticate", {"tokenHash": bytes([7] * 32)}, GATEWAY)
        assert known["families"] == ["canvas"]
        home.clock.advance(credential_use_noted_ms)
    assert home.bench(AGENT).reloaded().credentials["drawing"].families == ["canvas"]
    listed = home.ok(AGENT, "agent_facts", {}, PERSON)["credentials"]
    assert [(at(one, "name"), at(one, "families")) for one in listed] == [  # type: ignore[union-attr]
        ("default", None),
        ("drawing", ["canvas"]),
        ("laptop", None),
    ]
    home.ok(AGENT, "credential_narrow", {"name": "drawing", "families": None}, PERSON)
    assert "stamp" in admitted(home, "agent_get", bytes([7] * 32))


def test_saying_the_same_again_changes_nothing(home: Home) -> None:
    home.ok(AGENT, "credential_narrow", CANVASES, PERSON)
    decision = home.bench(AGENT).decide("credential_narrow", CANVASES, PERSON)
    assert (decision.effects, at(decision.reply, "changed")) == ((), False)


def test_a_new_token_of_a_narrowed_credential_is_as_narrow(home: Home) -> None:
    """common 1.3: replacing a token is no way to widen it"""
    home.ok(AGENT, "credential_narrow", {"name": "default", "families": ["canvas"]}, PERSON)
    home.ok(AGENT, "token_replace", {"tokenHash": bytes([5] * 32)}, PERSON)
    assert home.ok(AGENT, "authenticate", {"tokenHash": bytes([5] * 32)}, GATEWAY)["families"] == ["canvas"]


@pytest.mark.parametrize("families", [[], ["no_family"], ["canvas", ""], "canvas"])
def test_only_families_that_exist_are_taken_and_never_none_at_all(home: Home, families: Value) -> None:
    for verb, more in (("credential_narrow", {}), ("credential_add", {"tokenHash": bytes([3] * 32)})):
        body: Record = {"name": "laptop" if verb == "credential_narrow" else "new", "families": families, **more}
        assert home.refused(AGENT, verb, body, PERSON).code is Code.INVALID_ARGUMENTS


def test_there_is_nothing_to_narrow_where_there_is_no_such_credential(home: Home) -> None:
    home.ok(address.agent("guest"), "guest_on", {"tokenHash": TOKEN_HASH}, PERSON)
    for to, name in ((AGENT, "nobody"), (address.agent("a9"), "default"), (address.agent("guest"), "default")):
        body: Record = {"name": name, "families": ["canvas"]}
        assert home.refused(to, "credential_narrow", body, PERSON).code is Code.NOT_FOUND


def test_what_a_narrowed_credential_asked_for_ends_where_it_is_not_served_any_more(home: Home) -> None:
    """common 2.1, security 2.10: granted approvals too"""
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    laptop, default = Caller(home, "a1", LAPTOP), Caller(home, "a1")
    assert laptop.call(BY_NAME["canvas_create"], CREATE).code == "approval_required"
    assert laptop.call(BY_NAME["agent_update_self"], {"persona": "Counts."}).code == "approval_required"
    assert default.call(BY_NAME["canvas_create"], {**CREATE, "title": "Other"}).code == "approval_required"
    home.ok(AGENT, "credential_narrow", {"name": "laptop", "families": ["agent"]}, PERSON)
    left = {
        (approval.tool, approval.credential, approval.state.value)
        for approval in home.bench(AGENT).state.approvals.values()
    }
    assert left == {
        ("canvas_create", "laptop", "voided"),
        ("agent_update_self", "laptop", "pending"),
        ("canvas_create", "default", "pending"),
    }


def test_tool_list_names_only_what_the_credential_is_served(home: Home) -> None:
    """common 1.3; work-plan-tool, tool_list"""
    home.ok(AGENT, "credential_narrow", {"name": "default", "families": ["canvas", "tool"]}, PERSON)
    asked: Record = {"tools": [call_facts(tool) for tool in TOOLS]}
    told = home.ok(AGENT, "outlooks", asked, home.as_agent("a1"))["tools"]
    served = {tool.name for tool in TOOLS if tool.family in (Family.CANVAS, Family.TOOL)}
    assert {at(one, "name") for one in told} == served  # type: ignore[union-attr]


def test_a_collected_step_does_not_run_for_a_credential_that_was_narrowed_meanwhile() -> None:
    """common 2.1"""
    planning = Planning()
    step = planning.write("c9")
    context = Context(planning.clock.now_ms(), PERSON, "call", address.agent(PLANNER))
    assert step_refusal(planning.bench.state, step, context) is None
    planning.bench.send("credential_narrow", {"name": "default", "families": ["agent"]}, PERSON)
    refusal = step_refusal(planning.bench.state, step, context)
    assert refusal is not None and refusal.code is Code.NOT_FOUND
