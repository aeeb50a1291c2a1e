"""Attack 24: the agents that led to a call stand on its card, in its stamp and so in the log (security 2.24)."""

from __future__ import annotations

import pytest

from actors.decision import Dispatch
from bus import address
from bus.admitted import STAMP_CHAIN, STAMP_CHAIN_MORE
from bus.limits import chain_agents_max
from bus.value import Record, Value
from nexus.gateway.admitting import call_facts
from tests.support.admitting import Caller
from tests.support.bench import GATEWAY, PERSON
from tests.support.exchange import TOKEN_HASH, Home
from tools.agent import AGENT_UPDATE_SELF
from tools.autonomy import Mode
from tools.errors import Code
from tools.setting_catalogue import STRICTEST_OF_CHAIN, Snapshot

PERSONA: Record = {"persona": "Counts beans."}


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace()
    for agent_id in ("a1", "a2", "a3"):
        home.add_agent(agent_id)
    return home


def set_mode(home: Home, agent_id: str, mode: str) -> None:
    home.ok(address.agent(agent_id), "agent_set_mode", {"mode": mode}, PERSON)


def stamp_of(home: Home, agent_id: str) -> Record:
    body: Record = {**call_facts(AGENT_UPDATE_SELF), "tokenHash": TOKEN_HASH}
    stamp = home.ok(address.agent(agent_id), "admit", body, GATEWAY)["stamp"]
    assert isinstance(stamp, dict)
    return stamp


def chain_on_card(home: Home, agent_id: str) -> list[Value]:
    assert Caller(home, agent_id).call(AGENT_UPDATE_SELF, PERSONA).code == Code.APPROVAL_REQUIRED
    (id_,) = home.bench(address.agent(agent_id)).state.approvals
    card = home.ok(address.agent(agent_id), "approval_show", {"approvalId": f"{agent_id}.{id_}"}, PERSON)
    assert isinstance(card["chain"], list)
    return card["chain"]


def test_a_stamp_carries_who_led_to_the_tasks_that_the_caller_was_shown_and_did_not_end(home: Home) -> None:
    """security 2.24"""
    first = home.triggered("a1", "a2")
    assert STAMP_CHAIN not in stamp_of(home, "a2"), "it has not seen the task"
    home.inbox("a2")
    assert stamp_of(home, "a2")[STAMP_CHAIN] == ["a1"]
    home.triggered("a2", "a3", parentThreadId=first)
    home.inbox("a3")
    assert stamp_of(home, "a3")[STAMP_CHAIN] == ["a1", "a2"]
    home.mailbox_call("a2", "agent_reply", threadId=first, outcome="completed", body="Seven.")
    assert STAMP_CHAIN not in stamp_of(home, "a2"), "the task has ended"
    assert stamp_of(home, "a3")[STAMP_CHAIN] == ["a1", "a2"], "its own has not"


def test_a_leased_task_counts_like_a_shown_one(home: Home) -> None:
    """security 2.24"""
    home.triggered("a1", "a2")
    home.mailbox_call("a2", "mail_lease", runtimeId="r1", count=1, bytes=100_000)
    assert stamp_of(home, "a2")[STAMP_CHAIN] == ["a1"]


def test_a_card_shows_the_agents_that_led_to_the_call(home: Home) -> None:
    """security 2.24, common 5.4"""
    home.triggered("a1", "a2")
    home.inbox("a2")
    set_mode(home, "a2", "approval")
    assert chain_on_card(home, "a2") == ["a1", "a2"]


def test_who_works_for_too_many_to_name_says_how_many_more_on_stamp_and_card(home: Home) -> None:
    """security 2.24: nobody hides behind the many that came before."""
    senders = [f"s{number:03}" for number in range(chain_agents_max + 3)]
    for sender in senders:
        home.add_agent(sender)
        home.triggered(sender, "a2")
    home.mailbox_call("a2", "mail_lease", runtimeId="r1", count=100)
    stamp = stamp_of(home, "a2")
    assert (stamp[STAMP_CHAIN], stamp[STAMP_CHAIN_MORE]) == (senders[3:], 3)
    set_mode(home, "a2", "approval")
    assert chain_on_card(home, "a2") == [*senders[3:], "a2"]
    (approval,) = home.bench(address.agent("a2")).state.approvals.values()
    assert approval.chainMore == 3


def test_a_collected_call_keeps_for_whom_it_was_made_when_it_runs_later(home: Home) -> None:
    """security 2.24: the task may have ended when the person runs the plan."""
    set_mode(home, "a2", "plan_collect")
    first = home.triggered("a1", "a2")
    home.inbox("a2")
    form = Caller(home, "a2").call(AGENT_UPDATE_SELF, PERSONA).ok
    assert form is not None and form["status"] == "collected"
    home.mailbox_call("a2", "agent_reply", threadId=first, outcome="completed", body="Seven.")
    assert STAMP_CHAIN not in stamp_of(home, "a2")
    owner = home.bench(address.agent("a2"))
    decision = owner.decide("plan_run", {"planId": form["planId"]}, PERSON)
    (sent,) = [effect for effect in decision.effects if isinstance(effect, Dispatch)]
    assert sent.stamp[STAMP_CHAIN] == ["a1"]


def test_the_reading_is_answered_only_when_the_callers_admission_knows_of_it(home: Home) -> None:
    """security 2.24: else the first call after it would be admitted as if it were for nobody."""
    home.triggered("a1", "a2")
    bench = home.bench(address.mailbox("a2"))
    bench.send("agent_inbox", {}, home.as_agent("a2"))
    (told,) = [sent for sent in bench.sent if sent.verb == "working_for_changed"]
    assert told.before_reply


@pytest.mark.parametrize(
    ("sender_mode", "code"), [("approval", Code.APPROVAL_REQUIRED), ("plan", Code.BLOCKED_BY_AUTONOMY)]
)
def test_the_person_can_have_a_call_admitted_by_the_strictest_mode_of_its_chain(
    home: Home, sender_mode: str, code: Code
) -> None:
    """security 2.24: what an agent may not do itself, it does not have others do."""
    set_mode(home, "a1", sender_mode)
    first = home.triggered("a1", "a2")
    home.inbox("a2")
    home.triggered("a2", "a3", parentThreadId=first)
    home.inbox("a3")
    owner = home.bench(address.agent("a3"))
    assert Caller(home, "a3").call(AGENT_UPDATE_SELF, PERSONA).ok is not None, "the setting is off"
    owner.settings = Snapshot(1, {STRICTEST_OF_CHAIN.name: True})
    assert Caller(home, "a3").call(AGENT_UPDATE_SELF, {"persona": "Counts peas."}).code == code


@pytest.mark.parametrize("mode", [mode.value for mode in Mode])
def test_a_mode_of_the_chain_never_widens_the_own(home: Home, mode: str) -> None:
    """security 2.24"""
    set_mode(home, "a1", mode)
    home.triggered("a1", "a3")
    home.inbox("a3")
    set_mode(home, "a3", "plan")
    owner = home.bench(address.agent("a3"))
    owner.settings = Snapshot(1, {STRICTEST_OF_CHAIN.name: True})
    assert Caller(home, "a3").call(AGENT_UPDATE_SELF, PERSONA).code == Code.BLOCKED_BY_AUTONOMY
