"""When a child is started, awaited, started again or given up: a table and a back-off, without any process.

A child that dies is started again at once the first time, so that a killed shard host is back well under a second;
each further death within `child_stable_ms` waits longer, up to `child_back_off_ms_max`. A child that never became ready
on the first start fails the whole start instead: `nexus up` must not report ready, nor hang. Once running, no child is
ever given up, because the person's data sits behind it and the cause may pass (a full disk). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from bus.limits import child_back_off_ms_first, child_back_off_ms_max, child_stable_ms


class ChildState(StrEnum):
    """Where a child is in its life."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class ChildEvent(StrEnum):
    """What can happen to a child."""

    DUE = "due"
    READY = "ready"
    DIED = "died"
    STOP = "stop"


TRANSITIONS: Final[Mapping[tuple[ChildState, ChildEvent], ChildState]] = {
    (ChildState.WAITING, ChildEvent.DUE): ChildState.STARTING,
    (ChildState.WAITING, ChildEvent.STOP): ChildState.STOPPED,
    (ChildState.STARTING, ChildEvent.READY): ChildState.RUNNING,
    (ChildState.STARTING, ChildEvent.DIED): ChildState.WAITING,
    (ChildState.STARTING, ChildEvent.STOP): ChildState.STOPPING,
    (ChildState.RUNNING, ChildEvent.DIED): ChildState.WAITING,
    (ChildState.RUNNING, ChildEvent.STOP): ChildState.STOPPING,
    (ChildState.STOPPING, ChildEvent.DIED): ChildState.STOPPED,
}


def next_state(state: ChildState, event: ChildEvent) -> ChildState:
    """The state after `event`. Raises KeyError for an event that cannot happen in `state`."""
    return TRANSITIONS[state, event]


def deaths_in_a_row(before: int, lived_ms: int) -> int:
    """The count after one more death: a child that lived `child_stable_ms` starts over."""
    return 1 if lived_ms >= child_stable_ms else before + 1


def back_off_ms(deaths: int) -> int:
    """How long to wait before the start after the `deaths`-th death in a row."""
    if deaths <= 1:
        return 0
    return min(child_back_off_ms_max, child_back_off_ms_first << min(deaths - 2, 16))
