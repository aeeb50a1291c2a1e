"""canvas_update_elements: fields of elements, and what follows from them for labels and arrows (canvas 2, 4.2)."""

from __future__ import annotations

from typing import Final

from actors.canvas.bindings import label_of
from actors.canvas.draft import Draft
from actors.canvas.element import Problem
from actors.canvas.geometry import POINT_BASED, absolute_points, middle_of, number, points_count
from actors.canvas.labels import carried, fit_label, is_label, measure_free, normalized
from actors.canvas.outcome import Rejected
from actors.canvas.plain import given_bytes
from actors.canvas.routing import box_differs, reroute, shifted
from actors.canvas.shape import (
    check_fields,
    check_frame,
    check_size,
    stretched_points,
    with_normal_points,
    with_right_angles,
)
from bus.value import Record
from tools.canvas.inputs import CanvasUpdateElementsInput

_STRUCTURE: Final = frozenset(
    {
        "id", "type", "version", "versionNonce", "index", "isDeleted", "updated", "boundElements", "containerId",
        "startBinding", "endBinding", "originalText", "fileId", "elbowed", "fixedSegments", "startIsSpecial",
        "endIsSpecial", "label", "start", "end",
    }
)  # fmt: skip
_OF_TEXTS: Final = frozenset({"text", "fontSize", "fontFamily", "lineHeight", "textAlign", "verticalAlign"})
_BELONGS_TO_CONTAINER: Final = frozenset({"x", "y", "width", "height", "angle", "groupIds", "frameId", "autoResize"})
_MEASURED: Final = frozenset({"text", "fontSize", "fontFamily", "lineHeight", "autoResize", "width", "height"})
_SHAPING: Final = frozenset({"points", "width", "height"})
_ALIGNED: Final = frozenset({"textAlign", "verticalAlign"})


def update_elements(draft: Draft, arguments: CanvasUpdateElementsInput) -> None:
    """The rule of canvas_update_elements (canvas 2, 4.2).

    Raises Rejected for elements that are not there or deleted, fields that cannot be set or kept, labels' places, and
    when the call changes too much (work.py).
    """
    for position, update in enumerate(arguments.updates):
        place = f"updates.{position}"
        element = draft.require_live(update.id, place)
        given: Record = update.set.model_dump(exclude_unset=True)
        draft.work.given(given_bytes(given))
        _check_settable(draft, element, given, place)
        changed: Record = {**element, **given}
        check_fields(changed, given, place, element)
        if element["type"] in POINT_BASED:
            if given.keys() & _SHAPING:
                draft.work.points(points_count(changed))
            changed = _with_stretched_points(element, changed, given, place)
        if element["type"] == "text":
            changed = _with_measured_text(draft, element, changed, given)
        elif given.keys() & {"width", "height"}:
            check_size(changed, place)
        if "frameId" in given:
            check_frame(draft, changed, place)
        draft.tell_slips(element, given.keys() - element.keys(), f"{place}.set")
        draft.edit(update.id, changed)
        _carry_label(draft, update.id, element, given)
    reroute(draft)


def _check_settable(draft: Draft, element: Record, given: Record, place: str) -> None:
    if "label" in given:
        words = "cannot be set by an update; set `text` of the label's own element, whose id is among boundElements of "
        words += "this one, or create a text whose containerId is this one"
        raise Rejected.because(Problem("field", "label", words), place)
    foreign = sorted(given.keys() & _OF_TEXTS) if element["type"] != "text" else []
    if foreign:
        words = "belongs to text elements; set it on the label's own element, whose id is among boundElements"
        raise Rejected.because(Problem("field", foreign[0], words), place)
    structural = sorted(given.keys() & _STRUCTURE)
    if structural:
        raise Rejected.because(Problem("field", structural[0], "cannot be set by an update"), place)
    if is_label(draft, element) and given.keys() & _BELONGS_TO_CONTAINER:
        raise Rejected(
            "bound_text",
            f"{place} is the label of another element, which decides its place, size, group, frame. Update that one.",
        )


def _with_stretched_points(element: Record, changed: Record, given: Record, place: str) -> Record:
    if "points" not in given and given.keys() & {"width", "height"}:
        points = stretched_points(element, number(changed, "width"), number(changed, "height"))
        if points is None:
            raise Rejected.because(Problem("geometry", "points", "must be set to give a straight line breadth"), place)
        changed = {**changed, "points": points}
    if not given.keys() & _SHAPING:
        return changed
    return with_right_angles(with_normal_points(changed))


def _with_measured_text(draft: Draft, element: Record, changed: Record, given: Record) -> Record:
    if "text" in given:
        words = normalized(str(given["text"]))
        changed = {**changed, "text": words, "originalText": words}
        if words == element["originalText"]:
            # The same words again: keep the line breaks and the size that they have.
            changed["text"] = element["text"]
            given = {name: value for name, value in given.items() if name != "text"}
    differs = any(changed.get(name) != element.get(name) for name in _MEASURED & given.keys())
    if not changed["text"] or is_label(draft, element) or not differs:
        return changed
    if "width" in given and changed["width"] != element["width"] and number(changed, "width") > 0:
        changed["autoResize"] = False
    measured = measure_free(draft, {**changed, "width": changed["width"] if "width" in given else element["width"]})
    if "x" in given:
        measured["x"] = given["x"]
    return {**changed, **measured}


def _carry_label(draft: Draft, id_: str, before: Record, given: Record) -> None:
    """Let a label follow its container, and be fitted anew when its words, its font or the room changed."""
    element = draft.get(id_)
    if element["type"] == "text":
        container_id = element["containerId"]
        if is_label(draft, element) and given.keys() & (_MEASURED | _ALIGNED) and element != before:
            fit_label(draft, str(container_id))
        return
    label = label_of(draft, element)
    if label is None:
        return
    shared: Record = {name: given[name] for name in ("groupIds", "frameId") if name in given}
    if element["type"] == "arrow":
        if box_differs(before, element):
            draft.work.points(points_count(element))
            old, new = middle_of(absolute_points(before)), middle_of(absolute_points(element))
            shared |= shifted(label, new.x - old.x, new.y - old.y)
        draft.edit(str(label["id"]), shared)
        return
    if element["width"] != before["width"] or element["height"] != before["height"]:
        draft.edit(str(label["id"]), shared)
        fit_label(draft, id_)
        return
    draft.edit(str(label["id"]), {**shared, **carried(label, before, element)})
