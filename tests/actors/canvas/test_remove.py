"""canvas_delete_elements and canvas_restore_elements (canvas 4.2)."""

from __future__ import annotations

import itertools

import pytest

from actors.canvas.geometry import Point, absolute_points
from bus.value import Record, Value
from tests.actors.canvas.board import Board, board_of, rectangle, tied_pair
from tests.actors.canvas.drawn import is_on_line
from tests.support.bench import PERSON

_EACH_TIME = ("version", "versionNonce", "updated")


def _scene(board: Board) -> dict[str, Record]:
    """What is drawn, without what every change touches; the order of boundElements means nothing."""
    drawn = {}
    for id_, entry in board.state.entries.items():
        element = {name: value for name, value in entry.element.items() if name not in _EACH_TIME}
        drawn[id_] = {**element, "boundElements": sorted(board.lists(id_))}
    return drawn  # type: ignore[return-value]


def test_deleting_a_shape_takes_its_label_and_unties_its_arrows() -> None:
    """canvas 4.2"""
    board = tied_pair()
    outcome = board.applied("delete", elementIds=["a"])
    assert outcome["elementIds"] == ["a", "ab", "a-label"] or set(outcome["elementIds"]) == {"a", "ab", "a-label"}  # type: ignore[arg-type]
    assert board.element("a-label")["isDeleted"] is True
    assert board.element("ab")["isDeleted"] is False
    assert board.element("ab")["startBinding"] is None
    assert board.lists("b") == ["ab"]


def test_deleting_an_arrow_leaves_no_ghosts() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("delete", elementIds=["ab"])
    assert board.lists("a") == ["a-label"] and board.lists("b") == []
    assert board.element("ab-label")["isDeleted"] is True


def test_deleting_a_label_leaves_its_shape_free_for_another() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("delete", elementIds=["a-label"])
    assert board.lists("a") == ["ab"]
    board.create({"id": "second", "type": "text", "x": 0, "y": 0, "text": "again", "containerId": "a"})
    board.applied("restore", elementIds=["a-label"])
    assert board.element("a-label")["containerId"] is None


def test_a_frame_that_is_deleted_leaves_what_was_in_it_and_takes_it_back() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    before = _scene(board)
    board.applied("delete", elementIds=["frame-edge"])
    assert board.element("gateway")["frameId"] is None
    board.applied("restore", elementIds=["frame-edge"])
    assert _scene(board) == before


_CHECKOUT = ["frame-edge", "gateway", "cache", "orders", "billing", "to-orders", "to-billing", "logo", "gateway-label"]


@pytest.mark.parametrize("id_", _CHECKOUT)
def test_restoring_puts_back_exactly_what_the_deletion_took(id_: str) -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    before = _scene(board)
    board.applied("delete", elementIds=[id_])
    board.applied("restore", elementIds=[id_])
    assert _scene(board) == before


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("order", list(itertools.permutations(["a", "b", "ab"])))
def test_the_order_of_restoring_does_not_matter(order: tuple[str, ...], together: bool) -> None:
    """canvas 4.2"""
    board = tied_pair()
    before = _scene(board)
    if together:
        board.applied("delete", elementIds=["a", "b", "ab"])
    else:
        for id_ in ("b", "ab", "a"):
            board.applied("delete", elementIds=[id_])
    for id_ in order:
        board.applied("restore", elementIds=[id_])
    assert _scene(board) == before


def test_an_arrow_that_comes_back_meets_its_shape_where_that_is_now() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("delete", elementIds=["ab"])
    board.applied("move", moves=[{"id": "b", "dx": 0, "dy": 70}])
    board.applied("restore", elementIds=["ab"])
    start, end = absolute_points(board.element("ab"))
    assert (start.x, end.x) == (105, 295)
    assert is_on_line(start, Point(50, 25), Point(350, 95)) and is_on_line(end, Point(50, 25), Point(350, 95))


def test_a_shape_that_comes_back_draws_a_wandered_arrow_to_it() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("delete", elementIds=["a"])
    board.applied("update", updates=[{"id": "ab", "set": {"x": 0, "y": 300}}])
    board.applied("restore", elementIds=["a"])
    assert absolute_points(board.element("ab"))[0] == (105, 25)
    assert board.element("ab")["startBinding"] is not None


def test_a_label_that_comes_back_to_a_moved_shape_lies_inside_it() -> None:
    """canvas 4.2, 4.3"""
    board = tied_pair()
    board.applied("delete", elementIds=["a-label"])
    board.applied("move", moves=[{"id": "a", "x": 500, "y": 500}])
    board.applied("restore", elementIds=["a-label"])
    text = board.element("a-label")
    assert 500 < float(str(text["x"])) < 600 and 500 < float(str(text["y"])) < 550


def test_a_label_deleted_by_itself_stays_deleted_when_its_shape_comes_back() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("delete", elementIds=["a-label"])
    board.applied("delete", elementIds=["a"])
    board.applied("restore", elementIds=["a"])
    assert board.element("a-label")["isDeleted"] is True


def test_counts_follow() -> None:
    """canvas 2"""
    board = tied_pair()
    board.applied("delete", elementIds=["a", "ab"])
    assert board.state.head is not None
    assert (board.state.head.live, board.state.head.deleted) == (1, 4)


def test_restoring_what_never_was_is_rejected() -> None:
    """canvas 3.1"""
    assert tied_pair().rejected("restore", elementIds=["never"]) == "unknown_element"


def test_elements_deleted_before_an_import_can_be_restored() -> None:
    """canvas 4.5"""
    board = board_of("checkout")
    board.applied("restore", elementIds=["note"])
    assert board.element("note")["isDeleted"] is False


def test_what_an_import_brought_in_deleted_and_broken_comes_back_sound() -> None:
    """canvas 4.2, 4.5"""
    gone: Record = {"isDeleted": True}
    listed = (("one", "text"), ("two", "text"), ("in", "arrow"), ("in", "arrow"), ("never", "text"))
    ghosts: list[Value] = [{"id": id_, "type": kind} for id_, kind in listed]
    words: Record = {"type": "text", "x": 0, "y": 0, "width": 9, "height": 9, "containerId": "box", **gone}
    ends: Record = {"x": 0, "y": 0, "points": [[0, 0], [9, 9]], "startBinding": {"elementId": "box", "focus": 1}}
    elements: list[Value] = [
        {**rectangle("box"), "boundElements": ghosts, "frameId": "in", **gone},
        {**words, "id": "one", "text": "1"},
        {**words, "id": "two", "text": "2"},
        {**words, "id": "three", "text": "3", "containerId": "two", "frameId": "box"},
        {**ends, "id": "in", "type": "arrow", "endBinding": {"elementId": "two"}, **gone},
        {**ends, "id": "line", "type": "line", **gone},
    ]
    ids: list[Value] = ["box", "one", "two", "three", "in", "line"]
    for order in itertools.permutations(ids):
        board = Board()
        board.bring_in({"elements": elements})
        for id_ in order:
            board.applied("restore", PERSON, elementIds=[id_])
        assert board.element("line")["startBinding"] is None
    board = Board()
    board.bring_in({"elements": elements})
    board.applied("restore", PERSON, elementIds=ids)
    assert board.lists("box") == ["one", "in"]
