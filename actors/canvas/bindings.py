"""Labels and arrows: what ties elements together, and that both sides say so (canvas 4.2).

A label is a text with `containerId`; its container lists it in `boundElements`. An arrow names what its ends are tied
to in `startBinding` and `endBinding`; each target lists the arrow. The text's and the arrow's own fields are the
truth, `boundElements` follows. Only live elements are tied: a deleted one keeps its fields as they were, for restore.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from actors.canvas.draft import Draft
from actors.canvas.edges import (
    at_ratio,
    distance_from,
    focus_point,
    focus_through,
    is_middle,
    is_ratio,
    is_within,
    kept_ratio,
    ratio_of,
)
from actors.canvas.geometry import Point, absolute_points, number, points_count, text
from actors.canvas.plain import is_number
from actors.canvas.ties import SIDES, bound_list, target_id
from bus.value import Record, Value

GAP: Final = 5
GAP_MIN: Final = 1
"""0.18.1 lets an end whose gap is 0 run to the middle of its shape."""
ORBIT: Final = "orbit"
INSIDE: Final = "inside"


class Tie(NamedTuple):
    """One end of one arrow."""

    arrow_id: str
    side: str


def label_of(draft: Draft, container: Record) -> Record | None:
    """The live text that is this element's label."""
    for item in bound_list(container):
        label = draft.find_live(text(item, "id")) if item.get("type") == "text" else None
        if label is not None and label.get("containerId") == container["id"]:
            return label
    return None


def container_of(draft: Draft, label: Record) -> Record | None:
    """The live element whose label this text is."""
    id_ = text(label, "containerId") if label.get("type") == "text" else ""
    return draft.find_live(id_) if id_ else None


def ties_to(draft: Draft, element: Record) -> Iterator[Tie]:
    """The ends of live arrows that are tied to this element."""
    for item in bound_list(element):
        arrow = draft.find_live(text(item, "id")) if item.get("type") == "arrow" else None
        if arrow is not None:
            for side in SIDES:
                if target_id(arrow, side) == element["id"]:
                    yield Tie(text(item, "id"), side)


def list_on(draft: Draft, holder_id: str, id_: str, kind: str) -> None:
    """Let the holder's boundElements say that `id_` is tied to it, once, last.

    Raises Rejected when the call changes too much, as all that ties does (work.py).
    """
    if id_ not in draft.bound_ids(holder_id):
        draft.bind(holder_id, {"id": id_, "type": kind})


def unlist_from(draft: Draft, holder_id: str, ids: Collection[str]) -> None:
    """Let the holder, if it is live, list none of these. For many at once: one by one they take a walk each."""
    holder = draft.find_live(holder_id)
    if holder is not None and not draft.bound_ids(holder_id).isdisjoint(ids):
        kept: list[Value] = [item for item in bound_list(holder) if item.get("id") not in ids]
        draft.edit(holder_id, {"boundElements": kept})


def aimed_binding(target: Record, aim: Point) -> Record:
    """The binding, in both forms, of an end that NEXUS leads itself: it aims there and stops before the outline.

    `focus` is right for an aim at the centre; for others `refocused` has it, once the arrow is led.
    """
    return {
        "elementId": target["id"],
        "focus": 0,
        "gap": usual_gap(target),
        "fixedPoint": ratio_of(target, aim),
        "mode": ORBIT,
    }


def completed_binding(arrow: Record, side: str, target: Record) -> Record:
    """The binding of that side in both forms at once, so that every version of the editor reads it.

    Each form that is missing is computed from the other, or from where the end lies: nothing moves by it. A fixedPoint
    is kept as editors write it.
    """
    binding = arrow[side]
    assert isinstance(binding, dict)
    whole: Record = dict(binding)
    if is_ratio(whole.get("fixedPoint")):
        whole["fixedPoint"] = kept_ratio(whole["fixedPoint"])
    if whole.get("mode") == "":
        del whole["mode"]
    gap = whole.get("gap")
    has_point, has_focus = is_ratio(whole.get("fixedPoint")), is_number(whole.get("focus"))
    has_gap = is_number(gap) and gap >= 0
    if has_point and has_focus and has_gap and isinstance(whole.get("mode"), str):
        return whole
    end, seen_from = _last_part(arrow, side)
    is_elbow = arrow.get("elbowed") is True
    if not has_gap:
        whole["gap"] = max(distance_from(target, end), 0 if is_elbow else GAP_MIN)
    if not isinstance(whole.get("mode"), str):
        is_inside = has_focus and gap == 0 and distance_from(target, end) < 0
        whole["mode"] = INSIDE if is_inside and not is_elbow else ORBIT
    if not has_point:
        whole["fixedPoint"] = ratio_of(target, _aim(whole, is_elbow, target, (seen_from, end)))
    if not has_focus:
        line_end = at_ratio(target, whole["fixedPoint"]) if has_point else end
        whole["focus"] = 0 if is_elbow else focus_through(target, seen_from, line_end)[0]
    return whole


def _aim(binding: Record, is_elbow: bool, target: Record, last_part: tuple[Point, Point]) -> Point:
    """What an end without a fixedPoint aims at; elbow arrows and ends inside have their fixedPoint where they end."""
    seen_from, end = last_part
    if is_elbow or binding["mode"] == INSIDE:
        return end
    if is_number(binding.get("focus")):
        return focus_point(target, number(binding, "focus"), seen_from)
    aim = focus_through(target, seen_from, end)[1]
    return aim if is_within(target, 0, aim) else end


def refocused(binding: Record, target: Record, seen_from: Point, end: Point) -> Record:
    """The binding after its arrow was led: 0.18.1 has the same line again only if `focus` follows."""
    if is_middle(binding["fixedPoint"]):
        return {**binding, "focus": 0}
    return {**binding, "focus": focus_through(target, seen_from, end)[0]}


def usual_gap(target: Record) -> float:
    """How far from a shape the editor keeps arrows."""
    return GAP + number(target, "strokeWidth") / 2


def end_of(arrow: Record, side: str) -> Point:
    """Where that end of an arrow is seen."""
    return _last_part(arrow, side)[0]


def count_turned(draft: Draft, arrow: Record) -> None:
    """Charge for an arrow whose ends are asked for: only if it is turned all of its points are looked at.

    Raises Rejected when the call computes with too many (work.py).
    """
    if number(arrow, "angle") != 0:
        draft.work.points(points_count(arrow))


def _last_part(arrow: Record, side: str) -> tuple[Point, Point]:
    """That end, and the point next to it."""
    if number(arrow, "angle") == 0:
        # The others need not be looked at.
        listed = arrow["points"]
        assert isinstance(listed, list)
        arrow = {**arrow, "points": listed[:2] if side == SIDES[0] else listed[-2:]}
    points = absolute_points(arrow)
    return (points[0], points[1]) if side == SIDES[0] else (points[-1], points[-2])
