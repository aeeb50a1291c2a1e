"""Labels within their containers, by the editor's rules (canvas 4.3)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.geometry import Point, number, rotated
from bus.value import Record, Value
from tests.actors.canvas.board import Board, empty_board


def labelled(shape: Record, **label: Value) -> tuple[Board, Record, Record]:
    """A board with the shape and its label, and both as they are stored."""
    board = empty_board()
    words: Record = {"id": "words", "type": "text", "x": 0, "y": 0, "containerId": "box", **label}
    board.create({"id": "box", "x": 100, "y": 50, **shape}, words)
    return board, board.element("box"), board.element("words")


@pytest.mark.parametrize(
    ("kind", "width", "height"),
    # Four words of one line each: 4 x 25 high and 10 of padding.
    [("rectangle", 80, 110), ("diamond", 170, 220), ("ellipse", 113, 156)],
)
def test_a_container_that_is_too_low_grows_as_in_the_editor(kind: str, width: float, height: float) -> None:
    """canvas 4.3"""
    _, box, words = labelled({"type": kind, "width": width, "height": 20}, text="These words are many")
    assert words["text"] == "These\nwords\nare\nmany"
    assert (box["width"], box["height"]) == (width, height)


def test_a_container_that_is_narrower_than_its_padding_grows_to_hold_its_label_in_one_line() -> None:
    """canvas 4.3"""
    _, box, words = labelled({"type": "rectangle", "width": 8, "height": 100}, text="one two")
    assert words["text"] == "one two"
    assert box["width"] == math.ceil(number(words, "width")) + 10


@given(
    st.sampled_from(["rectangle", "ellipse", "diamond"]),
    st.floats(1, 300),
    st.floats(1, 300),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(str.strip),
    st.sampled_from([1, 2, 3, 5, 6, 7, 8, 9]),
)
def test_a_label_lies_within_its_container(kind: str, width: float, height: float, words: str, family: int) -> None:
    """canvas 4.3: and laying it out again changes nothing."""
    board, box, label = labelled({"type": kind, "width": width, "height": height}, text=words, fontFamily=family)
    assert label["originalText"] == words
    for place, size in (("x", "width"), ("y", "height")):
        assert number(label, place) >= number(box, place)
        assert number(label, place) + number(label, size) <= number(box, place) + number(box, size)
    board.applied("update", updates=[{"id": "words", "set": {"textAlign": "left"}}])
    board.applied("update", updates=[{"id": "words", "set": {"textAlign": "center"}}])
    again = board.element("words")
    assert (again["text"], again["width"], again["height"]) == (label["text"], label["width"], label["height"])
    assert {name: board.element("box")[name] for name in ("width", "height")} == {
        name: box[name] for name in ("width", "height")
    }


def test_a_label_stands_where_its_alignments_say() -> None:
    """canvas 4.3"""
    shape: Record = {"type": "rectangle", "width": 200, "height": 100}
    for across, x in (("left", 105), ("center", 200), ("right", 295)):
        for down, y in (("top", 55), ("middle", 100), ("bottom", 145)):
            _, _, words = labelled(shape, text="hi", textAlign=across, verticalAlign=down)
            share = {"left": 0, "center": 0.5, "right": 1}[across], {"top": 0, "middle": 0.5, "bottom": 1}[down]
            assert number(words, "x") + share[0] * number(words, "width") == pytest.approx(x)
            assert number(words, "y") + share[1] * number(words, "height") == pytest.approx(y)


def test_a_label_at_the_top_turns_with_its_container_as_one() -> None:
    """canvas 4.2: turned at once or later, it comes to lie at the same place."""
    shape: Record = {"type": "rectangle", "width": 200, "height": 100}
    board, _, before = labelled(shape, text="hi", verticalAlign="top")
    board.applied("update", updates=[{"id": "box", "set": {"angle": 1}}])
    later = board.element("words")
    _, _, at_once = labelled({**shape, "angle": 1}, text="hi", verticalAlign="top")
    middle = rotated(_middle(before), Point(200, 100), 1)
    for words in (later, at_once):
        assert _middle(words) == pytest.approx(middle)
        assert words["angle"] == 1
        assert (words["width"], words["height"]) == (before["width"], before["height"])


def test_an_arrow_does_not_grow_and_its_label_has_seven_tenths_of_it() -> None:
    """canvas 4.3"""
    arrow: Record = {"type": "arrow", "points": [[0, 0], [600, 0]]}
    _, line, words = labelled(arrow, text="word " * 30)
    assert (line["width"], line["height"]) == (600, 0)
    assert 0.55 * 600 < number(words, "width") <= 0.7 * 600
    assert _middle(words) == pytest.approx(Point(400, 50))


def test_tabs_and_line_ends_are_kept_in_the_original_and_drawn_as_the_editor_does() -> None:
    """canvas 4.3"""
    _, _, words = labelled({"type": "rectangle", "width": 400, "height": 100}, text="a\tb\r\nc")
    assert words["originalText"] == "a\tb\nc"
    assert words["text"] == "a        b\nc"


def _middle(element: Record) -> Point:
    width, height = number(element, "width"), number(element, "height")
    return Point(number(element, "x") + width / 2, number(element, "y") + height / 2)
