"""How results print a time, and how one that was given is read (common 1.7)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

RFC3339_PATTERN: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
"""The offset is not optional: a time without one means something else on each machine."""
_RFC3339: Final = re.compile(RFC3339_PATTERN, re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 253_402_300_799_999


def rfc3339(milliseconds: int) -> str:
    """`milliseconds` since the epoch as RFC 3339 UTC with milliseconds: `2027-01-15T08:00:00.000Z`.

    Raises OverflowError, ValueError or OSError for a time that no calendar has.
    """
    seconds, thousandths = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{thousandths:03d}Z"


def milliseconds_of(text: str) -> int:
    """The time that an RFC 3339 text with an offset names, in milliseconds since the epoch, parts of one cut off.

    Raises ValueError for other text, for a date that no calendar has, and for times outside the years 1970 to 9999.
    """
    if not _RFC3339.match(text) or text.endswith("\n"):
        raise ValueError("no RFC 3339 time with an offset")
    seconds, rest = text[:19], text[19:]
    fraction = re.match(r"\.([0-9]+)", rest)
    offset = rest[fraction.end() :] if fraction else rest
    moment = datetime.fromisoformat(seconds.upper() + ("+00:00" if offset in "Zz" else offset))
    thousandths = int(fraction[1][:3].ljust(3, "0")) if fraction else 0
    milliseconds = (moment - _EPOCH) // timedelta(milliseconds=1) + thousandths
    if not 0 <= milliseconds <= _LAST:
        raise ValueError("no time of the years 1970 to 9999")
    return milliseconds
