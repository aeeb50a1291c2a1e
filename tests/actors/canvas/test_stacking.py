"""Labels lie right above what they belong to, as editors keep them."""

from __future__ import annotations

from bus.value import Record
from tests.actors.canvas.board import Board, arrow, empty_board, label, rectangle


def order(board: Board) -> list[str]:
    """Ids, lowest first."""
    return [id_ for _, id_ in board.state.in_order()]


def test_a_label_given_as_a_text_lies_right_above_its_shape() -> None:
    """canvas 4.1"""
    board = empty_board()
    board.create(rectangle("a"), rectangle("b"), label("b-label", "b"), label("a-label", "a"))
    assert order(board) == ["a", "a-label", "b", "b-label"]


def test_a_label_for_what_is_there_already_goes_between() -> None:
    """canvas 4.1"""
    board = empty_board()
    board.create(rectangle("a"), rectangle("b"), arrow("ab", "a", "b", 100, 25, [[0, 0], [50, 0]]))
    board.create(rectangle("c"), label("a-label", "a"), label("ab-label", "ab"), label("c-label", "c"))
    assert order(board) == ["a", "a-label", "b", "ab", "ab-label", "c", "c-label"]


def test_labels_that_come_and_go_for_ever_find_room() -> None:
    """canvas 4.1: when indexes would become too long, a label lies on top instead."""
    board = empty_board()
    board.create(rectangle("a"), rectangle("b"))
    longest = 0
    for number in range(300):
        words: Record = label(f"label-{number}", "a")
        board.create(words)
        longest = max(longest, len(str(board.element(f"label-{number}")["index"])))
        board.applied("delete", elementIds=[f"label-{number}"])
    assert longest < 100
