"""When two names are the same name, and which words are made of letters that pass for one another's."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.confusables import skeleton
from tools.names import folded, mixed_scripts, name_keys


def _clash(one: str, other: str) -> bool:
    return not name_keys(one).isdisjoint(name_keys(other))


@pytest.mark.parametrize(("one", "other"), [("Ada", "ADA"), ("ﬁn", "FIN"), ("Å", "å"), ("a  b", " a b")])
def test_names_that_are_alike_under_folding_are_one_name(one: str, other: str) -> None:
    assert folded(one) == folded(other)
    assert _clash(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada", "\u0410da"),  # a Cyrillic capital
        ("paypal", "\u03c1\u03b1y\u03c1al"),  # Greek letters
        ("PAY", "\u0440\u0430\u0443"),  # all Cyrillic, in the other case
        ("Ivan", "lvan"),
        ("Agent 1", "Agent l"),
        ("Agent 1", "agent I"),
        ("Agent 0", "Agent O"),
        ("modern", "rnodern"),
        ("Greenhouse", "\uff27reenhouse"),
        ("A\u0300da", "\u00c0da"),
    ],
)
def test_names_that_look_alike_are_one_name(one: str, other: str) -> None:
    """security 2.4"""
    assert _clash(one, other)


@pytest.mark.parametrize(
    "invisible", ["\u200b", "\u200c", "\u200d", "\u2060", "\ufe0f", "\u00ad", "\u3164", "\U000e0041"]
)
def test_what_shows_nothing_makes_no_other_name(invisible: str) -> None:
    """security 2.4"""
    assert name_keys(f"A{invisible}da{invisible}") == name_keys("Ada")
    assert name_keys(invisible) == frozenset()


@pytest.mark.parametrize(("one", "other"), [("Ada", "Eve"), ("Mail", "Mall"), ("ivan", "lvan"), ("Zo\u00eb", "Zoe")])
def test_different_words_stay_different_names(one: str, other: str) -> None:
    assert not _clash(one, other)


def test_a_name_that_only_looks_like_another_is_not_found_by_typing_it() -> None:
    assert folded("Ada") != folded("\u0410da")


@given(st.text(max_size=40))
def test_folding_twice_is_folding_once(name: str) -> None:
    assert folded(folded(name)) == folded(name)


@given(st.text(max_size=40))
def test_no_case_and_no_form_of_normalisation_makes_another_name(name: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert folded(unicodedata.normalize(form, name)) == folded(name)
    assert folded(name.upper().lower()) == folded(name.upper())


@given(st.text(max_size=40))
def test_a_skeleton_is_its_own_skeleton_but_for_case(name: str) -> None:
    """UTS #39: prototypes are their own prototypes."""
    assert skeleton(skeleton(name)) == skeleton(name)


@pytest.mark.parametrize("text", ["\u0410da", "Ada and B\u043eb", "\u03a9mega", "p\u0430y-pal"])
def test_a_word_of_letters_that_pass_for_one_anothers_is_told(text: str) -> None:
    """security 2.4"""
    assert mixed_scripts(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ada",
        "\u0410\u0434\u0430",
        "Ada \u0410\u0434\u0430",
        "na\u00efve \ufb01n 42",
        "\u65e5\u672c Ada",
        "",
        "a\u65e5b",
    ],
)
def test_words_of_one_script_each_are_plain(text: str) -> None:
    assert not mixed_scripts(text)
