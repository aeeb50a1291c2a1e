"""What is kept beside a canvas's elements, so that nothing has to walk over all of them (canvas 5). Never stored.

| kept | for |
| --- | --- |
| types | the overview: how many live elements of each type |
| members | moving and deleting frames and groups, and what a call touches |
| order | stacking order: regions, exports, what is put on top |
| labelled | the overview: the first labels |
| recent | conflicts: what was changed last |
| live, deleted | regions, and the extent of all; only where somebody asked for one of them |

Invariants:
- Nothing of it is there until it is first needed: neither loading nor importing a canvas pays for it. Then it is built
  in steps, and kept with every put from there on.
- A put in the middle of building throws away what was built. A host lets nothing of an owner be decided between two
  steps, so that is rare.
- `entries` are always those of one canvas. Nothing here refers to the canvas, and no step to this: no cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, TypeVar

from actors.canvas.boxes import Boxes
from actors.canvas.element import FRAMES
from actors.canvas.entry import Entry
from actors.canvas.geometry import box_of, text
from actors.canvas.sorted_keys import SortedKeys
from bus.value import Record

_TOLD_AT_ONCE: Final = 1_000
"""Elements: some 2 ms."""

Entries = Mapping[str, Entry]
Membership = tuple[str, str]
"""(`frame` or `group`, its id)."""
_Sortable = TypeVar("_Sortable", str, int)


def memberships(element: Record) -> Iterator[Membership]:
    """The frame and all groups that the element says it belongs to."""
    if element.get("frameId") is not None:
        yield "frame", str(element["frameId"])
    groups = element.get("groupIds")
    for group in groups if isinstance(groups, list) else ():
        yield "group", str(group)


def is_member(element: Record, membership: Membership) -> bool:
    """Whether `memberships` of the element has that one."""
    kind, id_ = membership
    if kind == "frame":
        return element.get("frameId") == id_
    groups = element.get("groupIds")
    return isinstance(groups, list) and id_ in groups


def words_of(element: Record) -> str:
    """What the element says in the overview: a text's words, a frame's name; empty for the rest."""
    if element["type"] == "text":
        return text(element, "originalText")
    return text(element, "name") if element["type"] in FRAMES else ""


@dataclass(slots=True)
class Kept:
    """All but the boxes."""

    types: dict[str, int] = field(default_factory=dict)
    members: dict[Membership, dict[str, None]] = field(default_factory=dict)
    order: SortedKeys[str] = field(default_factory=SortedKeys)
    labelled: SortedKeys[str] = field(default_factory=SortedKeys)
    recent: SortedKeys[int] = field(default_factory=SortedKeys)

    def fill(self, entries: Entries) -> Iterator[None]:
        """Whoever runs it has a pause at each `yield`."""
        told = iter(entries.items())
        while some := list(islice(told, _TOLD_AT_ONCE)):
            for id_, entry in some:
                self._tell(id_, None, entry)
            yield
        yield from chain(
            self.order.fill(_keys(entries, _order_of)),
            self.labelled.fill(_keys(entries, _labelled_of)),
            self.recent.fill(_keys(entries, _recent_of)),
        )

    def replace(self, id_: str, before: Entry | None, after: Entry | None) -> None:
        self._tell(id_, before, after)
        self.order.replace(_order_of(id_, before), _order_of(id_, after))
        self.labelled.replace(_labelled_of(id_, before), _labelled_of(id_, after))
        self.recent.replace(_recent_of(id_, before), _recent_of(id_, after))

    def _tell(self, id_: str, before: Entry | None, after: Entry | None) -> None:
        self._count(before, -1)
        self._count(after, 1)
        was = () if before is None else tuple(memberships(before.element))
        now = () if after is None else tuple(memberships(after.element))
        if was == now:
            return
        for membership in was:
            members = self.members.get(membership, {})
            members.pop(id_, None)
            if not members:
                self.members.pop(membership, None)
        for membership in now:
            self.members.setdefault(membership, {})[id_] = None

    def _count(self, entry: Entry | None, by: int) -> None:
        if entry is not None and entry.is_live:
            kind = text(entry.element, "type")
            count = self.types.get(kind, 0) + by
            if count:
                self.types[kind] = count
            else:
                del self.types[kind]


@dataclass(slots=True)
class Placed:
    """Where the live elements lie, and where the deleted ones do."""

    live: Boxes = field(default_factory=Boxes)
    deleted: Boxes = field(default_factory=Boxes)

    def fill(self, entries: Entries) -> Iterator[None]:
        """Whoever runs it has a pause at each `yield`."""
        live = ((id_, box_of(entry.element)) for id_, entry in entries.items() if entry.is_live)
        deleted = ((id_, box_of(entry.element)) for id_, entry in entries.items() if not entry.is_live)
        return chain(self.live.fill(live), self.deleted.fill(deleted))

    def replace(self, id_: str, after: Entry | None) -> None:
        if after is None:
            self.live.drop(id_)
            self.deleted.drop(id_)
            return
        to, away = (self.live, self.deleted) if after.is_live else (self.deleted, self.live)
        away.drop(id_)
        to.put(id_, box_of(after.element))


class Indexes:
    """Changed only by `replace` and by the steps that build it."""

    def __init__(self) -> None:
        self._kept: Kept | None = None
        self._placed: Placed | None = None
        self._filling: Iterator[None] | None = None
        """Of the one that is there and not whole yet."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it is there, so that nothing is left to be built."""
        return self._placed is not None and self._filling is None

    def keep_some(self, entries: Entries) -> bool:
        """The next step towards all but the boxes; whether it is there now. Some 2 ms."""
        if self._placed is not None:
            return True
        if self._kept is None:
            self._kept = Kept()
            self._filling = self._kept.fill(entries)
        return self._goes_on()

    def place_some(self, entries: Entries) -> bool:
        """The next step towards all; whether it is there now. Some 6 ms."""
        if self._placed is None:
            if not self.keep_some(entries):
                return False
            self._placed = Placed()
            self._filling = self._placed.fill(entries)
        return self._goes_on()

    def kept(self, entries: Entries) -> Kept:
        while not self.keep_some(entries):
            pass
        assert self._kept is not None
        return self._kept

    def placed(self, entries: Entries) -> Placed:
        while not self.place_some(entries):
            pass
        assert self._placed is not None
        return self._placed

    def replace(self, id_: str, before: Entry | None, after: Entry | None) -> None:
        """An element was put or removed."""
        if self._filling is not None:
            self.clear()
        if self._kept is not None:
            self._kept.replace(id_, before, after)
        if self._placed is not None:
            self._placed.replace(id_, after)

    def clear(self) -> None:
        """Back to nothing; it is built anew when it is needed."""
        self._kept, self._placed, self._filling = None, None, None

    def _goes_on(self) -> bool:
        if self._filling is not None and next(self._filling, _ENDED) is _ENDED:
            self._filling = None
        return self._filling is None


_ENDED: Final = object()


def _order_of(id_: str, entry: Entry | None) -> tuple[str, str] | None:
    return None if entry is None else (text(entry.element, "index"), id_)


def _labelled_of(id_: str, entry: Entry | None) -> tuple[str, str] | None:
    if entry is None or not entry.is_live or not words_of(entry.element):
        return None
    return text(entry.element, "index"), id_


def _recent_of(id_: str, entry: Entry | None) -> tuple[int, str] | None:
    return None if entry is None else (entry.revision, id_)


def _keys(
    entries: Entries, key_of: Callable[[str, Entry | None], tuple[_Sortable, str] | None]
) -> Iterator[tuple[_Sortable, str]]:
    return (key for id_, entry in entries.items() if (key := key_of(id_, entry)) is not None)
