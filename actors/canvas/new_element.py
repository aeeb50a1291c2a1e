"""One new element, complete and by itself, before it is tied to others (canvas 2, 4.1)."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from actors.canvas import fractional
from actors.canvas.draft import Draft
from actors.canvas.element import Problem, completed, fields_of
from actors.canvas.geometry import POINT_BASED, number, text
from actors.canvas.labels import LINE_HEIGHTS, measure_free
from actors.canvas.outcome import Rejected
from actors.canvas.plain import fault_of, given_bytes
from actors.canvas.shape import (
    check_fields,
    check_file,
    check_size,
    with_normal_points,
    with_right_angles,
    with_text,
)
from bus.value import Record

_OURS: Final = frozenset({"version", "versionNonce", "index", "boundElements", "updated", "label", "start", "end"})
"""Fields of a full element that a new one gets from here, whatever was given; and the parts of the short form."""

TO_BE_LED: Final[Record] = {"points": [[0, 0], [1, 1]], "width": 0, "height": 0}
"""The course of an arrow that gets its own when it is tied."""


def indexes_on_top(draft: Draft, count: int) -> list[str]:
    order = draft.state.in_order()
    return fractional.ascending(count, order[-1][0] if order else None)


def index_right_above(draft: Draft, id_: str) -> str | None:
    """An index between an element that was there before and the one above it; None when there is no such place."""
    element = draft.before(id_)
    order = draft.state.in_order()
    place = 0 if element is None else bisect_right(order, (text(element, "index"), id_))
    if element is None or place == len(order):
        return None
    index = fractional.between(text(element, "index"), order[place][0])
    return index if fractional.is_valid(index) else None


def add_new(draft: Draft, given: Record, index: str, place: str) -> None:
    """Add the element to the draft, complete. `given` has its id, which must be new.

    Raises Rejected, also when the call changes too much (work.py).
    """
    id_ = text(given, "id")
    if draft.find(id_) is not None:
        raise Rejected("id_taken", f"{place}: its id is taken, on this canvas or earlier in this call.")
    draft.work.given(given_bytes(given))
    draft.add(*_built(draft, given, index, place), place)


def _built(draft: Draft, given: Record, index: str, place: str) -> tuple[Record, Record]:
    """The element complete and by itself, and as it was when its fields were checked. Raises Rejected."""
    kept: Record = {name: value for name, value in given.items() if name not in _OURS}
    if kept.get("isDeleted") is True:
        raise Rejected.because(Problem("field", "isDeleted", "must not be true for a new element"), place)
    if kept["type"] in POINT_BASED and fault_of(kept) is None:
        kept = _with_points(kept, given)
    ours: Record = {
        "seed": kept.get("seed", draft.context.number(f"seed/{text(given, 'id')}")),
        "version": 1,
        "versionNonce": 0,
        "index": index,
        "boundElements": [],
        "updated": draft.context.now_ms,
    }
    element = checked = completed({**kept, **ours})
    check_fields(element, given, place)
    if element["type"] in POINT_BASED and "points" in element:
        element = with_right_angles(with_normal_points(element))
    if element["type"] == "text":
        element = _with_size(draft, element, given)
    _check_presence(element, place)
    check_size(element, place)
    check_file(draft, element, place)
    return element, checked


def _with_points(kept: Record, given: Record) -> Record:
    """The short form of a line: from x, y across its width and height, which here may be below 0."""
    if kept.get("points"):
        return {**kept, "width": 0, "height": 0}  # both follow from the points
    if given.get("end") is not None and (given.get("start") is not None or not kept.keys() & {"width", "height"}):
        return {"x": 0, "y": 0, **kept, **TO_BE_LED}
    width, height = number(kept, "width"), number(kept, "height")
    return {**kept, "points": [[0, 0], [width, height]], "width": abs(width), "height": abs(height)}


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
    for field in ("text", *fields_of(element)):  # without its words a text has no size either
        if field in fields_of(element) and field not in element:
            code = "geometry" if field in ("width", "height", "points") else "field"
            raise Rejected.because(Problem(code, field, "is missing"), place)
