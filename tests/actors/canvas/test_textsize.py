"""Sizes of texts by the fonts' own widths (canvas 4.3); tests/browser compares them with a browser's."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.textsize import Font, bytes_measured, measured
from bus.limits import measured_bytes_max

EXCALIFONT = Font(5, 20, 1.25)
WIDTHS_OF_TO = {1: 1358, 2: 1056, 3: 1172, 5: 1367, 6: 1090, 7: 980, 8: 1100}
"""In thousandths of the size, by family; what Chromium measures with the same fonts."""
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def test_a_text_is_as_wide_as_its_letters_in_its_font() -> None:
    """canvas 4.3: widths are those of the font, per family; "To" is kerned."""
    widths = {family: measured("To", Font(family, 1000, 1.25)).width for family in (1, 2, 3, 5, 6, 7, 8)}
    assert {family: round(width) for family, width in widths.items()} == WIDTHS_OF_TO


def test_a_family_that_is_unknown_counts_as_a_sans_serif() -> None:
    assert measured("Hello", Font(4711, 20, 1.25)) == measured("Hello", Font(9, 20, 1.25))


def test_height_follows_from_the_number_of_lines() -> None:
    assert measured("a\nb\nc", EXCALIFONT).height == 3 * 20 * 1.25
    assert measured("", EXCALIFONT).height == 20 * 1.25


def test_a_tab_is_drawn_as_eight_spaces() -> None:
    """canvas 4.3: as Excalidraw draws it, whose canvas would show one."""
    size = measured("a\tb", EXCALIFONT)
    assert size.text == "a        b"
    assert size.width == measured("a        b", EXCALIFONT).width


def test_a_text_that_shows_nothing_still_has_a_width() -> None:
    """canvas 4.1: an editor drops elements without one."""
    for text in ("", "\n\n", "\u200b", "\u0301"):
        assert measured(text, EXCALIFONT).width > 0


def test_a_width_below_nothing_does_not_wrap() -> None:
    """canvas 4.3: as the editor does with a container narrower than its padding, which then grows."""
    assert measured("one two", EXCALIFONT, -3).text == "one two"


@given(ANY_TEXT, st.floats(0, 400), st.sampled_from([1, 2, 3, 5, 6, 7, 8, 9, 10]))
def test_wrapping_loses_nothing_but_spaces(text: str, width: float, family: int) -> None:
    """canvas 4.3: any script stays exact."""
    wrapped = measured(text, Font(family, 20, 1.25), width).text
    assert "".join(wrapped.split()) == "".join(text.split())


@given(ANY_TEXT, st.floats(30, 400), st.sampled_from([1, 2, 3, 5, 6, 7, 8, 9, 10]))
def test_no_line_is_wider_than_the_room(text: str, width: float, family: int) -> None:
    """canvas 4.3: but for a single character that is wider by itself."""
    font = Font(family, 20, 1.25)
    for line in measured(text, font, width).text.split("\n"):
        assert measured(line, font).width <= width + 0.01 or measured(line[:-1], font).width <= width


@given(ANY_TEXT, st.floats(10, 400))
def test_the_size_told_is_that_of_the_lines_told(text: str, width: float) -> None:
    size = measured(text, EXCALIFONT, width)
    again = measured(size.text, EXCALIFONT)
    assert size.height == again.height
    assert size.width == pytest.approx(again.width, abs=0.01)


LARGE = {
    "prose": "The quick brown fox jumps over the lazy dog. ",
    "one word": "x",
    "a letter a line": "x\n",
    "hyphens": "-",
    "brackets": ")(",
    "East Asian": "缓存服务器，与「数据库」",
    "Korean": "안녕하세요 ",
    "accents": "Größenänderung für Füße ",
    "Arabic": "مرحبا بالعالم ",
    "Hindi": "नमस्ते दुनिया ",
    "marks": "\u0301",
    "families": "👩‍👩‍👧‍👦",
    "flags": "🇩🇪",
    "half a flag": "🇩",
    "tags": "\U0001f3f4\U000e0067\U000e0062",
    "joiners": "\u200d",
    "short lines of joined emoji": "👩\u200d👩\n",
    "short lines with marks": "x\u0301\n",
    "short lines of Thai": "กำ\n",
    "spaces": " ",
    "tabs": "\t",
    "every character": "".join(map(chr, [*range(0x20, 0xD800), *range(0xE000, 0x14000)])),
    "unassigned": "".join(chr(0xF0000 + number * 7 % 0xFFFF) for number in range(20_000)),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("width", [0.0, 20.0, 200.0])
def test_the_largest_text_of_a_call_is_measured_in_bounded_time(name: str, width: float) -> None:
    """decision 0006, security 2.19: 50 ms on the machine that it was set on; twice that is for slower ones."""
    piece = LARGE[name]
    text = piece * (measured_bytes_max // bytes_measured(piece))
    if not text:
        text = piece.encode()[:measured_bytes_max].decode(errors="ignore")
    taken = []
    for _ in range(3):
        begun = process_time()
        measured(text, Font(6, 20, 1.35), width)
        taken.append(process_time() - begun)
    assert min(taken) < 0.1
