"""canvas_connect_elements (canvas 2, 4.2)."""

from __future__ import annotations

import math

import pytest

from actors.canvas.geometry import absolute_points, centre_of
from bus.value import Record, Value
from tests.actors.canvas.board import Board, board_of, empty_board, label, number, rectangle, tied_pair
from tests.actors.canvas.drawn import is_on_line, wrong_ends
from tools.errors import Code


def _shapes() -> Board:
    board = empty_board()
    board.create(
        {**rectangle("box"), "label": "Box"},
        {**rectangle("round", 300, 200, 120, 90), "type": "ellipse"},
        {**rectangle("choice", -200, 250, 140, 100), "type": "diamond", "angle": 0.4},
        {"id": "words", "type": "text", "x": 40, "y": 400, "text": "Words"},
        {**rectangle("area", 600, -100, 300, 300), "type": "frame"},
        rectangle("member-1", 620, -80),
        rectangle("member-2", 780, 80),
        {"id": "stroke", "type": "line", "x": 0, "y": 700, "points": [[0, 0], [50, 0]]},
    )
    board.applied("update", updates=[{"id": id_, "set": {"frameId": "area"}} for id_ in ("member-1", "member-2")])
    return board


def _connect(board: Board, *connections: Record) -> list[str]:
    """Ids of the new arrows."""
    ids = board.applied("connect", connections=list(connections))["elementIds"]
    assert isinstance(ids, list)
    made = [str(id_) for id_ in ids[: len(connections)]]
    assert all(board.element(id_)["type"] == "arrow" for id_ in made)
    return made


@pytest.mark.parametrize("to", ["round", "choice", "words", "area", "member-2"])
def test_an_arrow_runs_from_outline_to_outline_on_the_line_between_the_centres(to: str) -> None:
    """canvas 2, 4.2"""
    board = _shapes()
    (arrow,) = _connect(board, {"fromId": "box", "toId": to})
    assert list(wrong_ends(board.state, arrow)) == []
    start, end = absolute_points(board.element(arrow))
    one, other = centre_of(board.element("box")), centre_of(board.element(to))
    assert is_on_line(start, one, other) and is_on_line(end, one, other)
    assert math.dist(start, one) < math.dist(end, one) < math.dist(other, one)
    assert arrow in board.lists("box") and arrow in board.lists(to)


def test_both_forms_of_both_bindings_say_the_same() -> None:
    """canvas 4.2"""
    board = _shapes()
    (arrow,) = _connect(board, {"fromId": "box", "toId": "round"})
    for side, target in (("startBinding", "box"), ("endBinding", "round")):
        assert board.element(arrow)[side] == {
            "elementId": target, "focus": 0, "gap": 6, "fixedPoint": [0.5001, 0.5001], "mode": "orbit",
        }  # fmt: skip


def test_arrowheads_are_those_of_the_kind_unless_they_are_given() -> None:
    """canvas 2"""
    board = _shapes()
    made = _connect(
        board,
        {"fromId": "box", "toId": "round"},
        {"fromId": "box", "toId": "choice", "kind": "line"},
        {"fromId": "box", "toId": "words", "startArrowhead": "circle", "endArrowhead": None},
        {"fromId": "round", "toId": "words", "kind": "line", "endArrowhead": "bar"},
    )
    heads = [(board.element(id_)["startArrowhead"], board.element(id_)["endArrowhead"]) for id_ in made]
    assert heads == [(None, "arrow"), (None, None), ("circle", None), (None, "bar")]


def test_a_label_lies_on_the_middle_of_its_arrow_and_right_above_it() -> None:
    """canvas 2, 4.2"""
    board = _shapes()
    (arrow,) = _connect(board, {"fromId": "box", "toId": "round", "label": "asks"})
    (words,) = board.lists(arrow)
    text = board.element(words)
    start, end = absolute_points(board.element(arrow))
    assert (text["text"], text["containerId"]) == ("asks", arrow)
    assert number(text, "x") + number(text, "width") / 2 == pytest.approx((start.x + end.x) / 2)
    assert number(text, "y") + number(text, "height") / 2 == pytest.approx((start.y + end.y) / 2)
    assert [id_ for _, id_ in board.state.in_order()][-2:] == [arrow, words]


def test_a_label_that_is_named_stands_for_its_shape() -> None:
    """canvas 2"""
    board = tied_pair()
    (arrow,) = _connect(board, {"fromId": "a-label", "toId": "b"})
    binding = board.element(arrow)["startBinding"]
    assert isinstance(binding, dict) and binding["elementId"] == "a"


def test_arrows_between_the_same_two_shapes_run_side_by_side() -> None:
    """canvas 2"""
    board = empty_board()
    board.create(rectangle("one", 0, 0, 100, 100), rectangle("two", 400, 0, 100, 100))
    call: Record = {"fromId": "one", "toId": "two"}
    answer: Record = {"fromId": "two", "toId": "one"}
    made = _connect(board, call, answer, call, answer)
    assert [absolute_points(board.element(id_))[0].y for id_ in made] == [50, 80, 20, 80]  # no room for more than three
    for id_ in made:
        start, end = absolute_points(board.element(id_))
        assert start.y == pytest.approx(end.y)
        assert list(wrong_ends(board.state, id_)) == []


def test_arrows_side_by_side_stay_so_when_a_shape_moves() -> None:
    """canvas 4.2"""
    board = empty_board()
    board.create(rectangle("one", 0, 0, 100, 100), rectangle("two", 400, 0, 100, 100))
    first, second = _connect(board, {"fromId": "one", "toId": "two"}, {"fromId": "two", "toId": "one"})
    board.applied("move", moves=[{"id": "two", "dx": 50, "dy": 300}])
    lines = [absolute_points(board.element(id_)) for id_ in (first, second)]
    assert list(wrong_ends(board.state, first)) == list(wrong_ends(board.state, second)) == []
    assert math.dist(lines[0][0], lines[1][-1]) > 10 and math.dist(lines[0][-1], lines[1][0]) > 10


@pytest.mark.parametrize("id_", ["box", "round", "choice", "words", "area"])
def test_an_arrow_from_a_shape_to_itself_is_a_loop_outside_it(id_: str) -> None:
    """canvas 2"""
    board = _shapes()
    first, second = _connect(board, {"fromId": id_, "toId": id_, "label": "again"}, {"fromId": id_, "toId": id_})
    assert list(wrong_ends(board.state, first)) == []
    assert board.lists(id_).count(first) == 1
    outer, inner = board.element(second), board.element(first)
    assert number(outer, "width") > number(inner, "width") >= 30
    board.applied("move", moves=[{"id": id_, "dx": 11, "dy": 7}])
    assert board.element(first)["points"] == inner["points"]
    if id_ not in ("words",):
        board.applied("update", updates=[{"id": id_, "set": {"width": 333, "height": 222}}])
        points = absolute_points(board.element(first))
        assert len(points) == 5 and points[1].x > number(board.element(id_), "x") + 333


def test_an_arrow_between_members_of_a_frame_belongs_to_the_frame() -> None:
    """canvas 2"""
    board = _shapes()
    inside, across = _connect(board, {"fromId": "member-1", "toId": "member-2"}, {"fromId": "member-1", "toId": "box"})
    assert board.element(inside)["frameId"] == "area"
    assert board.element(across)["frameId"] is None


@pytest.mark.parametrize(
    ("other", "heads_at"),
    [(rectangle("near", 103, 0), "end"), (rectangle("over", 40, 20), "end"), (rectangle("in", 70, 10, 20, 20), "end")],
)
def test_between_shapes_that_touch_or_overlap_an_arrow_still_points_from_one_to_the_other(
    other: Record, heads_at: str
) -> None:
    """canvas 4.2"""
    board = empty_board()
    board.create(rectangle("box"), other)
    (arrow,) = _connect(board, {"fromId": "box", "toId": str(other["id"])})
    start, end = absolute_points(board.element(arrow))
    one, two = centre_of(board.element("box")), centre_of(board.element(str(other["id"])))
    assert math.dist(start, end) > 1
    assert (end.x - start.x) * (two.x - one.x) + (end.y - start.y) * (two.y - one.y) > 0
    assert list(wrong_ends(board.state, arrow)) == []


@pytest.mark.parametrize(
    ("connection", "code"),
    [
        ({"fromId": "box", "toId": "nowhere"}, "unknown_element"),
        ({"fromId": "gone", "toId": "box"}, "deleted_element"),
        ({"fromId": "box", "toId": "stroke"}, "field"),
        ({"fromId": "box", "toId": "arrow"}, "field"),
        ({"fromId": "arrow-label", "toId": "box"}, "field"),
        ({"fromId": "box", "toId": "centred"}, "geometry"),
    ],
)
def test_what_cannot_be_connected_is_rejected(connection: Record, code: str) -> None:
    """canvas 3.1"""
    board = _shapes()
    board.create(rectangle("gone"), rectangle("centred", 40, 15, 20, 20))
    board.create({**rectangle("arrow"), "type": "arrow"}, label("arrow-label", "arrow"))
    board.applied("delete", elementIds=["gone"])
    good: Record = {"fromId": "box", "toId": "round"}
    assert board.rejected("connect", connections=[good, connection]) == code


@pytest.mark.parametrize(
    ("connections", "path"),
    [
        ([], "connections"),
        ([{"fromId": "box", "toId": "round"}] * 501, "connections"),
        ([{"fromId": "box"}], "connections.0.toId"),
        ([{"fromId": "box", "toId": "round", "kind": "curve"}], "connections.0.kind"),
        ([{"fromId": "box", "toId": "round", "endArrowhead": "wing"}], "connections.0.endArrowhead"),
        ([{"fromId": "box", "toId": "round", "label": ""}], "connections.0.label"),
        ([{"fromId": "box", "toId": "round", "color": "red"}], "connections.0.color"),
    ],
)
def test_arguments_of_a_wrong_shape_are_named(connections: list[Value], path: str) -> None:
    """common 6.3"""
    body: Record = {"canvasId": "canvas1", "expectedRevision": 3, "reason": "r", "connections": connections}
    refusal = _shapes().refused("canvas_connect_elements", body)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert [field["path"] for field in refusal.details["fields"]] == [path]  # type: ignore[union-attr,call-overload,index]


def test_imported_shapes_can_be_connected_and_their_own_arrows_stay() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    before = board.element("to-orders")
    _connect(board, {"fromId": "cache", "toId": "orders"}, {"fromId": "gateway", "toId": "orders"})
    assert board.element("to-orders") == before


def test_five_hundred_arrows_from_one_hub_are_one_revision() -> None:
    """canvas 2"""
    board = empty_board()
    spokes: list[Record] = [
        rectangle(f"s{n}", 900 * math.cos(n), 900 * math.sin(n) + n * 4, 20, 20) for n in range(250)
    ]
    board.create({**rectangle("hub"), "type": "ellipse"}, *spokes)
    revision = board.revision
    arrows: list[Record] = [{"fromId": "hub", "toId": f"s{n // 2}"} for n in range(500)]
    made = _connect(board, *arrows)
    assert board.revision == revision + 1
    assert [line for id_ in made for line in wrong_ends(board.state, id_)] == []
