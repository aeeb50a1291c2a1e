"""Host time: it follows the machine, never runs back, and never stands still."""

from __future__ import annotations

from bus.clock import SystemClock


class Machine:
    def __init__(self) -> None:
        self.wall_ms = 1_000_000
        self.up_ms = 0

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.wall_ms * 1_000_000, lambda: self.up_ms * 1_000_000, bytes)

    def passes(self, milliseconds: int) -> None:
        self.wall_ms += milliseconds
        self.up_ms += milliseconds


def test_time_follows_the_machine() -> None:
    machine = Machine()
    clock = machine.clock()
    assert clock.now_ms() == 1_000_000
    machine.passes(70)
    assert clock.now_ms() == 1_000_070
    machine.wall_ms += 5_000
    assert clock.now_ms() == 1_005_070


def test_after_the_machine_was_set_back_time_goes_on_at_half_speed_until_it_has_caught_up() -> None:
    machine = Machine()
    clock = machine.clock()
    assert clock.now_ms() == 1_000_000
    machine.wall_ms -= 1_000
    assert clock.now_ms() == 1_000_000
    machine.passes(100)
    assert clock.now_ms() == 1_000_050
    machine.passes(1_900)
    assert clock.now_ms() == 1_001_000
    machine.passes(10)
    assert clock.now_ms() == 1_001_010


def test_time_that_others_have_seen_is_not_gone_back_behind() -> None:
    machine = Machine()
    clock = machine.clock()
    clock.not_before(1_060_000)
    assert clock.now_ms() == 1_060_000
    machine.passes(20)
    assert clock.now_ms() == 1_060_010
