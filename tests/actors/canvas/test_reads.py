"""canvas_get_state, canvas_query_region, canvas_summary (canvas 2, 5; common 6.4, 7)."""

from __future__ import annotations

import math

import orjson
import pytest

from actors.canvas import RULES
from actors.decision import Context, Message, Put
from bus.limits import element_bytes_max, region_page_bytes_max, result_bytes_max
from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, VIEWER, Board, board_of, empty_board, label, rectangle, tied_pair
from tests.support.bench import PERSON
from tools.canvas.outputs import CanvasGetStateOutput, CanvasQueryRegionOutput, CanvasRow
from tools.errors import Code

EVERYWHERE: Record = {"canvasId": "canvas1", "x": -10_000, "y": -10_000, "width": 20_000, "height": 20_000}


def _page(board: Board, **arguments: Value) -> Record:
    reply = board.answer(
        "canvas_query_region", {**EVERYWHERE, **arguments}, VIEWER if board.state.roles.get(VIEWER.agent_id) else EDITOR
    )
    CanvasQueryRegionOutput.model_validate(reply)
    assert (reply["untrusted"], reply["source"]) == (True, "canvas")
    return reply


def _ids(page: Record) -> list[str]:
    elements = page["elements"]
    assert isinstance(elements, list)
    return [str(element["id"]) for element in elements if isinstance(element, dict)]


def test_the_overview_says_what_there_is() -> None:
    """canvas 2"""
    reply = board_of("checkout").answer("canvas_get_state", {"canvasId": "canvas1"}, VIEWER)
    CanvasGetStateOutput.model_validate(reply)
    assert (reply["revision"], reply["role"], reply["counts"]) == (1, "viewer", {"live": 16, "deleted": 1})
    assert reply["types"] == {
        "text": 6, "arrow": 2, "rectangle": 2, "frame": 1, "ellipse": 1, "diamond": 1, "image": 1,
        "line": 1, "freedraw": 1,
    }  # fmt: skip
    assert reply["extent"] == {"x": -20, "y": -140, "width": 750, "height": 460}
    labels = reply["labels"]
    assert isinstance(labels, list)
    assert labels[2] == {
        "elementId": "cache-label",
        "containerId": "cache",
        "text": {"untrusted": True, "source": "canvas", "text": "缓存 cache"},
    }
    assert (reply["labelsTruncated"], reply["proposals"], reply["locks"]) == (False, [], [])


def test_labels_are_cut_and_counted() -> None:
    """canvas 2, common 7.3"""
    board = empty_board()
    texts: list[Record] = [{"type": "text", "x": 0, "y": n, "text": "𝒳" * 300} for n in range(201)]
    for first in range(0, len(texts), 30):
        board.create(*texts[first : first + 30])
    reply = board.answer("canvas_get_state", {"canvasId": "canvas1"})
    labels = reply["labels"]
    assert isinstance(labels, list) and 0 < len(labels) <= 200
    assert isinstance(labels[0], dict) and labels[0]["text"]["text"] == "𝒳" * 120  # type: ignore[call-overload, index]
    assert reply["labelsTruncated"] is True
    assert len(orjson.dumps(reply)) < result_bytes_max


def test_an_empty_canvas_has_no_extent() -> None:
    assert empty_board().answer("canvas_get_state", {"canvasId": "canvas1"})["extent"] is None


def test_the_summary_is_the_row_of_the_list_and_needs_only_the_head() -> None:
    """canvas 5: listing canvases loads no scene"""
    board = board_of("checkout")
    state = RULES.new_state()
    for row, value in board.bench.rows.items():
        if row == "head" or row.startswith("head/"):
            RULES.apply(state, Put(row, value))
    assert RULES.verbs["canvas_summary"].head_only
    context = Context(board.bench.clock.now_ms(), VIEWER, "call", board.bench.address)
    reply = RULES.verbs["canvas_summary"].decide(state, Message("canvas_summary", {}), context).reply
    assert reply == board.answer("canvas_summary", {}, VIEWER)
    assert CanvasRow.model_validate(reply).model_dump() == {
        "canvasId": "canvas1",
        "title": "Plan",
        "revision": 1,
        "role": "viewer",
        "counts": {"live": 16, "deleted": 1},
        "updatedAt": "2027-01-15T08:00:00.000Z",
        "createdBy": "person",
    }


def test_elements_come_in_excalidraws_form_lowest_first() -> None:
    """canvas 2, common 7.1"""
    board = board_of("checkout")
    page = _page(board)
    assert _ids(page) == [id_ for _, id_ in board.state.in_order() if id_ != "note"]
    assert "nextCursor" not in page


@pytest.mark.parametrize(("match", "expected"), [("intersects", ["gateway", "to-orders"]), ("contains", [])])
def test_a_region_meets_or_holds_elements(match: str, expected: list[str]) -> None:
    """canvas 2"""
    page = _page(board_of("checkout"), x=150, y=35, width=40, height=10, match=match, types=["rectangle", "arrow"])
    assert _ids(page) == expected


def test_a_region_is_compared_with_what_is_seen_of_rotated_elements() -> None:
    """canvas 2"""
    board = empty_board()
    board.create({**rectangle("turned", 0, 0, 200, 10), "angle": math.pi / 2})
    assert _ids(_page(board, x=95, y=-90, width=10, height=10)) == ["turned"]
    assert _ids(_page(board, x=0, y=0, width=20, height=10)) == []


def test_lines_are_found_where_their_points_are() -> None:
    """canvas 2"""
    board = empty_board()
    board.create({"id": "back", "type": "line", "x": 100, "y": 0, "points": [[0, 0], [-90, 5]]})
    assert _ids(_page(board, x=0, y=0, width=20, height=20)) == ["back"]
    assert _ids(_page(board, x=110, y=0, width=20, height=20)) == []


def test_a_point_is_a_region() -> None:
    assert _ids(_page(tied_pair(), x=50, y=1, width=0, height=0)) == ["a"]


def test_deleted_elements_are_found_only_when_asked_for() -> None:
    """canvas 2"""
    board = board_of("checkout")
    assert "note" in _ids(_page(board, includeDeleted=True))
    assert "note" not in _ids(_page(board))


def test_pages_give_every_element_once_whatever_is_written_between_them() -> None:
    """common 7.3"""
    board = empty_board()
    board.create(*[rectangle(f"r{n:02d}") for n in range(25)])
    seen: list[str] = []
    page = _page(board, limit=10)
    while True:
        seen += _ids(page)
        if "nextCursor" not in page:
            break
        board.applied("update", updates=[{"id": "r00", "set": {"opacity": len(seen)}}])
        board.applied("delete", elementIds=[seen[-1]])
        page = _page(board, limit=10, cursor=page["nextCursor"])
    assert seen == [f"r{n:02d}" for n in range(25)]


def test_a_page_ends_early_before_it_is_too_large() -> None:
    """common 6.4"""
    board = empty_board()
    blob = "x" * (element_bytes_max - 2_000)
    for n in range(3):
        board.create({**rectangle(f"r{n}"), "customData": {"blob": blob}})
    page = _page(board)
    assert _ids(page) == ["r0"]
    assert len(orjson.dumps(page)) < result_bytes_max
    assert _ids(_page(board, cursor=page["nextCursor"])) == ["r1"]
    assert region_page_bytes_max < result_bytes_max


@pytest.mark.parametrize("cursor", ["", "!", "[]", "7", "é" * 30, '["a"]', '["a",1]', '["a","b","c"]', "[" * 3_000])
def test_a_malformed_cursor_is_an_invalid_argument(cursor: str) -> None:
    """common 7.3"""
    refusal = board_of("checkout").refused("canvas_query_region", {**EVERYWHERE, "cursor": cursor})
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert refusal.details["fields"] == [
        {"path": "cursor", "problem": "is not a cursor of this query; start again without one"}
    ]


def test_rights_are_checked_anew_on_each_page() -> None:
    """common 7.3"""
    board = board_of("checkout")
    cursor = _page(board, limit=2)["nextCursor"]
    board.answer("canvas_grant", {"agentId": VIEWER.agent_id, "role": "none"}, PERSON)
    assert board.refused("canvas_query_region", {**EVERYWHERE, "cursor": cursor}, VIEWER).code is Code.NOT_FOUND


@pytest.mark.parametrize(
    "arguments", [{"limit": 501}, {"limit": 0}, {"width": -1}, {"x": float("nan")}, {"match": "x"}]
)
def test_regions_have_bounds(arguments: Record) -> None:
    """canvas 2"""
    board_of("checkout").refused("canvas_query_region", {**EVERYWHERE, **arguments})


def test_a_label_is_found_with_its_words_exact() -> None:
    """canvas 4.3"""
    words = "שלום 👩‍💻 नमस्ते 你好"
    board = empty_board()
    board.create(rectangle("box", width=400), label("words", "box", words))
    assert board.element("words")["originalText"] == words
