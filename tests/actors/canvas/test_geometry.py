"""Boxes of elements, on which region queries rest (canvas 2)."""

from __future__ import annotations

import math

import pytest

from actors.canvas.geometry import Box, absolute_points, box_of, with_points
from bus.value import Record


def _box(kind: str, angle: float) -> Box:
    return box_of({"type": kind, "x": 0, "y": 0, "width": 100, "height": 20, "angle": angle})


@pytest.mark.parametrize("kind", ["rectangle", "ellipse", "diamond", "text"])
def test_a_quarter_turn_swaps_breadth_and_height(kind: str) -> None:
    box = _box(kind, math.pi / 2)
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((40, -40, 60, 60))


def test_shapes_fill_less_of_their_corners_when_turned() -> None:
    rectangle, ellipse, diamond = (_box(kind, math.pi / 4) for kind in ("rectangle", "ellipse", "diamond"))
    assert rectangle.right > ellipse.right > diamond.right


def test_lines_lie_where_their_points_are_not_at_their_origin() -> None:
    line: Record = {"type": "line", "x": 100, "y": 100, "angle": 0, "points": [[0, 0], [-50, 30]]}
    assert box_of({**line, "width": 50, "height": 30}) == Box(50, 100, 100, 130)


def test_points_that_are_set_are_the_points_that_are_read() -> None:
    turned: Record = {"type": "line", "x": 10, "y": 0, "angle": 0.7, "points": [[0, 0], [40, 30], [80, -10]]}
    points = absolute_points(turned)
    again = absolute_points({**turned, **with_points(turned, points)})
    assert [tuple(point) for point in again] == [pytest.approx(tuple(point)) for point in points]
