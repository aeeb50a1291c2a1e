"""What is kept beside a canvas's elements, so that nothing has to walk over all of them (canvas 5). Never stored.

| kept | for | built |
| --- | --- | --- |
| types | the overview: how many live elements of each type | with every element, also while loading |
| members | moving and deleting frames and groups, and what a call touches | likewise |
| order | stacking order: regions, exports, what is put on top | when first needed, in steps |
| labelled | the overview: the first labels | likewise |
| recent | conflicts: what was changed last | likewise |
| live, deleted | regions, and the extent of all | when the first region or overview is asked for, in steps |

What is built is kept with every put from then on. Elements that a step has not come to are the only ones missing in
`live` and `deleted`, and a step passes over those that a put has brought there already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeVar

from actors.canvas.boxes import Boxes
from actors.canvas.element import FRAMES
from actors.canvas.entry import Entry
from actors.canvas.geometry import box_of, text
from actors.canvas.sorted_keys import SortedKeys
from bus.value import Record

_BOXES_AT_ONCE: Final = 200
"""Some 4 ms."""

Entries = Mapping[str, Entry]
Membership = tuple[str, str]
"""(`frame` or `group`, its id)."""
_Place = TypeVar("_Place", str, int)


def memberships(element: Record) -> Iterator[Membership]:
    """The frame and all groups that the element says it belongs to."""
    if element.get("frameId") is not None:
        yield "frame", str(element["frameId"])
    groups = element.get("groupIds")
    for group in groups if isinstance(groups, list) else ():
        yield "group", str(group)


def words_of(element: Record) -> str:
    """What the element says in the overview: a text's words, a frame's name; empty for the rest."""
    if element["type"] == "text":
        return text(element, "originalText")
    return text(element, "name") if element["type"] in FRAMES else ""


@dataclass(slots=True)
class Indexes:
    """Changed only by `replace` and by the steps that build it. `entries` are always those of the same canvas."""

    types: dict[str, int] = field(default_factory=dict)
    _members: dict[Membership, dict[str, None]] = field(default_factory=dict)
    order: SortedKeys[str] = field(default_factory=SortedKeys)
    labelled: SortedKeys[str] = field(default_factory=SortedKeys)
    recent: SortedKeys[int] = field(default_factory=SortedKeys)
    live: Boxes | None = None
    deleted: Boxes | None = None
    _placing: Iterator[bool] | None = None

    def replace(self, id_: str, before: Entry | None, after: Entry | None) -> None:
        """An element was put or removed."""
        self._count(before, -1)
        self._count(after, 1)
        self._join(id_, before, after)
        self.order.replace(_order_of(id_, before), _order_of(id_, after))
        self.labelled.replace(_labelled_of(id_, before), _labelled_of(id_, after))
        self.recent.replace(_recent_of(id_, before), _recent_of(id_, after))
        if self.live is not None and self.deleted is not None:
            _place(id_, after, self.live, self.deleted)

    def members(self, membership: Membership) -> Iterator[str]:
        """Ids of the elements, deleted ones too, that say they belong to it."""
        return iter(self._members.get(membership, ()))

    def sort_some(self, entries: Entries) -> bool:
        """The next step of sorting; whether everything is in order now. Some 2 ms a step."""
        return (
            self.order.sort_some(_keys(entries, _order_of))
            and self.labelled.sort_some(_keys(entries, _labelled_of))
            and self.recent.sort_some(_keys(entries, _recent_of))
        )

    def place_some(self, entries: Entries) -> bool:
        """The next step of placing elements; whether all are found by region now. Some 4 ms a step."""
        if self.live is None or self.deleted is None:
            self.live, self.deleted = Boxes(), Boxes()
            self._placing = _placing(entries, self.live, self.deleted)
        if self._placing is not None and next(self._placing, True):
            self._placing = None
        return self._placing is None

    def boxes(self, entries: Entries) -> tuple[Boxes, Boxes]:
        """Where the live elements lie, and where the deleted ones do."""
        while not self.place_some(entries):
            pass
        assert self.live is not None
        assert self.deleted is not None
        return self.live, self.deleted

    def in_order(self, entries: Entries) -> list[tuple[str, str]]:
        """(index, id) of every element, lowest first. Not to be changed."""
        return self.order.sorted(_keys(entries, _order_of))

    def with_labels(self, entries: Entries) -> list[tuple[str, str]]:
        """(index, id) of every live element that says something, lowest first. Not to be changed."""
        return self.labelled.sorted(_keys(entries, _labelled_of))

    def by_change(self, entries: Entries) -> list[tuple[int, str]]:
        """(revision, id) of every element, the longest unchanged first. Not to be changed."""
        return self.recent.sorted(_keys(entries, _recent_of))

    def _count(self, entry: Entry | None, by: int) -> None:
        if entry is not None and entry.is_live:
            kind = text(entry.element, "type")
            count = self.types.get(kind, 0) + by
            if count:
                self.types[kind] = count
            else:
                del self.types[kind]

    def _join(self, id_: str, before: Entry | None, after: Entry | None) -> None:
        was = () if before is None else tuple(memberships(before.element))
        now = () if after is None else tuple(memberships(after.element))
        if was == now:
            return
        for membership in was:
            members = self._members.get(membership, {})
            members.pop(id_, None)
            if not members:
                self._members.pop(membership, None)
        for membership in now:
            self._members.setdefault(membership, {})[id_] = None


def _order_of(id_: str, entry: Entry | None) -> tuple[str, str] | None:
    return None if entry is None else (text(entry.element, "index"), id_)


def _labelled_of(id_: str, entry: Entry | None) -> tuple[str, str] | None:
    if entry is None or not entry.is_live or not words_of(entry.element):
        return None
    return text(entry.element, "index"), id_


def _recent_of(id_: str, entry: Entry | None) -> tuple[int, str] | None:
    return None if entry is None else (entry.revision, id_)


def _keys(
    entries: Entries, key_of: Callable[[str, Entry | None], tuple[_Place, str] | None]
) -> Callable[[], Iterator[tuple[_Place, str]]]:
    return lambda: (key for id_, entry in entries.items() if (key := key_of(id_, entry)) is not None)


def _placing(entries: Entries, live: Boxes, deleted: Boxes) -> Iterator[bool]:
    """Yields False after each step. An element that was removed or put meanwhile is placed as it now is."""
    ids = iter(list(entries))
    while some := list(islice(ids, _BOXES_AT_ONCE)):
        for id_ in some:
            entry = entries.get(id_)
            if entry is not None:
                _place(id_, entry, live, deleted)
        yield False


def _place(id_: str, entry: Entry | None, live: Boxes, deleted: Boxes) -> None:
    if entry is None:
        live.drop(id_)
        deleted.drop(id_)
        return
    to, away = (live, deleted) if entry.is_live else (deleted, live)
    away.drop(id_)
    to.put(id_, box_of(entry.element))
