"""How busy a host is: messages and commits by kind of owner, the busiest owners, in windows of about a second.

Bounded: a window counts at most `activity_owners_counted_max` owners by name; the others count in the totals only.

Runs on the host's loop thread.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bus.address import Address
from bus.clock import Clock
from bus.journal import Commit
from bus.limits import activity_owners_counted_max, activity_owners_told, activity_window_ms
from bus.value import Record


@dataclass(slots=True)
class _Window:
    started_ms: int
    ended_ms: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    owners: Counter[Address] = field(default_factory=Counter)
    commits: Counter[str] = field(default_factory=Counter)
    groups: int = 0
    largest_group: int = 0


class Activity:
    """Counts as it hears; `sample` tells the last whole window, so that several people may look at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._present = _Window(clock.now_ms())
        self._last = _Window(self._present.started_ms, self._present.started_ms)

    def delivered(self, to: Address) -> None:
        """A message was handed to an owner."""
        window = self._window()
        window.messages[to.kind] += 1
        if len(window.owners) < activity_owners_counted_max or to in window.owners:
            window.owners[to] += 1

    def stored(self, commits: Sequence[Commit]) -> None:
        """A group of commits is on disk."""
        window = self._window()
        window.groups += 1
        window.largest_group = max(window.largest_group, len(commits))
        for commit in commits:
            window.commits[commit.owner.kind] += 1

    def sample(self) -> Record:
        """Counts of the last whole window, with its length in milliseconds."""
        self._window()
        last = self._last
        commits = sum(last.commits.values())
        busiest = heapq.nlargest(activity_owners_told, last.owners.items(), key=lambda pair: (pair[1], str(pair[0])))
        return {
            "windowMs": last.ended_ms - last.started_ms,
            "messages": dict(last.messages),
            "commits": dict(last.commits),
            "groups": last.groups,
            "meanGroup": round(commits / last.groups, 1) if last.groups else 0.0,
            "largestGroup": last.largest_group,
            "busiest": [{"address": str(owner), "messages": count} for owner, count in busiest],
        }

    def _window(self) -> _Window:
        now_ms = self._clock.now_ms()
        if now_ms - self._present.started_ms >= activity_window_ms:
            # After a quiet time the last window is that time: what came before it is long over.
            self._present.ended_ms = now_ms
            self._last, self._present = self._present, _Window(now_ms)
        return self._present
