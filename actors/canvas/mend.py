"""Ties of an imported scene, made true in both directions (canvas 4.2). Works on elements by id, in scene order.

Files from other tools list labels that do not know it, point at containers that are gone, or leave ghosts of deleted
arrows behind. What can be tied is tied, in both binding forms; what cannot is let go. Deleted elements are left alone.
"""

from __future__ import annotations

from actors.canvas.bindings import SIDES, bound_list, can_be_tied_to, completed_binding, is_container, target_id
from actors.canvas.element import FRAMES
from actors.canvas.geometry import text
from bus.value import Record, Value


def mend_ties(elements: dict[str, Record]) -> int:
    """Replace elements in the mapping by mended ones; answers how many ties had to be put right."""
    live = {id_: element for id_, element in elements.items() if element["isDeleted"] is not True}
    mended = _adopt_labels(live) + _let_go_of_labels(live) + _mend_arrows(live) + _mend_frames(live) + _mend_lists(live)
    elements.update(live)
    return mended


def _adopt_labels(live: dict[str, Record]) -> int:
    """A container lists a text that belongs nowhere: it is its label, if the container has none."""
    labelled = {text(element, "containerId") for element in live.values() if element["type"] == "text"}
    mended = 0
    for id_, container in list(live.items()):
        for item in bound_list(container) if is_container(container) and id_ not in labelled else []:
            label = live.get(text(item, "id"))
            if item.get("type") == "text" and label and label["type"] == "text" and label["containerId"] is None:
                live[text(item, "id")] = {**label, "containerId": id_}
                labelled.add(id_)
                mended += 1
                break
    return mended


def _let_go_of_labels(live: dict[str, Record]) -> int:
    """A text names a container that is gone, cannot hold a label or has one: it stays as a text of its own."""
    preferred: dict[str, str] = {}
    for id_, container in live.items():
        for item in bound_list(container):
            label = live.get(text(item, "id"), {})
            if item.get("type") == "text" and label.get("type") == "text" and label["containerId"] == id_:
                preferred.setdefault(id_, text(item, "id"))
    mended = 0
    for id_, element in list(live.items()):
        container_id = element.get("containerId") if element["type"] == "text" else None
        if not isinstance(container_id, str):
            continue
        holder = live.get(container_id)
        if holder is None or not is_container(holder) or preferred.setdefault(container_id, id_) != id_:
            live[id_] = {**element, "containerId": None}
            mended += 1
    return mended


def _mend_arrows(live: dict[str, Record]) -> int:
    mended = 0
    for id_, element in list(live.items()):
        for side in SIDES:
            if element.get(side) is None or element["type"] not in ("arrow", "line"):
                continue
            target = live.get(target_id(element, side) or "")
            if element["type"] == "arrow" and target is not None and can_be_tied_to(target):
                element = {**element, side: completed_binding(element, side, target)}
            else:
                element = {**element, side: None}
                mended += 1
        live[id_] = element
    return mended


def _mend_frames(live: dict[str, Record]) -> int:
    mended = 0
    for id_, element in list(live.items()):
        frame_id = element["frameId"]
        frame = live.get(str(frame_id))
        if frame_id is not None and (frame is None or frame["type"] not in FRAMES or frame_id == id_):
            live[id_] = {**element, "frameId": None}
            mended += 1
    return mended


def _mend_lists(live: dict[str, Record]) -> int:
    """boundElements as the other sides have it, in the order it had, without ghosts and doubles."""
    true_ties: dict[str, dict[str, str]] = {id_: {} for id_ in live}
    for id_, element in live.items():
        if element["type"] == "text" and element["containerId"] is not None:
            true_ties[text(element, "containerId")][id_] = "text"
        if element["type"] == "arrow":
            for side in SIDES:
                target = target_id(element, side)
                if target is not None:
                    true_ties[target][id_] = "arrow"
    mended = 0
    for id_, ties in true_ties.items():
        element = live[id_]
        order = [text(item, "id") for item in bound_list(element) if text(item, "id") in ties]
        wanted: list[Value] = [{"id": other, "type": ties[other]} for other in dict.fromkeys([*order, *ties])]
        if wanted != (element["boundElements"] or []):
            live[id_] = {**element, "boundElements": wanted}
            mended += 1
    return mended
