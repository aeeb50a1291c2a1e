"""Older forms of elements in today's words; tests/browser/test_older_forms.py asks editors (canvas 4.1)."""

from __future__ import annotations

import pytest

from actors.canvas.as_opened import as_opened
from bus.value import Record, Value

COURSE: Record = {"type": "arrow", "x": 10, "y": 20, "points": [[0, 0], [100, 50]]}


def test_an_element_of_today_stays_as_it_is() -> None:
    element: Record = {"type": "rectangle", "roundness": None, "custom": [1]}
    assert as_opened(element) is element


@pytest.mark.parametrize(
    ("given", "roundness"),
    [
        ({"type": "rectangle", "strokeSharpness": "round"}, {"type": 1}),
        ({"type": "line", "strokeSharpness": "round"}, {"type": 2}),
        ({"type": "rectangle", "strokeSharpness": "round", "roundness": {"type": 3}}, {"type": 3}),
        ({"type": "rectangle", "strokeSharpness": "sharp"}, None),
    ],
)
def test_round_corners_have_had_another_name(given: Record, roundness: Value) -> None:
    """canvas 4.1"""
    element = as_opened(given)
    assert "strokeSharpness" not in element
    assert element.get("roundness") == roundness


@pytest.mark.parametrize(
    ("font", "size", "family"),
    [("28px Cascadia", 28, 3), ("16.5px Papyrus", 16.5, 5), ("20px Lilita One", 20, 7), ("large", None, None)],
)
def test_size_and_family_have_stood_in_one_field(font: str, size: float | None, family: int | None) -> None:
    """canvas 4.1"""
    element = as_opened({"type": "text", "font": font})
    assert "font" not in element
    assert (element.get("fontSize"), element.get("fontFamily")) == (size, family)


def test_lines_have_the_size_of_their_points() -> None:
    """canvas 4.1"""
    element = as_opened({**COURSE, "type": "draw", "width": 7, "height": "x"})
    assert (element["type"], element["width"], element["height"]) == ("line", 100, 50)


@pytest.mark.parametrize(
    ("points", "is_polygon"),
    [([[0, 0], [9, 0], [9, 9], [0, 0]], True), ([[0, 0], [9, 0], [9, 9], [0, 1]], False), ([[0, 0], [0, 0]], False)],
)
def test_only_a_closed_line_is_a_polygon(points: Value, is_polygon: bool) -> None:
    """canvas 4.1"""
    assert as_opened({"type": "line", "points": points, "polygon": True})["polygon"] is is_polygon


def test_an_elbow_arrow_that_slants_and_is_tied_to_nothing_is_led_in_right_angles() -> None:
    """canvas 4.1"""
    free: Record = {**COURSE, "elbowed": True, "fixedSegments": [1]}
    led = as_opened(free)
    assert led["points"] == [[0, 0], [50, 0], [50, 50], [100, 50]]
    assert as_opened({**free, "startBinding": {"elementId": "a"}})["points"] == COURSE["points"]
    leaning: Value = [[0, 0], [100, 0.5]]
    assert as_opened({**free, "points": leaning})["points"] == leaning


def test_fixed_segments_need_a_course_that_has_them() -> None:
    """canvas 4.1"""
    assert as_opened({**COURSE, "fixedSegments": [{"index": 2}]})["fixedSegments"] is None


def test_a_drawing_has_no_more_pressures_than_points() -> None:
    """canvas 4.1"""
    assert as_opened({**COURSE, "type": "freedraw", "pressures": [1, 2, 3]})["pressures"] == [1, 2]


@pytest.mark.parametrize(
    "given",
    [{"type": "line"}, {"type": "line", "points": [[0], None]}, {"type": 3, "points": [[0, 0], [1, 1]]}, {}],
)
def test_what_is_malformed_otherwise_is_left_for_the_check(given: Record) -> None:
    assert as_opened(given) is given
