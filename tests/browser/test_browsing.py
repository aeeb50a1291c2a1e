"""What the pages of the judge promise: nothing outside is reached, and what goes wrong in them is noticed."""

from __future__ import annotations

from tests.browser.browsing import Browsing
from tests.browser.editor import Editor
from tests.browser.editor_bundle import built


def test_what_a_page_asks_outside_is_refused_and_noted(browser: Browsing, bundled: None) -> None:
    """security 2.14"""
    with browser.page(built("release"), policy="default-src *") as page:
        page.run(lambda asked: asked.set_content("<img src='https://elsewhere.example/a.png'>"))
        page.run(lambda asked: asked.wait_for_load_state("load"))
        assert page.outside == ["https://elsewhere.example/a.png"]


def test_a_page_may_not_even_ask_outside(browser: Browsing, bundled: None) -> None:
    """security 2.14"""
    with browser.page(built("release")) as page:
        page.run(lambda asked: asked.set_content("<img src='https://elsewhere.example/a.png'>"))
        page.run(lambda asked: asked.wait_for_load_state("load"))
        assert page.outside == []
        assert ["Content Security Policy" in error for error in page.errors] == [True]


def test_errors_of_scripts_are_noted(browser: Browsing, bundled: None) -> None:
    with browser.page(built("release")) as page:
        page.evaluate("() => new Promise(done => { setTimeout(done, 0); setTimeout(() => nothing(), 0); })")
        page.evaluate("() => new Promise(done => setTimeout(done, 0))")
        assert page.errors == ["nothing is not defined"]


def test_the_editor_measures_with_the_fonts_that_it_was_served(editor: Editor) -> None:
    """canvas 4.3"""
    editor.mount('{"type": "excalidraw", "version": 2, "elements": []}')
    loaded = "async () => (await document.fonts.load('20px Excalifont', 'word')).map(font => font.status)"
    assert editor.page.evaluate(loaded) == ["loaded"]
