"""What is kept of the threads that an agent opened, and when its owner hears of it."""

from __future__ import annotations

import pytest

from bus import address
from bus.limits import notification_listed_ms, stored_report_bytes
from bus.value import Record
from tests.support.exchange import Home
from tools.errors import Refusal

LONG = "x" * 30_000


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    return home


def kept(home: Home, agent_id: str) -> int:
    size = home.bench(address.mailbox(agent_id)).state.stored_bytes
    assert isinstance(size, int)
    return size


def known(home: Home, agent_id: str) -> int:
    """What the agent's owner has been told."""
    total = home.bench(address.agent(agent_id)).state.stored.total
    assert isinstance(total, int)
    return total


def test_open_tasks_are_the_senders_and_its_owner_is_told(home: Home) -> None:
    """common 8.5, security 2.23"""
    for _ in range(10):
        home.triggered("a1", "a2", instructions=LONG)
    assert 300_000 < kept(home, "a1") < 310_000
    assert stored_report_bytes <= known(home, "a1") <= kept(home, "a1")
    assert (kept(home, "a2"), known(home, "a2")) == (0, 0)
    home.assert_reloads()


def test_a_task_that_has_ended_counts_for_its_result_until_that_is_forgotten(home: Home) -> None:
    """common 8.5"""
    threads = [home.triggered("a1", "a2", instructions=LONG) for _ in range(10)]
    for thread in threads[:5]:
        home.inbox("a2")
        reply = home.mailbox_call("a2", "agent_reply", threadId=thread, outcome="completed", body="y" * 10_000)
        assert not isinstance(reply, Refusal), reply
    assert 200_000 < kept(home, "a1") < 204_000
    assert known(home, "a1") < stored_report_bytes
    for thread in threads[5:]:
        home.inbox("a2")
        reply = home.mailbox_call("a2", "agent_reply", threadId=thread, outcome="completed", body="y" * 60_000)
        assert not isinstance(reply, Refusal), reply
    assert known(home, "a1") > stored_report_bytes
    home.clock.advance(notification_listed_ms + 1)
    home.triggered("a1", "a2")
    assert kept(home, "a1") < 1_000
    assert known(home, "a1") == kept(home, "a1")
    home.assert_reloads()


def test_a_task_that_is_refused_leaves_nothing(home: Home) -> None:
    home.add_agent("idle", ran=False)
    for _ in range(12):
        assert isinstance(home.trigger("a1", "idle", instructions=LONG), Refusal)
    assert (kept(home, "a1"), known(home, "a1")) == (0, 0)


def test_a_thread_of_an_older_release_counts_for_nothing(home: Home) -> None:
    thread = home.triggered("a1", "a2", instructions=LONG)
    bench = home.bench(address.mailbox("a1"))
    row = bench.rows[f"sent/{thread}"]
    assert isinstance(row, dict)
    older: Record = {name: value for name, value in row.items() if name != "bytes"}
    bench.rows[f"sent/{thread}"] = older
    assert bench.reloaded().stored_bytes == 0
