"""New ties of arrows: what an end may be tied to, what it aims at, and the course that follows (canvas 2, 4.2).

The short form (`start`, `end`) and canvas_connect_elements both come here. An end aims at the centre of its shape; a
second arrow between the same two shapes runs beside the first. An arrow from a shape to itself becomes a loop around
its upper right corner.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

from actors.canvas.bindings import (
    aimed_binding,
    completed_binding,
    container_of,
    end_of,
    list_on,
    ties_to,
    usual_gap,
)
from actors.canvas.draft import Draft
from actors.canvas.edges import distance_from, is_within, outline_hit
from actors.canvas.geometry import Box, Point, absolute_points, box_of, centre_of, points_count, text
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
    if is_bare and not -1 <= distance_from(target, end_of(arrow, side)) <= _NEAR:
        return False
    draft.edit(arrow_id, {side: completed_binding(arrow, side, target)})
    list_on(draft, str(target["id"]), arrow_id, "arrow")
    return True


class Between:
    """How many arrows there are between two shapes, for whoever ties many in one draft.

    Whose arrows were counted once is kept, and each arrow that is tied from then on is to be told: so neither a pair
    that is named 500 times nor one with thousands of arrows is gone over for each.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._counted: dict[str, Counter[str]] = {}

    def count(self, one: Record, other: Record) -> int:
        """Arrows from one to the other or back, but for those that are not tied at both ends yet.

        Raises Rejected when the call has looked at too many.
        """
        shapes = sorted((one, other), key=bound_count)
        ids = [text(shape, "id") for shape in shapes]
        if ids[0] not in self._counted:
            if ids[1] in self._counted:
                ids.reverse()
            else:
                self._count_all(shapes[0])
        return self._counted[ids[0]][ids[1]]

    def tell(self, arrow_id: str) -> None:
        """Of an arrow that has just got its ties."""
        ends = _ends_of(self._draft.get(arrow_id))
        if ends is not None:
            self._add(*ends)

    def _count_all(self, shape: Record) -> None:
        self._draft.work.listed(bound_count(shape))
        id_ = text(shape, "id")
        counted = self._counted[id_] = Counter()
        for arrow_id in dict.fromkeys(tie.arrow_id for tie in ties_to(self._draft, shape)):
            ends = _ends_of(self._draft.get(arrow_id))
            if ends is not None:
                counted[ends[0] if ends[1] == id_ else ends[1]] += 1

    def _add(self, one: str, other: str) -> None:
        for here, there in {(one, other), (other, one)}:
            if here in self._counted:
                self._counted[here][there] += 1


def _ends_of(arrow: Record) -> tuple[str, str] | None:
    one, other = (target_id(arrow, side) for side in SIDES)
    return None if one is None or other is None else (one, other)


def tie_and_lead(draft: Draft, arrow_id: str, targets: Mapping[str, Record], place: str, between: Between) -> None:
    """Tie those sides of a new arrow to the shapes' outlines.

    Raises Rejected where there is no way to draw it, and when the call leads too many arrows.
    """
    draft.work.arrow(points_count(draft.get(arrow_id)))
    _tie(draft, arrow_id, targets, place, between)
    between.tell(arrow_id)


def _tie(draft: Draft, arrow_id: str, targets: Mapping[str, Record], place: str, between: Between) -> None:
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
            points, aims = _loop(shape, between)
    elif len(targets) == 2 and len(points) == 2:
        aims = _side_by_side(targets, place, between)
    draft.edit(arrow_id, {side: aimed_binding(target, aims[side]) for side, target in targets.items()})
    for id_ in dict.fromkeys(ids):
        if id_ not in kept:
            list_on(draft, id_, arrow_id, "arrow")
    if is_elbow:
        draw_elbow(draft, arrow_id, _elbow_course(points, targets))
    else:
        draw(draft, arrow_id, led(draft, draft.get(arrow_id), points, list(targets)))


def _side_by_side(targets: Mapping[str, Record], place: str, between: Between) -> dict[str, Point]:
    """What the ends of a straight arrow aim at, out of the way of those that are there. Raises Rejected."""
    one, other = targets[SIDES[0]], targets[SIDES[1]]
    centres = {side: centre_of(target) for side, target in targets.items()}
    length = math.dist(*centres.values())
    if length < 1:
        raise Rejected(
            "geometry", f"{place} leads from an element to one with the same centre. Move one of them first."
        )
    before = between.count(one, other)
    if before == 0:
        return centres
    # The same way for both directions, so that an answer does not run over its call.
    first, last = sorted(targets.values(), key=lambda target: str(target["id"]))
    start, end = centre_of(first), centre_of(last)
    aside = Point((start.y - end.y) / length, (end.x - start.x) / length)
    room = min(_reach(target, aside) for target in (one, other)) * _BESIDE_SHARE_MAX
    offset = min((before + 1) // 2 * _BESIDE, room) * (1 if before % 2 else -1)
    return {side: Point(at.x + aside.x * offset, at.y + aside.y * offset) for side, at in centres.items()}


def _reach(shape: Record, way: Point) -> float:
    """From the centre to the outline, in that direction."""
    centre, box = centre_of(shape), box_of(shape)
    far = box.right - box.left + box.bottom - box.top
    hit = outline_hit(shape, 0, Point(centre.x + way.x * far, centre.y + way.y * far), centre)
    return 0 if hit is None else math.dist(hit, centre)


def _loop(shape: Record, between: Between) -> tuple[list[Point], dict[str, Point]]:
    """The course of an arrow from a shape to itself, further out than those it has, and what its ends aim at.

    A turned shape may leave the upper right of its box empty, where an end would meet nothing: such an end aims at the
    centre, which it meets from anywhere.
    """
    box, centre = box_of(shape), centre_of(shape)
    reach = _LOOP_REACH * (1 + between.count(shape, shape))
    right, top = box.right + reach, box.top - reach
    start = Point(centre.x, box.top + (box.bottom - box.top) * _LOOP_SHARE)
    end = Point(box.right - (box.right - box.left) * _LOOP_SHARE, centre.y)
    start, end = (aim if is_within(shape, 0, aim) else centre for aim in (start, end))
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
