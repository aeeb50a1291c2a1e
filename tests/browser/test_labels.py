"""Labels that NEXUS made fit: an editor that lays them out anew changes next to nothing (canvas 4.3)."""

from __future__ import annotations

from typing import Final

import pytest

from bus.value import Record, Value
from tests.actors.canvas.board import empty_board, number
from tests.browser.editor import Editor, Place, file_of
from tests.browser.test_drawn_scenes import live_elements

WORDS: Final = (
    "Gateway",
    "Reads the orders of today and writes them to the ledger",
    "one\ntwo\n\nfour",
    "supercalifragilisticexpialidocious",
    "WWWW mmmm iiii llll 0123456789 (a+b)*c = {d}",
    "缓存服务与数据库之间的同步",
    "état naïf, Größe, çalışma",
)
WIDE: Final = 5
"""Which of the words have characters that only the machine's own fonts may have: they must not be wider than we say."""

FAMILIES: Final = (1, 3, 5, 6, 7, 8, 9)
"""Those whose fonts the editor brings along; 2 is whatever Helvetica the machine has."""

WIDTH_SHARE_MAX: Final = 0.015
"""How much the editor's width of a label may differ, as a share of ours."""


def labelled(family: int) -> Record:
    """A scene with each of the words in each kind of shape and on an arrow."""
    board = empty_board()
    for row, kind in enumerate(("rectangle", "ellipse", "diamond", "arrow")):
        for column, words in enumerate(WORDS):
            box: Record = {"x": column * 400, "y": row * 400, "width": 220, "height": 60}
            said: Value = {"text": words, "fontFamily": family, "id": f"{kind}-{column}-label"}
            board.create({"id": f"{kind}-{column}", "type": kind, **box, "label": said})
    return board.take_out()


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_laid_out_anew_by_the_editor_stay_as_they_are(judge: Editor, family: int) -> None:
    """canvas 4.3"""
    scene = labelled(family)
    judge.load_font(family, "".join(WORDS))
    written = live_elements(scene)
    fresh = {str(element["id"]): element for element in judge.restored(written, refresh_dimensions=True)}
    found: list[str] = []
    for element in written:
        again = fresh[str(element["id"])]
        if element["type"] == "text":
            if again["text"] != element["text"]:
                found.append(f"{element['id']!s}: {element['text']!r} is wrapped as {again['text']!r}")
            elif not _is_as_wide(element, again):
                found.append(f"{element['id']!s}: {element['width']!r} wide, measured as {again['width']!r}")
        elif element["type"] != "arrow" and again["height"] != element["height"]:
            found.append(f"{element['id']!s}: {element['height']!r} high, made {again['height']!r}")
    assert found == [], "\n".join(found)


def _is_as_wide(element: Record, again: Record) -> bool:
    ours, theirs = number(element, "width"), number(again, "width")
    slack = ours * WIDTH_SHARE_MAX
    is_machines = f"-{WIDE}-" in str(element["id"])
    return theirs <= ours + slack and (is_machines or theirs >= ours - slack)


def test_a_label_that_is_opened_for_typing_and_left_changes_neither_wrapping_nor_shape(editor: Editor) -> None:
    """canvas 4.3"""
    editor.load_font(5, "".join(WORDS))
    editor.mount(file_of(labelled(5)))
    before = editor.elements()
    for kind in ("rectangle", "ellipse", "diamond"):
        shape = before[f"{kind}-1"]
        middle = Place(number(shape, "x") + 110, number(shape, "y") + number(shape, "height") / 2)
        editor.look(middle)
        editor.double_click(middle)
        editor.press("End")
        editor.type(" x")
        editor.press("Backspace")
        editor.press("Backspace")
        editor.press("Escape")
        after = editor.elements()
        assert after[f"{kind}-1-label"]["text"] == before[f"{kind}-1-label"]["text"]
        assert after[f"{kind}-1"]["height"] == shape["height"]
