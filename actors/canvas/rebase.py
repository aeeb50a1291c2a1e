"""`rebase: "disjoint"`: whether a write made for an older revision may be applied to the present one (canvas 3.2).

The rule has been run on the present scene. It clashes if anything that the call touches was changed since: what it
names and what it changed; of each of those the label, the container, the tied arrows, an arrow's targets, the members
of its groups, its frame and a frame's members; and whatever else the rule looked at to come to its result. An id that
was asked for and is not there, or is deleted, is looked at as well, so a call that fails because of what somebody did
meanwhile is a conflict rather than a mistake.
"""

from __future__ import annotations

from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES
from actors.canvas.geometry import text
from actors.canvas.ties import SIDES, bound_list, target_id
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

    def __contains__(self, element: Record) -> bool:
        return (
            text(element, "id") in self.ids
            or text(element, "frameId") in self.frames
            or not self.groups.isdisjoint(_groups(element))
        )


def changed_under(draft: Draft, since: int) -> list[str]:
    """Ids of what the draft touches and somebody changed after revision `since`, the newest change first.

    Costs in the number of those changes and of what is touched, not in the size of the scene.
    """
    changed = draft.state.changed_since(since)
    if not changed:
        return []
    touched = _Touched()
    touched.ids.update(draft.looked_at)
    for id_ in dict.fromkeys([*draft.named_ids, *draft.changed_ids()]):
        for element in (draft.before(id_), draft.now(id_)):
            if element is not None:
                touched.add(element)
    return [id_ for id_ in changed if draft.state.entries[id_].element in touched]


def _groups(element: Record) -> list[str]:
    listed = element.get("groupIds")
    return [id_ for id_ in listed if isinstance(id_, str)] if isinstance(listed, list) else []
