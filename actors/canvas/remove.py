"""canvas_delete_elements and canvas_restore_elements: soft deletion that can be taken back exactly (canvas 4.2).

A deleted element keeps its own fields as they were. What its deletion took from others is noted in its row:
`label` the label deleted with it; `untied` the ends of arrows that were tied to it, with where they were; `members`
what was in the frame; `boxes` where its own targets and container were, which may move before it is restored. An
element that is restored while what it was tied to is still deleted leaves a note there, so that the order of
restoring does not matter.
"""

from __future__ import annotations

from actors.canvas.bindings import Tie, completed_binding, container_of, end_of, label_of, list_on, ties_to, unlist_from
from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES
from actors.canvas.geometry import Point, absolute_points, as_point, middle_of, text, with_points
from actors.canvas.labels import fit_label
from actors.canvas.routing import BOX_FIELDS, elbow, followed, reroute, shifted
from actors.canvas.ties import SIDES, bound_list, can_be_tied_to, is_container, target_id
from bus.value import Record, Value
from tools.canvas.inputs import CanvasDeleteElementsInput, CanvasRestoreElementsInput


def delete_elements(draft: Draft, arguments: CanvasDeleteElementsInput) -> None:
    """Deleting what is deleted already changes nothing."""
    doomed: dict[str, str | None] = {}
    for position, id_ in enumerate(arguments.elementIds):
        if draft.require(id_, f"elementIds.{position}").get("isDeleted") is not True:
            doomed[id_] = None
    for id_ in list(doomed):
        label = label_of(draft, draft.get(id_))
        if label is not None:
            doomed[str(label["id"])] = id_
    members = _members_of_frames(draft, doomed)
    for id_ in doomed:
        _take_from_others(draft, id_, doomed, members)
    for id_ in doomed:
        draft.edit(id_, {"isDeleted": True})


def _members_of_frames(draft: Draft, doomed: dict[str, str | None]) -> dict[str, list[Value]]:
    """What stays of each doomed frame's content."""
    frames = [id_ for id_ in doomed if draft.get(id_)["type"] in FRAMES]
    return {
        id_: [element["id"] for element in draft.members(("frame", id_)) if element["id"] not in doomed]
        for id_ in frames
    }


def _take_from_others(draft: Draft, id_: str, doomed: dict[str, str | None], members: dict[str, list[Value]]) -> None:
    """Untie what stays from what goes, and note it. Elements that both go keep their ties, for restore."""
    element = draft.get(id_)
    note: Record = {"revision": draft.head.revision + 1}
    boxes = _boxes_of_holders(draft, element)
    if boxes:
        note["boxes"] = boxes
    label = label_of(draft, element)
    if label is not None:
        note["label"] = label["id"]
    untied: list[Value] = [_untie(draft, tie) for tie in list(ties_to(draft, element)) if tie.arrow_id not in doomed]
    if untied:
        note["untied"] = untied
    if members.get(id_):
        note["members"] = members[id_]
        for member in members[id_]:
            draft.edit(str(member), {"frameId": None})
    for side in SIDES:
        target = target_id(element, side)
        if target is not None and target not in doomed:
            unlist_from(draft, target, id_)
    container = container_of(draft, element)
    if container is not None and str(container["id"]) not in doomed:
        unlist_from(draft, str(container["id"]), id_)
    draft.note_deletion(id_, note)


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
    end = end_of(arrow, tie.side)
    draft.edit(tie.arrow_id, {tie.side: None})
    return {"arrow": tie.arrow_id, "side": tie.side, "binding": arrow[tie.side], "at": [end.x, end.y]}


def restore_elements(draft: Draft, arguments: CanvasRestoreElementsInput) -> None:
    """Restoring what is live already changes nothing."""
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
    for id_ in notes:
        _forget_ghosts(draft, id_)
    for id_, note in notes.items():
        _give_back(draft, id_, note)
    for id_, note in notes.items():
        _tie_again(draft, id_, note)
    reroute(draft, settled=[id_ for id_ in draft.changed_ids() if draft.get(id_)["type"] == "arrow"])


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


def _give_back(draft: Draft, id_: str, note: Record) -> None:
    """Put back into others what the deletion of `id_` took from them, where they have not been tied elsewhere."""
    untied, members = note.get("untied"), note.get("members")
    for item in untied if isinstance(untied, list) else []:
        if isinstance(item, dict):
            _tie_end(draft, id_, item)
    for member in members if isinstance(members, list) else []:
        element = draft.find(str(member))
        if element is not None and element["frameId"] is None and draft.get(id_)["type"] in FRAMES:
            draft.edit(str(member), {"frameId": id_})
    label = draft.find(text(note, "label"))
    if label is not None and label["containerId"] is None and label_of(draft, draft.get(id_)) is None:
        draft.edit(str(label["id"]), {"containerId": id_})
        if label.get("isDeleted") is not True:
            list_on(draft, id_, str(label["id"]), "text")


def _tie_end(draft: Draft, id_: str, untied: Record) -> None:
    arrow_id, side, at = text(untied, "arrow"), text(untied, "side"), as_point(untied.get("at"))
    arrow = draft.find(arrow_id)
    if arrow is None or arrow.get(side) is not None or not can_be_tied_to(draft.get(id_)):
        return
    tied = draft.edit(arrow_id, {side: untied["binding"]})
    if arrow.get("isDeleted") is True:
        return  # it is listed when it is restored itself
    draft.edit(arrow_id, {side: completed_binding(tied, side, draft.get(id_))})
    list_on(draft, id_, arrow_id, "arrow")
    if at is not None:
        _put_end(draft, arrow_id, side, at)


def _put_end(draft: Draft, arrow_id: str, side: str, at: Point) -> None:
    """Bring the end back to where it was tied, if the arrow has been moved or bent in the meantime."""
    arrow = draft.get(arrow_id)
    points = absolute_points(arrow)
    place = 0 if side == SIDES[0] else -1
    if points[place] == at:
        return
    wanted = [*points]
    wanted[place] = at
    if arrow.get("elbowed") is True:
        wanted = elbow(wanted[0], wanted[-1], points)
        draft.edit(arrow_id, {"fixedSegments": None, "startIsSpecial": None, "endIsSpecial": None})
    draft.edit(arrow_id, with_points(arrow, wanted))
    label = label_of(draft, arrow)
    if label is not None:
        old, new = middle_of(points), middle_of(wanted)
        draft.edit(str(label["id"]), shifted(label, new.x - old.x, new.y - old.y))


def _tie_again(draft: Draft, id_: str, note: Record) -> None:
    """Let what a restored element is tied to say so too; what is still deleted gets a note for its own restoring."""
    element, boxes = draft.get(id_), note.get("boxes")
    known: Record = boxes if isinstance(boxes, dict) else {}
    for side in SIDES:
        if element.get(side) is not None:
            _tie_again_to_target(draft, id_, side, known.get(side))
    if element["type"] == "text" and element["containerId"] is not None:
        _tie_again_to_container(draft, id_, known.get("containerId"))
    frame_id = element["frameId"]
    frame = draft.find_live(str(frame_id))
    if frame_id is not None and (frame is None or frame["type"] not in FRAMES):
        draft.edit(id_, {"frameId": None})
        _note(draft, str(frame_id), "members", id_)


def _tie_again_to_target(draft: Draft, id_: str, side: str, was: Value) -> None:
    element = draft.get(id_)
    end = end_of(element, side)
    target = draft.find(target_id(element, side) or "")
    is_live = target is not None and target.get("isDeleted") is not True
    if target is not None and is_live and can_be_tied_to(target) and element["type"] == "arrow":
        draft.edit(id_, {side: completed_binding(element, side, target)})  # it may never have been live here
        list_on(draft, str(target["id"]), id_, "arrow")
        if isinstance(was, dict):
            _put_end(draft, id_, side, followed(was, target, end))
        return
    draft.edit(id_, {side: None})
    if target is not None and is_live:
        unlist_from(draft, str(target["id"]), id_)
    elif target is not None and element["type"] == "arrow":
        untied: Value = {"arrow": id_, "side": side, "binding": element[side], "at": [end.x, end.y]}
        _note(draft, str(target["id"]), "untied", untied)


def _tie_again_to_container(draft: Draft, id_: str, was: Value) -> None:
    container_id = text(draft.get(id_), "containerId")
    container = draft.find_live(container_id)
    if container is not None and is_container(container):
        label = label_of(draft, container)
        if label is None or label["id"] == id_:
            list_on(draft, container_id, id_, "text")
            if isinstance(was, dict) and any(was.get(name) != container[name] for name in BOX_FIELDS):
                fit_label(draft, container_id)
            return
    unlist_from(draft, container_id, id_)
    draft.edit(id_, {"containerId": None})  # it comes back as a text of its own


def _note(draft: Draft, id_: str, field: str, item: Value) -> None:
    """Add to what the restoring of the deleted element `id_` will give back."""
    element = draft.find(id_)
    if element is None or element.get("isDeleted") is not True:
        return
    note = draft.deletion(id_) or {"revision": 0}
    listed = note.get(field)
    draft.note_deletion(id_, {**note, field: [*(listed if isinstance(listed, list) else []), item]})
