"""A large owner is loaded in turns, so that no other owner of its shard waits for it (ARCHITECTURE, The store)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from actors.decision import Context, Decision, Message, Principal, PrincipalKind, Put, RowEffect, Rules, Verb
from actors.delivery import Delivery
from actors.owner import Owner
from actors.pool import InlineExecutor
from bus.address import Address
from bus.codec import CorruptRow, pack_row
from bus.limits import load_rows_at_once_max
from bus.store import state_key
from bus.store_memory import MemoryStore
from tests.support.hosts import Hosts

LARGE: Final = Address("sheet", "w1", "large")
SMALL: Final = Address("sheet", "w1", "small")
ROWS: Final = 3 * load_rows_at_once_max


class SheetRules(Rules[dict[str, object]]):
    """Rows as they are."""

    kind = "sheet"
    verbs: Mapping[str, Verb[dict[str, object]]] = {
        "count": Verb(lambda state, message, context: Decision({"rows": len(state)}), frozenset(PrincipalKind))
    }

    def new_state(self) -> dict[str, object]:
        return {}

    def apply(self, state: dict[str, object], effect: RowEffect) -> None:
        assert isinstance(effect, Put)
        state[effect.row] = effect.value

    def shed(self, state: dict[str, object]) -> bool:
        state.popitem()
        return not state


def stored(rows: int) -> MemoryStore:
    store = MemoryStore()
    store.commit([(state_key(LARGE, f"row/{number:06d}"), pack_row(number)) for number in range(rows)])
    return store


def owner(
    address: Address, executor: InlineExecutor, handle: Callable[[Owner[dict[str, object]], Delivery], None]
) -> Owner[dict[str, object]]:
    return Owner(address, SheetRules(), 1, executor, handle)


def test_a_large_state_is_whole_after_several_steps_and_the_same_as_at_once() -> None:
    store = stored(ROWS + 1)
    step_by_step = owner(LARGE, InlineExecutor(), lambda one, delivery: None)
    assert [step_by_step.load_some(store) for _ in range(4)] == [False, False, False, True]
    at_once = owner(LARGE, InlineExecutor(), lambda one, delivery: None).load(store, head_only=False)
    assert step_by_step.state == at_once
    assert len(at_once) == ROWS + 1


def test_other_owners_have_their_turns_while_a_large_one_is_loaded() -> None:
    store, executor = stored(ROWS), InlineExecutor()
    order: list[str] = []

    def handle(one: Owner[dict[str, object]], delivery: Delivery) -> None:
        if not one.load_some(store):
            order.append("loading")
            one.postpone(delivery)
            return
        order.append(f"{one.address.id} {delivery.id}")

    large, small = owner(LARGE, executor, handle), owner(SMALL, executor, handle)

    def begin() -> None:
        for number in (1, 2):
            large.actor_ref.tell(_delivery(f"m{number}"))
        small.actor_ref.tell(_delivery("m3"))

    executor.submit(begin)
    assert order == ["loading", "small m3", "loading", "loading", "large m1", "large m2"]
    assert large.is_idle


def test_a_large_state_that_is_dropped_is_freed_in_turns() -> None:
    executor = InlineExecutor()
    large = owner(LARGE, executor, lambda one, delivery: None)
    state = large.load(stored(3), head_only=False)
    sizes: list[int] = []

    def begin() -> None:
        large.let_go()
        executor.submit(lambda: sizes.append(len(state)))

    executor.submit(begin)
    assert sizes == [1]
    assert state == {}


def test_a_load_that_meets_a_damaged_row_begins_anew() -> None:
    store = stored(ROWS)
    damaged = state_key(LARGE, f"row/{load_rows_at_once_max + 1:06d}")
    good = store.get(damaged)
    store.commit([(damaged, b"torn")])
    large = owner(LARGE, InlineExecutor(), lambda one, delivery: None)
    assert not large.load_some(store)
    with pytest.raises(CorruptRow):
        large.load_some(store)
    store.commit([(damaged, good)])
    assert len(large.load(store, head_only=False)) == ROWS


class StepwiseRules(Rules[list[str]]):
    """`read` needs three steps of preparing, `glance` none; the order of all that is done stands in `done`."""

    kind = "stepwise"

    def __init__(self) -> None:
        self.done: list[str] = []

    @property
    def verbs(self) -> Mapping[str, Verb[list[str]]]:
        callers = frozenset({PrincipalKind.PERSON})
        return {
            "read": Verb(self._read, callers, prepare=self._prepare),
            "glance": Verb(self._read, callers),
        }

    def new_state(self) -> list[str]:
        return []

    def apply(self, state: list[str], effect: RowEffect) -> None:
        raise AssertionError("nothing is ever stored")

    def _prepare(self, state: list[str]) -> bool:
        self.done.append("step")
        state.append("step")
        return len(state) >= 3

    def _read(self, state: list[str], message: Message, context: Context) -> Decision:
        self.done.append(f"{message.verb} {context.address.id}")
        return Decision({"steps": len(state)})


class LaterExecutor:
    """Runs each turn when the loop comes to it, so that what came together is told before the first turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, turn: Callable[[], None]) -> None:
        self._loop.call_soon(turn)


def test_what_a_verb_looks_at_is_prepared_step_by_step_with_other_owners_in_between() -> None:
    """canvas 5: no other caller of the shard waits meanwhile"""

    async def body() -> None:
        rules = StepwiseRules()
        hosts = Hosts(roster={"stepwise": rules}, executor=LaterExecutor(asyncio.get_running_loop()))
        large, small = (Address("stepwise", "-", name) for name in ("large", "small"))
        answered = await asyncio.gather(hosts.ok(large, "read"), hosts.ok(large, "glance"), hosts.ok(small, "glance"))
        assert [answer["steps"] for answer in answered] == [3, 3, 0]
        assert rules.done == ["step", "glance small", "step", "step", "read large", "glance large"]

    asyncio.run(body())


def _delivery(id_: str) -> Delivery:
    return Delivery(Message("count", {}), Principal(PrincipalKind.PERSON), id_, id_)
