"""What a stored row must hold: each of these gives the value as its type, or raises TypeError."""

from __future__ import annotations

from bus.value import Record, Value


def stored_text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError("a stored field should be text")
    return value


def stored_whole(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError("a stored field should be a whole number")
    return value


def stored_record(value: Value) -> Record:
    if not isinstance(value, dict):
        raise TypeError("a stored value should be a record")
    return value
