"""A family of children under made-up time: order, restarts, give-ups, stops."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

from bus.limits import child_back_off_ms_max, child_stable_ms, child_start_ms_max, child_stop_grace_ms
from nexus.family import ChildPlan, Family

PLANS = [ChildPlan("gateway", "gateway", 1), ChildPlan("shard-0", "shard", 0), ChildPlan("shard-1", "shard", 0)]


@dataclass
class FakeProcess:
    pid: int
    name: str
    is_ready: bool = False
    ended: bool = False
    code: int | None = None
    asked: list[str] = field(default_factory=list)

    def has_ended(self) -> bool:
        return self.ended

    def exit_code(self) -> int | None:
        return self.code

    def said_ready(self) -> bool:
        return self.is_ready

    def stop(self) -> None:
        self.asked.append("stop")

    def kill(self) -> None:
        self.asked.append("kill")

    def await_end(self) -> None:
        self.asked.append("await")


class World:
    """A family, its processes in the order they were started, and the time."""

    def __init__(self, plans: list[ChildPlan] | None = None) -> None:
        self.started: list[FakeProcess] = []
        self.family = Family(plans or PLANS, self._spawn)
        self.now_ms = 1_000
        self.can_start = True

    def _spawn(self, plan: ChildPlan) -> FakeProcess:
        if not self.can_start:
            raise OSError(errno.EAGAIN, "no more processes")
        self.started.append(FakeProcess(len(self.started) + 1, plan.name))
        return self.started[-1]

    def last(self, name: str) -> FakeProcess:
        return [process for process in self.started if process.name == name][-1]

    def names(self) -> list[str]:
        return [process.name for process in self.started]

    def pass_ms(self, milliseconds: int = 0) -> None:
        self.now_ms += milliseconds
        self.family.advance(self.now_ms)

    def all_ready(self) -> World:
        self.pass_ms()
        for name in ("shard-0", "shard-1", "gateway"):
            self.last(name).is_ready = True
            self.pass_ms()
        assert self.family.is_ready
        return self


def test_the_gateway_starts_only_when_every_shard_is_ready() -> None:
    world = World()
    world.pass_ms()
    assert world.names() == ["shard-0", "shard-1"]
    world.last("shard-0").is_ready = True
    world.pass_ms()
    assert world.names() == ["shard-0", "shard-1"]
    world.last("shard-1").is_ready = True
    world.pass_ms()
    assert world.names() == ["shard-0", "shard-1", "gateway"]
    assert not world.family.is_ready
    world.last("gateway").is_ready = True
    world.pass_ms()
    assert world.family.is_ready


def test_a_child_that_dies_is_started_again_in_the_same_turn_and_alone() -> None:
    world = World().all_ready()
    world.last("shard-1").ended = True
    world.pass_ms(5)
    assert world.names()[3:] == ["shard-1"]
    assert not world.family.is_ready
    assert ("shard-1", 4) in [(plan.name, pid) for plan, pid in world.family.listing()]


def test_a_child_that_keeps_dying_is_started_ever_more_slowly_but_for_ever() -> None:
    world = World().all_ready()
    waits = []
    for _ in range(12):
        world.last("gateway").ended = True
        world.pass_ms()
        before = world.now_ms
        while world.last("gateway").ended:
            wake_at_ms = world.family.wake_at_ms()
            assert wake_at_ms is not None
            world.pass_ms(wake_at_ms - world.now_ms)
        waits.append(world.now_ms - before)
    assert waits[0] == 0
    assert waits == sorted(waits)
    assert waits[-1] > waits[1] > 0
    assert world.family.failure is None


def test_a_child_that_cannot_be_started_now_is_tried_again_and_the_others_live_on() -> None:
    world = World().all_ready()
    world.can_start = False
    world.last("shard-1").ended = True
    for _ in range(5):
        world.pass_ms(child_back_off_ms_max)
    assert world.family.awaited() == ["shard-1"]
    assert all(process.asked == [] for process in world.started)
    world.can_start = True
    world.pass_ms(child_back_off_ms_max)
    world.last("shard-1").is_ready = True
    world.pass_ms()
    assert world.family.is_ready


def test_a_child_that_cannot_be_started_at_first_fails_the_start() -> None:
    world = World()
    world.can_start = False
    world.pass_ms()
    assert world.family.failure == "shard-0"


def test_a_child_that_lived_long_is_again_started_at_once() -> None:
    world = World().all_ready()
    for _ in range(2):
        world.pass_ms(child_stable_ms)
        world.last("gateway").ended = True
        world.pass_ms()
        assert not world.last("gateway").ended
        world.last("gateway").is_ready = True
        world.pass_ms()


def test_a_child_that_dies_before_it_was_ever_ready_fails_the_start() -> None:
    world = World()
    world.pass_ms()
    world.last("shard-1").ended = True
    world.pass_ms()
    assert world.family.failure == "shard-1"
    world.family.stop()
    world.pass_ms()
    assert world.last("shard-0").asked == ["stop"]
    world.last("shard-0").ended = True
    world.pass_ms()
    assert world.family.is_gone
    assert world.names() == ["shard-0", "shard-1"]


def test_a_child_that_does_not_become_ready_in_time_is_killed() -> None:
    world = World()
    world.pass_ms()
    assert world.family.wake_at_ms() == world.now_ms + child_start_ms_max
    world.pass_ms(child_start_ms_max)
    assert world.last("shard-0").asked == ["kill"]


def test_a_ready_child_is_not_killed_later() -> None:
    world = World().all_ready()
    world.pass_ms(10 * child_start_ms_max)
    assert all(process.asked == [] for process in world.started)
    assert world.family.wake_at_ms() is None


def test_stopping_goes_in_reverse_order() -> None:
    world = World().all_ready()
    world.family.stop()
    world.pass_ms()
    assert [process.asked for process in world.started] == [[], [], ["stop"]]
    world.last("gateway").ended = True
    world.pass_ms()
    assert [process.asked for process in world.started] == [["stop"], ["stop"], ["stop"]]
    assert not world.family.is_gone
    world.last("shard-0").ended = world.last("shard-1").ended = True
    world.pass_ms()
    assert world.family.is_gone
    assert world.family.listing() == []


def test_who_does_not_stop_in_its_grace_is_killed_once() -> None:
    world = World().all_ready()
    world.family.stop()
    world.pass_ms()
    world.pass_ms(child_stop_grace_ms - 1)
    assert world.last("gateway").asked == ["stop"]
    world.pass_ms(1)
    world.pass_ms(1)
    assert world.last("gateway").asked == ["stop", "kill"]


def test_after_a_failure_of_the_supervisor_every_child_is_killed_and_awaited() -> None:
    world = World().all_ready()
    world.last("shard-0").ended = True
    world.family.end_by_force()
    assert {tuple(process.asked) for process in world.started} == {("kill", "await")}


def test_nothing_is_started_while_stopping() -> None:
    world = World().all_ready()
    world.last("shard-0").ended = True
    world.family.stop()
    world.pass_ms()
    assert len(world.started) == 3
    world.last("gateway").ended = True
    world.pass_ms()
    world.last("shard-1").ended = True
    world.pass_ms()
    assert world.family.is_gone


def test_stopping_before_anything_started_is_the_end() -> None:
    world = World()
    world.family.stop()
    world.pass_ms()
    assert world.family.is_gone
    assert world.started == []
