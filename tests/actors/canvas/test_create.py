"""canvas_create_elements (canvas 2, 4.1, 4.2)."""

from __future__ import annotations

import itertools

import pytest

from actors.canvas.edges import at_ratio
from actors.canvas.geometry import Point, absolute_points, as_point
from bus.limits import element_bytes_max, measured_bytes_max
from bus.value import Record, Value
from tests.actors.canvas.board import arrow, board_of, empty_board, label, number, rectangle, tied_pair
from tests.actors.canvas.drawn import is_on_line, label_is_inside, wrong_ends
from tools.errors import Code, Refusal


def _nested(depth: int) -> Value:
    value: Value = "bottom"
    for _ in range(depth):
        value = [value]
    return value


def test_no_call_has_more_text_laid_out_than_its_share() -> None:
    """security 2.23: it takes seconds a megabyte, in which nobody else of the shard is served."""
    board = empty_board()
    words = "x" * (measured_bytes_max // 2)
    assert len(board.create({"type": "text", "x": 0, "y": 0, "text": words})) == 1
    texts: list[Value] = [{"type": "text", "x": 0, "y": 0, "text": words} for _ in range(3)]
    assert board.rejected("create", elements=texts) == "limits"
    assert board.rejected("create", elements=[rectangle("box"), label("words", "box", words * 3)]) == "limits"


def test_the_short_form_becomes_a_complete_element() -> None:
    """canvas 2, 4.1"""
    board = empty_board()
    (id_,) = board.create({"type": "ellipse", "x": 1, "y": 2, "width": 30, "height": 40, "strokeColor": "#ff0000"})
    element = board.element(id_)
    assert (element["strokeColor"], element["opacity"], element["index"], element["version"]) == (
        "#ff0000",
        100,
        "a0",
        1,
    )
    assert element["updated"] == board.bench.clock.now_ms()


def test_new_elements_lie_on_top_in_the_order_given() -> None:
    """canvas 4.1"""
    board = board_of("checkout")
    made = board.create(rectangle("one"), rectangle("two"))
    assert [id_ for _, id_ in board.state.in_order()][-2:] == made


def test_a_full_element_keeps_unknown_fields_but_not_its_old_life() -> None:
    """canvas 2, 4.4"""
    board = empty_board()
    board.create({**rectangle("full"), "version": 812, "index": "zz", "updated": 1, "hover": {"deep": [1, None]}})
    element = board.element("full")
    assert element["hover"] == {"deep": [1, None]}
    assert (element["version"], element["index"]) == (1, "a0")


def test_a_short_line_crosses_its_width_and_height() -> None:
    board = empty_board()
    board.create({"id": "up", "type": "arrow", "x": 0, "y": 100, "width": 50, "height": -100})
    assert board.element("up")["points"] == [[0, 0], [50, -100]]
    assert board.element("up")["height"] == 100


def test_points_begin_at_the_element_and_give_its_size() -> None:
    """canvas 4.1"""
    board = empty_board()
    board.create({"id": "line", "type": "line", "x": 10, "y": 10, "points": [[5, 5], [25, 0], [5, 40]]})
    line = board.element("line")
    assert (line["x"], line["y"], line["points"]) == (15, 15, [[0, 0], [20, -5], [0, 35]])
    assert (line["width"], line["height"]) == (20, 40)


def test_a_text_is_measured() -> None:
    """canvas 4.3"""
    board = empty_board()
    board.create({"id": "t", "type": "text", "x": 0, "y": 0, "text": "two\r\nlines 缓存"})
    element = board.element("t")
    assert (element["text"], element["originalText"], element["height"]) == ("two\nlines 缓存",) * 2 + (50.0,)
    assert 60 < number(element, "width") < 160


def test_a_text_with_a_container_becomes_its_label_and_fits() -> None:
    """canvas 4.2, 4.3"""
    board = empty_board()
    words = "A long sentence that has to be wrapped to stay inside"
    board.create(rectangle("box", 100, 100, 120, 40), label("words", "box", words))
    box, text = board.element("box"), board.element("words")
    assert board.lists("box") == ["words"]
    assert text["originalText"] == words and "\n" in str(text["text"])
    assert number(text, "width") <= number(box, "width") - 10
    assert number(text, "height") <= number(box, "height") - 10
    assert number(text, "y") >= number(box, "y") + 5


def test_an_arrow_is_tied_in_both_forms_and_on_both_sides() -> None:
    """canvas 4.2"""
    board = tied_pair()
    binding = board.element("ab")["startBinding"]
    assert binding == {"elementId": "a", "focus": 0, "gap": 5, "fixedPoint": [0.5001, 0.5001], "mode": "orbit"}
    assert "ab" in board.lists("a") and "ab" in board.lists("b")


def test_arrows_can_be_tied_to_elements_that_were_there_before() -> None:
    """canvas 4.2"""
    board = board_of("checkout")
    board.create(arrow("new", "gateway", "cache", 90, 85, [[0, 0], [0, 40]]))
    assert board.lists("gateway")[-1] == "new" and "new" in board.lists("cache")


def test_a_slanting_elbow_arrow_is_led_in_right_angles() -> None:
    """canvas 4.2"""
    board = empty_board()
    board.create({"id": "bent", "type": "arrow", "x": 5, "y": 5, "width": 100, "height": 40, "elbowed": True})
    assert board.element("bent")["points"] == [[0, 0], [50, 0], [50, 40], [100, 40]]


@pytest.mark.parametrize(
    "element",
    [
        {**rectangle("x"), "width": 0},
        {**rectangle("x"), "height": -5},
        {**rectangle("x"), "x": float("inf")},
        {**rectangle("x"), "y": float("nan")},
        {**rectangle("x"), "x": 10**400},
        {**rectangle("x"), "x": 1e12},
        {"id": "x", "type": "rectangle", "x": 0, "y": 0},
        {"id": "x", "type": "arrow", "x": 0, "y": 0},
        {"id": "x", "type": "line", "x": 0, "y": 0, "points": [[1, 1], [1, 1]]},
        {"id": "x", "type": "freedraw", "x": 0, "y": 0, "points": [[0, 0]]},
        {"id": "x", "type": "line", "x": 0, "y": 0, "points": [[0, 0], [float("nan"), 1]]},
    ],
)
def test_geometry_that_no_editor_could_show_is_rejected(element: Record) -> None:
    """canvas 3.1"""
    code = empty_board().rejected("create", elements=[element])
    assert code == ("field" if element["x"] == 10**400 else "geometry")


@pytest.mark.parametrize(
    ("element", "code"),
    [
        ({**rectangle("x"), "customData": {"tower": _nested(40)}}, "limits"),
        ({**rectangle("x"), "customData": {"blob": "x" * element_bytes_max}}, "limits"),
        ({**rectangle("x"), "opacity": 200}, "field"),
        ({**rectangle("x"), "isDeleted": True}, "field"),
        ({**rectangle("x"), "text": "not a text element"}, "field"),
        ({**rectangle("x"), "frameId": "cache"}, "unknown_element"),
        ({"id": "x", "type": "text", "x": 0, "y": 0, "text": ""}, "field"),
        ({"id": "x", "type": "text", "x": 0, "y": 0, "text": "a", "fontSize": 0}, "field"),
        ({"id": "x", "type": "image", "x": 0, "y": 0, "width": 5, "height": 5, "fileId": "none"}, "field"),
        (label("x", "cache"), "field"),
        (label("x", "logo"), "field"),
        (label("x", "note"), "deleted_element"),
        (label("x", "x"), "field"),
        (arrow("x", "cache", "nowhere", 0, 0, [[0, 0], [9, 9]]), "unknown_element"),
        (arrow("x", "cache-label", "cache", 0, 0, [[0, 0], [9, 9]]), "field"),
        ({**rectangle("note")}, "id_taken"),
    ],
)
def test_what_a_scene_cannot_hold_is_rejected(element: Record, code: str) -> None:
    """canvas 3.1, 4.1, 4.2"""
    assert board_of("checkout").rejected("create", elements=[element]) == code


@pytest.mark.parametrize(
    "element",
    [
        {**rectangle("x"), "type": "hologram"},
        {**rectangle("x"), "label": {"text": ""}},
        {"type": "arrow", "width": 5, "start": {"id": "a"}},
        {"type": "rectangle", "width": 5, "height": 5},
        {**rectangle("x"), "x": "1"},
        {**rectangle("x"), "id": ""},
        {**rectangle("x"), "id": "x" * 201},
        {**rectangle("x"), "id": "half \ud83d"},
        {**rectangle("x"), "locked": 1},
        {**rectangle("x"), "points": [[0, None]]},
    ],
)
def test_elements_of_a_wrong_shape_are_invalid_arguments_with_their_path(element: Record) -> None:
    """common 6.3"""
    body: Record = {"canvasId": "canvas1", "expectedRevision": 1, "reason": "r", "elements": [element]}
    refusal = empty_board().refused("canvas_create_elements", body)
    assert refusal.code is Code.INVALID_ARGUMENTS
    fields = refusal.details["fields"]
    assert isinstance(fields, list) and isinstance(fields[0], dict)
    assert str(fields[0]["path"]).startswith("elements.0")


@pytest.mark.parametrize("value", ["half \ud83d", float("inf"), float("nan"), 10**400, {"\ud83d": 1}, _nested(3_000)])
@pytest.mark.parametrize("field", ["customData", "unknownField"])
def test_what_rows_and_json_cannot_carry_is_refused_wherever_it_stands(field: str, value: Value) -> None:
    """canvas 3.1, common 7.3"""
    board = empty_board()
    rows = dict(board.bench.rows)
    body: Record = {"canvasId": "canvas1", "expectedRevision": 1, "reason": "r"}
    reply = board.ask("canvas_create_elements", {**body, "elements": [{**rectangle("x"), field: {"held": value}}]})
    if isinstance(reply, Refusal):
        assert reply.code is Code.INVALID_ARGUMENTS
    else:
        assert (reply["outcome"], reply["code"] in ("field", "geometry", "limits")) == ("rejected", True)
    assert board.bench.rows == rows


@pytest.mark.parametrize("id_", ["x" * 200, "𝒳" * 200, "a/b:c d", "=hash", "\x00nul", "ünï", "head", "../up"])
def test_any_id_of_up_to_200_characters_names_an_element(id_: str) -> None:
    """common 1.7"""
    board = empty_board()
    board.create(rectangle(id_))
    assert board.applied("move", moves=[{"id": id_, "dx": 1, "dy": 1}])["elementIds"] == [id_]
    assert board.bench.reloaded() == board.state


def test_the_list_of_changed_ids_is_bounded() -> None:
    """common 6.4, 7.3"""
    outcome = empty_board().applied("create", elements=[rectangle("𝒳" * 195 + f"{n:03d}") for n in range(500)])
    ids = outcome["elementIds"]
    assert isinstance(ids, list) and 0 < len(ids) < 500
    assert outcome["truncated"] is True


def _flow() -> list[Record]:
    """The example of the tool's description, the arrow first."""
    return [
        {"type": "arrow", "id": "ab", "start": {"id": "a"}, "end": {"id": "b"}, "label": "asks"},
        {**rectangle("a", 0, 0, 160, 80), "label": "API", "strokeColor": "#1971c2"},
        {"type": "diamond", "id": "b", "x": 320, "y": -20, "width": 180, "height": 120,
         "label": {"text": "Valid?", "fontSize": 16, "id": "b-label", "textAlign": "left"}},
    ]  # fmt: skip


def test_a_diagram_in_the_short_form_comes_out_tied_labelled_and_in_any_order() -> None:
    """canvas 2, 4.2, 4.3"""
    board = empty_board()
    made = board.create(*_flow())
    assert made[:3] == ["ab", "a", "b"] and "b-label" in made
    assert absolute_points(board.element("ab")) == [(166, 40), (314, 40)]
    assert list(wrong_ends(board.state, "ab")) == []
    for id_, words in (("a", "API"), ("b", "Valid?"), ("ab", "asks")):
        text = next(board.element(one) for one in board.lists(id_) if board.element(one)["type"] == "text")
        assert (text["text"], text["containerId"], text["verticalAlign"]) == (words, id_, "middle")
        assert id_ == "ab" or label_is_inside(text, board.element(id_))
    label_of_b = board.element("b-label")
    assert (label_of_b["fontSize"], label_of_b["textAlign"]) == (16, "left")


def test_a_short_label_has_the_colour_of_its_shape_and_lies_right_above_it() -> None:
    """canvas 2"""
    board = empty_board()
    board.create(*_flow())
    order = [id_ for _, id_ in board.state.in_order()]
    for id_ in ("ab", "a", "b"):
        (words,) = [one for one in board.lists(id_) if board.element(one)["type"] == "text"]
        assert order.index(words) == order.index(id_) + 1
    (words,) = [one for one in board.lists("a") if board.element(one)["type"] == "text"]
    assert board.element(words)["strokeColor"] == "#1971c2"


def test_a_label_for_a_shape_that_was_there_lies_right_above_it_too() -> None:
    """canvas 4.1, 4.2"""
    board = empty_board()
    board.create(rectangle("low"), rectangle("high", 300), rectangle("top", 600))
    board.create(label("low-label", "low"), rectangle("new", 900), label("top-label", "top"), label("new-label", "new"))
    assert [id_ for _, id_ in board.state.in_order()] == [
        "low", "low-label", "high", "top", "top-label", "new", "new-label",
    ]  # fmt: skip


def test_texts_that_name_each_other_are_rejected() -> None:
    """canvas 4.2"""
    assert empty_board().rejected("create", elements=[label("one", "two"), label("two", "one")]) == "field"


def test_nothing_of_the_short_form_is_stored() -> None:
    """canvas 4.1"""
    board = empty_board()
    for id_ in board.create(*_flow()):
        assert not board.element(id_).keys() & {"label", "start", "end"}


def test_a_shape_that_grows_for_its_label_has_its_arrow_at_its_new_outline() -> None:
    """canvas 4.2, 4.3"""
    board = empty_board()
    words = "Words and words and more words that need far more room than there is"
    board.create(
        {**rectangle("a", 0, 0, 100, 30), "label": words},
        rectangle("b", 0, 800),
        {"type": "arrow", "id": "ab", "start": {"id": "a"}, "end": {"id": "b"}},
    )
    assert number(board.element("a"), "height") > 100
    assert list(wrong_ends(board.state, "ab")) == []


def test_points_between_the_ends_bend_the_arrow() -> None:
    """canvas 2"""
    board = empty_board()
    bent: Record = {"id": "ab", "type": "arrow", "x": 0, "y": 0, "points": [[0, 0], [200, 300], [9, 9]]}
    board.create(rectangle("a"), rectangle("b", 300), {**bent, "start": {"id": "a"}, "end": {"id": "b"}})
    start, bend, end = absolute_points(board.element("ab"))
    assert bend == (200, 300)
    assert is_on_line(start, Point(50, 25), bend) and is_on_line(end, Point(350, 25), bend)
    assert list(wrong_ends(board.state, "ab")) == []


def test_an_arrow_with_one_tied_end_begins_where_it_says() -> None:
    """canvas 2"""
    board = empty_board()
    board.create(
        rectangle("a"),
        {"id": "in", "type": "arrow", "x": 50, "y": -200, "end": {"id": "a"}},
        {"id": "out", "type": "arrow", "x": 50, "y": 25, "width": 0, "height": 300, "start": {"id": "a"}},
        {"id": "bare", "type": "arrow", "x": 400, "y": 25, "start": {"id": "a"}},
    )
    assert absolute_points(board.element("in")) == [(50, -200), (50, -6)]
    assert absolute_points(board.element("out")) == [(50, 56), (50, 325)]
    assert absolute_points(board.element("bare")) == [(106, 25), (400, 25)]


@pytest.mark.parametrize(
    ("x", "y", "ends"),
    [(400, 0, [(106, 25), (394, 25)]), (0, -300, [(50, -6), (50, -244)]), (400, 300, [(106, 25), (394, 325)])],
)
def test_an_elbow_arrow_leaves_and_arrives_at_the_sides_that_face_each_other(
    x: float, y: float, ends: list[tuple[float, float]]
) -> None:
    """canvas 2, 4.2"""
    board = empty_board()
    elbow: Record = {"type": "arrow", "id": "ab", "start": {"id": "a"}, "end": {"id": "b"}, "elbowed": True}
    board.create(rectangle("a"), rectangle("b", x, y), elbow)
    points = absolute_points(board.element("ab"))
    assert [points[0], points[-1]] == ends
    assert all(one.x == other.x or one.y == other.y for one, other in itertools.pairwise(points))
    binding = board.element("ab")["startBinding"]
    assert isinstance(binding, dict)
    assert at_ratio(board.element("a"), binding["fixedPoint"]) == pytest.approx(points[0], abs=0.1)


@pytest.mark.parametrize(
    ("points", "is_led"),
    [
        ([[0, 0], [190, 0]], False),
        ([[-2, -10], [190, 10]], False),
        ([[-55, 0], [245, 0]], True),
        ([[50, 0], [150, 0]], True),
    ],
)
def test_a_bare_binding_keeps_an_end_that_was_drawn_at_its_shape_and_leads_one_that_was_not(
    points: list[Value], is_led: bool
) -> None:
    """canvas 4.2"""
    board = empty_board()
    board.create(rectangle("a"), rectangle("b", x=300), arrow("ab", "a", "b", 105, 25, points))
    start, end = absolute_points(board.element("ab"))
    drawn = [(105 + point.x, 25 + point.y) for point in map(as_point, points) if point is not None]
    assert ([start, end] == drawn) is not is_led
    assert list(wrong_ends(board.state, "ab")) == []


@pytest.mark.parametrize(
    ("element", "code"),
    [
        ({"type": "line", "x": 0, "y": 0, "width": 9, "start": {"id": "cache"}}, "field"),
        ({"type": "arrow", "start": {"id": "cache"}, "end": {"id": "nowhere"}}, "unknown_element"),
        ({"type": "arrow", "start": {"id": "cache"}, "end": {"id": "note"}}, "deleted_element"),
        ({"type": "arrow", "start": {"id": "cache"}, "end": {"id": "rule"}}, "field"),
        ({"type": "arrow", "start": {"id": "cache"}, "end": {"id": "cache"}, "elbowed": True}, "field"),
        ({"type": "line", "x": 0, "y": 0, "width": 9, "label": "words"}, "field"),
        ({"type": "text", "x": 0, "y": 0, "text": "a", "label": "words"}, "field"),
        ({**label("x", "billing"), "label": "words"}, "field"),
        ({**rectangle("x"), "label": {"text": "words", "id": "cache"}}, "id_taken"),
        ({**rectangle("x"), "label": {"text": "words", "id": "x"}}, "id_taken"),
    ],
)
def test_a_short_form_that_cannot_be_drawn_is_rejected(element: Record, code: str) -> None:
    """canvas 3.1"""
    assert board_of("checkout").rejected("create", elements=[element]) == code


def test_a_second_label_for_one_shape_in_a_call_is_rejected() -> None:
    """canvas 4.2"""
    elements: list[Value] = [{**rectangle("box"), "label": "one"}, label("two", "box")]
    assert empty_board().rejected("create", elements=elements) == "field"
