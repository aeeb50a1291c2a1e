"""A task's whole way: two agents are added, one finds the other, sends it a task, and hears of the end."""

from __future__ import annotations

from itertools import product

import pytest

from bus import address
from bus.address import DIRECTORY
from tests.support.exchange import Home
from tests.support.reading import at
from tools.errors import Refusal
from tools.tiers import TierFacts, capability_tier


def test_a_task_goes_to_a_peer_and_its_result_comes_back() -> None:
    """"""
    home = Home()
    home.add_workspace("w1", "Garden")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    peers = home.ok(DIRECTORY, "agents_in_scope", {"limit": 50}, home.as_agent("a1"))
    assert [peer["name"] for peer in at(peers, "agents")] == ["Ada", "Eve"]

    thread_id = home.triggered("a1", "a2", title="Count the beans")
    assert home.waiting("a2") == 1
    delivery = at(home.inbox("a2"), "deliveries", 0)
    assert (delivery["threadId"], delivery["from"]["name"]) == (thread_id, "Ada")

    home.mailbox_call("a2", "agent_reply", threadId=thread_id, outcome="completed", body="There are 7.")
    assert (home.waiting("a1"), home.waiting("a2")) == (1, 0)
    notice = at(home.inbox("a1"), "notifications", 0)
    assert (notice["peer"]["name"], notice["title"], notice["state"]) == ("Eve", "Count the beans", "completed")
    assert at(notice, "result", "body", "text") == "There are 7."

    life = [event.type for event in home.events if event.type.startswith("thread.")]
    assert life == ["thread.offered", "thread.queued", "thread.delivered", "thread.completed"]
    home.assert_reloads()


@pytest.mark.parametrize(("mesh", "ran"), list(product([True, False], repeat=2)))
def test_the_tier_that_is_listed_is_the_one_that_a_trigger_decides_by(mesh: bool, ran: bool) -> None:
    """mesh 2.2"""
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    home.add_agent("a2", mesh=mesh, ran=ran)
    facts = [
        TierFacts.from_record(agent_id, home.ok(address.agent(agent_id), "agent_facts", {}, home.as_agent("a1")))
        for agent_id in ("a1", "a2")
    ]
    tier, withheld = capability_tier(*facts)
    reply = home.trigger("a1", "a2")
    assert isinstance(reply, Refusal) == (tier != "deliver")
    if isinstance(reply, Refusal):
        assert reply.details == {"withheld": [entry.to_record() for entry in withheld]}
