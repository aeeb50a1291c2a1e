"""How long one message waits for a NEXUS that is not there, and how often it is sent anew. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bus.limits import (
    shim_absent_ms_max,
    shim_back_off_ms_first,
    shim_back_off_ms_max,
    shim_repeats_max,
    shim_retry_ms_max,
    shim_start_ms_max,
)


@dataclass(slots=True)
class Patience:
    """Of one message. The clock begins with its first trouble: a call may have run for long before."""

    since_ms: int | None = None
    next_ms: int = shim_back_off_ms_first
    repeats: int = 0

    def may_repeat(self) -> bool:
        """Whether a message that was sent and not answered may be sent once more; counts it."""
        self.repeats += 1
        return self.repeats <= shim_repeats_max

    def pause_ms(self, now_ms: int, *, is_expected: bool, is_starting: bool) -> int | None:
        """How long to wait before trying again; None: no longer. `is_expected`: somebody listens, or NEXUS answered
        before, so it is coming back; `is_starting`: this shim is starting it."""
        if self.since_ms is None:
            self.since_ms = now_ms
        within_ms = shim_start_ms_max if is_starting else shim_retry_ms_max if is_expected else shim_absent_ms_max
        if now_ms - self.since_ms >= within_ms:
            return None
        pause, self.next_ms = self.next_ms, min(2 * self.next_ms, shim_back_off_ms_max)
        return pause
