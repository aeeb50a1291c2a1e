"""What editors would change or delete is no element of a scene."""

from __future__ import annotations

import pytest

from bus.limits import line_length_max
from bus.value import Record
from tests.actors.canvas.board import empty_board, rectangle


@pytest.mark.parametrize("kind", ["line", "arrow"])
def test_lines_longer_than_editors_keep_are_rejected(kind: str) -> None:
    """canvas 3.1, 4.1"""
    board = empty_board()
    line: Record = {"type": kind, "x": 0, "y": 0, "points": [[0, 0], [line_length_max + 1, 0]]}
    assert board.rejected("create", elements=[line]) == "geometry"
    board.create({**line, "points": [[0, 0], [line_length_max, 0]]})


@pytest.mark.parametrize("style", [{"strokeWidth": 0}, {"strokeColor": ""}, {"backgroundColor": ""}])
def test_a_style_for_which_editors_take_their_own_is_rejected(style: Record) -> None:
    """canvas 4.1"""
    assert empty_board().rejected("create", elements=[{**rectangle("a"), **style}]) == "field"
