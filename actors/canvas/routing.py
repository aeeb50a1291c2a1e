"""Arrows follow what they are tied to (canvas 4.2).

An arrow is led as the editor would lead it: a tied end aims at its point of the shape, from the arrow's next point or,
on a straight arrow, from what the other end aims at, and stops before the outline (edges.py). An end is led anew only
when its shape changed or what it is seen from; otherwise it stays where it is, so arrows that were imported or that
someone drew keep their ends. An arrow whose shapes all go the same way moves as a whole.

Seen from a bend that its shape has come to cover, an end would run on to its aim, as it does in both editors: through
the shape and its label. Such bends are taken out when the end is led.

Elbow arrows and arrows with both ends at one shape keep their place relative to the shape's box instead. Elbow arrows
are led in right angles; the editor takes its own course when someone touches them.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from actors.canvas.bindings import INSIDE, label_of, refocused, ties_to
from actors.canvas.draft import Draft
from actors.canvas.edges import at_ratio, covered_bends, outline_hit, ratio_of
from actors.canvas.geometry import (
    Point,
    absolute_points,
    centre_of,
    middle_of,
    number,
    points_count,
    rotated,
    with_points,
)
from actors.canvas.ties import SIDES, bound_count, target_id
from bus.value import Record, Value

BOX_FIELDS: Final = ("x", "y", "width", "height", "angle")
_HEADS: Final = {SIDES[0]: "startArrowhead", SIDES[1]: "endArrowhead"}
_PLACES: Final = {SIDES[0]: 0, SIDES[1]: -1}
_LENGTH_MIN: Final = 10
"""A straight arrow between outlines that would be shorter runs into the shape, so that it can be seen."""


def reroute(draft: Draft, settled: Collection[str] = ()) -> None:
    """Lead every arrow that is tied to something whose box changed in this call, or that changed itself.

    Arrows named in `settled` are where they belong already; so are new ones. Raises Rejected when they are too many
    or have too many points (work.py).
    """
    settled = {*settled}
    arrows: dict[str, None] = {}
    for id_ in draft.changed_ids():
        before, element = draft.before(id_), draft.find_live(id_)
        if before is None or element is None or not box_differs(before, element):
            continue
        draft.work.listed(bound_count(element))
        tied = (tie.arrow_id for tie in ties_to(draft, element))
        for arrow_id in [id_, *tied] if element["type"] == "arrow" else tied:
            if arrow_id not in arrows and arrow_id not in settled and draft.before(arrow_id) is not None:
                draft.work.arrow(points_count(draft.get(arrow_id)))
                arrows[arrow_id] = None
    for arrow_id in arrows:
        _follow(draft, arrow_id)


def lead_again(draft: Draft, arrow_id: str, sides: Collection[str]) -> None:
    """Lead those tied ends of an arrow that was tied again after it or its shapes had changed.

    Raises Rejected when the call leads too many arrows (work.py).
    """
    arrow = draft.get(arrow_id)
    draft.work.arrow(points_count(arrow))
    points, targets = absolute_points(arrow), _targets(draft, arrow)
    sides = [side for side in sides if side in targets]
    if not sides or (_is_loop(targets) and len(points) == 2):
        return
    if arrow.get("elbowed") is True:
        wanted = [*points]
        for side in sides:
            binding = arrow[side]
            assert isinstance(binding, dict)
            wanted[_PLACES[side]] = at_ratio(targets[side], binding.get("fixedPoint"))
        if not _are_near(wanted, points):
            draw_elbow(draft, arrow_id, elbow(wanted[0], wanted[-1], points))
        return
    # The other end of a straight arrow is seen from elsewhere now.
    draw(draft, arrow_id, led(draft, arrow, points, [*targets] if len(points) == 2 else sides))


def box_differs(before: Record, element: Record) -> bool:
    """Whether the element is seen at another place or in another shape."""
    return any(before.get(field) != element.get(field) for field in (*BOX_FIELDS, "points"))


def _follow(draft: Draft, arrow_id: str) -> None:
    arrow, before = draft.get(arrow_id), draft.before(arrow_id)
    assert before is not None
    old, points = absolute_points(before), absolute_points(arrow)
    targets = _targets(draft, arrow)
    if not targets:
        return
    way = _common_way(draft, targets)
    if way is not None:
        if len(targets) == 2 and not box_differs(before, arrow):
            _shift(draft, arrow, way)
            return
        if _are_near([Point(point.x + way.x, point.y + way.y) for point in old], points):
            return
    if arrow.get("elbowed") is True or _is_loop(targets):
        _keep_by_boxes(draft, arrow_id, old, points)
        return
    wanted = [*points]
    stale: list[str] = []
    for side in targets:
        if _is_settled(draft, side, (before, old), (arrow, points)):
            wanted[_PLACES[side]] = old[_PLACES[side]]
        else:
            stale.append(side)
    draw(draft, arrow_id, led(draft, arrow, wanted, stale))


def _targets(draft: Draft, arrow: Record) -> dict[str, Record]:
    """By side, the live shapes that the arrow is tied to."""
    ids = {side: target_id(arrow, side) for side in SIDES}
    found = {side: None if id_ is None else draft.find_live(id_) for side, id_ in ids.items()}
    return {side: target for side, target in found.items() if target is not None}


def _is_loop(targets: dict[str, Record]) -> bool:
    return len(targets) == 2 and targets[SIDES[0]]["id"] == targets[SIDES[1]]["id"]


def _common_way(draft: Draft, targets: dict[str, Record]) -> Point | None:
    """How far all the shapes went in this call, if they went alike and only moved."""
    ways: list[Point] = []
    for target in targets.values():
        before = draft.before(str(target["id"])) or target
        if any(before[field] != target[field] for field in ("width", "height", "angle")):
            return None
        ways.append(
            Point(number(target, "x") - number(before, "x"), number(target, "y") - number(before, "y")),
        )
    return ways[0] if _is_near(ways[0], ways[-1]) else None


def _is_settled(draft: Draft, side: str, was: tuple[Record, list[Point]], now: tuple[Record, list[Point]]) -> bool:
    """Whether nothing changed for that end: neither its shape nor what it is seen from."""
    target = draft.get(target_id(now[0], side) or "")
    before = draft.before(str(target["id"])) or target
    if was[0].get(side) != now[0].get(side) or box_differs(before, target):
        return False
    former_aim, aim = _former_aim(draft, was[0], _other(side)), _aim(draft, now[0], _other(side))
    if not _is_near(_seen_from(was[1], side, former_aim), _seen_from(now[1], side, aim)):
        return False
    binding = now[0][side]
    assert isinstance(binding, dict)
    is_covered = _covered(target, binding, side, now[1], aim) > 0
    return not is_covered or _covered(target, binding, side, was[1], former_aim) > 0


def _covered(target: Record, binding: Record, side: str, points: list[Point], other_aim: Point | None) -> int:
    """How many bends at that end of the course it has to lose."""
    if binding.get("mode") == INSIDE:
        return 0
    course = points if side == SIDES[0] else points[::-1]
    far = course[-1] if other_aim is None else other_aim
    return covered_bends(target, number(binding, "gap"), course[1:-1], far)


def _other(side: str) -> str:
    return SIDES[1] if side == SIDES[0] else SIDES[0]


def _aim(draft: Draft, arrow: Record, side: str) -> Point | None:
    """What a tied end aims at; None for an end that is not tied."""
    target = draft.find_live(target_id(arrow, side) or "")
    binding = arrow.get(side)
    return at_ratio(target, binding.get("fixedPoint")) if target is not None and isinstance(binding, dict) else None


def _former_aim(draft: Draft, before: Record, side: str) -> Point | None:
    target = draft.before(target_id(before, side) or "")
    binding = before.get(side)
    if target is None or target.get("isDeleted") is True or not isinstance(binding, dict):
        return None
    return at_ratio(target, binding.get("fixedPoint"))


def _seen_from(points: list[Point], side: str, other_aim: Point | None) -> Point:
    if len(points) == 2 and other_aim is not None:
        return other_aim
    return points[1] if side == SIDES[0] else points[-2]


def led(draft: Draft, arrow: Record, points: list[Point], sides: Collection[str]) -> list[Point]:
    """The course `points` with the tied ends of those sides where they belong. Not for elbow arrows.

    The other end too, if it was seen from a bend that is taken out.
    """
    aims = {side: aim for side in SIDES if (aim := _aim(draft, arrow, side)) is not None}
    wanted = _uncovered(draft, arrow, points, sides, aims)
    if len(wanted) != len(points):
        views = {
            side: [_seen_from(course, side, aims.get(_other(side))) for course in (points, wanted)] for side in aims
        }
        sides = [side for side in aims if side in sides or not _is_near(*views[side])]
        points = [*wanted]
    for side in sides:
        binding, target = arrow[side], draft.get(target_id(arrow, side) or "")
        assert isinstance(binding, dict)
        hit = None
        if binding.get("mode") != INSIDE:
            seen_from = _seen_from(points, side, aims.get(_other(side)))
            hit = outline_hit(target, number(binding, "gap"), seen_from, aims[side])
        wanted[_PLACES[side]] = aims[side] if hit is None else hit
    if len(wanted) == 2 and sides:
        _keep_apart(arrow, wanted, {side: aims[side] for side in sides})
    return wanted if len(set(wanted)) > 1 else [*wanted[:-1], _beside(wanted[-1])]


def _uncovered(
    draft: Draft, arrow: Record, points: list[Point], sides: Collection[str], aims: dict[str, Point]
) -> list[Point]:
    """The course without the bends that the shapes at those sides cover."""
    course = [*points]
    for side in sides:
        binding, target = arrow[side], draft.get(target_id(arrow, side) or "")
        assert isinstance(binding, dict)
        count = _covered(target, binding, side, course, aims.get(_other(side)))
        if count:
            course = [course[0], *course[1 + count :]] if side == SIDES[0] else [*course[: -1 - count], course[-1]]
    return course


def _keep_apart(arrow: Record, ends: list[Point], aims: dict[str, Point]) -> None:
    """Let a straight arrow between shapes that touch or overlap run on to what it aims at instead of turning round.

    `ends` are changed; `aims` are those of the ends that may be.
    """
    start, end = aims.get(SIDES[0], ends[0]), aims.get(SIDES[1], ends[1])
    way = Point(end.x - start.x, end.y - start.y)
    if _is_long(ends, way):
        return
    has_head = {side: arrow.get(_HEADS[side]) is not None for side in SIDES}
    for side, aim in aims.items():
        if has_head[side] or not any(has_head.values()):
            ends[_PLACES[side]] = aim
    if _is_long(ends, way):
        return
    for side, aim in aims.items():
        ends[_PLACES[side]] = aim
    if math.dist(*ends) < 1:  # both aim at the same point: any direction will do, no length would not
        place = _PLACES[next(reversed(aims))]
        ends[place] = Point(ends[place].x + (_LENGTH_MIN if place else -_LENGTH_MIN), ends[place].y)


def _beside(point: Point) -> Point:
    """For arrows that would have no length at all, which no editor shows."""
    return Point(point.x + _LENGTH_MIN, point.y)


def _is_long(ends: list[Point], way: Point) -> bool:
    across, down = ends[1].x - ends[0].x, ends[1].y - ends[0].y
    length = math.hypot(way.x, way.y)
    return length > 0 and across * way.x + down * way.y > _LENGTH_MIN * length


def draw(draft: Draft, arrow_id: str, wanted: list[Point]) -> None:
    """Let the arrow run through these points, with its label and its bindings' numbers after it."""
    arrow = draft.get(arrow_id)
    points = absolute_points(arrow)
    if _are_near(wanted, points):
        return
    # Its label lies where `points` have it: whoever changed the arrow itself has carried the label along.
    draft.edit(arrow_id, with_points(arrow, wanted))
    _renew_bindings(draft, arrow_id, wanted)
    _carry_label(draft, arrow_id, middle_of(points), middle_of(wanted))


def _renew_bindings(draft: Draft, arrow_id: str, points: list[Point]) -> None:
    arrow = draft.get(arrow_id)
    for side, target in _targets(draft, arrow).items():
        binding = arrow[side]
        assert isinstance(binding, dict)
        end = points[_PLACES[side]]
        if arrow.get("elbowed") is True:
            draft.edit(arrow_id, {side: {**binding, "fixedPoint": ratio_of(target, end)}})
        elif binding.get("mode") != INSIDE:
            draft.edit(arrow_id, {side: refocused(binding, target, _seen_from(points, side, None), end)})


def _keep_by_boxes(draft: Draft, arrow_id: str, old: list[Point], points: list[Point]) -> None:
    """Elbow arrows, whose ends keep their place in proportion; and loops, which do so point by point."""
    arrow = draft.get(arrow_id)
    wanted = [*points]
    targets = _targets(draft, arrow)
    if arrow.get("elbowed") is not True:
        target = targets[SIDES[0]]
        before = draft.before(str(target["id"])) or target
        is_moved = box_differs(before, target)
        if is_moved:
            wanted = [followed(before, target, point) for point in points]
        else:
            wanted[0], wanted[-1] = old[0], old[-1]
        if len(wanted) > 2 and (is_moved or not _are_near(old[1:-1], points[1:-1])):
            wanted = led(draft, arrow, wanted, SIDES)
        draw(draft, arrow_id, wanted)
        return
    for side, target in targets.items():
        before = draft.before(str(target["id"])) or target
        wanted[_PLACES[side]] = followed(before, target, old[_PLACES[side]])
    if not _are_near(wanted, points):
        draw_elbow(draft, arrow_id, elbow(wanted[0], wanted[-1], points))


def draw_elbow(draft: Draft, arrow_id: str, wanted: list[Point]) -> None:
    """The same as `draw`; what the editor knows of single parts of the old course does not fit the new one."""
    if len(set(wanted)) < 2:
        wanted = [wanted[0], _beside(wanted[0])]
    if not _are_near(wanted, absolute_points(draft.get(arrow_id))):
        draft.edit(arrow_id, {"fixedSegments": None, "startIsSpecial": None, "endIsSpecial": None})
        draw(draft, arrow_id, wanted)


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


def _are_near(course: list[Point], other: list[Point]) -> bool:
    return len(course) == len(other) and all(map(_is_near, course, other))


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
