"""What of the mesh needs the person, in sentences."""

from __future__ import annotations

from bus.value import Record
from nexus.mesh_needs import named_max, needs_lines
from tests.nexus.test_person_cli import HOSTILE

ADA: Record = {"agentId": "a1", "name": "Ada", "mailbox": "mailbox/-/a1"}


def test_nothing_is_said_when_nothing_is_needed() -> None:
    assert needs_lines({"paused": [], "exhausted": [], "waitingLong": [], "unread": [], "truncated": False}) == []
    assert needs_lines({}) == []


def test_each_need_is_one_sentence_that_says_what_to_do() -> None:
    lines = needs_lines(
        {
            "paused": [{**ADA, "waiting": 1}],
            "exhausted": [{**ADA, "threads": 2}],
            "waitingLong": [{**ADA, "waiting": 3, "oldestQueuedAt": "2027-01-15T08:00:00.000Z"}],
            "unread": [{"mailbox": "mailbox/-/b1", "code": "unavailable"}],
        }
    )
    assert lines == [
        "Agent Ada (a1) is paused and has 1 task waiting; go on with: nexus agent resume a1",
        "Agent Ada (a1) did not take 2 tasks in five attempts; see them with: nexus thread list --state failed "
        "--agent a1, and send one again with: nexus thread requeue ID",
        "Agent Ada (a1) has 3 tasks waiting, the oldest since 2027-01-15T08:00:00.000Z; see them with: "
        "nexus thread list --state open --agent a1",
        "mailbox/-/b1 could not be read (unavailable); look with: nexus-bus doctor",
    ]


def test_more_than_a_screen_takes_is_counted() -> None:
    """common 7.3"""
    lines = needs_lines({"paused": [ADA] * (named_max + 5), "truncated": True, "lookedAt": 5000})
    assert len(lines) == named_max + 2
    assert lines[-2:] == ["... and 5 more of these", "Only 5000 mailboxes were looked at; there are more."]


def test_names_cannot_act_on_the_terminal() -> None:
    """security 2.15"""
    hostile: Record = {"agentId": HOSTILE, "name": HOSTILE, "mailbox": HOSTILE, "code": HOSTILE}
    lines = needs_lines({kind: [hostile] for kind in ("paused", "exhausted", "waitingLong", "unread")})
    assert len(lines) == 4
    assert not {"\x1b", "\x07", "\u202e"} & set("".join(lines))
