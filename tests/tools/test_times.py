"""How results print a time, and how one that was given is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.times import milliseconds_of, rfc3339


def test_a_time_is_printed_in_utc_with_milliseconds() -> None:
    """common 1.7"""
    assert rfc3339(1_800_000_000_007) == "2027-01-15T08:00:00.007Z"
    assert rfc3339(0) == "1970-01-01T00:00:00.000Z"


@given(st.integers(0, 253_402_300_799_999))
def test_what_is_printed_is_read_back(milliseconds: int) -> None:
    assert milliseconds_of(rfc3339(milliseconds)) == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "2027-01-15T08:00:00.007Z",
        "2027-01-15t08:00:00.007z",
        "2027-01-15T08:00:00.007999999+00:00",
        "2027-01-15T13:30:00.007+05:30",
        "2027-01-14T22:00:00.007-10:00",
    ],
)
def test_one_moment_is_read_from_each_of_its_forms(text: str) -> None:
    """mesh 3.1"""
    assert milliseconds_of(text) == 1_800_000_000_007


@pytest.mark.parametrize(
    "text",
    [
        "2027-01-15T08:00:00",
        "2027-01-15 08:00:00Z",
        "2027-01-15",
        "20270115T080000Z",
        "2027-02-29T08:00:00Z",
        "2027-01-15T24:00:00Z",
        "2027-01-15T08:00:60Z",
        "2027-01-15T08:00:00+24:00",
        "2027-01-15T08:00:00Z\n",
        "٢٠٢٧-01-15T08:00:00Z",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59-01:00",
        "",
    ],
)
def test_anything_else_is_no_time(text: str) -> None:
    """mesh 3.1"""
    with pytest.raises(ValueError, match=r"time|offset|range|must be"):
        milliseconds_of(text)
