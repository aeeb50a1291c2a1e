"""Import and export of scene files (canvas 4.1, 4.2, 4.4, 4.5)."""

from __future__ import annotations

import json

import pytest

from actors.canvas import fractional
from bus.limits import elements_per_canvas_max, scene_rest_bytes_max
from bus.value import Record, Value
from tests.actors.canvas.board import SCENES, Board, board_of, rectangle
from tests.support.bench import PERSON
from tools.canvas.scene_parts import announcement_of
from tools.errors import Code, Refusal


def _imported(*elements: Value, **rest: Value) -> tuple[Board, Record]:
    board = Board()
    scene: Record = {"type": "excalidraw", "elements": list(elements), **rest}
    return board, board.bring_in(scene)


def _exported(board: Board, **options: Value) -> Record:
    return board.take_out(**options)


def test_a_complete_scene_comes_out_as_it_went_in() -> None:
    """canvas 4.4, 4.5"""
    original = json.loads((SCENES / "checkout.excalidraw").read_text(encoding="utf-8"))
    exported = _exported(board_of("checkout"), includeDeleted=True)
    assert exported["elements"] == original["elements"]
    assert (exported["files"], exported["appState"]) == (original["files"], original["appState"])
    assert (exported["type"], exported["version"]) == ("excalidraw", 2)


def test_an_export_leaves_deleted_elements_out() -> None:
    """canvas 4.5"""
    elements = _exported(board_of("checkout"))["elements"]
    assert isinstance(elements, list)
    assert all(isinstance(element, dict) and element["isDeleted"] is False for element in elements)


def test_an_export_can_be_imported_and_is_the_same_then() -> None:
    """canvas 4.5"""
    once = _exported(board_of("farm-legacy"))
    board = Board()
    reply = board.bring_in(once)
    assert (reply["repairedCount"], reply["leftOutCount"]) == (0, 0)
    assert _exported(board) == once


def test_a_file_with_windows_line_ends_no_indexes_and_no_app_state_is_taken_in() -> None:
    """canvas 4.5"""
    raw = (SCENES / "farm-legacy.excalidraw").read_bytes()
    assert b"\r\n" in raw and b"index" not in raw and b"appState" not in raw
    board = Board()
    reply = board.bring_in(json.loads(raw))
    assert (reply["outcome"], reply["elementCount"], reply["leftOutCount"]) == ("applied", 11, 2)
    assert board.element("barn-name")["text"] == "Barn\nold"


def test_what_has_no_size_or_no_points_is_left_out_and_reported() -> None:
    """canvas 3.1"""
    text = (SCENES / "farm-legacy.excalidraw").read_text(encoding="utf-8")
    reply = Board().bring_in(json.loads(text))
    left_out = reply["leftOut"]
    assert isinstance(left_out, list)
    assert [(item["position"], item["id"]) for item in left_out if isinstance(item, dict)] == [
        (8, "speck"),
        (9, "thread"),
    ]


def test_broken_ties_are_mended_in_both_directions() -> None:
    """canvas 4.2"""
    board = board_of("farm-legacy")
    assert board.lists("house") == ["house-name", "path"]  # the ghost is gone
    assert board.element("house-name")["containerId"] == "house"  # it did not know
    assert board.lists("barn") == ["barn-name", "path"]  # it listed nothing
    assert board.element("orphan")["containerId"] is None
    assert board.element("lost")["startBinding"] is None
    assert board.element("fenced")["frameId"] is None
    binding = board.element("path")["startBinding"]
    assert binding == {"elementId": "house", "focus": 0.1, "gap": 5, "fixedPoint": [0.55, 0.55], "mode": "orbit"}


def test_two_labels_of_one_shape_become_one_label_and_a_text() -> None:
    """canvas 4.2"""
    words: Record = {"type": "text", "x": 0, "y": 0, "width": 9, "height": 9, "containerId": "box"}
    board, _ = _imported(rectangle("box"), {**words, "id": "one", "text": "1"}, {**words, "id": "two", "text": "2"})
    assert board.lists("box") == ["one"]
    assert board.element("two")["containerId"] is None


def test_unknown_types_and_fields_survive() -> None:
    """canvas 4.4"""
    board = board_of("farm-legacy")
    assert board.element("hill")["depth"] == {"layers": [1, 2, 3]}
    assert _exported(board)["note"] == "kept"


def test_the_order_of_the_list_is_the_stacking_order() -> None:
    """canvas 4.1"""
    board, _ = _imported(
        *[{**rectangle(id_), "index": index} for id_, index in (("a", "a5"), ("b", "a1"), ("c", "!!"))]
    )
    order = board.state.in_order()
    assert [id_ for _, id_ in order] == ["a", "b", "c"]
    assert all(fractional.is_valid(index) for index, _ in order)


def test_valid_indexes_are_kept() -> None:
    """canvas 4.1"""
    board, _ = _imported({**rectangle("a"), "index": "a1V"}, {**rectangle("b"), "index": "b05"})
    assert [index for index, _ in board.state.in_order()] == ["a1V", "b05"]


def test_malformed_fields_get_their_defaults_and_are_counted() -> None:
    """canvas 4.1"""
    board, reply = _imported({**rectangle("a"), "opacity": "half", "groupIds": None, "version": -4, "strokeColor": 7})
    assert reply["repairedCount"] == 4
    assert (board.element("a")["opacity"], board.element("a")["groupIds"]) == (100, [])


def test_double_ids_are_refused() -> None:
    """canvas 3.1"""
    board, reply = _imported(rectangle("a"), rectangle("a", x=7))
    assert (reply["outcome"], reply["code"]) == ("rejected", "id_taken")
    assert board.bench.rows == {} and board.bench.sent == []


def test_more_elements_than_a_canvas_holds_are_refused() -> None:
    """canvas 4.5"""
    _, reply = _imported(*[None] * (elements_per_canvas_max + 1))
    assert (reply["outcome"], reply["code"]) == ("rejected", "limits")


@pytest.mark.parametrize(
    "broken", [None, 7, "text", {"type": "rectangle"}, {"id": "x", "type": "rectangle", "x": None}]
)
def test_one_broken_element_does_not_spoil_the_scene(broken: Value) -> None:
    """canvas 4.5"""
    _, reply = _imported(rectangle("a"), broken, rectangle("b"))
    assert (reply["elementCount"], reply["leftOutCount"]) == (2, 1)


@pytest.mark.parametrize(
    "far", [float("nan"), float("inf"), 1e300, 10**400, "half \ud83d", {"a": [[[0]]] * 3, "b": b"bytes"}]
)
def test_elements_that_cannot_be_kept_are_left_out(far: Value) -> None:
    """canvas 3.1"""
    _, reply = _imported({**rectangle("a"), "x": far}, {**rectangle("c"), "width": far}, rectangle("b"))
    assert reply["elementCount"] == 1


@pytest.mark.parametrize("scene", [{}, {"elements": None}, {"elements": 3}, "not json", []])
def test_what_is_no_scene_is_an_invalid_argument(scene: Value) -> None:
    """canvas 4.5"""
    board = Board()
    refusal = board.refused("canvas_create", {"title": "T", "reason": "r", "fromScene": scene})
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert board.bench.rows == {}


def test_a_scene_that_is_too_large_is_refused_clearly() -> None:
    """canvas 2, 4.5"""
    board = Board()
    scene: Record = {"elements": [], "appState": {"pad": "x" * (4 * 1024 * 1024)}}
    refusal = board.refused("canvas_create", {"title": "T", "reason": "r", "fromScene": scene})
    assert refusal.code is Code.TOO_LARGE
    refusal = board.refused("import_begin", {"title": "T", **announcement_of(scene)}, PERSON)
    assert (refusal.code, refusal.details["limit"]) == (Code.TOO_LARGE, scene_rest_bytes_max)


def test_files_are_rows_of_their_own_and_others_are_left_out() -> None:
    """canvas 4.5"""
    good: Record = {"mimeType": "image/gif", "dataURL": "data:image/gif;base64,R0lGODlhAQABAIAAAA=="}
    board, reply = _imported(rectangle("a"), files={"pic": good, "page": {"dataURL": "data:text/html,<b>"}})
    assert board.bench.rows["file/pic"] == {"mimeType": "image/gif", "id": "pic"}
    assert board.take_out()["files"] == {"pic": {**good, "id": "pic"}}
    assert reply["leftOut"] == [{"id": "page", "why": "its file is not a picture in a data URL in base64"}]
    assert board.bench.reloaded() == board.state


def test_an_image_of_the_scene_can_be_shown_again() -> None:
    """canvas 2"""
    board = board_of("checkout")
    copy: Record = {"id": "copy", "type": "image", "x": 0, "y": 0, "width": 9, "height": 9, "fileId": "logo-file"}
    board.create(copy)
    assert board.element("copy")["status"] == "saved"


def test_a_hub_with_more_ties_than_an_element_may_hold_is_refused_as_a_whole() -> None:
    """canvas 4.5"""
    hub = rectangle("hub")
    arrows: list[Value] = [
        {
            "id": f"{n:05d}" + "x" * 190, "type": "arrow", "x": 0, "y": 0, "points": [[0, 0], [9, 9]],
            "startBinding": {"elementId": "hub"},
        }
        for n in range(1_200)
    ]  # fmt: skip
    board, reply = _imported(hub, *arrows)
    assert (reply["outcome"], reply["code"]) == ("rejected", "limits")
    assert not isinstance(reply, Refusal) and board.bench.rows == {}


def test_frames_that_lie_in_each_other_are_let_go() -> None:
    """canvas 4.1"""
    frame: Record = {"type": "frame", "x": 0, "y": 0, "width": 9, "height": 9}
    board = Board()
    elements: list[Value] = [
        {**frame, "id": "fr", "frameId": "fr2"},
        {**frame, "id": "fr2", "frameId": "fr"},
        {**frame, "id": "inner", "frameId": "fr"},
    ]
    assert board.bring_in({"elements": elements})["repairedCount"] == 1
    assert [board.element(id_)["frameId"] for id_ in ("fr", "fr2", "inner")] == [None, "fr", "fr"]
