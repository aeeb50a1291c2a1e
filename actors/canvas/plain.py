"""Whether a value that came from outside can be kept at all: bounded depth and size, finite numbers, whole text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, TypeGuard

import orjson

from bus.limits import element_depth_max
from bus.value import Record, Value

_INTEGER_MAX: Final = 2**63 - 1


class Fault(StrEnum):
    """Why a value cannot be kept. The values are sentences' ends for people to read."""

    TOO_DEEP = "is nested too deeply"
    NOT_FINITE = "holds a number that is not finite"
    NUMBER_TOO_LARGE = "holds a whole number beyond 64 bits"
    BROKEN_TEXT = "holds half of a character"
    NOT_JSON = "holds something that JSON cannot carry"


def fault_of(value: Value, depth_max: int = element_depth_max) -> Fault | None:
    """The first reason why `value` cannot be stored and sent on; None when it can. Does not recurse.

    Goes over every value of every scene, so what is usual is told by its exact type, first.
    """
    waiting: list[tuple[Value, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > depth_max:
            return Fault.TOO_DEEP
        held: Iterable[Value] = (item,)
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    return Fault.NOT_JSON
                if not key.isascii() and not is_whole_text(key):
                    return Fault.BROKEN_TEXT
            held = item.values()
        elif isinstance(item, list):
            held = item
        for part in held:
            kind = type(part)
            if kind is dict or kind is list:
                waiting.append((part, depth + 1))
            elif part is None or kind is bool or (kind is str and part.isascii()):  # type: ignore[union-attr]
                continue
            else:
                fault = _fault_of_scalar(part)
                if fault is not None:
                    return fault
    return None


def _fault_of_scalar(item: Value) -> Fault | None:
    if isinstance(item, float):
        return None if math.isfinite(item) else Fault.NOT_FINITE
    if isinstance(item, int):
        return None if -_INTEGER_MAX <= item <= _INTEGER_MAX else Fault.NUMBER_TOO_LARGE
    if isinstance(item, str):
        return None if is_whole_text(item) else Fault.BROKEN_TEXT
    return Fault.NOT_JSON


def is_whole_text(text: str) -> bool:
    """Whether `text` has no half of a surrogate pair, which UTF-8 cannot carry."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encoded_bytes(value: Value) -> int:
    """Size of `value` as compact JSON. `value` must have no fault."""
    return len(orjson.dumps(value))


def given_bytes(value: Value) -> int:
    """The same of a value that may have a fault; 0 for one that cannot be written at all."""
    try:
        return len(orjson.dumps(value))
    except TypeError:
        return 0


def same(left: Value, right: Value) -> bool:
    """Whether two faultless values are written alike. Unlike ==, tells true from 1."""
    return left is right or orjson.dumps(left) == orjson.dumps(right)


def same_record(left: Record, right: Record) -> bool:
    """The same of two records of which one was made from the other: only what is not the very same value is compared.

    With == first, since it copes with numbers that are not finite and JSON does not.
    """
    if left.keys() != right.keys():
        return False
    differing = [name for name, value in left.items() if value is not right[name]]
    return all(left[name] == right[name] for name in differing) and all(
        same(left[name], right[name]) for name in differing
    )


def is_number(value: object) -> TypeGuard[int | float]:
    """A finite number; true and false are none."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    return kind is int and -_INTEGER_MAX <= value <= _INTEGER_MAX  # type: ignore[operator]
