"""Outlines, aims and the two forms of a binding (canvas 4.2)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.edges import (
    at_ratio,
    distance_from,
    focus_point,
    focus_through,
    is_within,
    outline_hit,
    ratio_of,
)
from actors.canvas.geometry import Point, centre_of
from bus.value import Record
from tests.actors.canvas.drawn import is_on_line


def _shape(kind: str, width: float = 100, height: float = 60, angle: float = 0, **fields: object) -> Record:
    return {"type": kind, "x": 0, "y": 0, "width": width, "height": height, "angle": angle, **fields}  # type: ignore[dict-item]


ANGLES = st.floats(-4, 4)
SHAPES = st.builds(
    _shape,
    st.sampled_from(["rectangle", "diamond", "ellipse", "text", "image", "frame"]),
    st.floats(2, 400),
    st.floats(2, 400),
    ANGLES,
    roundness=st.sampled_from([None, {"type": 1}, {"type": 2}, {"type": 3}, {"type": 3, "value": 10}]),
)
FAR = st.builds(
    lambda way, far: Point(math.cos(way) * far, math.sin(way) * far), st.floats(0, 6.3), st.floats(1_000, 3_000)
)


@pytest.mark.parametrize(
    ("shape", "seen_from", "wanted"),
    [
        (_shape("rectangle"), Point(300, 30), Point(106, 30)),
        (_shape("rectangle"), Point(50, -200), Point(50, -6)),
        (_shape("text"), Point(-200, 30), Point(-6, 30)),
        (_shape("ellipse"), Point(300, 30), Point(106, 30)),
        (_shape("ellipse"), Point(50, 300), Point(50, 66)),
        (_shape("rectangle", angle=math.pi / 2), Point(50, 300), Point(50, 86)),
        (_shape("rectangle", 100, 100, math.pi / 4), Point(300, 50), Point(50 + 50 * math.sqrt(2) + 6, 50)),
        (_shape("diamond", 100, 100), Point(300, 50), Point(106, 50)),
        (_shape("diamond", 100, 100), Point(300, 300), Point(75 + 6 / math.sqrt(2), 75 + 6 / math.sqrt(2))),
    ],
)
def test_an_end_stops_its_gap_before_the_outline(shape: Record, seen_from: Point, wanted: Point) -> None:
    """canvas 4.2"""
    assert outline_hit(shape, 6, seen_from, centre_of(shape)) == pytest.approx(wanted)


@given(SHAPES, FAR, st.floats(0.1, 20))
def test_from_anywhere_outside_the_way_to_the_centre_meets_the_outline(shape: Record, far: Point, gap: float) -> None:
    """canvas 4.2: within half a unit, since sides of round diamonds are kinked and grow unevenly"""
    hit = outline_hit(shape, gap, far, centre_of(shape))
    assert hit is not None
    assert distance_from(shape, hit) == pytest.approx(gap, abs=0.5)
    assert is_on_line(hit, far, centre_of(shape))
    assert not is_within(shape, gap - 0.5, hit) and is_within(shape, gap + 0.5, hit)


@given(SHAPES, FAR, st.floats(0.1, 20))
def test_there_is_no_first_point_for_a_way_that_begins_inside_or_passes_by(
    shape: Record, far: Point, gap: float
) -> None:
    """canvas 4.2"""
    assert outline_hit(shape, gap, centre_of(shape), far) is None
    assert outline_hit(shape, gap, far, Point(far.x * 2 + 1, far.y * 2 + 1)) is None


def test_round_corners_are_nearer_than_square_ones() -> None:
    """canvas 4.2"""
    corner = Point(200, 200)
    square = outline_hit(_shape("rectangle", 100, 100), 0, corner, Point(50, 50))
    for kind, roundness in (("rectangle", {"type": 3}), ("diamond", {"type": 2})):
        shape = _shape(kind, 100, 100, roundness=roundness)
        seen_from = corner if kind == "rectangle" else Point(50, 300)
        bare = outline_hit({**shape, "roundness": None}, 0, seen_from, Point(50, 50))
        hit = outline_hit(shape, 0, seen_from, Point(50, 50))
        assert bare is not None and hit is not None
        assert 0.5 < math.dist(hit, bare) < 10
    assert square == pytest.approx((100, 100))


@given(SHAPES, st.floats(-200, 200), st.floats(-200, 200))
def test_a_fixed_point_names_the_place_that_it_was_made_from(shape: Record, x: float, y: float) -> None:
    """canvas 4.2"""
    ratio = ratio_of(shape, Point(x, y))
    across, down = ratio
    assert isinstance(across, float | int) and isinstance(down, float | int)
    if max(abs(across), abs(down)) < 10:  # what lies further out is cut, as the editor does
        assert at_ratio(shape, ratio) == pytest.approx((x, y), abs=0.1)


def test_a_fixed_point_never_says_exactly_half_and_means_it() -> None:
    """canvas 4.2"""
    shape = _shape("rectangle")
    assert ratio_of(shape, Point(50, 30)) == [0.5001, 0.5001]
    assert at_ratio(shape, [0.5001, 0.5001]) == (50, 30)
    assert at_ratio(shape, ["left", None]) == (50, 30)


@given(SHAPES, FAR, st.floats(-0.45, 0.45), st.floats(-0.45, 0.45))
def test_a_focus_has_0_18_1_aim_along_the_same_line(shape: Record, far: Point, across: float, down: float) -> None:
    """canvas 4.2: facts, both forms say the same"""
    aim = at_ratio(shape, [0.5 + across * 0.5, 0.5 + down * 0.5])
    focus, point = focus_through(shape, far, aim)
    assert is_on_line(point, far, aim, slack=0.1)
    if 0.000_001 < abs(focus) <= 1:
        assert math.dist(focus_point(shape, focus, far), point) < 0.01


@pytest.mark.parametrize("kind", ["rectangle", "diamond", "ellipse"])
def test_a_line_through_the_centre_has_focus_0(kind: str) -> None:
    """canvas 4.2"""
    assert focus_through(_shape(kind, angle=0.3), Point(400, 30), Point(56, 30)) == (0, Point(50, 30))
    assert focus_point(_shape(kind), 0, Point(400, 30)) == (50, 30)
