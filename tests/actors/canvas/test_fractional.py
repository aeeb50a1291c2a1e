"""Fractional indexes (canvas 4.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.canvas import fractional


def test_indexes_ascend_over_every_carry() -> None:
    """canvas 4.1"""
    made = fractional.ascending(62 + 62 * 62 + 10)
    assert made == sorted(made) and len(set(made)) == len(made)
    assert all(map(fractional.is_valid, made))
    assert made[0] == "a0" and made[61:64] == ["az", "b00", "b01"]


@pytest.mark.parametrize("text", ["", "a", "a00", "b0", "a0V0", "!0", "a!", "é0", "A" + "0" * 26, None, 3, "a" * 500])
def test_what_an_editor_would_throw_at_is_not_valid(text: object) -> None:
    """canvas 4.1"""
    assert not fractional.is_valid(text)


@pytest.mark.parametrize("text", ["a0", "Zz", "a0V", "b00", "zzzzzzzzzzzzzzzzzzzzzzzzzzz"])
def test_indexes_of_editors_are_valid(text: str) -> None:
    assert fractional.is_valid(text)


@given(st.from_regex(r"[A-Za-z][0-9A-Za-z]{1,30}", fullmatch=True).filter(fractional.is_valid))
def test_what_comes_after_is_valid_and_greater(last: str) -> None:
    """canvas 4.1"""
    following = fractional.after(last)
    assert following > last
    assert fractional.is_valid(following)


def test_nth_is_what_counting_up_comes_to() -> None:
    """canvas 4.1"""
    counted = fractional.ascending(5_000)
    assert [fractional.nth(number) for number in range(5_000)] == counted
    assert fractional.nth(62 + 62**2) == "c000"


INDEXES = st.from_regex(r"[A-Za-z][0-9A-Za-z]{1,30}", fullmatch=True).filter(fractional.is_valid)


@given(INDEXES)
def test_what_comes_before_is_valid_and_smaller(first: str) -> None:
    """canvas 4.1"""
    preceding = fractional.before(first)
    assert preceding < first
    assert fractional.is_valid(preceding)


@given(INDEXES, INDEXES)
def test_between_two_indexes_there_is_always_one(one: str, other: str) -> None:
    """canvas 4.1"""
    lower, upper = sorted((one, other))
    if lower == upper:
        with pytest.raises(ValueError):
            fractional.between(lower, upper)
        return
    middle = fractional.between(lower, upper)
    assert lower < middle < upper
    assert fractional.is_valid(middle)


@pytest.mark.parametrize(
    ("lower", "upper", "wanted"),
    [
        (None, None, "a0"),
        ("a0", None, "a1"),
        (None, "a0", "Zz"),
        (None, "b00", "az"),
        (None, "Z0", "Yzz"),
        ("a0", "a1", "a0V"),
        ("a0", "a0V", "a0F"),
        ("a0", "a5", "a1"),
        ("az", "b01", "b00"),
        ("az", "b00", "azV"),
        (None, "A" + "0" * 25 + "1", "A" + "0" * 26 + "V"),
    ],
)
def test_between_takes_the_shortest_way(lower: str | None, upper: str | None, wanted: str) -> None:
    """canvas 4.1"""
    assert fractional.between(lower, upper) == wanted


@pytest.mark.parametrize("side", ["below", "above"])
def test_five_hundred_indexes_fit_at_the_same_place(side: str) -> None:
    """canvas 4.1"""
    lower, upper = "a0", "a1"
    for _ in range(500):
        middle = fractional.between(lower, upper)
        assert lower < middle < upper and fractional.is_valid(middle)
        lower, upper = (lower, middle) if side == "below" else (middle, upper)
