"""canvas_delete_elements and canvas_restore_elements: soft deletion that can be taken back exactly (canvas 4.2).

A deleted element keeps its own fields as they were. What its deletion took from others is noted in its row:
`label` the label deleted with it; `untied` the ends of arrows that were tied to it, with where they were; `members`
what was in the frame; `boxes` where its own targets and container were, which may move before it is restored; `listed`
at which place its targets and its container listed it. An element that is restored while what it was tied to is still
deleted leaves a note there, so that the order of restoring does not matter.

An arrow whose shapes are where they were gets its ends back to the point; otherwise they are led anew (routing.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from actors.canvas.bindings import (
    Tie,
    completed_binding,
    container_of,
    count_turned,
    end_of,
    label_of,
    list_on,
    ties_to,
    unlist_from,
)
from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES
from actors.canvas.geometry import as_point, points_count, text
from actors.canvas.labels import fit_label
from actors.canvas.routing import BOX_FIELDS, lead_again, reroute
from actors.canvas.ties import SIDES, bound_count, bound_list, can_be_tied_to, is_container, target_id
from bus.value import Record, Value
from tools.canvas.inputs import CanvasDeleteElementsInput, CanvasRestoreElementsInput

_PLACED: Final = (*BOX_FIELDS, "text", "fontSize", "fontFamily", "lineHeight")
"""What a label may not have changed if it is to be taken back as it is."""


def delete_elements(draft: Draft, arguments: CanvasDeleteElementsInput) -> None:
    """The rule of canvas_delete_elements (canvas 2, 4.2). Deleting what is deleted already changes nothing.

    Raises Rejected for ids that the canvas does not know, and when the call changes too much (work.py).
    """
    for position, id_ in enumerate(arguments.elementIds):
        draft.require(id_, f"elementIds.{position}")
    take_away(draft, arguments.elementIds)


def take_away(draft: Draft, ids: Iterable[str]) -> None:
    """Delete those of these elements that are live, softly, with what goes with them.

    Raises Rejected when that changes too much (work.py).
    """
    doomed: dict[str, str | None] = {id_: None for id_ in ids if draft.get(id_).get("isDeleted") is not True}
    for id_ in list(doomed):
        label = label_of(draft, draft.get(id_))
        if label is not None:
            doomed[str(label["id"])] = id_
    members = _members_of_frames(draft, doomed)
    places = _Places(draft)
    for id_ in doomed:
        _take_from_others(draft, id_, doomed, members, places)
    _unlist(draft, doomed)
    for id_ in doomed:
        draft.edit(id_, {"isDeleted": True})


def _members_of_frames(draft: Draft, doomed: dict[str, str | None]) -> dict[str, list[Value]]:
    """What stays of each doomed frame's content."""
    staying: dict[str, list[Value]] = {}
    for frame_id in (id_ for id_ in doomed if draft.get(id_)["type"] in FRAMES):
        staying[frame_id] = []
        for element in draft.members(("frame", frame_id)):
            if element["id"] not in doomed:
                draft.touch(text(element, "id"), element)  # before all are listed: there may be very many
                staying[frame_id].append(element["id"])
    return staying


class _Places:
    """At which place holders list what is tied to them, each list looked through once."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._known: dict[str, dict[str, int]] = {}

    def of(self, id_: str, holder_id: str) -> int:
        """From 0, before the call."""
        if holder_id not in self._known:
            listed = bound_list(self._draft.get(holder_id))
            self._draft.work.listed(len(listed))
            places: dict[str, int] = {}
            for place, item in enumerate(listed):
                places.setdefault(text(item, "id"), place)
            self._known[holder_id] = places
        return self._known[holder_id][id_]


def _take_from_others(
    draft: Draft, id_: str, doomed: dict[str, str | None], members: dict[str, list[Value]], places: _Places
) -> None:
    """Untie what stays from what goes, and note it. Elements that both go keep their ties, for restore."""
    element = draft.get(id_)
    note: Record = {"revision": draft.head.revision + 1}
    boxes = _boxes_of_holders(draft, element)
    if boxes:
        note["boxes"] = boxes
    label = label_of(draft, element)
    if label is not None:
        note["label"] = label["id"]
    # Now, and twice when it is restored: a deletion that was done must not be too much to take back.
    draft.work.listed(3 * bound_count(element))
    untied: list[Value] = [_untie(draft, tie) for tie in ties_to(draft, element) if tie.arrow_id not in doomed]
    if untied:
        note["untied"] = untied
    if members.get(id_):
        note["members"] = members[id_]
        for member in members[id_]:
            draft.edit(str(member), {"frameId": None})
    container = container_of(draft, element)
    holders = [target_id(element, side) for side in SIDES] + [None if container is None else str(container["id"])]
    listed: Record = {}
    for holder in dict.fromkeys(holders):
        if holder is not None and holder not in doomed and draft.find_live(holder) is not None:
            listed[holder] = places.of(id_, holder)
    if listed:
        note["listed"] = listed
    draft.note_deletion(id_, note)


def _unlist(draft: Draft, doomed: Collection[str]) -> None:
    gone: dict[str, set[str]] = {}
    for id_ in doomed:
        listed = (draft.deletion(id_) or {}).get("listed")
        for holder in listed if isinstance(listed, dict) else ():
            gone.setdefault(holder, set()).add(id_)
    for holder, ids in gone.items():
        unlist_from(draft, holder, ids)


def _boxes_of_holders(draft: Draft, element: Record) -> Record:
    """By field, the box of what the element is tied to or the label of."""
    holders = {side: target_id(element, side) for side in SIDES}
    holders["containerId"] = text(element, "containerId") or None
    boxes: Record = {}
    for field, id_ in holders.items():
        holder = None if id_ is None else draft.find_live(id_)
        if holder is not None:
            boxes[field] = {name: holder[name] for name in BOX_FIELDS}
    return boxes


def _untie(draft: Draft, tie: Tie) -> Value:
    arrow = draft.get(tie.arrow_id)
    draft.work.arrow(points_count(arrow))  # it may have to be led when it is tied again
    end = end_of(arrow, tie.side)
    draft.edit(tie.arrow_id, {tie.side: None})
    return {"arrow": tie.arrow_id, "side": tie.side, "binding": arrow[tie.side], "at": [end.x, end.y]}


def restore_elements(draft: Draft, arguments: CanvasRestoreElementsInput) -> None:
    """The rule of canvas_restore_elements (canvas 2, 4.2). Restoring what is live already changes nothing.

    Raises Rejected for ids that the canvas does not know, and when the call changes too much (work.py).
    """
    notes: dict[str, Record] = {}
    for position, id_ in enumerate(arguments.elementIds):
        element = draft.require(id_, f"elementIds.{position}")
        if element.get("isDeleted") is True:
            notes[id_] = draft.deletion(id_) or {}
    for note in list(notes.values()):
        label_id = note.get("label")
        if isinstance(label_id, str) and label_id not in notes and _went_with(draft, label_id, note):
            notes[label_id] = draft.deletion(label_id) or {}
    for id_ in notes:
        draft.edit(id_, {"isDeleted": False})
        draft.note_deletion(id_, None)
    stale: dict[str, list[str]] = {}
    for id_, note in notes.items():
        _give_back(draft, id_, note, stale)
    strangers: dict[str, set[str]] = {}
    for id_, note in notes.items():
        _tie_again(draft, id_, note, stale, strangers)
    for holder_id, ids in strangers.items():
        unlist_from(draft, holder_id, ids)
    for id_ in notes:
        _forget_ghosts(draft, id_)
    _put_in_places(draft, notes)
    arrows = [id_ for id_ in draft.changed_ids() if draft.get(id_)["type"] == "arrow"]
    for arrow_id in arrows:
        sides = [side for side in SIDES if side in stale.get(arrow_id, ()) or _has_grown(draft, arrow_id, side)]
        if sides and draft.find_live(arrow_id) is not None:
            lead_again(draft, arrow_id, sides)
    reroute(draft, settled=arrows)


def _has_grown(draft: Draft, arrow_id: str, side: str) -> bool:
    """Whether that end's shape changed in this very call, for a label that came back."""
    id_ = target_id(draft.get(arrow_id), side) or ""
    before, target = draft.before(id_), draft.find_live(id_)
    return before is not None and target is not None and any(before[name] != target[name] for name in BOX_FIELDS)


def _put_in_places(draft: Draft, notes: dict[str, Record]) -> None:
    """Let what was restored stand in the lists of its holders where it stood before."""
    places: dict[str, list[tuple[int, str]]] = {}
    for id_, note in notes.items():
        listed = note.get("listed")
        for holder_id, place in listed.items() if isinstance(listed, dict) else ():
            if isinstance(place, int):
                places.setdefault(holder_id, []).append((place, id_))
    for holder_id, wanted in places.items():
        holder = draft.find_live(holder_id)
        listed_now = {text(item, "id"): item for item in bound_list(holder)} if holder is not None else {}
        back = [(place, id_) for place, id_ in sorted(wanted) if id_ in listed_now]
        moved = {id_ for _, id_ in back}
        kept: list[Value] = [item for id_, item in listed_now.items() if id_ not in moved]
        for place, id_ in back:
            kept.insert(place, listed_now[id_])
        if back:
            draft.edit(holder_id, {"boundElements": kept})


def _went_with(draft: Draft, label_id: str, note: Record) -> bool:
    """Whether the label is deleted still, by the very deletion that `note` tells of."""
    label, own = draft.find(label_id), draft.deletion(label_id)
    return (
        label is not None
        and label.get("isDeleted") is True
        and own is not None
        and own.get("revision") == note.get("revision")
    )


def _forget_ghosts(draft: Draft, id_: str) -> None:
    """Keep in boundElements, in their old order, only those that are live and say themselves that they are tied."""
    element = draft.get(id_)
    draft.work.listed(bound_count(element))
    kept: list[Value] = []
    seen: set[str] = set()
    for item in bound_list(element):
        other = draft.find_live(text(item, "id"))
        if other is None or text(item, "id") in seen:
            continue
        seen.add(text(item, "id"))
        is_label = item.get("type") == "text" and other.get("containerId") == id_
        is_arrow = item.get("type") == "arrow" and any(target_id(other, side) == id_ for side in SIDES)
        if (is_label and is_container(element)) or (is_arrow and can_be_tied_to(element)):
            kept.append(item)
    if kept != (element["boundElements"] or []):
        draft.edit(id_, {"boundElements": kept})


def _give_back(draft: Draft, id_: str, note: Record, stale: dict[str, list[str]]) -> None:
    """Put back into others what the deletion of `id_` took from them, where they have not been tied elsewhere."""
    untied, members = note.get("untied"), note.get("members")
    for item in untied if isinstance(untied, list) else []:
        if isinstance(item, dict):
            _tie_end(draft, id_, item, stale)
    for member in members if isinstance(members, list) else []:
        element = draft.find(str(member))
        draft.work.listed(1)
        if element is not None and element["frameId"] is None and draft.get(id_)["type"] in FRAMES:
            draft.edit(str(member), {"frameId": id_})
    label = draft.find(text(note, "label"))
    is_free = label is not None and label["containerId"] is None and not any(ties_to(draft, label))
    if label is not None and is_free and label_of(draft, draft.get(id_)) is None:
        _adopt(draft, id_, label, note.get("labelWas"))


def _adopt(draft: Draft, id_: str, label: Record, was: Value) -> None:
    """Take back a label that came back earlier, as a text of its own; fit it in if it was changed since."""
    label_id, holder = text(label, "id"), draft.get(id_)
    draft.edit(label_id, {"containerId": id_})
    if label.get("isDeleted") is True:
        return
    list_on(draft, id_, label_id, "text")
    if not isinstance(was, dict) or any(was.get(name) != label[name] for name in _PLACED):
        draft.edit(label_id, {"groupIds": holder["groupIds"], "frameId": holder["frameId"], "autoResize": True})
        fit_label(draft, id_)


def _tie_end(draft: Draft, id_: str, untied: Record, stale: dict[str, list[str]]) -> None:
    arrow_id, side, at = text(untied, "arrow"), text(untied, "side"), as_point(untied.get("at"))
    arrow, target = draft.find(arrow_id), draft.get(id_)
    if arrow is None or arrow.get(side) is not None or not can_be_tied_to(target):
        draft.work.listed(1)
        return
    tied = draft.edit(arrow_id, {side: untied["binding"]})
    if arrow.get("isDeleted") is True:
        _remember_box(draft, arrow_id, side, target)
        return  # it is listed when it is restored itself
    count_turned(draft, arrow)
    draft.edit(arrow_id, {side: completed_binding(tied, side, target)})
    list_on(draft, id_, arrow_id, "arrow")
    if end_of(arrow, side) != at:
        stale.setdefault(arrow_id, []).append(side)  # it has been moved or bent in the meantime


def _remember_box(draft: Draft, arrow_id: str, side: str, target: Record) -> None:
    """The target, live again, may move before the deleted arrow is restored."""
    note = draft.deletion(arrow_id) or {"revision": 0}
    boxes = note.get("boxes")
    known: Record = boxes if isinstance(boxes, dict) else {}
    box: Record = {name: target[name] for name in BOX_FIELDS}
    draft.note_deletion(arrow_id, {**note, "boxes": {**known, side: box}})


def _tie_again(
    draft: Draft, id_: str, note: Record, stale: dict[str, list[str]], strangers: dict[str, set[str]]
) -> None:
    """Let what a restored element is tied to say so too; what is still deleted gets a note for its own restoring.

    `strangers` gets, by holder, what is not to be listed there any more.
    """
    element, boxes = draft.get(id_), note.get("boxes")
    known: Record = boxes if isinstance(boxes, dict) else {}
    for side in SIDES:
        if element.get(side) is not None and not _tie_again_to_target(draft, id_, side, known.get(side), strangers):
            stale.setdefault(id_, []).append(side)
    if element["type"] == "text" and element["containerId"] is not None:
        _tie_again_to_container(draft, id_, known.get("containerId"), strangers)
    frame_id = element["frameId"]
    frame = draft.find_live(str(frame_id))
    if frame_id is not None and (frame is None or frame["type"] not in FRAMES):
        draft.edit(id_, {"frameId": None})
        _note(draft, str(frame_id), "members", id_)


def _tie_again_to_target(draft: Draft, id_: str, side: str, was: Value, strangers: dict[str, set[str]]) -> bool:
    """Whether that end is where it belongs: the target did not change while the arrow was deleted, or is gone."""
    element = draft.get(id_)
    count_turned(draft, element)
    end = end_of(element, side)
    target = draft.find(target_id(element, side) or "")
    is_live = target is not None and target.get("isDeleted") is not True
    if target is not None and is_live and can_be_tied_to(target) and element["type"] == "arrow":
        draft.edit(id_, {side: completed_binding(element, side, target)})  # it may never have been live here
        list_on(draft, str(target["id"]), id_, "arrow")
        return not isinstance(was, dict) or all(was.get(name) == target[name] for name in BOX_FIELDS)
    draft.edit(id_, {side: None})
    if target is not None and is_live:
        strangers.setdefault(str(target["id"]), set()).add(id_)
    elif target is not None and element["type"] == "arrow":
        untied: Value = {"arrow": id_, "side": side, "binding": element[side], "at": [end.x, end.y]}
        _note(draft, str(target["id"]), "untied", untied)
    return True


def _tie_again_to_container(draft: Draft, id_: str, was: Value, strangers: dict[str, set[str]]) -> None:
    container_id = text(draft.get(id_), "containerId")
    container = draft.find_live(container_id)
    if container is not None and is_container(container):
        label = label_of(draft, container)
        if label is None or label["id"] == id_:
            list_on(draft, container_id, id_, "text")
            if isinstance(was, dict) and any(was.get(name) != container[name] for name in BOX_FIELDS):
                fit_label(draft, container_id)
            return
    strangers.setdefault(container_id, set()).add(id_)
    label = draft.edit(id_, {"containerId": None})  # it comes back as a text of its own
    holder = draft.find(container_id)
    if holder is not None and holder.get("isDeleted") is True and is_container(holder):
        note = draft.deletion(container_id) or {"revision": 0}
        draft.note_deletion(container_id, {**note, "label": id_, "labelWas": {name: label[name] for name in _PLACED}})


def _note(draft: Draft, id_: str, field: str, item: Value) -> None:
    """Add to what the restoring of the deleted element `id_` will give back."""
    element = draft.find(id_)
    if element is None or element.get("isDeleted") is not True:
        return
    note = draft.deletion(id_) or {"revision": 0}
    listed = note.get(field)
    draft.note_deletion(id_, {**note, field: [*(listed if isinstance(listed, list) else []), item]})
