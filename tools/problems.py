"""What does not fit a model, said in our words: the path of each bad field and one sentence. Pure.

pydantic's own messages can quote what was sent and its paths can name parts of a schema, so neither leaves a process
(common 6.2, 7.4): each kind of error has a sentence here, unions of ours are made to fail as one (tools/base.py), and
a validator of ours raises `problem`, which can name a place inside what it judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from bus.limits import bad_fields_listed_max
from tools.fence import plain_name

PROBLEM: Final = "nexus_problem"
"""The kind of the errors that validators of ours raise; their context holds `sentence` and, if need be, `inside`."""

_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not an argument here",
    "string_type": "must be text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bytes_type": "must be bytes",
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
_OTHERWISE: Final = "does not fit the input schema"


def problem(sentence: str, inside: Iterable[int | str] = ()) -> PydanticCustomError:
    """What a validator of a model raises. `sentence` is program text; `inside` leads on to the place that is meant."""
    return PydanticCustomError(PROBLEM, "{sentence}", {"sentence": sentence, "inside": list(inside)})


def problems_of(failure: ValidationError) -> dict[str, str]:
    """Path to sentence, for the first twenty bad fields."""
    errors = failure.errors(include_url=False, include_input=False)
    return dict(_path_and_sentence(error) for error in islice(errors, bad_fields_listed_max))


def _path_and_sentence(error: Mapping[str, Any]) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    if kind == PROBLEM:
        return _path((*error["loc"], *context.get("inside", ()))), context["sentence"]
    return _path(error["loc"]), _sentence(kind, context)


def _path(location: Iterable[int | str]) -> str:
    return plain_name(".".join(map(str, location)))


def _sentence(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "value_error":  # raised by a validator of ours: program text
        return str(context.get("error", _OTHERWISE))
    try:
        return _SENTENCES.get(kind, _OTHERWISE).format(**context)
    except KeyError:
        return _OTHERWISE
