"""The restart table and its back-off."""

from __future__ import annotations

from itertools import product

import pytest

from bus.limits import child_back_off_ms_max, child_stable_ms
from nexus.restart import TRANSITIONS, ChildEvent, ChildState, back_off_ms, deaths_in_a_row, next_state


@pytest.mark.parametrize(("state", "event"), sorted(set(product(ChildState, ChildEvent)) - TRANSITIONS.keys()))
def test_an_event_that_cannot_happen_is_an_error(state: ChildState, event: ChildEvent) -> None:
    with pytest.raises(KeyError):
        next_state(state, event)


def test_every_state_can_be_stopped() -> None:
    for start in ChildState:
        state = start
        for event in (ChildEvent.STOP, ChildEvent.DIED):
            state = TRANSITIONS.get((state, event), state)
        assert state is ChildState.STOPPED


def test_the_first_death_is_mended_at_once_and_later_ones_wait_longer_up_to_a_bound() -> None:
    waits = [back_off_ms(deaths) for deaths in range(1, 40)]
    assert waits[0] == 0
    assert waits == sorted(waits)
    assert waits[1] > 0
    assert waits[-1] == child_back_off_ms_max


def test_a_child_that_lived_long_starts_over() -> None:
    assert deaths_in_a_row(7, child_stable_ms) == 1
    assert deaths_in_a_row(7, child_stable_ms - 1) == 8
