"""Fields that no element has: kept, and told in the answer."""

from __future__ import annotations

import pytest

from bus.limits import frames_nested_max, slips_told_max
from bus.value import Record, Value
from tests.actors.canvas.board import empty_board, rectangle
from tools.canvas.outputs import WriteOutcome


def frame(id_: str, inside: str | None = None) -> Record:
    return {"id": id_, "type": "frame", "x": 0, "y": 0, "width": 9, "height": 9, "frameId": inside}


def told(outcome: Record) -> Value:
    WriteOutcome.model_validate(outcome)
    return outcome.get("unknownFields")


def test_a_slip_in_a_new_element_is_kept_and_told_with_what_may_have_been_meant() -> None:
    """canvas 4.4"""
    board = empty_board()
    slip: Record = {**rectangle("a"), "lable": "API", "x-mine": 1}
    assert told(board.applied("create", elements=[slip])) == ["elements.0.lable (not label?)", "elements.0.x-mine"]
    assert (board.element("a")["lable"], board.element("a")["x-mine"]) == ("API", 1)


def test_what_an_element_of_that_type_has_is_no_slip() -> None:
    """canvas 2"""
    board = empty_board()
    made: list[Value] = [
        {**rectangle("a"), "label": "A", "customData": {}, "roundness": {"type": 3}},
        {**rectangle("b"), "x": 300, "angle": 0.1, "groupIds": ["g"], "link": None, "seed": 3},
        {"type": "arrow", "start": {"id": "a"}, "end": {"id": "b"}, "label": "asks", "elbowed": True},
        {"type": "text", "x": 0, "y": 0, "text": "t", "fontSize": 30, "originalText": "t", "lineHeight": 1.25},
    ]
    assert told(board.applied("create", elements=made)) is None


def test_an_update_tells_fields_that_are_new_and_none_that_the_element_has() -> None:
    """canvas 4.4"""
    board = empty_board()
    board.create({**rectangle("a"), "mine": 1})
    change: Record = {"id": "a", "set": {"mine": 2, "strokeColour": "#fff"}}
    assert told(board.applied("update", updates=[change])) == ["updates.0.set.strokeColour (not strokeColor?)"]


def test_not_more_than_some_slips_are_told() -> None:
    """common 7.3"""
    board = empty_board()
    many: Record = {**rectangle("a"), **{f"q{number}" * 40: 1 for number in range(slips_told_max + 5)}}
    listed = told(board.applied("create", elements=[many]))
    assert isinstance(listed, list)
    assert len(listed) == slips_told_max
    assert max(len(str(one)) for one in listed) < 100


@pytest.mark.parametrize("length", [2, 3, 10])
def test_no_update_makes_a_circle_of_frames(length: int) -> None:
    """canvas 4.2"""
    board = empty_board()
    board.create(frame("f0"), *(frame(f"f{number}", f"f{number - 1}") for number in range(1, length)))
    change: Record = {"id": "f0", "set": {"frameId": f"f{length - 1}"}}
    assert board.rejected("update", updates=[change]) == "unknown_element"


def test_frames_lie_in_each_other_only_so_deep() -> None:
    """canvas 3.1"""
    board = empty_board()
    board.create(frame("f0"), *(frame(f"f{number}", f"f{number - 1}") for number in range(1, frames_nested_max)))
    board.create(frame("one more", f"f{frames_nested_max - 1}"))
    assert board.rejected("create", elements=[frame("too deep", "one more")]) == "limits"
