"""Whatever the bytes, they are judged without an exception, and what passes is what the SDK's parsers will read."""

from __future__ import annotations

import json
import math
from typing import Any

import pydantic_core
from hypothesis import given
from hypothesis import strategies as st

from nexus.gateway.strict_json import CheckedMessage, check

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**62, max_value=2**65)
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", "a\udfff", "NaN", "[[[", '"'])
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


def is_strict(value: Any) -> bool:
    match value:
        case str():
            return not any("\ud800" <= character <= "\udfff" for character in value)
        case bool() | None:
            return True
        case int():
            return -(2**63) <= value < 2**63
        case float():
            return math.isfinite(value)
        case list():
            return all(map(is_strict, value))
        case _:
            return all(is_strict(key) and is_strict(item) for key, item in value.items())


def message(arguments: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": arguments}}
    ).encode()


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(body: bytes) -> None:
    check(body)


@given(st.dictionaries(st.text(max_size=4), _VALUES, max_size=4))
def test_arguments_pass_exactly_when_they_are_strict(arguments: dict[str, Any]) -> None:
    body = message(arguments)
    checked = check(body)
    assert isinstance(checked, CheckedMessage)
    if is_strict(arguments):
        assert checked.body == body and not checked.bad_arguments
    else:
        assert len(checked.bad_arguments) == 1
        assert json.loads(checked.body)["params"]["arguments"] == {}


@given(st.dictionaries(st.text(max_size=4), _VALUES, max_size=4))
def test_what_passes_is_read_alike_by_both_parsers_of_the_sdk(arguments: dict[str, Any]) -> None:
    checked = check(message(arguments))
    assert isinstance(checked, CheckedMessage)
    assert pydantic_core.from_json(checked.body) == json.loads(checked.body)


@given(st.data(), _VALUES)
def test_a_body_cut_anywhere_is_no_message(data: st.DataObject, value: Any) -> None:
    body = message({"a": value})
    end = data.draw(st.integers(min_value=0, max_value=len(body) - 1))
    assert not isinstance(check(body[:end]), CheckedMessage)
