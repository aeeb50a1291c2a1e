"""Arrows follow what they are tied to (canvas 4.2).

A tied end keeps its place relative to its shape's box through every move, resize and rotation of the shape; an end
that is not tied stays. An arrow whose ends both go the same way moves as a whole, so nothing of its course changes.
Elbow arrows are led anew in right angles; the editor takes its own course when someone touches them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from actors.canvas.bindings import label_of, ties_to
from actors.canvas.draft import Draft
from actors.canvas.geometry import (
    Point,
    absolute_points,
    centre_of,
    middle_of,
    number,
    rotated,
    with_points,
)
from actors.canvas.ties import SIDES, target_id
from bus.value import Record, Value

BOX_FIELDS: Final = ("x", "y", "width", "height", "angle")


def reroute(draft: Draft, settled: Collection[str] = ()) -> None:
    """Lead every arrow that is tied to something whose box changed in this call, or that changed itself.

    Arrows named in `settled` are where they belong already.
    """
    arrows: dict[str, None] = {}
    for id_ in draft.changed_ids():
        before, element = draft.before(id_), draft.find_live(id_)
        if before is None or element is None or not _box_differs(before, element):
            continue
        if element["type"] == "arrow":
            arrows[id_] = None
        for tie in ties_to(draft, element):
            arrows[tie.arrow_id] = None
    for arrow_id in arrows:
        if arrow_id not in settled:
            _lead(draft, arrow_id)


def _box_differs(before: Record, element: Record) -> bool:
    return any(before.get(field) != element.get(field) for field in (*BOX_FIELDS, "points"))


def _lead(draft: Draft, arrow_id: str) -> None:
    arrow, before = draft.get(arrow_id), draft.before(arrow_id)
    if before is None:
        return
    old, points = absolute_points(before), absolute_points(arrow)
    start = _tied_end(draft, arrow, SIDES[0], old[0])
    end = _tied_end(draft, arrow, SIDES[1], old[-1])
    if start is None and end is None:
        return
    by_itself = not _box_differs(before, arrow)
    if start is not None and end is not None and by_itself:
        went = Point(start.x - old[0].x, start.y - old[0].y)
        if _is_near(Point(end.x - old[-1].x, end.y - old[-1].y), went):
            _shift(draft, arrow, went)
            return
    wanted = [start or points[0], *points[1:-1], end or points[-1]]
    if all(_is_near(one, other) for one, other in zip(wanted, points, strict=True)):
        return
    # Its label lies where `points` have it: whoever changed the arrow itself has carried the label along.
    if arrow.get("elbowed") is True:
        wanted = elbow(wanted[0], wanted[-1], points)
        draft.edit(arrow_id, {"fixedSegments": None, "startIsSpecial": None, "endIsSpecial": None})
    draft.edit(arrow_id, with_points(arrow, wanted))
    _carry_label(draft, arrow_id, middle_of(points), middle_of(wanted))


def elbow(start: Point, end: Point, course: list[Point]) -> list[Point]:
    """A course from `start` to `end` in right angles that leaves and arrives in the directions of `course`."""
    if start.x == end.x or start.y == end.y:
        return [start, end]
    leaves_across = _is_across(course[0], course[1])
    if leaves_across != _is_across(course[-2], course[-1]):
        return [start, Point(end.x, start.y) if leaves_across else Point(start.x, end.y), end]
    if leaves_across:
        middle = (start.x + end.x) / 2
        return [start, Point(middle, start.y), Point(middle, end.y), end]
    middle = (start.y + end.y) / 2
    return [start, Point(start.x, middle), Point(end.x, middle), end]


def _is_across(one: Point, other: Point) -> bool:
    return abs(one.x - other.x) >= abs(one.y - other.y)


def _tied_end(draft: Draft, arrow: Record, side: str, end: Point) -> Point | None:
    """Where the tied end, which was at `end` before the call, now belongs; None for an end that is not tied."""
    id_ = target_id(arrow, side)
    target = None if id_ is None else draft.find_live(id_)
    if id_ is None or target is None:
        return None
    before = draft.before(id_)
    return end if before is None else followed(before, target, end)


def followed(before: Record, after: Record, point: Point) -> Point:
    """Where `point` goes when the box `before`, to which it is fixed, becomes the box `after`."""
    if all(before[field] == after[field] for field in ("width", "height", "angle")):
        return Point(
            point.x + number(after, "x") - number(before, "x"), point.y + number(after, "y") - number(before, "y")
        )
    inner = rotated(point, centre_of(before), -number(before, "angle"))
    moved = Point(_stretched(before, after, "x", "width", inner.x), _stretched(before, after, "y", "height", inner.y))
    return rotated(moved, centre_of(after), number(after, "angle"))


def _stretched(before: Record, after: Record, edge: str, length: str, at: float) -> float:
    """Inside the box in proportion, outside it at the same distance from the nearer edge."""
    low, size = number(before, edge), number(before, length)
    new_low, new_size = number(after, edge), number(after, length)
    if at <= low:
        return new_low - (low - at)
    if at >= low + size:
        return new_low + new_size + (at - low - size)
    return new_low + (at - low) / size * new_size


def _is_near(one: Point, other: Point) -> bool:
    return abs(one.x - other.x) < 1e-6 and abs(one.y - other.y) < 1e-6


def _shift(draft: Draft, element: Record, by: Point) -> None:
    id_ = element["id"]
    assert isinstance(id_, str)
    draft.edit(id_, shifted(element, by.x, by.y))
    label = label_of(draft, element)
    if label is not None:
        draft.edit(str(label["id"]), shifted(label, by.x, by.y))


def shifted(element: Record, dx: float, dy: float) -> Record:
    """The fields that move `element` by dx, dy."""
    fields: dict[str, Value] = {"x": number(element, "x") + dx, "y": number(element, "y") + dy}
    return fields


def _carry_label(draft: Draft, arrow_id: str, old: Point, new: Point) -> None:
    label = label_of(draft, draft.get(arrow_id))
    if label is not None:
        draft.edit(str(label["id"]), shifted(label, new.x - old.x, new.y - old.y))
