"""Values from a seed: what fits a tool's JSON schema, more or less, and what fits nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_PLAIN: Final = ("Plan", "a", "rectangle", "ellipse", "text", "arrow", "owner", "p1", "auto")
_WORDS: Final = (
    "Plan",
    "a",
    "rectangle",
    "owner",
    "x" * 201,
    "",
    " ",
    "été",
    "日本",
    "\u202e",
    "a\nb",
    "\x00",
    "😀",
    "p1",
)
_NUMBERS: Final[tuple[Any, ...]] = (
    0,
    -1,
    1,
    2,
    1.0,
    0.5,
    -0.0,
    2**31,
    2**53,
    2**63 - 1,
    -(2**63),
    2**64,
    1e308,
    1e-308,
)
_DEPTH_MAX: Final = 6


def odd_value(chance: random.Random) -> Any:
    """Something that probably does not belong where it is put."""
    makers: Sequence[Callable[[], Any]] = (
        lambda: None,
        lambda: chance.choice((True, False)),
        lambda: chance.choice(_NUMBERS),
        lambda: chance.choice(_WORDS),
        lambda: chance.choice(_WORDS) * chance.choice((1, 50, 3_000)),
        lambda: float(chance.choice(("nan", "inf", "-inf"))),
        list,
        dict,
        lambda: [odd_value(chance) for _ in range(chance.randrange(4))],
        lambda: {chance.choice(_WORDS): odd_value(chance) for _ in range(chance.randrange(4))},
        lambda: nested(chance.choice((3, 20, 70, 200)), chance.choice(("list", "object"))),
        lambda: chance.choice(("\ud800", "\udfff", "a\udc00b")),
    )
    return chance.choice(makers)()


def nested(depth: int, kind: str) -> Any:
    """Lists or objects inside each other."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


class FromSchema:
    """Draws values of one JSON schema. `known` are ids that exist, put where an id is asked for."""

    def __init__(self, schema: Mapping[str, Any], known: Sequence[str]) -> None:
        self._definitions: Mapping[str, Any] = schema.get("$defs", {})
        self._schema = schema
        self._known = known

    def draw(self, chance: random.Random) -> Any:
        return self._draw(self._schema, chance, "", 0)

    def _draw(self, schema: Mapping[str, Any], chance: random.Random, name: str, depth: int) -> Any:
        if depth > _DEPTH_MAX or chance.random() < 0.01:
            return odd_value(chance)
        if "$ref" in schema:
            return self._draw(self._definitions[schema["$ref"].rpartition("/")[2]], chance, name, depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return chance.choice(schema["enum"])
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self._draw(chance.choice(schema[choice]), chance, name, depth + 1)
        return self._of_type(schema, chance, name, depth)

    def _of_type(self, schema: Mapping[str, Any], chance: random.Random, name: str, depth: int) -> Any:
        match schema.get("type"):
            case "object":
                return self._object(schema, chance, depth)
            case "array":
                count = min(schema.get("maxItems", 3), max(schema.get("minItems", 0), chance.randrange(4)))
                items = schema.get("items", {})
                return [self._draw(items, chance, name, depth + 1) for _ in range(count)]
            case "string":
                if name.endswith("Id") and chance.random() < 0.8:
                    return chance.choice(self._known)
                return chance.choice(_PLAIN if chance.random() < 0.85 else _WORDS)
            case "integer":
                return chance.choice((schema.get("minimum", 0), schema.get("maximum", 9), chance.randrange(5)))
            case "number":
                return chance.randrange(100) if chance.random() < 0.8 else chance.choice(_NUMBERS)
            case "boolean":
                return chance.random() < 0.5
            case "null":
                return None
            case _:
                return odd_value(chance)

    def _object(self, schema: Mapping[str, Any], chance: random.Random, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        return {
            key: self._draw(part, chance, key, depth + 1)
            for key, part in schema.get("properties", {}).items()
            if key in required or chance.random() < 0.3
        }
