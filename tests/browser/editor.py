"""The Excalidraw editor in a page, asked and used as a person would: open a file, drag, type, save."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple, cast

from playwright.async_api import Page

from bus.value import Record, Value
from tests.browser.browsing import ServedPage


class Place(NamedTuple):
    """A point in the scene's own units."""

    x: float
    y: float


def file_of(scene: Record) -> str:
    """The scene as the file that is opened."""
    return json.dumps(scene, ensure_ascii=False)


class Editor:
    """One page. What only asks (opened, restored, svg) leaves nothing in it; `mount` begins anew, and what follows it
    is about what was mounted last."""

    def __init__(self, page: ServedPage) -> None:
        self.page = page

    def opened(self, file: str) -> list[Record]:
        """The elements that the editor has after opening the file. Fails the test if it cannot be opened."""
        whole = self.page.evaluate("file => judge.opened(file)", file)
        assert isinstance(whole, dict)
        return _elements(whole["elements"])

    def restored(self, elements: Sequence[Record], refresh_dimensions: bool = False) -> list[Record]:
        """The elements as the editor takes them, ties mended as for a file; texts measured anew if asked."""
        options = {"repairBindings": True, "refreshDimensions": refresh_dimensions}
        call = "([elements, options]) => judge.restored(elements, options)"
        return _elements(self.page.evaluate(call, [list(elements), options]))

    def svg(self, file: str) -> str:
        """What the editor draws of the file, as the text of an SVG."""
        return self.page.text("file => judge.svg(file)", file)

    def mount(self, file: str) -> None:
        """Open the file in the whole editor, fonts loaded."""
        self.page.evaluate("file => judge.mount(file)", file)

    def load_font(self, family: int, characters: str) -> None:
        """Have the font of that number, and those it falls back to, for these characters."""
        self.page.evaluate("([family, characters]) => judge.loadFont(family, characters)", [family, characters])

    def elements(self) -> dict[str, Record]:
        """What the mounted editor has, by id, in its order; deleted elements too."""
        return {str(element["id"]): element for element in _elements(self.page.evaluate("judge.elements()"))}

    def saved(self) -> Record:
        """The file that the mounted editor would save."""
        return cast(Record, json.loads(self.page.text("judge.saved()")))

    def look(self, at: Place, zoom: float = 1.0) -> None:
        """Bring a place of the scene to the middle of the window."""
        self.page.evaluate("([x, y, zoom]) => judge.look(x, y, zoom)", [at.x, at.y, zoom])

    def click(self, at: Place) -> None:
        """Click there."""
        x, y = self._in_page(at)
        self.page.run(lambda page: page.mouse.click(x, y))

    def double_click(self, at: Place) -> None:
        """Click there twice."""
        x, y = self._in_page(at)
        self.page.run(lambda page: page.mouse.dblclick(x, y))

    def drag(self, start: Place, end: Place, steps: int = 6) -> None:
        """Press at `start`, go to `end` in steps, let go; then wait for what the editor does in the next frames."""
        from_x, from_y = self._in_page(start)
        to_x, to_y = self._in_page(end)

        async def dragged(page: Page) -> None:
            await page.mouse.move(from_x, from_y)
            await page.mouse.down()
            await page.mouse.move(to_x, to_y, steps=steps)
            await page.mouse.up()

        self.page.run(dragged)
        self.settle()

    def press(self, keys: str) -> None:
        """One key or chord, by Playwright's names."""
        self.page.run(lambda page: page.keyboard.press(keys))
        self.settle()

    def type(self, words: str) -> None:
        """Into whatever has the focus."""
        self.page.run(lambda page: page.keyboard.type(words))
        self.settle()

    def settle(self) -> None:
        """Until the editor has drawn twice."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
        )

    def _in_page(self, at: Place) -> tuple[float, float]:
        place = self.page.evaluate("([x, y]) => judge.place(x, y)", [at.x, at.y])
        assert isinstance(place, list) and len(place) == 2
        return cast(tuple[float, float], (place[0], place[1]))


def _elements(value: Value) -> list[Record]:
    assert isinstance(value, list)
    return [element for element in value if isinstance(element, dict)]
