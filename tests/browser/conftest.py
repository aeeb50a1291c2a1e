"""Pages with the real editor in a real Chromium. Skipped, with words, where there is no browser or no editor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from actors.engines.browser.chromium import NoBrowser
from tests.browser.browsing import Browsing, ServedPage, browsing
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


@contextmanager
def _editor(browser: Browsing, name: str) -> Iterator[Editor]:
    with browser.page(built(name)) as page:
        yield Editor(page)
        _nothing_wrong(page)


def _nothing_wrong(page: ServedPage) -> None:
    assert page.outside == [], "the page asked something outside"
    assert page.errors == [], "a script of the page failed"


@pytest.fixture
def editor(browser: Browsing, bundled: None) -> Iterator[Editor]:
    """The published editor in a page of its own. After the test it must have asked nothing outside."""
    with _editor(browser, "release") as editor:
        yield editor


@pytest.fixture(params=EDITORS)
def either_editor(request: pytest.FixtureRequest, browser: Browsing, bundled: None) -> Iterator[Editor]:
    """The same for the published editor and for main in turn."""
    with _editor(browser, request.param) as editor:
        yield editor


@pytest.fixture(scope="session", params=EDITORS)
def judge(request: pytest.FixtureRequest, browser: Browsing, bundled: None) -> Iterator[Editor]:
    """Each of the editors in turn, only to be asked: its page is shared by the session."""
    with _editor(browser, request.param) as editor:
        yield editor
