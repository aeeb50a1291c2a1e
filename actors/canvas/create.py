"""canvas_create_elements: full elements or the short form, on top of what is there (canvas 2)."""

from __future__ import annotations

from typing import Final

from actors.canvas import fractional
from actors.canvas.bindings import completed_binding, label_of, list_on
from actors.canvas.draft import Draft
from actors.canvas.element import Problem, completed, fields_of, problem_of
from actors.canvas.geometry import POINT_BASED, number, text
from actors.canvas.labels import LINE_HEIGHTS, fit_label, measure_free
from actors.canvas.outcome import Rejected
from actors.canvas.plain import fault_of
from actors.canvas.routing import reroute
from actors.canvas.shape import (
    check_fields,
    check_file,
    check_frame,
    check_size,
    with_normal_points,
    with_right_angles,
    with_text,
)
from actors.canvas.ties import SIDES, can_be_tied_to, is_container, target_id
from bus.value import Record
from tools.canvas.inputs import CanvasCreateElementsInput

_OURS: Final = frozenset({"version", "versionNonce", "index", "boundElements", "updated"})
"""Fields of a full element that a new one gets from here, whatever was given."""


def create_elements(draft: Draft, arguments: CanvasCreateElementsInput) -> None:
    order = draft.state.in_order()
    indexes = fractional.ascending(len(arguments.elements), order[-1][0] if order else None)
    made: list[str] = []
    for position, given in enumerate(arguments.elements):
        record: Record = given.model_dump(exclude_unset=True)
        id_ = given.id or draft.context.new_id(f"element/{position}")
        place = f"elements.{position}"
        if draft.find(id_) is not None:
            raise Rejected("id_taken", f"{place}: its id is taken, on this canvas or earlier in this call.")
        draft.add(_built(draft, {**record, "id": id_}, indexes[position], place))
        made.append(id_)
    for position, id_ in enumerate(made):
        check_frame(draft, draft.get(id_), f"elements.{position}")
        _tie_arrow(draft, id_, f"elements.{position}")
        _tie_label(draft, id_, f"elements.{position}", arguments.elements[position].model_fields_set)
    reroute(draft)
    for position, id_ in enumerate(made):
        problem = problem_of(draft.get(id_))
        if problem is not None:
            raise Rejected.because(problem, f"elements.{position}")


def _built(draft: Draft, given: Record, index: str, place: str) -> Record:
    """The element complete and by itself. Raises Rejected."""
    kept: Record = {name: value for name, value in given.items() if name not in _OURS}
    if kept.get("isDeleted") is True:
        raise Rejected.because(Problem("field", "isDeleted", "must not be true for a new element"), place)
    if fault_of(kept) is None and kept["type"] in POINT_BASED:
        kept = _with_points(kept)
    ours: Record = {
        "seed": kept.get("seed", draft.context.number(f"seed/{text(given, 'id')}")),
        "version": 1,
        "versionNonce": 0,
        "index": index,
        "boundElements": [],
        "updated": draft.context.now_ms,
    }
    element = completed({**kept, **ours})
    check_fields(element, given, place)
    if element["type"] in POINT_BASED and "points" in element:
        element = with_right_angles(with_normal_points(element))
    if element["type"] == "text":
        element = _with_size(draft, element, given)
    _check_presence(element, place)
    check_size(element, place)
    check_file(draft, element, place)
    return element


def _with_points(given: Record) -> Record:
    """The short form of a line: from x, y across its width and height, which here may be below 0."""
    if given.get("points"):
        return {**given, "width": 0, "height": 0}  # both follow from the points
    width, height = number(given, "width"), number(given, "height")
    return {**given, "points": [[0, 0], [width, height]], "width": abs(width), "height": abs(height)}


def _with_size(draft: Draft, element: Record, given: Record) -> Record:
    if not text(element, "text"):
        return element
    if "lineHeight" not in given:
        family = element["fontFamily"]
        element = {
            **element,
            "lineHeight": LINE_HEIGHTS.get(int(number(element, "fontFamily")), 1.25) if family else 1.25,
        }
    element = with_text(element)
    if number(given, "width") > 0 and number(given, "height") > 0 and "originalText" in given:
        return element  # a full element: it was measured where it was made
    if number(given, "width") > 0 and "autoResize" not in given:
        element = {**element, "autoResize": False}
    # x is the left edge that was asked for, however the text is aligned.
    return {**element, **measure_free(draft, {"width": 0, **element}), "x": element["x"]}


def _check_presence(element: Record, place: str) -> None:
    for field in fields_of(element):
        if field not in element:
            code = "geometry" if field in ("width", "height", "points") else "field"
            raise Rejected.because(Problem(code, field, "is missing"), place)


def _tie_label(draft: Draft, id_: str, place: str, given: set[str]) -> None:
    element = draft.get(id_)
    if element["type"] != "text" or element["containerId"] is None:
        return
    container = draft.find_live(text(element, "containerId"))
    if container is None:
        raise Rejected("unknown_element", f"{place}: containerId names no element of this canvas.")
    if not is_container(container):
        problem = Problem("field", "containerId", "must name a rectangle, ellipse, diamond or arrow")
        raise Rejected.because(problem, place)
    if label_of(draft, container) is not None:
        problem = Problem("field", "containerId", "names an element that has a label already; update that text")
        raise Rejected.because(problem, place)
    # Labels are centred unless the call says otherwise, and belong where their container belongs.
    draft.edit(id_, {"autoResize": True, "groupIds": container["groupIds"], "frameId": container["frameId"]})
    if "textAlign" not in given:
        draft.edit(id_, {"textAlign": "center"})
    if "verticalAlign" not in given:
        draft.edit(id_, {"verticalAlign": "middle"})
    list_on(draft, str(container["id"]), id_, "text")
    fit_label(draft, str(container["id"]))


def _tie_arrow(draft: Draft, id_: str, place: str) -> None:
    for side in SIDES:
        element = draft.get(id_)
        if element.get(side) is None:
            continue
        if element["type"] != "arrow":
            raise Rejected.because(Problem("field", side, "belongs to arrows"), place)
        target = draft.find_live(target_id(element, side) or "")
        if target is None:
            raise Rejected("unknown_element", f"{place}: {side} names no element of this canvas.")
        if not can_be_tied_to(target):
            raise Rejected.because(Problem("field", side, "names an element that arrows cannot be tied to"), place)
        draft.edit(id_, {side: completed_binding(element, side, target)})
        list_on(draft, str(target["id"]), id_, "arrow")
