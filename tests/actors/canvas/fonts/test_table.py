"""Widths by the fonts' numbers, and of what the fonts lack (canvas 4.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.fonts.substitutes import EMOJI_EMS
from actors.canvas.fonts.table import FontTable, font_table

FAMILIES = (1, 2, 3, 5, 6, 7, 8, 9, 10)
EXCALIFONT = font_table(5)


def test_pairs_are_kerned_and_two_letters_may_be_one_sign() -> None:
    """canvas 4.3"""
    for family, pair, closer in ((5, "To", 0.02), (9, "AV", 0.07), (6, "fi", 0.005), (5, "ff", 0.09)):
        table = font_table(family)
        assert table.width(pair) < table.width(pair[0]) + table.width(pair[1]) - closer, pair
        assert table.kernings([pair[0], pair[1]])[1] == pytest.approx(
            table.width(pair) - table.width(pair[0]) - table.width(pair[1])
        )


def test_nothing_is_kerned_with_a_space_as_browsers_draw_word_by_word() -> None:
    sans_serif = font_table(9)
    assert sans_serif.width("A A") == pytest.approx(2 * sans_serif.width("A") + sans_serif.width(" "))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_letter_and_its_mark_are_as_wide_as_the_letter_that_has_it(family: int) -> None:
    """canvas 4.3: however it was typed."""
    table = font_table(family)
    assert table.width("e\u0301") == table.width("é")
    assert table.width("\u1112\u1161\u11ab") == table.width("한")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "emoji", ["😀", "👩‍💻", "🇩🇪", "👍🏽", "1️⃣", "☂️", "👨‍👩‍👧‍👦", "\U0001f3f4\U000e0067\U000e0062\U000e007f"]
)
def test_an_emoji_is_one_sign_of_whatever_many_code_points(family: int, emoji: str) -> None:
    """canvas 4.3"""
    assert font_table(family).width(emoji) == pytest.approx(EMOJI_EMS, abs=0.001)


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u200d", "\u00ad", "\u2060", "\ufeff", "\ufe0f", "\u0e34", "\u094d", "\u3164"]
)
def test_what_shows_nothing_by_itself_takes_no_room(hidden: str) -> None:
    """canvas 4.3"""
    for family in FAMILIES:
        if (family, hidden) != (5, "\u3164"):
            assert font_table(family).width(f"x{hidden}y") == pytest.approx(font_table(family).width("xy"), abs=0.05)


def test_a_no_break_space_and_a_tab_are_as_wide_as_a_space() -> None:
    for family in FAMILIES:
        table = font_table(family)
        assert table.width("\u00a0") == pytest.approx(table.width(" "), abs=0.01)
        assert table.width("\t") == table.width(" ")


def test_east_asian_characters_are_one_em_and_korean_ones_a_little_less() -> None:
    """canvas 4.3: in Excalifont they come from Xiaolai, elsewhere from a font of the machine."""
    for family in FAMILIES:
        assert font_table(family).width("缓存、「」。！ひカー") == pytest.approx(10, abs=0.001)
    assert EXCALIFONT.width("한국어") == pytest.approx(0.926 + 0.941 + 0.914, abs=0.03)
    assert EXCALIFONT.width("ｶﾅ") == 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "text", ["שלום", "مرحبا", "สวัสดี", "नमस्ते", "გამარჯობა", "ሰላም", "Привет", "Γειά", "⠓⠊", "𝒳𝔸", "→≠∞"]
)
def test_any_script_has_a_likely_width(family: int, text: str) -> None:
    """canvas 4.3"""
    per_character = font_table(family).width(text) / len(text)
    assert 0.3 < per_character < 1.3


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.sampled_from(FAMILIES))
def test_every_text_has_a_width_and_a_longer_one_is_hardly_narrower(text: str, family: int) -> None:
    table = font_table(family)
    width = table.width(text)
    assert 0 <= width < 3 * len(text) + 1
    assert table.width(text + " x") > width - 0.001


def test_widths_stay_right_when_more_were_asked_for_than_are_remembered() -> None:
    table = FontTable(1000, "500:61-7a", "", lambda character: 2.0)
    everything = "".join(map(chr, range(0x4E00, 0x4E00 + 40_000)))
    assert table.width(everything) == 80_000
    assert table.width("az") == 1
