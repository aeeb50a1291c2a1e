"""Pages inside a scene never run where NEXUS shows it, even in a lenient editor (canvas 4.4, security 2.14)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bus.value import Record, Value
from tests.actors.canvas.board import rectangle
from tests.browser.browsing import Browsing
from tests.browser.editor import Editor, Place, file_of
from tests.browser.editor_bundle import built
from tests.browser.test_files import taken_in
from tools.canvas.placeholders import shown_scene

LENIENT: Final = "default-src * data: blob: 'unsafe-inline' 'unsafe-eval'"
"""A policy that forbids nothing, so that it is not what protects."""

RAN: Final = "https://elsewhere.example/ran"
EMBEDDED: Final = "https://www.youtube.com/embed/abcdefghijk"


def hostile() -> Record:
    """A scene with a generated page that runs a script, and with a page of the web."""
    html = f"<script>new Image().src = '{RAN}';</script>"
    generated: Record = {"generationData": {"status": "done", "html": html}}
    elements: list[Record] = [
        {**rectangle("made", 0, 0, 300, 200), "type": "iframe", "customData": generated},
        {**rectangle("web", 400, 0, 300, 200), "type": "embeddable", "link": EMBEDDED},
        rectangle("plain", 0, 300),
    ]
    return taken_in({"type": "excalidraw", "version": 2, "elements": [*elements], "files": {}})


@contextmanager
def shown(browser: Browsing, scene: Record) -> Iterator[Editor]:
    """The scene in a lenient editor, all of it in view."""
    with browser.page(built("release"), policy=LENIENT) as page:
        editor = Editor(page)
        editor.mount(file_of(scene))
        editor.look(Place(350, 100))
        editor.settle()
        assert {"made", "web", "plain"} <= set(editor.elements())
        yield editor


def pages_within(editor: Editor) -> Value:
    """How many pages of others stand in the editor's."""
    return editor.page.evaluate("document.querySelectorAll('iframe, webview, object, embed').length")


def test_an_editor_without_placeholders_would_show_them(browser: Browsing, bundled: None) -> None:
    """What the next test is worth."""
    with shown(browser, hostile()) as editor:
        assert pages_within(editor) == 2


def test_with_placeholders_nothing_runs_and_nothing_is_asked_outside(browser: Browsing, bundled: None) -> None:
    """canvas 4.4, security 2.14"""
    with shown(browser, shown_scene(hostile())) as editor:
        assert pages_within(editor) == 0
        assert editor.page.outside == []
        assert "Web page, not shown" in str([element.get("text") for element in editor.elements().values()])
