"""Arrows with bends, whose shapes come to cover them (canvas 4.2)."""

from __future__ import annotations

import pytest

from actors.canvas.edges import covered_bends, distance_from, is_within
from actors.canvas.geometry import Point, absolute_points, number
from bus.value import Record, Value
from tests.actors.canvas.board import Board, empty_board, rectangle
from tests.actors.canvas.drawn import is_on_line, wrong_ends
from tests.support.bench import PERSON

BENDS: list[Value] = [[0, 0], [100, 300], [500, 100], [500, 200]]


def bent(points: list[Value] = BENDS, **fields: Value) -> Board:
    """Box `a`, labelled, and an arrow out of it below that bends to `b`, far to the right."""
    board = empty_board()
    arrow: Record = {"id": "ab", "type": "arrow", "x": 0, "y": 0, "points": points}
    board.create(
        {**rectangle("a", 40, 40, 120, 60), "label": {"text": "short", "id": "a-label"}},
        rectangle("b", 600, 200, 120, 60),
        {**arrow, "start": {"id": "a"}, "end": {"id": "b"}, **fields},
    )
    return board


def course(board: Board, arrow_id: str = "ab") -> list[Point]:
    """The arrow's points, every led end where it should be."""
    assert [*wrong_ends(board.state, arrow_id)] == []
    return absolute_points(board.element(arrow_id))


def test_a_shape_that_grows_over_a_bend_of_its_arrow_takes_it_out() -> None:
    """canvas 4.2"""
    board = bent()
    assert course(board)[1] == (100, 300)
    board.applied("move", moves=[{"id": "a", "dx": 0, "dy": 170}])
    assert course(board)[1] == (100, 300)
    words = "a much longer label that has to wrap in several lines and grow"
    board.applied("update", updates=[{"id": "a-label", "set": {"text": words}}])
    start, bend, *_ = course(board)
    a = board.element("a")
    assert is_within(a, 0, Point(100, 300)) and bend == (500, 100)
    assert start.x == pytest.approx(number(a, "x") + number(a, "width") + 6)
    assert is_on_line(start, Point(100, number(a, "y") + number(a, "height") / 2), bend)


def test_a_shape_that_moves_over_the_second_bend_is_left_behind_it() -> None:
    """canvas 4.2: else the arrow would go from the first bend back through the shape."""
    board = bent()
    board.applied("move", moves=[{"id": "a", "x": 440, "y": 60}])
    assert course(board)[1:-1] == []


def test_bends_within_the_gap_before_the_outline_are_covered_too() -> None:
    """canvas 4.2"""
    board = bent()
    board.applied("move", moves=[{"id": "a", "dx": 0, "dy": 197}])
    assert course(board)[1] == (500, 100)


def test_a_shape_at_the_end_of_an_arrow_does_the_same() -> None:
    """canvas 4.2"""
    board = bent()
    board.applied("update", updates=[{"id": "b", "set": {"x": 450, "y": 50, "width": 300}}])
    assert course(board)[1:-1] == [(100, 300)]


def test_an_arrow_that_loses_all_its_bends_is_led_as_a_straight_one_at_both_ends() -> None:
    """canvas 4.2"""
    board = bent()
    board.applied("update", updates=[{"id": "a", "set": {"width": 470, "height": 300}}])
    start, end = course(board)
    for point in (start, end):
        assert is_on_line(point, Point(275, 190), Point(660, 230))


def test_bends_that_a_shape_covers_when_its_arrow_is_drawn_are_left_out() -> None:
    """canvas 4.2"""
    assert course(bent([[0, 0], [100, 70], [100, 300], [1, 1]]))[1:-1] == [(100, 300)]


def test_new_bends_in_a_shape_are_left_out_though_the_end_sees_the_same_bend() -> None:
    """canvas 4.2"""
    board = bent()
    start, *_ = course(board)
    points: list[Value] = [[0, 0], [100 - start.x, 300 - start.y], [90 - start.x, 70 - start.y], [500, 200]]
    board.applied("update", updates=[{"id": "ab", "set": {"points": points}}])
    assert course(board)[1:-1] == []


def test_an_arrow_within_its_shape_keeps_its_bends_until_it_leads_outside() -> None:
    """canvas 4.2: a box on a large one, and an arrow to the large one that bends on it."""
    board = empty_board()
    board.create(rectangle("large", 0, 0, 1000, 1000), rectangle("small", 100, 100, 50, 50))
    points: list[Value] = [[0, 0], [300, 125], [300, 300], [1, 1]]
    ends: Record = {"start": {"id": "small"}, "end": {"id": "large"}}
    board.create({"id": "ab", "type": "arrow", "x": 0, "y": 0, "points": points, **ends})
    assert course(board)[1:] == [(300, 125), (300, 300), (500, 500)]
    board.applied("move", moves=[{"id": "small", "dx": -400, "dy": 0}])
    assert course(board)[-1].x == -6


def test_an_imported_arrow_that_bends_in_its_shape_keeps_its_bends_while_the_shape_stays() -> None:
    """canvas 4.2"""
    drawn = bent().take_out()
    elements = drawn["elements"]
    assert isinstance(elements, list)
    for element in elements:
        if isinstance(element, dict) and element["id"] == "ab":
            element |= {"x": 100, "y": 70, "points": [[0, 0], [10, 10], [400, 30], [494, 155]]}
    board = Board()
    board.bring_in(drawn)
    board.answer("canvas_grant", {"agentId": "editor-agent", "role": "editor"}, PERSON)
    before = absolute_points(board.element("ab"))
    board.applied("move", moves=[{"id": "b", "dx": 0, "dy": 40}])
    assert absolute_points(board.element("ab"))[:-1] == before[:-1]
    board.applied("move", moves=[{"id": "a", "dx": 0, "dy": 1}])
    assert course(board)[1:-1] == [(500, 100)]


def test_an_arrow_from_a_shape_to_itself_loses_only_the_bends_next_to_its_ends() -> None:
    """canvas 4.2"""
    points: list[Value] = [[0, 0], [100, 70], [300, 70], [300, 0], [100, 0], [90, 60], [1, 1]]
    board = bent(points, end={"id": "a"})
    assert course(board)[1:-1] == [(300, 70), (300, 0), (100, 0)]


def test_an_arrow_from_a_shape_to_itself_that_would_lie_in_it_becomes_the_usual_loop() -> None:
    """canvas 4.2"""
    loop = course(bent([[0, 0], [100, 70], [90, 80], [1, 1]], end={"id": "a"}))
    assert loop == course(bent([[0, 0], [1, 1]], end={"id": "a"}))


@pytest.mark.parametrize("kind", ["rectangle", "ellipse", "diamond"])
@pytest.mark.parametrize("angle", [-2.5, -0.8, 0, 0.8, 2.28, 3.2])
def test_the_loop_of_a_turned_shape_meets_it_also_where_that_leaves_the_corner_of_its_box_empty(
    kind: str, angle: float
) -> None:
    """canvas 4.2"""
    board = empty_board()
    board.create({**rectangle("a", 128, -302, 83, 470), "type": kind, "angle": angle})
    outcome = board.applied("connect", connections=[{"fromId": "a", "toId": "a"}])
    assert isinstance(outcome["elementIds"], list)
    arrow_id = str(outcome["elementIds"][0])
    start, *bends, end = course(board, arrow_id)
    a = board.element("a")
    assert len(bends) == 3
    for point in (start, end):
        assert distance_from(a, point) == pytest.approx(6, abs=0.01 if kind != "ellipse" else 0.5)
    board.applied("update", updates=[{"id": "a", "set": {"width": 300, "height": 40, "angle": angle - 1}}])
    course(board, arrow_id)


@pytest.mark.parametrize(
    ("bends", "far", "count"),
    [
        ([], (500, 0), 0),
        ([(200, 0)], (500, 0), 0),
        ([(50, 20)], (500, 0), 1),
        ([(200, 0), (50, 20), (300, 0)], (500, 0), 2),
        ([(50, 20), (60, 20)], (70, 20), 0),
        ([(50, 20), (200, 0), (60, 20)], (70, 20), 1),
        ([(103, 20)], (500, 0), 1),
    ],
)
def test_which_bends_a_shape_covers(bends: list[tuple[float, float]], far: tuple[float, float], count: int) -> None:
    """canvas 4.2"""
    shape: Record = {**rectangle("a"), "angle": 0}
    assert covered_bends(shape, 5, [Point(*bend) for bend in bends], Point(*far)) == count
