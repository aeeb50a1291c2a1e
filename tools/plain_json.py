"""JSON that agents hand to each other, checked so that every part of NEXUS can carry it.

The bus cannot carry integers beyond 64 bits, numbers that are not finite, lone surrogates or bottomless nesting, so
they are refused where they enter, by the input model.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, JsonValue, SkipValidation

from bus.limits import json_depth_max
from bus.value import Value
from tools.problems import problem

_Trail: TypeAlias = "tuple[_Trail, int | str] | None"
"""Where a value stands, as the steps to it, last first."""


def encoded_bytes(value: Value) -> int:
    """How many bytes `value` takes as compact JSON in UTF-8, which is what limits on JSON count."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())


def _must_be_carried(value: JsonValue) -> None:
    # A stack instead of recursion: the depth of hostile input must not become ours.
    pending: list[tuple[JsonValue, int, _Trail]] = [(value, 1, None)]
    while pending:
        node, depth, trail = pending.pop()
        if depth > json_depth_max:
            raise problem(f"must not be nested deeper than {json_depth_max} levels")
        match node:
            case bool() | None:
                pass
            case int():
                if not -(2**63) <= node < 2**63:
                    raise problem("must not be an integer beyond 64 bits", _path(trail))
            case float():
                if not math.isfinite(node):
                    raise problem("must be a finite number", _path(trail))
            case str():
                _must_be_text(node, trail)
            case list():
                pending.extend((item, depth + 1, (trail, at)) for at, item in enumerate(node))
            case dict():
                for key, item in node.items():
                    _must_be_text(key, trail)
                    pending.append((item, depth + 1, (trail, key)))
            case _:
                raise problem("must be JSON", _path(trail))


def _must_be_text(text: object, trail: _Trail) -> None:
    if not isinstance(text, str):
        raise problem("must have names that are text", _path(trail))
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise problem("must not hold half of a surrogate pair", _path(trail))


def _path(trail: _Trail) -> list[int | str]:
    path: list[int | str] = []
    while trail is not None:
        trail, step = trail
        path.append(step)
    return path[::-1]


def _object_must_be_carried(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    _must_be_carried(value)
    return value


def _list_must_be_carried(value: list[JsonValue]) -> list[JsonValue]:
    _must_be_carried(value)
    return value


# pydantic's own check of what is inside is left out: its paths would name branches of its schema.
JsonObject = Annotated[dict[str, SkipValidation[JsonValue]], AfterValidator(_object_must_be_carried)]
JsonList = Annotated[list[SkipValidation[JsonValue]], AfterValidator(_list_must_be_carried)]
