"""Fractional indexes: strings whose order is the stacking order of a scene's elements (canvas 4.1).

Base 62. The first letter says how many digits the integer part has (`a` 1, `b` 2 ... `z` 26; `Z` 1, `Y` 2 ... for
what lies below); what follows is a fraction, which never ends in 0. Plain string order is the order of the numbers.
"""

from __future__ import annotations

from typing import Final

from bus.limits import index_characters_max

FIRST: Final = "a0"

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SMALLEST: Final = "A" + "0" * 26
_MIDDLE: Final = "V"


def is_valid(text: object) -> bool:
    """Whether every version of the editor accepts `text` as an index; a malformed one makes 0.18.1 throw."""
    if not isinstance(text, str) or not 2 <= len(text) <= index_characters_max or not text.isascii():
        return False
    length = _integer_length(text[0])
    return (
        length is not None
        and len(text) >= length
        and all(character in _DIGITS for character in text)
        and text != _SMALLEST
        and not (len(text) > length and text.endswith("0"))
    )


def after(last: str | None) -> str:
    """An index directly above the valid index `last`; the first one of a scene for None."""
    if last is None:
        return FIRST
    length = _integer_length(last[0])
    assert length is not None
    raised = _raised(last[:length])
    return raised if raised is not None else last + _MIDDLE


def before(first: str) -> str:
    """An index below the valid index `first`."""
    length = _integer_length(first[0])
    assert length is not None
    integer, fraction = first[:length], first[length:]
    if fraction:
        return integer if integer != _SMALLEST else integer + _halfway("", fraction)
    lowered = _lowered(integer)
    assert lowered is not None  # the smallest is no index without a fraction
    return lowered if lowered != _SMALLEST else lowered + _halfway("", None)


def between(lower: str | None, upper: str | None) -> str:
    """A valid index above `lower` and below `upper`, both valid; None for no bound on that side.

    Some thousand indexes fit between the same two before one is longer than `is_valid` has it; then the scene has to be
    numbered anew. Raises ValueError unless lower < upper.
    """
    if upper is None:
        return after(lower)
    if lower is None:
        return before(upper)
    if lower >= upper:
        raise ValueError("there is nothing between these indexes")
    length = _integer_length(lower[0])
    assert length is not None
    integer = lower[:length]
    if upper.startswith(integer):
        return integer + _halfway(lower[length:], upper[length:])
    raised = _raised(integer)
    return raised if raised is not None and raised < upper else integer + _halfway(lower[length:], None)


def ascending(count: int, last: str | None = None) -> list[str]:
    """`count` indexes in ascending order above `last`."""
    made: list[str] = []
    for _ in range(count):
        last = after(last)
        made.append(last)
    return made


def nth(number: int) -> str:
    """What `ascending` gives at that place, from 0, without counting up to it."""
    length = 1
    while number >= len(_DIGITS) ** length:
        number -= len(_DIGITS) ** length
        length += 1
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return chr(ord("a") + length - 1) + digits


def _integer_length(head: str) -> int | None:
    """Characters of the integer part with its head letter."""
    if "a" <= head <= "z":
        return ord(head) - ord("a") + 2
    if "A" <= head <= "Z":
        return ord("Z") - ord(head) + 2
    return None


def _halfway(lower: str, upper: str | None) -> str:
    """A fraction about halfway between two, as digits that do not end in 0; None is 1, which no digits write."""
    digits: list[str] = []
    place = 0
    while True:
        low = _DIGITS.index(lower[place]) if place < len(lower) else 0
        high = len(_DIGITS) if upper is None else _DIGITS.index(upper[place]) if place < len(upper) else 0
        if high - low > 1:
            return "".join(digits) + _DIGITS[(low + high) // 2]
        digits.append(_DIGITS[low])
        if high > low:
            upper = None  # from here on only `lower` bounds it
        place += 1


def _lowered(integer: str) -> str | None:
    """The integer part minus one; None below the smallest."""
    head, digits = integer[0], list(integer[1:])
    for place in range(len(digits) - 1, -1, -1):
        value = _DIGITS.index(digits[place]) - 1
        if value >= 0:
            digits[place] = _DIGITS[value]
            return head + "".join(digits)
        digits[place] = _DIGITS[-1]
    if head == "A":
        return None
    if head == "a":
        return "Z" + _DIGITS[-1]
    longer = len(digits) - 1 if head > "a" else len(digits) + 1
    return chr(ord(head) - 1) + _DIGITS[-1] * longer


def _raised(integer: str) -> str | None:
    """The integer part plus one; None above the largest."""
    head, digits = integer[0], list(integer[1:])
    for place in range(len(digits) - 1, -1, -1):
        value = _DIGITS.index(digits[place]) + 1
        if value < len(_DIGITS):
            digits[place] = _DIGITS[value]
            return head + "".join(digits)
        digits[place] = "0"
    if head == "z":
        return None
    if head == "Z":
        return FIRST
    longer = len(digits) + 1 if head >= "a" else len(digits) - 1
    return chr(ord(head) + 1) + "0" * longer
