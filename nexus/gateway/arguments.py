"""Checks the arguments of a call against its tool's input model, and says in our words what does not fit. Pure.

The model's own messages can quote what was sent, so each kind of error has a sentence here (common 6.2, 7.4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import orjson
from pydantic import ValidationError

from bus.limits import bad_fields_listed_max
from bus.value import Record
from tools.base import Tool
from tools.errors import Refusal, invalid_arguments
from tools.fence import plain_name

_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not an argument of this tool",
    "string_type": "must be text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "none_required": "must be null",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "union_tag_not_found": "must say which kind it is",
    "union_tag_invalid": "is of an unknown kind",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
}
_OTHERWISE: Final = "does not fit the tool's input schema"


@dataclass(frozen=True, slots=True)
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
        return invalid_arguments(_problems(failure))
    return Arguments(parsed.model_dump(mode="json", by_alias=True, exclude_unset=True))


def canonical_hash(record: Record) -> bytes:
    """SHA-256 of the arguments, whatever the order of their keys."""
    return hashlib.sha256(orjson.dumps(record, option=orjson.OPT_SORT_KEYS)).digest()


def _problems(failure: ValidationError) -> dict[str, str]:
    errors = failure.errors(include_url=False, include_input=False)
    return {_path(error["loc"]): _sentence(error["type"], error) for error in islice(errors, bad_fields_listed_max)}


def _path(location: tuple[int | str, ...]) -> str:
    return plain_name(".".join(map(str, location)))


def _sentence(kind: str, error: Mapping[str, Any]) -> str:
    context = error.get("ctx", {})
    if kind == "value_error":  # raised by a validator of ours: program text
        return str(context.get("error", _OTHERWISE))
    try:
        return _SENTENCES.get(kind, _OTHERWISE).format(**context)
    except KeyError:
        return _OTHERWISE
