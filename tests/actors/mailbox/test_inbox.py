"""Reading a mailbox: orders, pages, repeats, and what counts as waiting."""

from __future__ import annotations

import pytest

from actors.mailbox.paging import BadCursor, Places, page_of
from bus import address
from bus.limits import notification_listed_ms, result_bytes_max
from bus.value import Record, Value
from tests.support.bench import PERSON
from tests.support.exchange import Home
from tests.support.reading import at
from tests.tools.test_secrets import CREDENTIALS
from tools.agent import AgentInboxOutput
from tools.errors import NOT_FOUND, Code, Refusal
from tools.plain_json import encoded_bytes


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    for agent_id in ("a1", "a2", "a3"):
        home.add_agent(agent_id)
    return home


def _titles(inbox: Record) -> list[Value]:
    return [at(delivery, "task", "title") for delivery in at(inbox, "deliveries")]


def _ended(home: Home, caller: str, callee: str, body: str = "Seven.") -> str:
    thread_id = home.triggered(caller, callee)
    home.inbox(callee)
    home.mailbox_call(callee, "agent_reply", threadId=thread_id, outcome="completed", body=body)
    return thread_id


def test_a_delivery_shows_who_sent_it_and_the_task_fenced(home: Home) -> None:
    """common 7.1, mesh 3.1"""
    home.triggered("a1", "a2", inputs={"beans": [1, None]}, expectedOutput="A number.", priority="p1")
    inbox = home.inbox("a2")
    AgentInboxOutput.model_validate(inbox)
    delivery = at(inbox, "deliveries", 0)
    assert delivery["from"] == {"agentId": "a1", "name": "Agent a1"}
    assert delivery["task"] == {
        "title": "Count",
        "instructions": {"untrusted": True, "source": "another agent", "text": "Count the beans."},
        "inputs": {"untrusted": True, "source": "another agent", "data": {"beans": [1, None]}},
        "expectedOutput": {"untrusted": True, "source": "another agent", "text": "A number."},
        "contextRefs": [],
        "priority": "p1",
        "deadline": None,
    }


def test_credentials_in_what_others_wrote_are_replaced(home: Home) -> None:
    """common 7.2"""
    key = CREDENTIALS[5][1]
    home.triggered("a1", "a2", instructions=f"use {key}", inputs={"key": [key]}, expectedOutput=key)
    task = at(home.inbox("a2"), "deliveries", 0, "task")
    shown = "[redacted: github-token]"
    assert (task["instructions"]["text"], task["expectedOutput"]["text"]) == (f"use {shown}", shown)
    assert task["inputs"]["data"] == {"key": [shown]}


def test_a_full_inbox_of_credentials_still_fits_a_result(home: Home) -> None:
    """common 6.4, 7.2: what is replaced never becomes longer"""
    body = "postgres://a:b1c2d@x pwd=a1B2c3D4e5F6 " * 1_600
    for _ in range(2):
        _ended(home, "a2", "a1", body=body)
        home.triggered("a1", "a2", instructions=body[: 32 * 1024])
    inbox = home.inbox("a2")
    assert "b1c2d" not in str(inbox) and "a1B2c3D4e5F6" not in str(inbox)
    assert encoded_bytes(inbox) < result_bytes_max
    assert len(at(inbox, "deliveries")) == 2 and len(at(inbox, "notifications")) == 1


def test_deliveries_come_by_priority_and_then_by_arrival(home: Home) -> None:
    """mesh 4.6"""
    for title, priority in (("c", "p3"), ("a", "p1"), ("d", "p3"), ("b", "p2"), ("e", "p4")):
        home.triggered("a1", "a2", title=title, priority=priority)
    assert _titles(home.inbox("a2")) == ["a", "b", "c", "d", "e"]


def test_reading_twice_shows_the_same_deliveries_and_the_second_has_no_effects(home: Home) -> None:
    """mesh 4.5"""
    for title in "abc":
        home.triggered("a1", "a2", title=title)
    first = home.inbox("a2")
    decision = home.bench(address.mailbox("a2")).decide("agent_inbox", {}, home.as_agent("a2"))
    assert (at(decision.reply, "deliveries"), decision.effects) == (first["deliveries"], ())


def test_reading_marks_a_task_delivered_and_its_sender_sees_that_without_being_notified(home: Home) -> None:
    """mesh 4.1, 4.3"""
    thread_id = home.triggered("a1", "a2")
    assert at(home.inbox("a1"), "openThreads", 0, "state") == "queued"
    home.inbox("a2")
    inbox = home.inbox("a1")
    assert at(inbox, "openThreads", 0, "state") == "delivered"
    assert (at(inbox, "openThreads", 0, "role"), inbox["notifications"]) == ("originator", [])
    owed = at(home.inbox("a2"), "openThreads", 0)
    assert (owed["threadId"], owed["role"]) == (thread_id, "recipient")


def test_only_what_the_page_shows_is_marked_delivered(home: Home) -> None:
    """mesh 4.1"""
    for title in "ab":
        home.triggered("a1", "a2", title=title)
    home.inbox("a2", limit=1)
    states = [thread.state for thread in home.bench(address.mailbox("a2")).state.received.values()]
    assert sorted(states) == ["delivered", "queued"]


def test_pages_cover_deliveries_and_notifications_once_each(home: Home) -> None:
    """common 7.3"""
    ended = []
    for _ in range(5):
        ended.append(_ended(home, "a2", "a1"))
        home.clock.advance(1)
    for title in "abc":
        home.triggered("a1", "a2", title=title)
    titles: list[Value] = []
    notices: list[Value] = []
    cursor: Value = None
    for _ in range(3):
        page = home.inbox("a2", limit=2, cursor=cursor)
        titles.extend(_titles(page))
        notices.extend(notice["threadId"] for notice in at(page, "notifications"))
        cursor = page["nextCursor"]
    assert (titles, notices, cursor) == (["a", "b", "c"], list(reversed(ended)), None)


def test_a_cursor_stays_valid_while_threads_end_and_arrive(home: Home) -> None:
    """common 7.3"""
    threads = [home.triggered("a1", "a2", title=title) for title in "abc"]
    cursor = home.inbox("a2", limit=2)["nextCursor"]
    home.mailbox_call("a2", "agent_reject", threadId=threads[1], reason="No.")
    home.triggered("a1", "a2", title="d")
    assert _titles(home.inbox("a2", cursor=cursor)) == ["c", "d"]


@pytest.mark.parametrize("cursor", ["", "x", "1.2", "9.1~1.a", "1.1~1.a/b", "1.1~1.a\n"])
def test_what_is_no_cursor_is_an_invalid_argument(home: Home, cursor: str) -> None:
    """docs/decisions/0001: a bad cursor argument"""
    refusal = home.mailbox_call("a2", "agent_inbox", cursor=cursor)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, at(refusal.details, "fields", 0, "path")) == (Code.INVALID_ARGUMENTS, "cursor")


def test_a_place_is_read_back_from_its_cursor() -> None:
    places = Places((3, 17), (1_800_000_000_000, "abc"))
    assert Places.parse(places.cursor()) == places
    with pytest.raises(BadCursor):
        Places.parse("nothing")


def test_a_page_ends_early_where_its_bytes_are_used_up() -> None:
    """common 6.4"""
    page = page_of([(number, {"text": "x" * 100}) for number in range(9)], count_max=9, bytes_max=350)
    assert (len(page.items), page.last, page.more) == (3, 2, True)


def test_a_full_inbox_stays_within_a_results_bytes(home: Home) -> None:
    """common 6.4"""
    long = "\U0001f331" * 200
    for _ in range(8):
        home.triggered("a1", "a2", title=long, instructions="x" * 32_000, inputs={"text": '"' * 15_000})
        _ended(home, "a2", "a3", body="\U0001f331" * 8_000)
    for _ in range(60):
        home.triggered("a2", "a3", title=long)
    inbox = home.inbox("a2", limit=100)
    assert encoded_bytes(inbox) <= result_bytes_max
    assert inbox["openThreadsTruncated"] is True
    assert inbox["nextCursor"] is not None


def test_what_waits_is_tasks_not_begun_and_news_not_seen(home: Home) -> None:
    """common 1.11"""
    home.triggered("a1", "a2")
    assert home.waiting("a2") == 1
    thread_id = str(at(home.inbox("a2"), "deliveries", 0, "threadId"))
    assert home.waiting("a2") == 1, "it was read, and still waits for its answer"
    home.mailbox_call("a2", "agent_reply", threadId=thread_id, outcome="completed", body="7")
    assert (home.waiting("a2"), home.waiting("a1")) == (0, 1)
    assert at(home.inbox("a1"), "notifications", 0, "isNew") is True
    assert home.waiting("a1") == 0


def test_a_notification_stays_listed_for_a_day_and_is_new_once(home: Home) -> None:
    """mesh 4.3"""
    _ended(home, "a1", "a2")
    home.inbox("a1")
    home.clock.advance(notification_listed_ms - 1)
    assert at(home.inbox("a1"), "notifications", 0, "isNew") is False
    home.clock.advance(1)
    assert home.inbox("a1")["notifications"] == []


def test_the_person_peeks_without_taking(home: Home) -> None:
    """mesh 4.1"""
    home.triggered("a1", "a2")
    reply = home.ok(address.mailbox("a2"), "mailbox_peek", {"limit": 5}, PERSON)
    assert (_titles(reply), reply["queued"], reply["truncated"]) == (["Count"], 1, False)
    assert at(reply, "deliveries", 0, "state") == "queued"
    assert [thread.state for thread in home.bench(address.mailbox("a2")).state.received.values()] == ["queued"]
    assert home.refused(address.mailbox("nobody"), "mailbox_peek", {"limit": 5}, PERSON).code is Code.NOT_FOUND


def test_another_agents_mailbox_cannot_be_read(home: Home) -> None:
    """common 3.3"""
    home.triggered("a1", "a2")
    assert home.call(address.mailbox("a2"), "agent_inbox", {}, home.as_agent("a1")) == NOT_FOUND
