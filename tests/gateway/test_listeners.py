"""Which streams are told of what, over scripted owners: judged anew, coalesced, bounded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

import pytest

from bus.client import DeadlinePassed
from bus.clock import ManualClock
from bus.limits import streams_per_agent_max, subscribed_sessions_per_agent_max
from bus.topics import authority_topic, mailbox_topic
from nexus.gateway import listeners
from nexus.gateway.identity import Credential, Identity
from nexus.gateway.listeners import Change, Listeners, Stream, Subscriptions
from nexus.gateway.shares import Limits
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.scripted_caller import ScriptedCaller

GOOD: Final = Identity(Credential("ada", b"g" * 32), 0)
OTHER: Final = Identity(Credential("ada", b"o" * 32), 0)


class Bench:
    """Owners that find every token good and nothing waiting, until the test says otherwise."""

    def __init__(self) -> None:
        self.bus = ScriptedCaller()
        self.waiting = 0
        self.bad: set[object] = set()
        self.limits: dict[str, int] = {}
        self.bus.on(
            "authenticate",
            lambda sent: {
                "authenticated": sent.body["tokenHash"] not in self.bad,
                "waiting": self.waiting,
                "limits": {**self.limits},
            },
        )
        # What tools/list depends on for a caller stands in for by a limit.
        self.listeners = Listeners(self.bus, ManualClock(), lambda identity: identity.limits.connections)

    def open(self, identity: Identity = GOOD, *wanted: Change) -> Stream:
        stream = self.listeners.open(identity, wanted or tuple(Change))
        assert stream is not None
        return stream

    async def judged(self, times: int) -> None:
        await until(lambda: len(self.bus.sent_of("authenticate")) == times)
        await until(lambda: all(agent.judging is None for agent in self.listeners._agents.values()))


async def taken(stream: Stream) -> list[Change]:
    """What it has been told and its client has not taken."""
    found = []
    while stream._untaken:
        change = await stream.next()
        assert change is not None
        found.append(change)
    return found


@in_loop
async def test_changes_are_told_once_for_as_long_as_nobody_takes_them() -> None:
    """mesh 5.3"""
    bench = Bench()
    stream = bench.open()
    await bench.judged(1)
    for count in (1, 2, 3):
        bench.bus.notice(mailbox_topic("ada"), {"waiting": count})
        bench.listeners.tools_changed()
    assert await taken(stream) == [Change.MAILBOX, Change.TOOLS]
    bench.bus.notice(mailbox_topic("ada"), {"waiting": 4})
    assert await taken(stream) == [Change.MAILBOX]


@in_loop
async def test_a_stream_is_told_of_what_it_asked_for_alone() -> None:
    bench = Bench()
    bench.waiting = 2
    stream = bench.open(GOOD, Change.TOOLS)
    await bench.judged(1)
    bench.bus.notice(mailbox_topic("ada"), {"waiting": 3})
    assert await taken(stream) == []
    bench.listeners.want(stream, Change.MAILBOX)
    await bench.judged(2)
    assert await taken(stream) == [Change.MAILBOX], "for what waits already"


@in_loop
async def test_what_may_have_been_missed_is_told_if_anything_waits() -> None:
    """mesh 5.3: an empty notice comes when a host has begun anew."""
    bench = Bench()
    stream = bench.open()
    await bench.judged(1)
    bench.bus.notice(mailbox_topic("ada"), {})
    await bench.judged(2)
    assert await taken(stream) == []
    bench.waiting = 1
    bench.bus.notice(mailbox_topic("ada"), {})
    await bench.judged(3)
    assert await taken(stream) == [Change.MAILBOX]


@in_loop
async def test_a_stream_whose_credential_is_no_longer_good_ends_and_the_others_of_its_agent_go_on() -> None:
    """common 2.1, security 2.10"""
    bench = Bench()
    ending, also, staying = bench.open(OTHER), bench.open(OTHER), bench.open(GOOD)
    await until(lambda: len(bench.bus.sent_of("authenticate")) >= 2)
    bench.bad.add(b"o" * 32)
    bench.bus.notice(authority_topic("ada"), {"version": 2})
    assert await ending.next() is None and await also.next() is None
    bench.bus.notice(mailbox_topic("ada"), {"waiting": 1})
    assert await staying.next() is Change.MAILBOX
    assert bench.listeners.count("ada") == 1


@in_loop
async def test_a_credential_that_was_revoked_before_the_stream_began_ends_it() -> None:
    """security 2.10: between its request being authenticated and its being listened for."""
    bench = Bench()
    bench.bad.add(b"g" * 32)
    assert await bench.open().next() is None
    assert bench.listeners.count("ada") == 0 and not any(bench.bus.listeners.values())


@in_loop
async def test_whoever_is_served_other_tools_than_before_is_told_so() -> None:
    """common 1.3"""
    bench = Bench()
    bench.limits = {"connections": GOOD.limits.connections}
    stream = bench.open()
    await bench.judged(1)
    assert await taken(stream) == []
    bench.limits = {"connections": 7}
    bench.bus.notice(authority_topic("ada"), {"version": 2})
    await bench.judged(2)
    assert await taken(stream) == [Change.TOOLS]
    assert stream.identity == replace(GOOD, limits=Limits(GOOD.limits.calls_per_minute, 7))
    bench.bus.notice(authority_topic("ada"), {"version": 3})
    await bench.judged(3)
    assert await taken(stream) == []


@in_loop
async def test_while_the_owner_is_restarting_streams_go_on_and_are_judged_when_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """common 2.3, security 2.10"""
    monkeypatch.setattr(listeners, "_JUDGE_AGAIN_SECONDS", 0)
    bench = Bench()
    stream = bench.open()
    await bench.judged(1)
    bench.bus.on("authenticate", DeadlinePassed(was_sent=True))
    bench.bus.notice(authority_topic("ada"), {"version": 2})
    await until(lambda: len(bench.bus.sent_of("authenticate")) > 3)
    assert bench.listeners.count("ada") == 1
    bench.bus.on("authenticate", {"authenticated": False})
    async with asyncio.timeout(10):
        assert await stream.next() is None


@in_loop
async def test_a_defect_in_judging_ends_the_streams_rather_than_letting_them_go_on() -> None:
    bench = Bench()
    stream = bench.open()
    await bench.judged(1)
    bench.bus.on("authenticate", RuntimeError("a defect"))
    bench.bus.notice(authority_topic("ada"), {"version": 2})
    async with asyncio.timeout(10):
        assert await stream.next() is None


@in_loop
async def test_an_agent_has_so_many_streams_and_gets_another_when_one_closes() -> None:
    """security 2.23"""
    bench = Bench()
    streams = [bench.open() for _ in range(streams_per_agent_max)]
    assert bench.listeners.open(GOOD, []) is None
    bench.listeners.close(streams[0])
    bench.listeners.close(streams[0])
    assert bench.listeners.open(GOOD, []) is not None
    for stream in streams:
        bench.listeners.close(stream)
    assert bench.listeners.count("ada") == 1


@in_loop
async def test_a_gateway_that_ends_ends_all_streams_and_begins_none() -> None:
    bench = Bench()
    stream = bench.open()
    bench.listeners.end_all()
    assert await stream.next() is None
    assert await bench.open().next() is None
    assert not any(bench.bus.listeners.values())


@in_loop
async def test_the_subscription_used_longest_ago_is_forgotten_first() -> None:
    bench = Bench()
    subscriptions = Subscriptions(bench.listeners)
    for number in range(subscribed_sessions_per_agent_max + 1):
        subscriptions.set("ada", f"s{number}", is_subscribed=True)
    forgotten, known = bench.open(GOOD, Change.TOOLS), bench.open(GOOD, Change.TOOLS)
    subscriptions.attach("s0", forgotten)
    subscriptions.attach("s9", known)
    assert (Change.MAILBOX in forgotten.wanted, Change.MAILBOX in known.wanted) == (False, True)
    subscriptions.detach("s9", known)
    subscriptions.set("ada", "s9", is_subscribed=False)
    assert Change.MAILBOX in known.wanted, "it has nothing to do with the session any more"
