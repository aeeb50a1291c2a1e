"""What each agent uses of the gateway: calls a minute and requests under way at once (common 8.5, security 2.23).

Invariants:
- Only a request whose token was good counts, so nobody uses up another one's share.
- An agent that makes no more calls than it may in any minute is never refused: a share is filled up again evenly, up to
  a whole minute's. So one that has been quiet may make twice as many in its first minute.
- A refused request counts as under way until it is answered, but not as a call.

Pure: time is an argument. Used from the event loop alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from bus.limits import gateway_shares_kept_max
from bus.value import Value
from tools.errors import Refusal, rate_limited
from tools.setting_catalogue import CALLS_PER_MINUTE, CONNECTIONS, Setting

_MINUTE_MS: Final = 60_000
_AGAIN_SECONDS: Final = 1
"""When one of so many requests has ended, nobody knows; a second is no burden."""


@dataclass(frozen=True, slots=True)
class Limits:
    """An agent's, as its owner tells them."""

    calls_per_minute: int
    connections: int

    @classmethod
    def from_reply(cls, told: Value) -> Limits:
        """Of `limits` in an owner's answer, `{callsPerMinute?, connections?}`; what is missing has its default."""
        record = told if isinstance(told, dict) else {}
        return cls(
            _present(record.get("callsPerMinute"), CALLS_PER_MINUTE), _present(record.get("connections"), CONNECTIONS)
        )


def _present(value: Value, setting: Setting[int]) -> int:
    return value if isinstance(value, int) and setting.problem_with(value) is None else setting.default


DEFAULT_LIMITS: Final = Limits(CALLS_PER_MINUTE.default, CONNECTIONS.default)


@dataclass(slots=True)
class _Use:
    calls_left: float
    at_ms: int
    """When `calls_left` was reckoned."""
    under_way: int = 0

    def refill(self, limits: Limits, now_ms: int) -> None:
        grown = self.calls_left + max(0, now_ms - self.at_ms) * limits.calls_per_minute / _MINUTE_MS
        self.calls_left = min(grown, limits.calls_per_minute)
        self.at_ms = now_ms


@dataclass(slots=True)
class AgentShares:
    """Of all agents; one that has not been heard of for a minute is forgotten when there are many."""

    _uses: dict[str, _Use] = field(default_factory=dict)

    @contextmanager
    def request(self, agent_id: str, limits: Limits, now_ms: int) -> Iterator[Refusal | None]:
        """Counts a request for as long as it is under way. What it gives is the answer to it when it is too much."""
        use = self._use(agent_id, limits, now_ms)
        use.refill(limits, now_ms)
        use.under_way += 1
        try:
            if use.under_way > limits.connections:
                yield _refusal("connections", limits.connections, _AGAIN_SECONDS)
            elif use.calls_left < 1:
                wait_ms = (1 - use.calls_left) * _MINUTE_MS / limits.calls_per_minute
                yield _refusal("calls", limits.calls_per_minute, math.ceil(wait_ms / 1_000))
            else:
                use.calls_left -= 1
                yield None
        finally:
            use.under_way -= 1

    def under_way(self, agent_id: str) -> int:
        """How many requests of an agent are not answered yet."""
        use = self._uses.get(agent_id)
        return 0 if use is None else use.under_way

    def _use(self, agent_id: str, limits: Limits, now_ms: int) -> _Use:
        use = self._uses.get(agent_id)
        if use is None:
            if len(self._uses) >= gateway_shares_kept_max:
                self._forget_idle(now_ms)
            use = self._uses[agent_id] = _Use(limits.calls_per_minute, now_ms)
        return use

    def _forget_idle(self, now_ms: int) -> None:
        """After a minute a share is whole again, so nothing is lost."""
        for agent_id, use in list(self._uses.items()):
            if use.under_way == 0 and now_ms - use.at_ms >= _MINUTE_MS:
                del self._uses[agent_id]


_SENTENCES: Final = {
    "calls": "You have made as many calls as you may in a minute. Wait for the seconds that are told, then go on.",
    "connections": "You have as many requests under way at once as you may. Await some of their answers, then go on.",
}


def _refusal(what: str, limit: int, retry_seconds: int) -> Refusal:
    details: dict[str, Value] = {"limit": limit, "retryAfterSeconds": retry_seconds}
    return rate_limited(_SENTENCES[what], details)
