"""How results print a time."""

from __future__ import annotations

from tools.times import rfc3339


def test_a_time_is_printed_in_utc_with_milliseconds() -> None:
    """common 1.7"""
    assert rfc3339(1_800_000_000_007) == "2027-01-15T08:00:00.007Z"
    assert rfc3339(0) == "1970-01-01T00:00:00.000Z"
