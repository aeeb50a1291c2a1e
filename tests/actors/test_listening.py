"""Gateways hear of what has become durable, once for each time that they begin to listen, and nothing is stored."""

from __future__ import annotations

from structlog.testing import capture_logs

from actors.listening import Listening
from bus.address import Address
from bus.envelope import Listen, Notice
from bus.limits import topics_per_link_max
from bus.link import Peer
from bus.store_memory import MemoryStore
from bus.value import Record
from tests.actors.test_callers import peer
from tests.support.gateway_bench import in_loop
from tests.support.hosts import Hosts
from tests.support.loop import until

ONE = Address("counter", "-", "one")
TOPIC = "counter/one"


@in_loop
async def test_whoever_listens_is_told_at_once_and_after_each_commit() -> None:
    """mesh 5.3"""
    hosts, told = Hosts(), list[Record]()
    hosts.agents.listen(ONE, TOPIC, told.append)
    await until(lambda: told == [{}])
    await hosts.ok(ONE, "announce")
    await hosts.ok(ONE, "announce")
    await until(lambda: told == [{}, {"total": 1}, {"total": 2}])


@in_loop
async def test_nothing_is_told_before_it_is_durable() -> None:
    """common 8.1"""
    hosts, told = Hosts(), list[Record]()
    hosts.agents.listen(ONE, TOPIC, told.append)
    await until(lambda: told == [{}])
    hold = hosts.running[0].journal.hold(lambda: None)
    answer = hosts.loop.create_task(hosts.ok(ONE, "announce"))
    await until(lambda: hosts.running[0].journal.waiting == 1)
    assert told == [{}]
    hold.release()
    await answer
    await until(lambda: told == [{}, {"total": 1}])


@in_loop
async def test_a_notice_leaves_no_row() -> None:
    store, told = MemoryStore(), list[Record]()
    hosts = Hosts(stores=[store])
    hosts.agents.listen(ONE, TOPIC, told.append)
    await hosts.ok(ONE, "announce")
    await until(lambda: told == [{}, {"total": 1}])
    stored = [(key, value) for first in range(256) for key, value in store.scan(bytes((first,)))]
    assert any(str(ONE).encode() in key for key, _ in stored), "the row of its count"
    assert not [key for key, value in stored if TOPIC.encode() in key + value]


@in_loop
async def test_a_second_listener_is_told_at_once_too() -> None:
    hosts, first, second = Hosts(), list[Record](), list[Record]()
    hosts.agents.listen(ONE, TOPIC, first.append)
    await until(lambda: first == [{}])
    hosts.agents.listen(ONE, TOPIC, second.append)
    await until(lambda: second == [{}])
    await hosts.ok(ONE, "announce")
    await until(lambda: (first, second) == ([{}, {"total": 1}], [{}, {"total": 1}]))


@in_loop
async def test_whoever_stops_is_told_no_more_and_the_host_forgets_the_topic() -> None:
    hosts, told, still = Hosts(), list[Record](), list[Record]()
    stops = [hosts.agents.listen(ONE, TOPIC, each.append) for each in (told, still)]
    await until(lambda: len(told) == len(still) == 1 or len(still) == 2)
    stops[0]()
    stops[0]()
    count = len(told)
    await hosts.ok(ONE, "announce")
    await until(lambda: still[-1] == {"total": 1})
    assert len(told) == count
    stops[1]()
    await until(lambda: hosts.running[0].host.listening.topics == 0)


@in_loop
async def test_the_next_incarnation_of_a_host_is_told_who_listens_and_tells_once() -> None:
    """mesh 5.3"""
    hosts, told = Hosts(), list[Record]()
    hosts.agents.listen(ONE, TOPIC, told.append)
    await until(lambda: told == [{}])
    hosts.restart(0)
    await until(lambda: told == [{}, {}])
    await hosts.ok(ONE, "announce")
    await until(lambda: told == [{}, {}, {"total": 1}])


@in_loop
async def test_only_gateways_are_told() -> None:
    hosts, told = Hosts(), list[Record]()
    with capture_logs() as logs:
        hosts.person.listen(ONE, TOPIC, told.append)
        await hosts.ok(ONE, "announce")
    assert told == [] and hosts.running[0].host.listening.topics == 0
    assert [log["kind"] for log in logs if log["event"] == "envelope_ignored"] == ["Listen"]


def kept() -> tuple[Listening, list[tuple[Peer, Notice]]]:
    sent: list[tuple[Peer, Notice]] = []
    return Listening(lambda to, notice: sent.append((to, notice))), sent


def test_of_a_session_that_is_over_nothing_is_kept() -> None:
    listening, sent = kept()
    gone, swept, stays = peer("gone"), peer("swept"), peer("stays")
    for each in (gone, swept, stays):
        listening.heard(each, Listen((each.name, TOPIC), ()))
    gone.is_gone = True
    sent.clear()
    listening.tell([Notice(TOPIC, {"total": 1})])
    assert [to for to, _ in sent] == [swept, stays]
    swept.is_gone = True
    listening.forget_gone()
    assert listening.topics == 2, "what the one that stays listens for"


def test_a_gateway_listens_for_so_many_topics_and_no_more() -> None:
    listening, _ = kept()
    listening.heard(peer("one"), Listen(tuple(f"mailbox/{n}" for n in range(topics_per_link_max)), ()))
    with capture_logs() as logs:
        listening.heard(peer("two"), Listen(("mailbox/x" * 100,), ()))
        one = peer("one")
        listening.heard(one, Listen(tuple(f"approval/{n}" for n in range(topics_per_link_max + 2)), ()))
    assert [log["event"] for log in logs] == ["topic_refused"] * 3
    assert listening.topics == 2 * topics_per_link_max
