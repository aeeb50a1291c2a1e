"""For whom an agent is working: the agents that led to the threads which it has and owes (security 2.24).

Kept so that a change of one thread costs the same however many there are. Where not all of them can be named, those of
the newest threads are, and it is told how many are not: nobody hides behind the many that came before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import TypeAlias

from actors.mailbox.rows import ChainLink, Received
from actors.mailbox.sorted_items import SortedItems
from bus.limits import chain_agents_max
from bus.value import Record
from tools.autonomy import Mode, ModeName

_Link: TypeAlias = tuple[int, int, str]
"""(arrival, position in the chain, thread), or the agent in the last place."""
_Ends: TypeAlias = tuple[_Link, _Link]
"""The first and the last of an agent's places."""
_RowOf: TypeAlias = Callable[[str], Received | None]
"""Knows the threads that are here."""


@dataclass(frozen=True, slots=True)
class Named:
    """As many agents as may be named, those of the oldest thread first."""

    links: list[ChainLink]
    more: int
    """How many are not named. Of agents that chains had left out before it is only known how many: the largest number
    counts, so one that two chains left out, or one of them names, may count twice or once."""


@dataclass(slots=True)
class Originators:
    """Of the threads that were added, the agents on their chains."""

    links: dict[str, SortedItems[_Link]] = field(default_factory=dict)
    """Agent -> its places on chains."""
    lasts: SortedItems[_Link] = field(default_factory=SortedItems)
    """Of each agent the last of its places."""
    left_out: SortedItems[tuple[int, str]] = field(default_factory=SortedItems)
    """(how many its chain does not name, thread), of those that leave some out."""
    modes: Counter[ModeName] = field(default_factory=Counter)

    def add(self, thread_id: str, row: Received) -> None:
        self.modes[row.strictest] += 1
        if row.chainMore:
            self.left_out.add((row.chainMore, thread_id))
        for position, link in enumerate(row.originators):
            links = self.links.setdefault(link.agentId, SortedItems())
            former = links.last()
            links.add((row.arrival, position, thread_id))
            self._move_last(link.agentId, former, links.last())

    def remove(self, thread_id: str, row: Received) -> None:
        self.modes[row.strictest] -= 1
        if not self.modes[row.strictest]:
            del self.modes[row.strictest]
        if row.chainMore:
            self.left_out.remove((row.chainMore, thread_id))
        for position, link in enumerate(row.originators):
            links = self.links[link.agentId]
            former = links.last()
            links.remove((row.arrival, position, thread_id))
            self._move_last(link.agentId, former, links.last())
            if not links:
                del self.links[link.agentId]

    def strictest(self) -> ModeName:
        return _strictest(self.modes)

    def named(self, row_of: _RowOf, count: int, but: Collection[str] = ()) -> Named:
        """Up to `count` of the agents that are not among `but`."""
        return self._named(row_of, {}, count, but, self._most_left_out(()))

    def told(self, row_of: _RowOf, added: Mapping[str, Received], removed: Mapping[str, Received]) -> Record:
        """The body of `working_for_changed` as it would be after `added` and `removed`."""
        most = max((row.chainMore for row in added.values()), default=0)
        named = self._named(
            lambda thread_id: added.get(thread_id) or row_of(thread_id),
            self._ends_after(added, removed),
            chain_agents_max,
            (),
            max(most, self._most_left_out(removed)),
        )
        modes = self.modes.copy()
        modes.update(row.strictest for row in added.values())
        modes.subtract(row.strictest for row in removed.values())
        listed = [link.model_dump() for link in named.links]
        return {"originators": [*listed], "more": named.more, "strictest": _strictest(modes)}

    def shed(self, count: int) -> bool:
        """Let go of up to `count` places of each order of a state that nobody uses; whether nothing is left."""
        places_left = count
        while places_left > 0 and self.links:
            agent_id, places = self.links.popitem()
            taken = min(len(places), places_left)
            if taken < len(places):
                places.drop_some(taken)
                self.links[agent_id] = places
            places_left -= max(taken, 1)
        self.lasts.drop_some(count)
        self.left_out.drop_some(count)
        return not (self.links or self.lasts or self.left_out)

    def _named(
        self, row_of: _RowOf, ends: Mapping[str, _Ends | None], count: int, but: Collection[str], left_out: int
    ) -> Named:
        """`ends` are those of agents whose places change; None: it has none any more."""
        changed = {agent_id: found for agent_id, found in ends.items() if found is not None}
        newest = merge(
            (place for place in reversed(self.lasts) if place[2] not in ends),
            sorted(((last[0], last[1], agent_id) for agent_id, (_, last) in changed.items()), reverse=True),
            reverse=True,
        )
        chosen = [*islice((agent_id for _, _, agent_id in newest if agent_id not in but), count)]
        firsts = {id_: changed[id_][0] if id_ in changed else self.links[id_].at(0) for id_ in chosen}
        links = []
        for agent_id in sorted(chosen, key=lambda id_: firsts[id_]):
            _, position, thread_id = firsts[agent_id]
            row = row_of(thread_id)
            assert row is not None
            links.append(row.originators[position])
        known = sum(agent_id in self.links for agent_id in ends)
        passed_over = sum(id_ in changed or (id_ not in ends and id_ in self.links) for id_ in {*but})
        count_all = len(self.links) - known + len(changed) - passed_over
        return Named(links, count_all - len(links) + left_out)

    def _ends_after(self, added: Mapping[str, Received], removed: Mapping[str, Received]) -> Mapping[str, _Ends | None]:
        """Of each agent on a chain that comes or goes."""
        anew: dict[str, list[_Link]] = {}
        for thread_id, row in added.items():
            for position, link in enumerate(row.originators):
                anew.setdefault(link.agentId, []).append((row.arrival, position, thread_id))
        gone = (link.agentId for row in removed.values() for link in row.originators)
        return {id_: self._ends_of(id_, anew.get(id_, []), removed) for id_ in (*anew, *gone)}

    def _ends_of(self, agent_id: str, anew: list[_Link], removed: Mapping[str, Received]) -> _Ends | None:
        links = self.links.get(agent_id, SortedItems())
        first, last = _first_kept(links, removed), _first_kept(reversed(links), removed)
        places = [*anew, *(place for place in (first, last) if place is not None)]
        return (min(places), max(places)) if places else None

    def _most_left_out(self, removed: Collection[str]) -> int:
        return next((more for more, thread_id in reversed(self.left_out) if thread_id not in removed), 0)

    def _move_last(self, agent_id: str, former: _Link | None, now: _Link | None) -> None:
        self.lasts.move(
            None if former is None else (former[0], former[1], agent_id),
            None if now is None else (now[0], now[1], agent_id),
        )


def _first_kept(places: Iterable[_Link], removed: Mapping[str, Received]) -> _Link | None:
    return next((place for place in places if place[2] not in removed), None)


def _strictest(modes: Counter[ModeName]) -> ModeName:
    return next((mode.value for mode in Mode if modes[mode.value] > 0), Mode.AUTO.value)


def stricter(one: ModeName, other: ModeName) -> ModeName:
    return one if Mode(one).is_narrower_than(Mode(other)) else other
