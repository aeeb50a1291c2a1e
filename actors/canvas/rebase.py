"""`rebase: "disjoint"`: whether a write made for an older revision may be applied to the present one (canvas 3.2).

The rule has been run on the present scene. It clashes if anything that the call touches was changed since: what it
names and what it changed; of each of those the label, the container, the tied arrows, an arrow's targets, the members
of its groups, its frame and a frame's members; and whatever else the rule looked at to come to its result. An id that
was asked for and is not there, or is deleted, is looked at as well, so a call that fails because of what somebody did
meanwhile is a conflict rather than a mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from actors.canvas import outcome
from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES
from actors.canvas.geometry import text
from actors.canvas.indexes import Membership
from actors.canvas.ties import SIDES, bound_list, target_id
from actors.decision import Decision
from bus.value import Record


class _Touched:
    """Ids by themselves, and the groups and frames all of whose members count."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.groups: set[str] = set()
        self.frames: set[str] = set()

    def add(self, element: Record) -> None:
        """The element and what is next to it."""
        id_ = text(element, "id")
        self.ids.add(id_)
        self.ids.update(text(item, "id") for item in bound_list(element))
        holders = [text(element, "containerId"), text(element, "frameId")]
        self.ids.update(filter(None, [*holders, *(target_id(element, side) for side in SIDES)]))
        self.groups.update(_groups(element))
        if element.get("type") in FRAMES:
            self.frames.add(id_)

    def all_ids(self, members: Mapping[Membership, Collection[str]]) -> set[str]:
        """With every member of those groups and frames, which may be many and may not be there any more."""
        memberships = [*(("group", id_) for id_ in self.groups), *(("frame", id_) for id_ in self.frames)]
        return self.ids.union(*(members.get(membership, ()) for membership in memberships))


def clash(draft: Draft, since: int) -> Decision | None:
    """The conflict of a call that was made for revision `since`; None if nothing that it touches was changed since."""
    if since >= draft.head.revision:
        return None
    changed = changed_under(draft, since)
    return Decision(outcome.conflict_over(draft.state, draft.head.revision, changed)) if changed else None


def changed_under(draft: Draft, since: int) -> list[str]:
    """Ids of what the draft touches and somebody changed after revision `since`, the newest change first.

    Costs in the number of what is touched, neither in the size of the scene nor in how much was changed since.
    """
    touched = _Touched()
    touched.ids.update(draft.looked_at)
    for id_ in dict.fromkeys([*draft.named_ids, *draft.changed_ids()]):
        for element in (draft.before(id_), draft.now(id_)):
            if element is not None:
                touched.add(element)
    entries = draft.state.entries
    there = (id_ for id_ in touched.all_ids(draft.state.kept.members) if id_ in entries)
    changed = [(entries[id_].revision, id_) for id_ in there if entries[id_].revision > since]
    return [id_ for _, id_ in sorted(changed, reverse=True)]


def _groups(element: Record) -> list[str]:
    listed = element.get("groupIds")
    return [id_ for id_ in listed if isinstance(id_, str)] if isinstance(listed, list) else []
