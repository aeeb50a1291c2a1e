"""What a runtime says at the end of a delivery, said again or otherwise (mesh 4.2)."""

from __future__ import annotations

import pytest

from bus.value import Record
from tests.support.exchange import Home
from tests.support.reading import at
from tools.errors import Code, Refusal


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    home.add_agent("a2")
    home.triggered("a1", "a2")
    return home


def _one(home: Home) -> str:
    leased = home.mailbox_call("a2", "mail_lease", runtimeId="r1", count=1)
    assert not isinstance(leased, Refusal)
    return str(at(leased, "deliveries", 0, "deliveryId"))


def _refused(home: Home, delivery: str, said: Record) -> Refusal:
    reply = home.mailbox_call("a2", "mail_finish", deliveryId=delivery, **said)
    assert isinstance(reply, Refusal), reply
    return reply


FIRST: Record = {"outcome": "completed", "body": "Seven.", "artifacts": [1], "usage": {"tokens": 3}}


@pytest.mark.parametrize(
    "another",
    [
        {**FIRST, "body": "Eight."},
        {**FIRST, "outcome": "failed"},
        {**FIRST, "outcome": "partial"},
        {**FIRST, "artifacts": []},
        {"outcome": "rejected", "reason": "Not mine."},
    ],
)
def test_only_the_same_end_said_again_is_answered_as_the_first_time(home: Home, another: Record) -> None:
    """mesh 4.2: every later close is thread_closed with the state that won."""
    delivery = _one(home)
    first = home.mailbox_call("a2", "mail_finish", deliveryId=delivery, **FIRST)
    assert not isinstance(first, Refusal)
    assert home.mailbox_call("a2", "mail_finish", deliveryId=delivery, **FIRST) == first
    refused = _refused(home, delivery, another)
    assert refused.code is Code.THREAD_CLOSED
    assert refused.details is not None and refused.details["state"] == "completed"


@pytest.mark.parametrize("reason", ["", "no\x1b[31m", "two\nlines", "x" * 201])
def test_a_runtime_declines_with_one_line_like_an_agent(home: Home, reason: str) -> None:
    """mesh 1, common 7.1"""
    refused = _refused(home, _one(home), {"outcome": "rejected", "reason": reason})
    assert refused.code is Code.INVALID_ARGUMENTS
