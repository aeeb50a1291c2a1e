"""Checks the arguments of a call against its tool's input model. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson
from pydantic import ValidationError

from bus.message_record import message_record
from bus.value import Record, Value
from tools.base import Tool
from tools.errors import Refusal, invalid_arguments
from tools.problems import problems_of

_WHOLE_FLOATS_BELOW: Final = 2.0**53


@message_record
class Arguments:
    """Arguments that fit. `record` holds what was given and nothing else, so that an owner parses the same again."""

    record: Record


def check_arguments(tool: Tool, given: Mapping[str, Any], already_bad: Mapping[str, str]) -> Arguments | Refusal:
    """`already_bad` is what strict JSON found (path to problem); then `given` does not count."""
    if already_bad:
        return invalid_arguments(already_bad)
    try:
        parsed = tool.input.model_validate(given)  # in Python mode, as owners do, so that both judge alike
    except ValidationError as failure:
        return invalid_arguments(problems_of(failure))
    return Arguments(parsed.model_dump(mode="json", by_alias=True, exclude_unset=True))


def canonical_hash(record: Record) -> bytes:
    """SHA-256 of the arguments, whatever the order of their keys and whether a whole number is written 1 or 1.0."""
    return hashlib.sha256(orjson.dumps(_canonical(record), option=orjson.OPT_SORT_KEYS)).digest()


def _canonical(value: Value) -> Value:
    match value:
        case float() if value.is_integer() and abs(value) < _WHOLE_FLOATS_BELOW:
            return int(value)
        case list():
            return [_canonical(item) for item in value]
        case dict():
            return {key: _canonical(item) for key, item in value.items()}
        case _:
            return value
