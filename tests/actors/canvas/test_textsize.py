"""Estimated sizes of text (canvas 4.3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.textsize import Font, clusters, measured

FONT = Font(20, 1.25)


def test_wide_characters_take_about_one_em() -> None:
    """canvas 4.3"""
    assert measured("缓存服务", FONT).width == 4 * 20


def test_an_emoji_of_several_code_points_counts_once() -> None:
    """canvas 4.3"""
    assert clusters("👩‍💻🇩🇪👍🏽é") == ["👩‍💻", "🇩🇪", "👍🏽", "é"]
    assert measured("👩‍💻", FONT).width == 20


def test_words_stay_whole_when_they_fit_and_are_cut_when_they_do_not() -> None:
    lines = measured("one two incomprehensibilities", FONT, 80).text.split("\n")
    assert lines[0] == "one two"
    assert "".join(lines[1:]) == "incomprehensibilities"


def test_height_follows_from_the_number_of_lines() -> None:
    assert measured("a\nb\nc", FONT).height == 3 * 20 * 1.25


@given(st.text(max_size=60), st.floats(20, 400))
def test_wrapping_loses_nothing_but_spaces(text: str, width: float) -> None:
    """canvas 4.3"""
    wrapped = measured(text, FONT, width).text
    assert wrapped.replace("\n", "").replace(" ", "") == text.replace("\n", "").replace(" ", "")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.floats(20, 400))
def test_no_line_is_wider_than_the_room(text: str, width: float) -> None:
    """canvas 4.3"""
    for line in measured(text, FONT, width).text.split("\n"):
        assert measured(line.strip(), FONT).width <= width + 0.01
