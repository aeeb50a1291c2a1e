"""What is still held, asked without renewing it (mesh 4.4)."""

from __future__ import annotations

import pytest

from bus import address
from bus.limits import lease_ms
from bus.value import Record
from tests.support.bench import agent
from tests.support.exchange import Home
from tools.errors import NOT_FOUND, Refusal

BOX = address.mailbox("a2")


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    return home


def _said(home: Home, verb: str, **body: object) -> Record:
    reply = home.mailbox_call("a2", verb, **body)  # type: ignore[arg-type]
    assert not isinstance(reply, Refusal), reply
    return reply


def _delivery(home: Home) -> str:
    leased = _said(home, "mail_lease", runtimeId="r1")["deliveries"]
    assert isinstance(leased, list) and isinstance(leased[0], dict)
    return str(leased[0]["deliveryId"])


def test_asking_what_is_held_renews_nothing(home: Home) -> None:
    """mesh 4.4: a lease lasts for as long as its runtime renews it, however often others look."""
    thread_id = home.triggered("a1", "a2")
    delivery_id = _delivery(home)
    rows = dict(home.bench(BOX).rows)
    for _ in range(2):
        home.clock.advance(lease_ms // 2 - 1)
        held = _said(home, "mail_held", runtimeId="r1", deliveryIds=[delivery_id, delivery_id])
        assert held == {"held": [delivery_id], "lost": []}
    assert home.bench(BOX).rows == rows
    home.clock.advance(2)
    lost = {"deliveryId": delivery_id, "threadId": thread_id, "reason": "lease_lost", "state": "delivered"}
    assert _said(home, "mail_held", runtimeId="r1", deliveryIds=[delivery_id]) == {"held": [], "lost": [lost]}


def test_what_is_lost_is_told_as_a_renewal_tells_it(home: Home) -> None:
    """mesh 4.2, 4.4"""
    home.triggered("a1", "a2")
    first = _delivery(home)
    home.triggered("a1", "a2")
    _said(home, "mail_finish", deliveryId=first, outcome="completed", body="7")
    second = _delivery(home)
    for runtime, ids in (("r1", [first, "never.was"]), ("r2", [second])):
        asked = {"runtimeId": runtime, "deliveryIds": ids}
        told = _said(home, "mail_held", **asked)["lost"]
        assert told == _said(home, "mail_renew", **asked)["lost"] and len(ids) == len(told or ())  # type: ignore[arg-type]


def test_nobody_asks_what_another_agent_holds(home: Home) -> None:
    """mesh 4.4; common 3.3"""
    home.add_agent("a3")
    home.triggered("a1", "a2")
    asked: Record = {"runtimeId": "r1", "deliveryIds": [_delivery(home)]}
    assert home.refused(BOX, "mail_held", asked, agent("a3", "w1")) == NOT_FOUND
