"""Pages with the real editor in a real Chromium. Skipped, with words, where there is no browser or no editor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actors.engines.browser.chromium import NoBrowser
from tests.browser.browsing import Browsing, browsing
from tests.browser.editor import Editor
from tests.browser.editor_bundle import BUNDLE, EDITORS, built

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder has the marker `browser`."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browsing]:
    """One Chromium for the session."""
    context = browsing()
    try:
        started = context.__enter__()
    except NoBrowser as missing:
        pytest.skip(str(missing))
    yield started
    context.__exit__(None, None, None)


@pytest.fixture(scope="session")
def bundled() -> None:
    """The pages of the editor are built."""
    why = BUNDLE.why_missing()
    if why is not None:
        pytest.skip(why)


class Pages:
    """Pages with an editor that the tests of the session share, opened when first asked for."""

    def __init__(self, browser: Browsing, open_pages: ExitStack) -> None:
        self._browser = browser
        self._open_pages = open_pages
        self._editors: dict[tuple[str, str], Editor] = {}

    def editor(self, name: str, purpose: str) -> Editor:
        """The page of that editor for that purpose: one that is used is none that is only asked."""
        if (name, purpose) not in self._editors:
            page = self._open_pages.enter_context(self._browser.page(built(name)))
            self._editors[name, purpose] = Editor(page)
        return self._editors[name, purpose]


@pytest.fixture(scope="session")
def pages(browser: Browsing, bundled: None) -> Iterator[Pages]:
    """Not one fixture a page: whatever the order of the tests, each page is loaded once."""
    with ExitStack() as open_pages:
        yield Pages(browser, open_pages)


def _watched(editor: Editor) -> Iterator[Editor]:
    """After each test the page must have asked nothing outside. What one left is not held against the next."""
    yield editor
    outside, errors = [*editor.page.outside], [*editor.page.errors]
    editor.page.outside.clear()
    editor.page.errors.clear()
    assert outside == [], "the page asked something outside"
    assert errors == [], "a script of the page failed"


@pytest.fixture
def editor(pages: Pages) -> Iterator[Editor]:
    """The published editor, to be used; what is mounted there takes the place of what was."""
    yield from _watched(pages.editor("release", "used"))


@pytest.fixture(params=EDITORS)
def either_editor(request: pytest.FixtureRequest, pages: Pages) -> Iterator[Editor]:
    """The same for the published editor and for main in turn."""
    yield from _watched(pages.editor(request.param, "used"))


@pytest.fixture(params=EDITORS)
def judge(request: pytest.FixtureRequest, pages: Pages) -> Iterator[Editor]:
    """Each of the editors in turn, only to be asked."""
    yield from _watched(pages.editor(request.param, "asked"))
