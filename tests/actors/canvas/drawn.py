"""What holds of arrows and labels that NEXUS drew itself, beyond what holds of every scene (canvas 4.2, 4.3).

An imported arrow may end anywhere. One that was led ends `gap` from the outline of its shape, on the way to what it
aims at; or, between shapes that touch or overlap, at what it aims at. One with bends does not bend in its shape, and
may end at what it aims at only if all of it lies in its shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from actors.canvas.edges import at_ratio, distance_from
from actors.canvas.geometry import Point, absolute_points, box_of, number, text
from actors.canvas.state import CanvasState
from actors.canvas.ties import SIDES, target_id
from bus.value import Record

_SLACK = 0.5
_LENGTH_MIN = 10


def wrong_ends(state: CanvasState, arrow_id: str) -> Iterator[str]:
    """Every tied end of the arrow that is neither before the outline nor at its aim, as a sentence."""
    arrow = state.entries[arrow_id].element
    points = absolute_points(arrow)
    if len(points) == 2 and target_id(arrow, SIDES[0]) == target_id(arrow, SIDES[1]):
        return  # a loop that somebody made straight keeps its place in proportion, as nobody could lead it
    for side in SIDES:
        target = target_of(state, arrow, side)
        if target is None:
            continue
        end = points[0] if side == SIDES[0] else points[-1]
        binding = arrow[side]
        assert isinstance(binding, dict)
        bends = [] if arrow.get("elbowed") is True or binding.get("mode") == "inside" else points[1:-1]
        outside = [bend for bend in bends if distance_from(target, bend) > number(binding, "gap") + _SLACK]
        covered = [bend for bend in bends if distance_from(target, bend) < number(binding, "gap") - _SLACK]
        is_far_outside = distance_from(target, _far_end(state, arrow, side)) > number(binding, "gap") + _SLACK
        if covered and is_far_outside:
            yield f"{side} of {arrow_id} bends in its shape, at {covered}"
        is_before = distance_from(target, end) == pytest.approx(number(binding, "gap"), abs=_SLACK)
        is_at_aim = math.dist(end, at_ratio(target, binding["fixedPoint"])) < _SLACK + _LENGTH_MIN
        if not (is_before or (is_at_aim and not (bends and (outside or is_far_outside)))):
            yield f"{side} of {arrow_id} is {distance_from(target, end):.1f} from its shape, at {end}"


def _far_end(state: CanvasState, arrow: Record, side: str) -> Point:
    """Where the arrow leads from that side: what the other end aims at, or that end."""
    other = SIDES[1] if side == SIDES[0] else SIDES[0]
    target, binding = target_of(state, arrow, other), arrow[other]
    if target is not None and isinstance(binding, dict):
        return at_ratio(target, binding["fixedPoint"])
    return absolute_points(arrow)[-1 if other == SIDES[1] else 0]


def target_of(state: CanvasState, arrow: Record, side: str) -> Record | None:
    entry = state.entries.get(target_id(arrow, side) or "")
    return None if entry is None else entry.element


def is_on_line(point: Point, one: Point, other: Point, slack: float = 0.01) -> bool:
    length = math.dist(one, other)
    cross = (point.x - one.x) * (other.y - one.y) - (point.y - one.y) * (other.x - one.x)
    return abs(cross) <= slack * max(length, 1)


def label_is_inside(label: Record, container: Record) -> bool:
    """Whether the label's box lies in its container's, before rotation."""
    inner, outer = box_of({**label, "angle": 0}), box_of({**container, "angle": 0})
    room = number(label, "fontSize") if text(label, "text") else 0
    is_narrow = outer.right - outer.left < room * 2  # one character is never cut, however narrow the shape
    return outer.contains(inner) or is_narrow
