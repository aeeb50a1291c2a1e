"""For whom an agent is working: the agents that led to the threads which it has and owes (security 2.24).

Kept so that a change of one thread costs the same however many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import TypeAlias

from actors.mailbox.rows import ChainLink, Received
from actors.mailbox.sorted_items import SortedItems
from bus.limits import originators_told_max
from bus.value import Record, Value
from tools.autonomy import Mode, ModeName

_Link: TypeAlias = tuple[int, int, str]
"""(arrival, position in the chain, thread), or the agent in the last place."""


@dataclass(slots=True)
class Originators:
    """Of the threads that were added, the agents on their chains, those of the oldest thread first."""

    links: dict[str, SortedItems[_Link]] = field(default_factory=dict)
    """Agent -> its places on chains."""
    firsts: SortedItems[_Link] = field(default_factory=SortedItems)
    """Of each agent the first of its places."""
    modes: Counter[ModeName] = field(default_factory=Counter)

    def add(self, thread_id: str, row: Received) -> None:
        self.modes[row.strictest] += 1
        for position, link in enumerate(row.originators):
            links = self.links.setdefault(link.agentId, SortedItems())
            former = links.first()
            links.add((row.arrival, position, thread_id))
            self._move_first(link.agentId, former, links.first())

    def remove(self, thread_id: str, row: Received) -> None:
        self.modes[row.strictest] -= 1
        if not self.modes[row.strictest]:
            del self.modes[row.strictest]
        for position, link in enumerate(row.originators):
            links = self.links[link.agentId]
            former = links.first()
            links.remove((row.arrival, position, thread_id))
            self._move_first(link.agentId, former, links.first())
            if not links:
                del self.links[link.agentId]

    def strictest(self) -> ModeName:
        return _strictest(self.modes)

    def listed(self, row_of: Callable[[str], Received | None], count: int) -> list[ChainLink]:
        """The first `count` of them."""
        links = []
        for _, position, agent_id in islice(self.firsts, count):
            row = row_of(self.links[agent_id].at(0)[2])
            assert row is not None
            links.append(row.originators[position])
        return links

    def told(
        self,
        row_of: Callable[[str], Received | None],
        added: Mapping[str, Received],
        removed: Mapping[str, Received],
    ) -> Record:
        """The body of `working_for_changed` as it would be after `added` and `removed`. `row_of` knows the threads that
        are here already."""
        changed = [link.agentId for row in (*added.values(), *removed.values()) for link in row.originators]
        affected = dict.fromkeys(changed)
        anew: dict[str, _Link] = {}
        for thread_id, row in added.items():
            for position, link in enumerate(row.originators):
                place = (row.arrival, position, thread_id)
                anew[link.agentId] = min(anew.get(link.agentId, place), place)
        firsts: dict[str, _Link] = {}
        for agent_id in affected:
            kept = next((place for place in self.links.get(agent_id, ()) if place[2] not in removed), None)
            found = [place for place in (kept, anew.get(agent_id)) if place is not None]
            if found:
                firsts[agent_id] = min(found)
        as_they_were = (place for place in self.firsts if place[2] not in affected)
        order = merge(as_they_were, sorted((place[0], place[1], agent_id) for agent_id, place in firsts.items()))
        known = sum(agent_id in self.links for agent_id in affected)
        count = len(self.links) - known + len(firsts)
        listed: list[Value] = []
        for _, position, agent_id in islice(order, originators_told_max):
            place = firsts[agent_id] if agent_id in firsts else self.links[agent_id].at(0)
            row_found = added.get(place[2]) or row_of(place[2])
            assert row_found is not None
            listed.append({"agentId": agent_id, "name": row_found.originators[position].name})
        modes = self.modes.copy()
        modes.update(row.strictest for row in added.values())
        modes.subtract(row.strictest for row in removed.values())
        return {"originators": listed, "more": max(count - len(listed), 0), "strictest": _strictest(modes)}

    def _move_first(self, agent_id: str, former: _Link | None, now: _Link | None) -> None:
        self.firsts.move(
            None if former is None else (former[0], former[1], agent_id),
            None if now is None else (now[0], now[1], agent_id),
        )


def _strictest(modes: Counter[ModeName]) -> ModeName:
    return next((mode.value for mode in Mode if modes[mode.value] > 0), Mode.AUTO.value)


def stricter(one: ModeName, other: ModeName) -> ModeName:
    return one if Mode(one).is_narrower_than(Mode(other)) else other
