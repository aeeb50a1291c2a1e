"""Looks: what a call would do, decided without any effect (docs/decisions/0009)."""

from __future__ import annotations

import asyncio

import pytest

from bus import address
from bus.address import Address
from bus.admitted import STAMP_LOOK
from bus.journal import GroupWriter, InlineJournal
from bus.store import answer_key
from bus.value import Record
from tests.support.admitted import PURSE, ROSTER, SHARDS, at, counter, quiet, rows_of, send_on, stamp_of
from tests.support.hosts import Hosts
from tests.support.loop import until


async def look(hosts: Hosts, to: Address, verb: str, body: Record | None = None, call_id: str | None = None) -> Record:
    stamp: Record = {**await stamp_of(hosts), STAMP_LOOK: True}
    reply = await hosts.as_agent(to, verb, body or {}, stamp, call_id)
    assert reply.ok is not None, reply.error
    return reply.ok


def everything(hosts: Hosts) -> list[list[tuple[bytes, bytes]]]:
    return [store.scan(b"") for store in hosts.stores]


def test_a_look_tells_the_answer_and_the_fingerprint_and_changes_nothing() -> None:
    """No row, no event, no answer that is kept; a later call of any id is decided as if nobody had looked."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        await hosts.ok(to, "add")
        call_id, before = hosts.clock.new_id(), everything(hosts)
        for _ in range(2):
            answer = await look(hosts, to, "add", call_id=call_id)
            assert answer == {"would": {"ok": {"total": 2}}, "fingerprint": {"total": 1}}
        assert everything(hosts) == before
        assert hosts.stores[at(hosts, to)].get(answer_key(call_id)) is None
        assert await hosts.ok(to, "add", call_id=call_id) == {"total": 2}

    asyncio.run(body())


def test_a_look_at_what_would_be_refused_asks_for_no_fingerprint() -> None:
    """The target may be gone."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        await hosts.ok(to, "go")
        answer = await look(hosts, to, "refuse")
        assert answer["fingerprint"] is None
        would = answer["would"]
        assert isinstance(would, dict)
        assert isinstance(would["error"], dict)
        assert would["error"]["code"] == "not_found"

    asyncio.run(body())


def test_a_look_at_what_would_be_left_open_says_so_and_one_without_fingerprint_has_none() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        assert await look(hosts, to, "ask", {"to": str(PURSE)}) == {"would": {"open": True}, "fingerprint": None}
        assert await look(hosts, to, "read") == {
            "would": {"ok": {"total": 0, "whole": False}},
            "fingerprint": None,
        }
        assert everything(hosts) == [[], []]

    asyncio.run(body())


def test_a_look_is_made_as_the_agent_and_under_no_older_authority() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        answer = await look(hosts, to, "who", call_id="look")
        assert answer["would"] == {"ok": {"by": "a1", "call": "look"}}
        old: Record = {**await stamp_of(hosts), STAMP_LOOK: True}
        await hosts.ok(PURSE, "narrow")
        reply = await hosts.as_agent(to, "who", {}, old)
        assert reply.error is not None
        assert reply.error["code"] == "stale_stamp"

    asyncio.run(body())


def test_a_look_at_a_defect_is_answered_as_one() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        stamp: Record = {**await stamp_of(hosts), STAMP_LOOK: True}
        reply = await hosts.as_agent(to, "fail", {}, stamp)
        assert reply.error is not None
        assert reply.error["code"] == "internal"

    asyncio.run(body())


class HeldJournal(InlineJournal):
    """Writes nothing until it is let go."""

    def __init__(self, writer: GroupWriter) -> None:
        super().__init__(writer)
        self.hold(lambda: None)

    def let_go(self) -> None:
        self._go_on()


def test_a_look_that_saw_what_is_not_on_disk_is_answered_when_it_is() -> None:
    """ARCHITECTURE, Owners: as any read."""

    async def body() -> None:
        journals: list[HeldJournal] = []

        def make(writer: GroupWriter) -> HeldJournal:
            journals.append(HeldJournal(writer))
            return journals[-1]

        hosts, to = Hosts(roster=ROSTER, make_journal=make), Address("counter", "-", "x")
        stamp = await stamp_of(hosts)
        adding = asyncio.ensure_future(hosts.ok(to, "add"))
        await until(lambda: journals[0].waiting == 1)
        looking = asyncio.ensure_future(hosts.as_agent(to, "add", {}, {**stamp, STAMP_LOOK: True}))
        await until(lambda: journals[0].waiting == 2)
        assert not looking.done()
        journals[0].let_go()
        assert await adding == {"total": 1}
        reply = await looking
        assert reply.ok == {"would": {"ok": {"total": 2}}, "fingerprint": {"total": 1}}

    asyncio.run(body())


@pytest.mark.parametrize("far", [True, False])
def test_a_look_that_is_sent_on_is_told_to_its_sender_and_changes_nothing_else(far: bool) -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter(far)
        await hosts.ok(to, "add")
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id, "add_at", arguments={"expected": 9}, asOfNow=True, isLook=True)
        await quiet(hosts)
        rows = await rows_of(hosts)
        assert rows[f"looked/{call_id}"] == {"would": {"ok": {"total": 2}}, "print": {"total": 1}}
        assert f"settled/{call_id}" not in rows
        assert (await hosts.ok(to, "read"))["total"] == 1
        assert hosts.stores[at(hosts, to)].get(answer_key(call_id)) is None
        told = await hosts.ok(address.host(at(hosts, to)), "events", {"limit": 9})
        events = told["events"]
        assert isinstance(events, list)
        assert [event["type"] for event in events if isinstance(event, dict)] == ["test.added"]
        assert len(hosts.running[at(hosts, to)].host.callers) == 0

    asyncio.run(body())


def test_a_look_that_is_sent_on_sees_past_a_deadline_and_an_answer_of_the_same_id() -> None:
    """It decides nothing, so neither stands in its way."""

    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        await hosts.ok(to, "add", call_id=call_id)
        await send_on(hosts, to, call_id, isLook=True, deadlineMs=0)
        await quiet(hosts)
        assert (await rows_of(hosts))[f"looked/{call_id}"] == {"would": {"ok": {"total": 2}}, "print": {"total": 1}}

    asyncio.run(body())


def test_a_look_that_nobody_can_decide_dies_and_its_sender_is_told() -> None:
    async def body() -> None:
        hosts, to = Hosts(SHARDS, roster=ROSTER), counter()
        call_id = hosts.clock.new_id()
        await send_on(hosts, to, call_id, "fail", isLook=True)
        await quiet(hosts)
        assert (await rows_of(hosts))[f"died/{call_id}"] == "call_admitted"
        assert hosts.stores[at(hosts, to)].get(answer_key(call_id)) is None

    asyncio.run(body())
