"""New ties of arrows: what an end may be tied to, what it aims at, and the course that follows (canvas 2, 4.2).

The short form (`start`, `end`) and canvas_connect_elements both come here. An end aims at the centre of its shape; a
second arrow between the same two shapes runs beside the first. An arrow from a shape to itself becomes a loop around
its upper right corner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from actors.canvas.bindings import (
    aimed_binding,
    completed_binding,
    container_of,
    list_new_on,
    list_on,
    ties_to,
    usual_gap,
)
from actors.canvas.draft import Draft
from actors.canvas.edges import distance_from, is_within, outline_hit
from actors.canvas.geometry import Box, Point, absolute_points, box_of, centre_of
from actors.canvas.outcome import Rejected
from actors.canvas.routing import draw, draw_elbow, elbow, led
from actors.canvas.ties import SIDES, bound_count, can_be_tied_to, target_id
from bus.value import Record

_NEAR: Final = 16
"""An end that was drawn at most so far outside its shape is meant to end there: the editor's own measure."""
_BESIDE: Final = 30
_BESIDE_SHARE_MAX: Final = 0.6
_LOOP_REACH: Final = 30
_LOOP_SHARE: Final = 0.25


def shape_to_tie_to(draft: Draft, id_: str, place: str) -> Record:
    """The shape that the call names there; for a label, the shape that it belongs to. Raises Rejected."""
    element = draft.require_live(id_, place)
    container = container_of(draft, element)
    shape = element if container is None else container
    if not can_be_tied_to(shape):
        raise Rejected(
            "field",
            f"{place} names a line, an arrow, a drawing or the label of one, and arrows cannot be tied to those. "
            "Name a shape, text, image or frame.",
        )
    return shape


def tie_as_drawn(draft: Draft, arrow_id: str, side: str, target: Record) -> bool:
    """Tie an end where it was drawn, unless only the shape is named and the end lies elsewhere; whether that was done.

    A full binding is taken at its word.
    """
    arrow = draft.get(arrow_id)
    binding = arrow[side]
    assert isinstance(binding, dict)
    is_bare = not binding.keys() & {"focus", "gap", "fixedPoint"}
    end = absolute_points(arrow)[0 if side == SIDES[0] else -1]
    if is_bare and not -1 <= distance_from(target, end) <= _NEAR:
        return False
    draft.edit(arrow_id, {side: completed_binding(arrow, side, target)})
    list_on(draft, str(target["id"]), arrow_id, "arrow")
    return True


def tie_and_lead(draft: Draft, arrow_id: str, targets: Mapping[str, Record], place: str) -> None:
    """Tie those sides of a new arrow to the shapes' outlines. Raises Rejected where there is no way to draw it."""
    arrow = draft.get(arrow_id)
    points = absolute_points(arrow)
    is_elbow, ids = arrow.get("elbowed") is True, [str(target["id"]) for target in targets.values()]
    aims = {side: centre_of(target) for side, target in targets.items()}
    kept = [target_id(arrow, side) for side in SIDES if side not in targets]
    if len(targets) == 2 and ids[0] == ids[1]:
        if is_elbow:
            raise Rejected(
                "field", f"{place}: an arrow from an element to itself cannot be elbowed. Leave elbowed out."
            )
        shape = targets[SIDES[0]]
        if all(is_within(shape, usual_gap(shape), bend) for bend in points[1:-1]):
            points, aims = _loop(draft, arrow_id, shape)
    elif len(targets) == 2 and len(points) == 2:
        aims = _side_by_side(draft, arrow_id, targets, place)
    draft.edit(arrow_id, {side: aimed_binding(target, aims[side]) for side, target in targets.items()})
    for id_ in dict.fromkeys(ids):
        if id_ not in kept:
            list_new_on(draft, id_, arrow_id, "arrow")
    if is_elbow:
        draw_elbow(draft, arrow_id, _elbow_course(points, targets))
    else:
        draw(draft, arrow_id, led(draft, draft.get(arrow_id), points, list(targets)))


def _side_by_side(draft: Draft, arrow_id: str, targets: Mapping[str, Record], place: str) -> dict[str, Point]:
    """What the ends of a straight arrow aim at, out of the way of those that are there. Raises Rejected."""
    one, other = targets[SIDES[0]], targets[SIDES[1]]
    centres = {side: centre_of(target) for side, target in targets.items()}
    length = math.dist(*centres.values())
    if length < 1:
        raise Rejected(
            "geometry", f"{place} leads from an element to one with the same centre. Move one of them first."
        )
    before = _arrows_between(draft, arrow_id, one, other)
    if before == 0:
        return centres
    # The same way for both directions, so that an answer does not run over its call.
    first, last = sorted(targets.values(), key=lambda target: str(target["id"]))
    start, end = centre_of(first), centre_of(last)
    aside = Point((start.y - end.y) / length, (end.x - start.x) / length)
    room = min(_reach(target, aside) for target in (one, other)) * _BESIDE_SHARE_MAX
    offset = min((before + 1) // 2 * _BESIDE, room) * (1 if before % 2 else -1)
    return {side: Point(at.x + aside.x * offset, at.y + aside.y * offset) for side, at in centres.items()}


def _arrows_between(draft: Draft, arrow_id: str, one: Record, other: Record) -> int:
    if bound_count(one) > bound_count(other):
        one, other = other, one
    arrows = {tie.arrow_id for tie in ties_to(draft, one)} - {arrow_id}
    wanted = {one["id"], other["id"]}
    return sum({target_id(draft.get(id_), side) for side in SIDES} == wanted for id_ in arrows)


def _reach(shape: Record, way: Point) -> float:
    """From the centre to the outline, in that direction."""
    centre, box = centre_of(shape), box_of(shape)
    far = box.right - box.left + box.bottom - box.top
    hit = outline_hit(shape, 0, Point(centre.x + way.x * far, centre.y + way.y * far), centre)
    return 0 if hit is None else math.dist(hit, centre)


def _loop(draft: Draft, arrow_id: str, shape: Record) -> tuple[list[Point], dict[str, Point]]:
    """The course of an arrow from a shape to itself, further out than those it has, and what its ends aim at."""
    box, centre = box_of(shape), centre_of(shape)
    reach = _LOOP_REACH * (1 + _arrows_between(draft, arrow_id, shape, shape))
    right, top = box.right + reach, box.top - reach
    start = Point(centre.x, box.top + (box.bottom - box.top) * _LOOP_SHARE)
    end = Point(box.right - (box.right - box.left) * _LOOP_SHARE, centre.y)
    course = [start, Point(right, start.y), Point(right, top), Point(end.x, top), end]
    return course, {SIDES[0]: start, SIDES[1]: end}


def _elbow_course(points: list[Point], targets: Mapping[str, Record]) -> list[Point]:
    """In right angles between the sides that face each other; `points` tell where an end is that is not led."""
    places = {side: points[0 if side == SIDES[0] else -1] for side in SIDES}
    boxes = {
        side: box_of(targets[side]) if side in targets else Box(at.x, at.y, at.x, at.y) for side, at in places.items()
    }
    one, other = boxes[SIDES[0]], boxes[SIDES[1]]
    across = max(other.left - one.right, one.left - other.right)
    down = max(other.top - one.bottom, one.top - other.bottom)
    if across >= down:
        way = Point(1 if one.left + one.right <= other.left + other.right else -1, 0)
    else:
        way = Point(0, 1 if one.top + one.bottom <= other.top + other.bottom else -1)
    back = Point(-way.x, -way.y)
    start = _facing(targets, SIDES[0], way) or places[SIDES[0]]
    end = _facing(targets, SIDES[1], back) or places[SIDES[1]]
    inner = [Point(start.x + way.x, start.y + way.y), Point(end.x + back.x, end.y + back.y)]
    return elbow(start, end, [start, *inner, end])


def _facing(targets: Mapping[str, Record], side: str, way: Point) -> Point | None:
    """Before the middle of the shape's side in that direction."""
    target = targets.get(side)
    if target is None:
        return None
    centre, box, gap = centre_of(target), box_of(target), usual_gap(target)
    far = box.right - box.left + box.bottom - box.top + gap
    return outline_hit(target, gap, Point(centre.x + way.x * far, centre.y + way.y * far), centre) or centre
