"""Texts as NEXUS measures and wraps them, against the editor with its own fonts in a real browser (canvas 4.3).

Helvetica is left out: it is a font of the machine. So are exact widths of what Excalidraw's fonts lack.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, cast

import pytest

from actors.canvas.fonts.table import font_table
from bus.value import Record, Value
from tests.actors.canvas.board import empty_board
from tests.browser.browsing import Browsing, ServedPage
from tests.browser.editor import Editor, file_of
from tests.browser.editor_bundle import built

SIZE: Final = 100
FAMILIES: Final = {
    1: "Virgil",
    3: "Cascadia",
    5: "Excalifont, Xiaolai",
    6: "Nunito",
    7: "Lilita One",
    8: "Comic Shanns",
    9: "Liberation Sans",
}
EXCALIFONT: Final = 5
LATIN: Final = (
    "Hello, World!",
    "The quick brown fox jumps over the lazy dog.",
    "AVATAR Type To WA Yo P. T. fi fl ffi office Tj",
    "API Gateway / Load Balancer (v1.29-beta)",
    "user_id: 42 (primary key), 1,234.56 | 100%",
    "Über größere Öfen, déjà vu, señor, Ångström",
    "SELECT * FROM orders WHERE id = 'x';",
    "https://example.com/path?q=1&b=2#top",
    "!@#$%^&*()_+-=[]{}|;':\",./<>?`~",
    "don’t “quote” – dash — €",
)
EAST_ASIAN: Final = "缓存服务器与数据库，之间的「连接」。（注意）こんにちは、世界！한국어 텍스트(괄호)와 “문장”. 가격"
EMOJI: Final = ("😀", "👩‍💻", "🇩🇪", "👍🏽", "👨‍👩‍👧‍👦")
PROSE: Final = (
    "the quick brown fox jumps over a lazy dog API gateway user-id well-known f(x)(y) [a](b) end. Start, 12,345.67 "
    "https://example.com/path Donaudampfschifffahrtsgesellschaft I AVATAR To office (see) don't"
)


class Measuring:
    """The page of an editor whose fonts are there."""

    def __init__(self, page: ServedPage) -> None:
        self._page = page
        self.editor = Editor(page)

    def load(self, family: int, texts: Sequence[str]) -> None:
        """Have the fonts of these texts loaded; before that a browser measures others."""
        characters = "".join(sorted(set("".join(texts))))
        load = "([font, text]) => document.fonts.load(font, text).then(() => null)"
        self._page.evaluate(load, [f"{SIZE}px {FAMILIES[family]}", characters])

    def widths(self, family: int, texts: Sequence[str]) -> list[float]:
        """In pixels at SIZE."""
        self.load(family, texts)
        measure = """([font, texts]) => {
            const canvas = document.createElement("canvas").getContext("2d");
            canvas.font = font;
            return texts.map((text) => canvas.measureText(text).width);
        }"""
        return cast(list[float], self._page.evaluate(measure, [f"{SIZE}px {FAMILIES[family]}", list(texts)]))


@contextmanager
def _measuring(browser: Browsing) -> Iterator[Measuring]:
    with browser.page(built("release")) as page:
        measuring = Measuring(page)
        # The editor brings its fonts when it is opened.
        measuring.editor.mount(file_of({"type": "excalidraw", "version": 2, "elements": [], "files": {}}))
        yield measuring
        assert page.outside == []


@pytest.fixture(scope="module")
def measuring(browser: Browsing, bundled: None) -> Iterator[Measuring]:
    with _measuring(browser) as measuring:
        yield measuring


@pytest.mark.parametrize("family", FAMILIES)
def test_latin_text_is_as_wide_as_a_browser_draws_it(measuring: Measuring, family: int) -> None:
    """canvas 4.3"""
    ours = [font_table(family).width(text) * SIZE for text in LATIN]
    theirs = measuring.widths(family, LATIN)
    for text, our, their in zip(LATIN, ours, theirs, strict=True):
        assert our == pytest.approx(their, rel=0.01), text
    assert sum(ours) == pytest.approx(sum(theirs), rel=0.002)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_pair_of_latin_letters_is_as_wide_as_a_browser_draws_it(measuring: Measuring, family: int) -> None:
    """canvas 4.3: kerning and ligatures are those that it applies."""
    letters = string.ascii_letters + string.digits + string.punctuation + " "
    pairs = [first + second for first in letters for second in letters]
    wrong = {
        pair: (our, their)
        for pair, their in zip(pairs, measuring.widths(family, pairs), strict=True)
        if abs((our := font_table(family).width(pair) * SIZE) - their) > 0.1
    }
    assert wrong == {}


@pytest.mark.parametrize("family", [1, 3, 5, 6, 9])
def test_cyrillic_of_fonts_that_have_it_is_as_wide_as_a_browser_draws_it(measuring: Measuring, family: int) -> None:
    """canvas 4.3"""
    texts = ["Привет, мир!", "Съешь же ещё этих мягких французских булок", "Київ, Ґанок, їжак"]
    for text, their in zip(texts, measuring.widths(family, texts), strict=True):
        assert font_table(family).width(text) * SIZE == pytest.approx(their, rel=0.001), text


def test_east_asian_text_is_as_wide_as_the_editor_s_own_font_draws_it(measuring: Measuring) -> None:
    """canvas 4.3: character by character, and Korean syllables are as different as they are."""
    syllables = [chr(code) for code in range(0xAC00, 0xD7A4, 97)]
    texts = [*EAST_ASIAN.replace(" ", ""), *syllables]
    for text, their in zip(texts, measuring.widths(EXCALIFONT, texts), strict=True):
        assert font_table(EXCALIFONT).width(text) * SIZE == pytest.approx(their, abs=0.1), text


@pytest.mark.parametrize("family", FAMILIES)
def test_an_emoji_is_not_counted_narrower_than_a_browser_draws_it(measuring: Measuring, family: int) -> None:
    """canvas 4.3: nothing is cut off by more than a pixel at the usual size."""
    one, *joined = widths = measuring.widths(family, EMOJI)
    if any(width != one for width in joined):
        pytest.skip("this machine has no font for emoji, such as fonts-noto-color-emoji")
    for text, their in zip(EMOJI, widths, strict=True):
        assert font_table(family).width(text) * 20 > their / SIZE * 20 - 1, text


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_wrapped_as_the_editor_wraps_them(measuring: Measuring, seed: int) -> None:
    """canvas 4.3: laid out anew by the editor, they keep their lines, their size and their container's.

    One in a hundred may differ: a line that fits by a ten-thousandth of a pixel does so by how the machine rounds.
    """
    chance = random.Random(seed)
    elements = list(_labelled_shapes(chance, 200))
    board = empty_board()
    for first in range(0, len(elements), 100):
        board.applied("create", elements=list(elements[first : first + 100]))
    scene = [board.element(str(element["id"])) for element in elements]
    for family in FAMILIES:
        own = [str(element["text"]) for element in scene if element.get("fontFamily") == family]
        measuring.load(family, own)
    refreshed = {element["id"]: element for element in measuring.editor.restored(scene, refresh_dimensions=True)}
    labels = [element for element in scene if element["type"] == "text"]
    differing = []
    for label in labels:
        again = refreshed[label["id"]]
        if again["text"] != label["text"] or abs(_number(again, "width") - _number(label, "width")) > 1:
            differing.append((label["text"], again["text"], label["width"], again["width"]))
        assert again["originalText"] == label["originalText"]
    assert len(differing) <= len(labels) // 100, differing


def _labelled_shapes(chance: random.Random, count: int) -> Iterator[Record]:
    for number in range(count):
        family = chance.choice([EXCALIFONT, *FAMILIES])
        words = " ".join(chance.choices(PROSE.split(), k=chance.randrange(1, 12)))
        if family == EXCALIFONT and chance.random() < 0.5:
            start = chance.randrange(len(EAST_ASIAN) - 20)
            words = (words[:20] + EAST_ASIAN[start:] if chance.random() < 0.5 else EAST_ASIAN[start:]).strip()
        shape: Record = {
            "id": f"box{number}",
            "type": chance.choice(["rectangle", "ellipse", "diamond"]),
            "x": 300 * (number % 20),
            "y": 900 * (number // 20),
            "width": chance.randrange(60, 280),
            "height": chance.randrange(20, 200),
        }
        label: dict[str, Value] = {
            "id": f"words{number}",
            "type": "text",
            "x": 0,
            "y": 0,
            "containerId": shape["id"],
            "text": words,
            "fontFamily": family,
            "fontSize": chance.choice([16, 20, 28, 36]),
        }
        yield shape
        yield label


def _number(element: Record, field: str) -> float:
    value = element[field]
    assert isinstance(value, int | float)
    return value
