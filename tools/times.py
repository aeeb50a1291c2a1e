"""How results print a time (common 1.7)."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(milliseconds: int) -> str:
    """`milliseconds` since the epoch as RFC 3339 UTC with milliseconds: `2027-01-15T08:00:00.000Z`.

    Raises OverflowError, ValueError or OSError for a time that no calendar has.
    """
    seconds, thousandths = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{thousandths:03d}Z"
