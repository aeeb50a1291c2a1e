"""JSON that agents hand to each other, checked so that every part of NEXUS can carry it.

The bus cannot carry integers beyond 64 bits, numbers that are not finite, lone surrogates or bottomless nesting, so
they are refused where they enter, by the input model.
"""

from __future__ import annotations

import json
import math
from typing import Annotated

from pydantic import AfterValidator, JsonValue

from bus.limits import json_depth_max
from bus.value import Value


def encoded_bytes(value: Value) -> int:
    """How many bytes `value` takes as compact JSON in UTF-8, which is what limits on JSON count."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())


def _must_be_carried(value: JsonValue) -> JsonValue:
    # A stack instead of recursion: the depth of hostile input must not become ours.
    pending: list[tuple[JsonValue, int]] = [(value, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > json_depth_max:
            raise ValueError(f"must not be nested deeper than {json_depth_max} levels")
        match node:
            case bool() | None:
                pass
            case int():
                if not -(2**63) <= node < 2**63:
                    raise ValueError("must not hold integers beyond 64 bits")
            case float():
                if not math.isfinite(node):
                    raise ValueError("must hold finite numbers only")
            case str():
                _must_be_text(node)
            case list():
                pending.extend((item, depth + 1) for item in node)
            case dict():
                for key, item in node.items():
                    _must_be_text(key)
                    pending.append((item, depth + 1))
    return value


def _must_be_text(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("must not hold half of a surrogate pair")


def _object_must_be_carried(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    _must_be_carried(value)
    return value


def _list_must_be_carried(value: list[JsonValue]) -> list[JsonValue]:
    _must_be_carried(value)
    return value


JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_object_must_be_carried)]
JsonList = Annotated[list[JsonValue], AfterValidator(_list_must_be_carried)]
