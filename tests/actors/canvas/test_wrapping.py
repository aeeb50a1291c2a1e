"""Line breaks as Excalidraw makes them (canvas 4.3); tests/browser compares whole labels with the editor's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.fonts.table import font_table
from actors.canvas.graphemes import clusters
from actors.canvas.wrapping import tokens, wrapped
from bus.limits import kinds_remembered_max

EXCALIFONT = font_table(5)
MONOSPACE = font_table(3)
EMS = 1200 / 2048  # of each character in Cascadia Code

ANY_LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=40)
TRICKY = st.text("ab (-)[],.「」。あ한글\u1100\u1161カﾞ가\u0301\u3099\u200d\ufe0f👩💻🇩🇪👍🏽1\u20e3นำ ", max_size=30)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("Hello world", ["Hello", " ", "world"]),
        ("Hello-world", ["Hello-", "world"]),
        ("a--b", ["a-", "-", "b"]),
        ("well-known ", ["well-", "known", " "]),
        ("no\u00a0break", ["no", "\u00a0", "break"]),
        ("f(x)(y).", ["f(x)", "(y)."]),
        ("Hello(한글)", ["Hello(한", "글)"]),
        ("Hello た。", ["Hello", " ", "た。"]),
        ("Hello「た」World", ["Hello", "「た」", "World"]),
        ("缓存，服务", ["缓", "存，", "服", "务"]),
        ("Price￥100", ["Price", "￥100"]),
        ("か-き", ["か-", "き"]),
        ("Hello 「世界。」🌎🗺", ["Hello", " ", "「世", "界。」", "🌎", "🗺"]),
        ("hi👩‍💻you🇩🇪🇫🇷", ["hi", "👩‍💻", "you", "🇩🇪", "🇫🇷"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("か\u3099か", ["か\u3099", "か"]),
        ("한\u1100\u1161\u11a8", ["한", "\u1100\u1161\u11a8"]),
    ],
)
def test_a_line_may_be_broken_at(line: str, parts: list[str]) -> None:
    """canvas 4.3"""
    assert tokens(line) == parts


@given(st.one_of(ANY_LINE, TRICKY))
def test_no_break_parts_what_a_reader_sees_as_one_character(line: str) -> None:
    """canvas 4.3: marks, joined emoji and syllables stay whole, and nothing is lost."""
    assert "".join(tokens(line)) == line
    borders = _borders(clusters(line))
    assert _borders(tokens(line)) - borders <= _behind_emoji_or_space(line)


def test_a_line_takes_what_fits() -> None:
    assert lines("aa bb cc", 5) == ["aa bb", "cc"]
    assert lines("aa bb cc", 4) == ["aa", "bb", "cc"]


def test_a_word_wider_than_a_line_is_cut_and_its_rest_goes_on() -> None:
    assert lines("ab cdefghijk l m", 4) == ["ab", "cdef", "ghij", "k l", "m"]


def test_a_word_is_cut_between_characters_as_a_reader_sees_them() -> None:
    """canvas 4.3"""
    assert lines("e\u0301" * 5, 2) == ["e\u0301" * 2, "e\u0301" * 2, "e\u0301"]


def test_a_character_wider_than_a_line_stands_alone() -> None:
    assert lines("ab 👩‍👩‍👧‍👦c", 0) == ["a", "b", "👩‍👩‍👧‍👦", "c"]


def test_spaces_at_a_break_are_dropped_and_at_the_end_kept_as_far_as_they_fit() -> None:
    """canvas 4.3: as the editor, whose lines may end in spaces that nobody sees."""
    assert lines("aa    bb", 3) == ["aa", "bb"]
    assert lines("aa bb   ", 4) == ["aa", "bb  "]
    assert lines("  aa", 2) == ["", "aa"]
    assert lines("      ", 2) == [""]


def test_a_line_that_fits_stays_as_it_is() -> None:
    assert lines("aa bb  ", 7) == ["aa bb  "]


def test_the_width_of_each_line_is_told() -> None:
    told = wrapped("Type AVATAR To.", 3, EXCALIFONT)
    assert [line for line, _ in told] == ["Type", "AVAT", "AR", "To."]
    for line, width in told:
        assert width == pytest.approx(EXCALIFONT.width(line))


def test_lines_are_broken_alike_when_more_characters_were_seen_than_are_remembered() -> None:
    """security 2.19: what is remembered is bounded, and the first to come do not keep out all later ones."""
    line = "a b-c 缓存 (x)[y]"
    parts = ["a", " ", "b-", "c", " ", "缓", "存", " ", "(x)", "[y]"]
    for start in range(0x10000, 0x10000 + 2 * kinds_remembered_max, 1_000):
        tokens("".join(map(chr, range(start, start + 1_000))))
        assert tokens(line) == parts


def lines(line: str, characters: int) -> list[str]:
    """`line` in a monospace font, where so many characters fit."""
    return [text for text, _ in wrapped(line, characters * EMS, MONOSPACE)]


def _borders(parts: list[str]) -> set[int]:
    ends: set[int] = set()
    place = 0
    for part in parts:
        place += len(part)
        ends.add(place)
    return ends


def _behind_emoji_or_space(line: str) -> set[int]:
    """Where a mark stands on white space or nothing, Unicode and Excalidraw differ about what is one character."""
    return {place for place in range(1, len(line)) if line[place - 1].isspace() or line[place - 1] == "\ufeff"}
