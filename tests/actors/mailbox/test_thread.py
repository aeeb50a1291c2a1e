"""The table of a thread's life."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from actors.mailbox.thread import ENDS, TRANSITIONS, ThreadEvent, after
from tools.errors import Code, Refusal
from tools.task import ThreadState

STATES: tuple[ThreadState, ...] = get_args(ThreadState)
EVENTS: tuple[ThreadEvent, ...] = get_args(ThreadEvent)


def test_an_end_has_no_way_out() -> None:
    """mesh 4.2"""
    assert not [state for state, _ in TRANSITIONS if state in ENDS]


def test_every_end_is_reached_from_delivered_directly() -> None:
    """mesh 4.1"""
    reached = {after("delivered", event) for event in EVENTS if ("delivered", event) in TRANSITIONS}
    assert reached - {"delivered", "working"} == ENDS


def test_the_one_step_back_is_from_work_that_lost_its_lease() -> None:
    """mesh 4.1, mesh 4.4"""
    order = ("queued", "delivered", "working")
    back = [
        (state, event)
        for (state, event), following in TRANSITIONS.items()
        if following in order and order.index(following) < order.index(state)
    ]
    assert back == [("working", "lease_lost")]


@pytest.mark.parametrize(("state", "event"), sorted(set(product(STATES, EVENTS)) - TRANSITIONS.keys()))
def test_what_is_not_in_the_table_is_refused(state: ThreadState, event: ThreadEvent) -> None:
    """mesh 4.1, mesh 4.2"""
    refusal = after(state, event)
    assert isinstance(refusal, Refusal)
    assert refusal.code is (Code.THREAD_CLOSED if state in ENDS else Code.WRONG_STATE)
    assert refusal.details == {"state": state}


def test_rejecting_after_work_began_is_a_wrong_state() -> None:
    """mesh 4.1"""
    refusal = after("working", "rejected")
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.WRONG_STATE
