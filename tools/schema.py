"""JSON schemas of tools, made from their models once at start-up (common 1.6).

Roots are always objects (an array root breaks every legacy client's list), pydantic's `title` keys are dropped
(13 % of the list's bytes), and an output schema admits by `anyOf` under the root the success, the collected form
(common 4.4) and the error form (common 6.1), since some clients validate refusals too.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from bus.value import Record, Value
from tools.base import Tool


class Collected(BaseModel):
    """What a call answers in mode plan_collect: it was noted down and not executed."""

    model_config = ConfigDict(extra="allow")

    executed: Literal[False]
    status: Literal["collected"]
    planId: str
    stepId: str


class ErrorBody(BaseModel):
    model_config = ConfigDict(extra="allow")

    code: str
    message: str
    retryable: bool


class ErrorForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    error: ErrorBody


_FORMS: Final[tuple[type[BaseModel], ...]] = (Collected, ErrorForm)


def input_schema(tool: Tool) -> Record:
    return _plain(tool.input.model_json_schema())


def output_schema(tool: Tool) -> Record:
    definitions: Record = {}
    alternatives: list[Value] = []
    for model in (tool.output, *_FORMS):
        schema = _plain(model.model_json_schema())
        nested = schema.pop("$defs", {})
        assert isinstance(nested, dict)
        definitions.update(nested)
        alternatives.append(schema)
    whole: Record = {"type": "object", "anyOf": alternatives}
    if definitions:
        whole["$defs"] = definitions
    return whole


def _plain(schema: Record) -> Record:
    cleaned = _without_titles(schema)
    assert isinstance(cleaned, dict)
    return cleaned


def _without_titles(node: Value, *, names: bool = False) -> Value:
    """`names` is true inside `properties` and `$defs`, whose keys are names: a property may be called title."""
    if isinstance(node, dict):
        return {
            key: _without_titles(value, names=key in ("properties", "$defs") and not names)
            for key, value in node.items()
            if names or key != "title"
        }
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    return node
