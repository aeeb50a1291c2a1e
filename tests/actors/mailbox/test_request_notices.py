"""What became of requests, in the requester's inbox (mesh 4.3, 6)."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import DIRECTORY
from bus.limits import notification_listed_ms, request_notices_kept_max
from bus.value import Record
from tests.support.bench import OwnerBench, owner
from tests.support.exchange import Home
from tests.support.reading import at
from tools.agent import AgentInboxOutput

BOX = address.mailbox("a1")


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1", name="Ada")
    return home


def _tell(home: Home, request_id: str, **body: object) -> None:
    bench: OwnerBench[object] = home.bench(BOX)
    told: Record = {"requestId": request_id, "kind": "channel_invite", "outcome": "declined", **body}  # type: ignore[dict-item]
    bench.send("request_ended", told, owner(address.workspace("w1")))
    home._collect(bench)
    home.settle()


def test_an_ended_request_is_news_until_read_and_listed_for_a_day(home: Home) -> None:
    """mesh 4.3"""
    _tell(home, "q1", channelId="c1", channelName="Beans", note="Not now.")
    _tell(home, "q1", note="Repeated.")
    assert home.waiting("a1") == 1
    inbox = home.inbox("a1")
    AgentInboxOutput.model_validate(inbox)
    shown = at(inbox, "requests", 0)
    assert shown["channel"] == {"channelId": "c1", "name": "Beans"}
    assert shown["note"] == {"untrusted": True, "source": "the person", "text": "Not now."}
    assert (shown["isNew"], home.waiting("a1")) == (True, 0)
    assert at(home.inbox("a1"), "requests", 0, "isNew") is False
    home.clock.advance(notification_listed_ms)
    assert home.inbox("a1")["requests"] == []


def test_what_was_not_read_comes_first_and_the_oldest_go(home: Home) -> None:
    """mesh 4.3"""
    for number in range(request_notices_kept_max + 5):
        _tell(home, f"q{number}", note="x" * 2_000)
        home.clock.advance(1)
    seen = set()
    for _ in range(request_notices_kept_max):
        listed = home.inbox("a1")["requests"]
        assert isinstance(listed, list)
        seen |= {at(each, "requestId") for each in listed}
    assert len(seen) == request_notices_kept_max
    assert home.waiting("a1") == 0


def test_only_the_owners_of_requests_tell_of_them(home: Home) -> None:
    bench = home.bench(BOX)
    told: Record = {"requestId": "q1", "kind": "agent_create", "outcome": "created", "agentId": "a9"}
    bench.send("request_ended", told, owner(DIRECTORY))
    with pytest.raises(ValueError, match="owners of kind"):
        bench.send("request_ended", {**told, "requestId": "q2"}, owner(address.agent("a9")))
