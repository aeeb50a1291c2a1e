"""A short message to an idle owner is handled on the host's own thread, and no other is (docs/decisions/0007)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from actors.decision import Message, Principal, PrincipalKind, RowEffect, Rules, Verb
from actors.delivery import Delivery
from actors.owner import Owner
from actors.pool import ThreadPool
from bus.address import Address
from bus.envelope import Onward
from bus.store_memory import MemoryStore
from tests.actors.test_host_notices import HeldPool
from tests.support.admitted import PURSE, ROSTER
from tests.support.hosts import Hosts
from tests.support.loop import until
from tests.support.purse import WORKSPACE

TO: Final = Address("counter", "-", "x")


class NoteRules(Rules[None]):
    kind = "note"
    verbs: Mapping[str, Verb[None]] = {}

    def new_state(self) -> None:
        return None

    def apply(self, state: None, effect: RowEffect) -> None:
        raise AssertionError("it stores nothing")


class Turns:
    """Keeps the turns that are asked for until they are run."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, turn: Callable[[], None]) -> None:
        self.waiting.append(turn)

    def run(self) -> None:
        self.waiting.pop(0)()


class Noted:
    """An owner that notes what it handles, loaded unless the test says otherwise."""

    def __init__(self, is_loaded: bool = True) -> None:
        self.turns = Turns()
        self.handled: list[str] = []
        self.during: Callable[[], None] = lambda: None
        self.owner: Owner[None] = Owner(TO, NoteRules(), 1, self.turns, self._handle)
        if is_loaded:
            self.owner.load_some(MemoryStore())

    def _handle(self, owner: Owner[None], delivery: Delivery) -> None:
        self.handled.append(delivery.id)
        self.during()


def message(name: str) -> Delivery:
    return Delivery(Message("note", {}), Principal(PrincipalKind.GATEWAY), name, name, is_call=True)


def test_an_idle_owner_handles_it_before_the_call_returns_and_without_a_turn_of_the_pool() -> None:
    noted = Noted()
    assert noted.owner.handle_now(message("a"))
    assert noted.handled == ["a"]
    assert noted.turns.waiting == []
    assert noted.owner.is_idle


def uncommitted(noted: Noted) -> None:
    noted.owner.submitted += 1


def spoiled(noted: Noted) -> None:
    noted.owner.is_spoiled = True


def waiting(noted: Noted) -> None:
    noted.owner.actor_ref.tell(message("earlier"))


@pytest.mark.parametrize("busy", [uncommitted, spoiled, waiting])
def test_an_owner_that_is_busy_or_waits_for_the_disk_does_not(busy: Callable[[Noted], None]) -> None:
    """What it decided could have to wait for the disk, and what was told before comes first."""
    noted = Noted()
    busy(noted)
    assert not noted.owner.handle_now(message("a"))
    assert noted.handled == []


def test_an_owner_that_must_be_loaded_first_does_not() -> None:
    noted = Noted(is_loaded=False)
    assert not noted.owner.handle_now(message("a"))
    assert noted.handled == []


def test_an_owner_in_the_middle_of_a_turn_does_not() -> None:
    noted = Noted()
    taken: list[bool] = []
    noted.during = lambda: taken.append(noted.owner.handle_now(message("b")))
    noted.owner.actor_ref.tell(message("a"))
    noted.turns.run()
    assert taken == [False]
    assert noted.handled == ["a"]


def test_what_is_told_meanwhile_gets_a_turn_afterwards() -> None:
    noted = Noted()

    def tell_once() -> None:
        noted.during = lambda: None
        noted.owner.actor_ref.tell(message("b"))

    noted.during = tell_once
    assert noted.owner.handle_now(message("a"))
    assert noted.handled == ["a"]
    noted.turns.run()
    assert noted.handled == ["a", "b"]
    assert noted.owner.is_idle


def test_of_all_that_a_host_is_sent_only_an_admission_with_a_call_riding_on_it_is_handled_so() -> None:
    async def body() -> None:
        pool = ThreadPool(1)
        held = HeldPool(pool)
        hosts = Hosts(roster=ROSTER, executor=held)
        await hosts.ok(PURSE, "rows")  # it is in memory now
        held.holds = str(PURSE)
        onward = Onward(hosts.clock.new_id(), TO, "add", {}, WORKSPACE)
        reply = await hosts.agents.call(
            PURSE, "admit", {}, call_id=hosts.clock.new_id(), within_ms=8_000, onward=onward
        )
        assert reply.ok == {"total": 1}
        assert held.turns == []
        plain = asyncio.ensure_future(hosts.ok(PURSE, "admit"))
        await until(lambda: len(held.turns) == 1)
        held.release()
        assert "stamp" in await plain
        pool.close()

    asyncio.run(body())
