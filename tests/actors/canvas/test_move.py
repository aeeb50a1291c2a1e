"""canvas_move_elements (canvas 4.2)."""

from __future__ import annotations

import itertools

import pytest

from actors.canvas.geometry import Point, absolute_points
from bus.value import Record
from tests.actors.canvas.board import arrow, board_of, empty_board, number, rectangle, tied_pair
from tests.actors.canvas.drawn import is_on_line


def _at(element: Record) -> tuple[float, float]:
    return number(element, "x"), number(element, "y")


def test_a_label_moves_with_its_shape_by_the_same_way_and_is_not_measured_anew() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    before = board.element("orders-label")
    board.applied("move", moves=[{"id": "orders", "dx": 7.5, "dy": -3}])
    after = board.element("orders-label")
    assert _at(after) == (number(before, "x") + 7.5, number(before, "y") - 3)
    assert [after[field] for field in ("text", "width", "height")] == [before[f] for f in ("text", "width", "height")]


def test_a_move_to_a_place_is_absolute() -> None:
    """canvas 2"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "x": 40, "y": 60}])
    assert _at(board.element("a")) == (40, 60)
    assert _at(board.element("b")) == (300, 0)


def test_a_straight_arrow_runs_from_outline_to_outline_between_the_new_places() -> None:
    """canvas 4.2"""
    board = tied_pair()
    label = board.element("ab-label")
    board.applied("move", moves=[{"id": "b", "dx": 50, "dy": 80}])
    start, end = absolute_points(board.element("ab"))
    assert (start.x, end.x) == (105, 345)
    assert is_on_line(start, Point(50, 25), Point(400, 105)) and is_on_line(end, Point(50, 25), Point(400, 105))
    moved = board.element("ab-label")
    way = (start.x + end.x) / 2 - 200, (start.y + end.y) / 2 - 25
    assert _at(moved) == pytest.approx((number(label, "x") + way[0], number(label, "y") + way[1]))


def test_the_start_of_an_arrow_follows_too() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 0, "dy": 300}])
    start, end = absolute_points(board.element("ab"))
    assert (start.y, end.y) == pytest.approx((295, 55))  # out of the upper side, into the lower one
    assert _at(board.element("ab")) == tuple(start)


def test_an_imported_end_stays_where_it_is_while_its_arrow_bends_elsewhere() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    before = absolute_points(board.element("to-orders"))
    board.applied("move", moves=[{"id": "cache", "dx": 3}, {"id": "to-orders", "dx": 40, "dy": 40}])
    after = absolute_points(board.element("to-orders"))
    assert (after[0], after[-1]) == (before[0], before[-1])


def test_an_arrow_between_shapes_that_move_alike_moves_as_a_whole() -> None:
    """canvas 4.2"""
    board = tied_pair()
    points = board.element("ab")["points"]
    board.applied("move", moves=[{"id": "a", "dx": 9, "dy": 9}, {"id": "b", "dx": 9, "dy": 9}])
    assert board.element("ab")["points"] == points
    assert _at(board.element("ab")) == (114, 34)


def test_a_tied_arrow_that_is_moved_stays_tied_and_one_end_follows_what_moves_with_it() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 0, "dy": 20}, {"id": "ab", "dx": 0, "dy": 20}])
    start, end = absolute_points(board.element("ab"))
    assert (start.x, end.x) == (105, 295)
    assert is_on_line(start, Point(50, 45), Point(350, 25)) and is_on_line(end, Point(50, 45), Point(350, 25))


def test_an_elbow_arrow_stays_in_right_angles() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    board.applied("move", moves=[{"id": "billing", "dx": 60, "dy": 45}])
    points = absolute_points(board.element("to-billing"))
    assert points[0] == (185, 60) and points[-1] == (515, 295)
    assert all(one.x == other.x or one.y == other.y for one, other in itertools.pairwise(points))


def test_a_frame_takes_what_is_in_it() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    before = {id_: _at(board.element(id_)) for id_ in ("gateway", "gateway-label", "cache", "cache-label", "orders")}
    board.applied("move", moves=[{"id": "frame-edge", "dx": 10, "dy": 0}])
    for id_, (x, y) in before.items():
        assert _at(board.element(id_)) == (x + (0 if id_ == "orders" else 10), y)


def test_include_group_moves_the_outermost_group() -> None:
    """canvas 2"""
    board = board_of("checkout")
    before = _at(board.element("billing-label"))
    outcome = board.applied("move", moves=[{"id": "orders", "dx": 0, "dy": 5}], includeGroup=True)
    ids = outcome["elementIds"]
    assert isinstance(ids, list) and {"orders", "orders-label", "billing", "billing-label"} <= set(ids)
    assert _at(board.element("billing-label")) == (before[0], before[1] + 5)
    assert _at(board.element("cache")) == (10, 130)


def test_without_include_group_only_what_is_named_moves() -> None:
    """canvas 2"""
    board = board_of("checkout")
    board.applied("move", moves=[{"id": "orders", "dx": 0, "dy": 5}])
    assert _at(board.element("billing")) == (460, 180)


def test_a_label_named_beside_its_shape_moves_once() -> None:
    """canvas 4.2"""
    board = tied_pair()
    before = _at(board.element("a-label"))
    board.applied("move", moves=[{"id": "a-label", "dx": 10}, {"id": "a", "dx": 10}])
    assert _at(board.element("a-label")) == (before[0] + 10, before[1])


@pytest.mark.parametrize(
    ("move", "code"),
    [
        ({"id": "a-label", "dx": 5}, "bound_text"),
        ({"id": "a", "dx": float("inf")}, "geometry"),
        ({"id": "a", "x": 1e300}, "geometry"),
        ({"id": "a", "dx": 10**400}, "geometry"),
        ({"id": "nothing", "dx": 1}, "unknown_element"),
        ({"id": "gone", "dx": 1}, "deleted_element"),
    ],
)
def test_moves_that_cannot_be_are_rejected(move: Record, code: str) -> None:
    """canvas 3.1"""
    board = tied_pair()
    board.create(rectangle("gone"))
    board.applied("delete", elementIds=["gone"])
    assert board.rejected("move", moves=[move]) == code


@pytest.mark.parametrize("move", [{"id": "a"}, {"id": "a", "dx": 1, "x": 1}, {"id": "a", "dx": "1"}])
def test_a_move_is_by_a_way_or_to_a_place(move: Record) -> None:
    body: Record = {"canvasId": "canvas1", "expectedRevision": 2, "reason": "r", "moves": [move]}
    tied_pair().refused("canvas_move_elements", body)


def test_the_same_element_twice_in_one_call_is_refused() -> None:
    moves: Record = {"moves": [{"id": "a", "dx": 1}, {"id": "a", "dx": 2}]}
    tied_pair().refused("canvas_move_elements", {"canvasId": "canvas1", "expectedRevision": 2, "reason": "r", **moves})


def test_an_arrow_that_is_rotated_keeps_its_free_end_where_it_is_seen() -> None:
    """canvas 4.2"""
    board = empty_board()
    board.create(rectangle("box"), {**arrow("turned", "box", "box", 150, 0, [[0, 0], [80, 0], [80, 60]]), "angle": 0.5})
    board.applied("create", elements=[rectangle("far", x=900)])
    ends = absolute_points(board.element("turned"))
    board.applied("move", moves=[{"id": "box", "dx": 4, "dy": 4}])
    moved = absolute_points(board.element("turned"))
    for one, other in zip(ends, moved, strict=True):
        assert (other.x - one.x, other.y - one.y) == pytest.approx((4, 4))
