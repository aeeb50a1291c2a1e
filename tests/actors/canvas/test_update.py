"""canvas_update_elements (canvas 2, 4.2, 4.3)."""

from __future__ import annotations

import pytest

from actors.canvas.geometry import Point, absolute_points
from bus.value import Record, Value
from tests.actors.canvas.board import board_of, empty_board, number, tied_pair
from tests.actors.canvas.drawn import is_on_line


def test_style_and_unknown_fields_are_set_and_the_rest_stays() -> None:
    """canvas 4.4"""
    board = board_of("checkout")
    before = board.element("logo")
    board.applied("update", updates=[{"id": "logo", "set": {"opacity": 30, "glow": {"by": 3}}}])
    after = board.element("logo")
    assert (after["opacity"], after["glow"]) == (30, {"by": 3})
    unchanged = before.keys() - {"opacity", "version", "versionNonce", "updated"}
    assert {name: after[name] for name in unchanged} == {name: before[name] for name in unchanged}


def test_new_words_of_a_label_are_wrapped_into_its_shape() -> None:
    """canvas 4.2, 4.3"""
    board = tied_pair()
    board.applied("update", updates=[{"id": "a-label", "set": {"text": "several more words than before"}}])
    text, box = board.element("a-label"), board.element("a")
    assert text["originalText"] == "several more words than before"
    assert number(text, "width") <= number(box, "width") - 10
    assert number(text, "height") <= number(box, "height") - 10
    start = absolute_points(board.element("ab"))[0]  # the shape grew, and its arrow went along
    assert start.x == 105
    assert is_on_line(start, Point(50, number(box, "height") / 2), Point(350, 25))


def test_new_words_of_a_free_text_are_measured_around_its_anchor() -> None:
    """canvas 4.3"""
    board = empty_board()
    board.create({"id": "t", "type": "text", "x": 0, "y": 0, "text": "wide words", "textAlign": "center"})
    before = board.element("t")
    board.applied("update", updates=[{"id": "t", "set": {"text": "w"}}])
    after = board.element("t")
    assert number(after, "x") + number(after, "width") / 2 == pytest.approx(number(before, "width") / 2)


def test_a_free_text_wraps_to_a_width_that_is_set() -> None:
    board = board_of("checkout")
    board.applied("update", updates=[{"id": "heading", "set": {"width": 150}}])
    heading = board.element("heading")
    assert (heading["width"], heading["autoResize"]) == (150, False)
    assert "\n" in str(heading["text"]) and heading["originalText"] == "Checkout, as of today ✅"


def test_a_shape_that_is_resized_keeps_its_label_inside_and_its_arrows_attached() -> None:
    """canvas 4.2, 4.3"""
    board = tied_pair()
    board.applied("update", updates=[{"id": "a", "set": {"width": 60, "height": 200}}])
    start = absolute_points(board.element("ab"))[0]
    assert start.x == 65 and is_on_line(start, Point(30, 100), Point(350, 25))
    text = board.element("a-label")
    assert number(text, "x") >= 5 and number(text, "x") + number(text, "width") <= 55


def test_imported_text_is_not_measured_anew_when_only_colours_change() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    before = board.element("orders-label")
    board.applied("update", updates=[{"id": "orders-label", "set": {"strokeColor": "#ff0000"}}])
    after = board.element("orders-label")
    for field in ("text", "x", "y", "width", "height"):
        assert after[field] == before[field]


def test_bending_a_tied_arrow_keeps_its_ends_at_their_shapes() -> None:
    """canvas 4.2"""
    board = tied_pair()
    board.applied("update", updates=[{"id": "ab", "set": {"points": [[0, 0], [90, 60], [120, 0]]}}])
    start, bend, end = absolute_points(board.element("ab"))
    assert bend == (195, 85)
    assert start.x == 105 and is_on_line(start, Point(50, 25), bend)
    assert end.x == 295 and is_on_line(end, Point(350, 25), bend)


def test_a_line_is_stretched_by_its_size() -> None:
    board = board_of("checkout")
    board.applied("update", updates=[{"id": "rule", "set": {"width": 320}}])
    assert board.element("rule")["points"] == [[0, 0], [320, 0]]
    assert board.rejected("update", updates=[{"id": "rule", "set": {"height": 5}}]) == "geometry"


def test_a_shape_that_is_put_into_a_group_takes_its_label() -> None:
    board = tied_pair()
    board.applied("update", updates=[{"id": "a", "set": {"groupIds": ["g"]}}])
    assert board.element("a-label")["groupIds"] == ["g"]


@pytest.mark.parametrize(
    "field",
    ["id", "type", "version", "versionNonce", "index", "isDeleted", "updated", "boundElements", "containerId",
     "startBinding", "endBinding", "originalText", "fileId", "elbowed", "label", "start", "end"],
)  # fmt: skip
def test_structure_cannot_be_set(field: str) -> None:
    """canvas 4.1, 4.2"""
    assert board_of("checkout").rejected("update", updates=[{"id": "cache", "set": {field: None}}]) == "field"


@pytest.mark.parametrize(
    ("id_", "changes", "code"),
    [
        ("cache", {"width": 0}, "geometry"),
        ("cache", {"x": float("nan")}, "geometry"),
        ("cache", {"height": 1e300}, "geometry"),
        ("cache", {"angle": float("inf")}, "geometry"),
        ("cache", {"opacity": -1}, "field"),
        ("cache", {"text": "words"}, "field"),
        ("cache", {"fontSize": 30}, "field"),
        ("cache", {"frameId": "orders"}, "unknown_element"),
        ("frame-edge", {"frameId": "frame-edge"}, "unknown_element"),
        ("cache", {"groupIds": ["x" * 150] * 2000}, "limits"),
        ("cache-label", {"text": ""}, "field"),
        ("cache-label", {"x": 5}, "bound_text"),
        ("heading", {"fontSize": 0}, "field"),
        ("heading", {"fontSize": 1e9}, "geometry"),
        ("scribble", {"points": [[0, 0]]}, "geometry"),
        ("to-orders", {"points": []}, "geometry"),
        ("to-orders", {"width": -3}, "geometry"),
        ("note", {"opacity": 5}, "deleted_element"),
        ("nothing", {"opacity": 5}, "unknown_element"),
    ],
)
def test_changes_that_a_scene_cannot_hold_are_rejected(id_: str, changes: Record, code: str) -> None:
    """canvas 3.1, 4.1"""
    assert board_of("checkout").rejected("update", updates=[{"id": id_, "set": changes}]) == code


def test_the_same_element_twice_in_one_call_is_refused() -> None:
    updates: Record = {"updates": [{"id": "a", "set": {"x": 1}}, {"id": "a", "set": {"x": 2}}]}
    body: Record = {"canvasId": "canvas1", "expectedRevision": 2, "reason": "r", **updates}
    tied_pair().refused("canvas_update_elements", body)


def test_a_label_that_is_set_on_its_shape_is_told_how_it_is_done() -> None:
    """common 6.2"""
    refused = tied_pair().write("update", updates=[{"id": "a", "set": {"label": "new"}}])
    assert (refused["outcome"], refused["code"]) == ("rejected", "field")
    assert "set `text` of the label's own element" in str(refused["message"])


def test_a_frame_in_itself_a_text_without_words_and_an_arrow_without_a_course_are_told_what_is_wrong() -> None:
    """common 6.2"""
    board = empty_board()
    frame: Record = {"id": "f", "type": "frame", "x": 0, "y": 0, "width": 9, "height": 9}
    wrong: list[tuple[Record, str]] = [
        ({**frame, "frameId": "f"}, "names the element itself"),
        ({"type": "text", "x": 0, "y": 0}, "field text is missing"),
        ({"type": "arrow", "x": 0, "y": 0}, "tie it to shapes with start and end"),
    ]
    for element, words in wrong:
        assert words in str(board.write("create", elements=list[Value]([element]))["message"])
