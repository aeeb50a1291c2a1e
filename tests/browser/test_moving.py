"""A person opens in the editor what an agent drew and goes on with it: everything stays tied (canvas 4.2, 4.3)."""

from __future__ import annotations

import pytest

from actors.canvas.ties import target_id
from bus.value import Record, Value
from tests.actors.canvas.board import Board, empty_board, number, rectangle
from tests.browser.editor import Editor, Place, file_of
from tests.browser.outlines import centre, distance_to_outline, end_of
from tests.browser.repairs import repairs

GAP_MAX = 12.0
"""How far from an outline an editor leaves the tip of an arrow, in scene units: its gap and half a stroke."""

LOOP_END_MAX = 32.0


def drawn(kind: str, angle: float = 0) -> Board:
    """Labelled `a`, below it to the right `b` without a label, an arrow between them with one, and `c` by itself."""
    board = empty_board()
    look: Record = {"type": kind, "backgroundColor": "#a5d8ff", "angle": angle}
    board.create(
        {**rectangle("a", 0, 0, 180, 120), **look, "label": {"text": "Gateway", "id": "a-label"}},
        {**rectangle("b", 420, 180, 160, 110), **look},
        {**rectangle("c", 0, 300, 100, 60), **look},
        {
            "id": "ab",
            "type": "arrow",
            "start": {"id": "a"},
            "end": {"id": "b"},
            "label": {"text": "calls", "id": "said"},
        },
    )
    return board


def opened(editor: Editor, board: Board) -> dict[str, Record]:
    """The scene in the editor, all of it in view."""
    editor.mount(file_of(board.take_out()))
    editor.look(Place(280, 180))
    return editor.elements()


def inside(shape: Record) -> Place:
    """A place in the shape that is not its label."""
    return Place(centre(shape).x, number(shape, "y") + number(shape, "height") * 0.82)


@pytest.mark.parametrize("kind", ["rectangle", "ellipse", "diamond"])
def test_a_label_goes_with_its_shape_and_arrows_follow(either_editor: Editor, kind: str) -> None:
    """canvas 4.2"""
    before = opened(either_editor, drawn(kind))
    grip = inside(before["a"])
    either_editor.drag(grip, Place(grip.x - 40, grip.y + 90))
    after = either_editor.elements()
    for id_ in ("a", "a-label"):
        went = [number(after[id_], edge) - number(before[id_], edge) for edge in ("x", "y")]
        assert went == pytest.approx([-40, 90]), id_
    assert after["a-label"]["text"] == before["a-label"]["text"]
    assert after["b"] == before["b"]
    assert after["ab"]["points"] != before["ab"]["points"]
    for id_, last in (("a", False), ("b", True)):
        assert distance_to_outline(after[id_], end_of(after["ab"], last)) < GAP_MAX, id_


def test_connected_shapes_stay_connected_when_both_are_moved(either_editor: Editor) -> None:
    """canvas 4.2: canvas_connect_elements, there and back, and from a shape to itself.

    Editors lead the second end of an arrow to itself less exactly: it may come to lie in its shape.
    """
    board = drawn("diamond")
    connections: list[Value] = [
        {"fromId": "b", "toId": "c", "label": "asks"},
        {"fromId": "c", "toId": "b"},
        {"fromId": "c", "toId": "c"},
    ]
    board.applied("connect", connections=connections)
    before = opened(either_editor, board)
    for id_, way in (("b", Place(-60, 50)), ("c", Place(30, -70))):
        grip = inside(before[id_])
        either_editor.drag(grip, Place(grip.x + way.x, grip.y + way.y))
        either_editor.press("Escape")
    after = either_editor.elements()
    arrows = [element for element in after.values() if element["type"] == "arrow"]
    assert len(arrows) == 4
    for tied in arrows:
        for side, last in (("startBinding", False), ("endBinding", True)):
            binding = tied[side]
            assert isinstance(binding, dict)
            distance = distance_to_outline(after[str(binding["elementId"])], end_of(tied, last))
            is_loop = target_id(tied, "startBinding") == target_id(tied, "endBinding")
            assert distance < (LOOP_END_MAX if is_loop else GAP_MAX), (tied["id"], side)


def test_arrows_follow_a_rotated_shape(either_editor: Editor) -> None:
    """canvas 4.2"""
    before = opened(either_editor, drawn("rectangle", angle=0.5))
    middle = centre(before["b"])
    either_editor.drag(Place(middle.x + 50, middle.y), Place(middle.x + 90, middle.y - 160))
    after = either_editor.elements()
    assert number(after["b"], "x") - number(before["b"], "x") == pytest.approx(40)
    for id_, last in (("a", False), ("b", True)):
        assert distance_to_outline(after[id_], end_of(after["ab"], last)) < GAP_MAX, id_


def test_an_arrow_whose_first_bend_its_shape_covered_follows_from_the_outline(either_editor: Editor) -> None:
    """canvas 4.2: with the bend left in, both editors would lead it from the middle of the shape."""
    board = empty_board()
    board.create(
        rectangle("a", 0, 0, 180, 120),
        rectangle("b", 420, 180, 160, 110),
        {
            "id": "ab",
            "type": "arrow",
            "x": 0,
            "y": 0,
            "points": [[0, 0], [90, 200], [300, 240], [1, 1]],
            "start": {"id": "a"},
            "end": {"id": "b"},
        },
    )
    board.applied("update", updates=[{"id": "a", "set": {"height": 230}}])
    before = opened(either_editor, board)
    for id_, last in (("a", False), ("b", True)):
        assert distance_to_outline(before[id_], end_of(before["ab"], last)) < GAP_MAX, id_
    either_editor.click(Place(90, 0))  # its border, since it has no background
    either_editor.drag(Place(90, 0), Place(60, -30))
    after = either_editor.elements()
    assert number(after["a"], "x") == pytest.approx(-30)
    for id_, last in (("a", False), ("b", True)):
        assert distance_to_outline(after[id_], end_of(after["ab"], last)) < GAP_MAX, id_


def test_what_the_person_did_in_the_editor_comes_back_as_it_is(either_editor: Editor) -> None:
    """canvas 4.1, 4.2: typing a label, dragging and deleting leave a file in which nothing has to be put right."""
    before = opened(either_editor, drawn("rectangle"))
    either_editor.double_click(centre(before["b"]))
    either_editor.type("Orders of today")
    either_editor.press("Escape")
    either_editor.drag(inside(before["b"]), Place(inside(before["b"]).x + 30, inside(before["b"]).y - 40))
    either_editor.press("Escape")
    either_editor.click(inside(before["c"]))
    either_editor.press("Delete")
    saved = either_editor.saved()
    board = Board()
    outcome = board.bring_in(saved)
    assert outcome["outcome"] == "applied"
    assert (outcome["repairedCount"], outcome["leftOut"]) == (0, [])
    written = board.take_out()["elements"]
    assert isinstance(written, list)
    kept = [element for element in written if isinstance(element, dict)]
    assert repairs(kept, either_editor.opened(file_of(saved))) == []
    texts = {element["originalText"]: element["containerId"] for element in kept if element["type"] == "text"}
    assert texts["Orders of today"] == "b"
    assert "c" not in {element["id"] for element in kept}


def test_deleting_a_shape_in_the_editor_takes_its_label_and_frees_its_arrow(either_editor: Editor) -> None:
    """canvas 4.2"""
    before = opened(either_editor, drawn("ellipse"))
    either_editor.click(inside(before["a"]))
    either_editor.press("Delete")
    saved = either_editor.saved()
    board = Board()
    assert board.bring_in(saved)["repairedCount"] == 0
    assert sorted(board.state.entries) == ["ab", "b", "c", "said"]
    assert board.element("ab")["startBinding"] is None
    assert board.lists("b") == ["ab"]
