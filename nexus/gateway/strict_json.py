"""Checks the bytes of a request before the MCP SDK parses them. Pure.

Invariants: only strict JSON passes (UTF-8, no NaN or Infinity, no lone surrogates, no integer beyond 64 bits, at most
`json_depth_max` levels), in the shape of one JSON-RPC request or notification; nothing here recurses with the input.
The SDK parses more freely (each era by another parser, one of them quoting its own error text), so what it could
stumble over is answered before it sees it.

A bad value inside the arguments of a tools/call is the tool's matter: the call goes on with empty arguments and
`bad_arguments` naming the path, so that it ends as a tool result `invalid_arguments` in the form of its protocol era.
Everything else is a JSON-RPC error. A number like 1e999 is well formed and passes as infinity: whether that fits is
for the tool's model and its owner to say (canvas 3.1 rejects such a geometry). Of doubled keys the last one counts,
here and in both parsers of the SDK.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeGuard

import orjson

from bus.limits import json_containers_max, json_depth_max, json_searched_bytes_max
from bus.message_record import message_record
from tools.fence import plain_name

RequestId: TypeAlias = str | int

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

_TOOLS_CALL: Final = "tools/call"
_INTEGER_MIN: Final = -(2**63)
_INTEGER_MAX: Final = 2**63 - 1
_DIGITS_MAX: Final = 20
_DIGITS_AS_ZEROS: Final = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER: Final = b"0" * 19
_LONG_NUMBER_OUTSIDE_TEXT: Final = re.compile(
    rb'(?:[^"0-9]++|"(?:[^"\\]++|\\.)*+"|[0-9]{1,18}+(?![0-9]))*+[0-9]{19}', re.DOTALL
)
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', re.DOTALL)

_TOO_DEEP: Final = f"is nested too deeply; at most {json_depth_max} levels are allowed"
_TOO_MANY: Final = "holds too many lists and objects"
_NOT_A_NUMBER: Final = "is not a number that JSON has"
_TOO_LONG_INTEGER: Final = "is an integer beyond 64 bits"
_NOT_TEXT: Final = "holds half of a surrogate pair, which is not text"


@message_record
class CheckedMessage:
    """One well-formed message. `id` is None for a notification; `body` is what the SDK may parse."""

    body: bytes
    method: str
    id: RequestId | None
    tool: str | None = None
    """Of a tools/call: the name in `params`, when it is text."""
    bad_arguments: Mapping[str, str] = field(default_factory=dict)
    """Of a tools/call: path to problem, for arguments that were taken out of `body`."""
    parsed: Mapping[str, Any] | None = None
    """What `body` says, when it is strict JSON without anything odd; else None."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not a message: what the JSON-RPC error says."""

    code: int
    message: str
    id: RequestId | None = None


def check(body: bytes) -> CheckedMessage | Malformed:
    """Judge one request body, already bounded by `request_body_bytes_max`."""
    parsed, is_strict = _parse(body)
    if parsed is None:
        return Malformed(PARSE_ERROR, "The body is not strict JSON.")
    message = _message(parsed, body, is_strict)
    if isinstance(message, Malformed) or is_strict:
        return message
    return _without_bad_arguments(parsed, message)


def _parse(body: bytes) -> tuple[Any, bool]:
    """The value and whether it is strict JSON throughout; (None, False) when it is no JSON at all."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _parse_freely(body), False
    # Nearly no body has so many digits in a row, and this finds that out many times faster than an expression.
    if _LONG_NUMBER in body.translate(_DIGITS_AS_ZEROS) and _LONG_NUMBER_OUTSIDE_TEXT.match(body):
        return _parse_freely(body), False  # orjson turns integers beyond 64 bits into floats, and the SDK does not
    return parsed, not _is_too_deep_or_wide(parsed, body)


def _parse_freely(body: bytes) -> Any:
    """Also NaN, Infinity and lone surrogates, to find where they are; None for anything that is still not JSON."""
    if len(body) > json_searched_bytes_max:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    if _brackets_go_too_deep(text):  # checked first: the standard parser recurses
        return None
    try:
        return json.loads(text, parse_int=_integer, parse_constant=lambda name: math.nan)
    except ValueError:
        return None


def _integer(digits: str) -> int:
    """Python refuses to convert very long integers at all; any number that is too large stands for them."""
    return int(digits) if len(digits) <= _DIGITS_MAX else _INTEGER_MAX + 1


def _is_too_deep_or_wide(parsed: Any, body: bytes) -> bool:
    if body.count(b"[") + body.count(b"{") <= json_depth_max:
        return False
    level = [parsed]
    containers = 1
    for _ in range(json_depth_max):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        containers += len(level)
        if not level or containers > json_containers_max:
            break
    return bool(level)


def _brackets_go_too_deep(text: str) -> bool:
    depth = 0
    for match in _BRACKET.finditer(text):
        opening = text[match.start()]
        if opening in "[{":
            depth += 1
            if depth > json_depth_max:
                return True
        elif opening in "]}":
            depth -= 1
    return False


def _message(parsed: Any, body: bytes, is_strict: bool) -> CheckedMessage | Malformed:
    if not isinstance(parsed, dict) or parsed.get("jsonrpc") != "2.0":
        return Malformed(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 request or notification.")
    identifier = parsed.get("id")
    if "id" in parsed and not _is_request_id(identifier):
        return Malformed(INVALID_REQUEST, "The id of a request must be text or an integer.")
    method, params = parsed.get("method"), parsed.get("params", {})
    if not _is_text(method) or not isinstance(params, dict):
        return Malformed(INVALID_REQUEST, "A request needs a method, and params that are an object.", identifier)
    tool = params.get("name") if method == _TOOLS_CALL else None
    name = tool if _is_text(tool) else None
    return CheckedMessage(body, method, identifier, name, parsed=parsed if is_strict else None)


def _without_bad_arguments(parsed: dict[str, Any], message: CheckedMessage) -> CheckedMessage | Malformed:
    arguments = parsed.get("params", {}).get("arguments") if message.method == _TOOLS_CALL else None
    problem = _first_problem(arguments, 3)
    envelope = parsed
    if problem is not None:
        envelope = {**parsed, "params": {**parsed["params"], "arguments": {}}}
    if _first_problem(envelope, 1) is not None:
        return Malformed(PARSE_ERROR, "The body is not strict JSON.", message.id)
    if problem is None:  # an integer of 19 digits that does fit, or a number like 1e999
        return message
    path, text = problem
    return CheckedMessage(orjson.dumps(envelope), message.method, message.id, message.tool, {path: text})


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a container stands: its key, and the place of the container around it."""

    key: str | int
    around: _Place | None

    def path(self) -> str:
        return plain_name(".".join(reversed([str(key) for key in self._keys()])))

    def _keys(self) -> Iterator[str | int]:
        place: _Place | None = self
        while place is not None:
            yield place.key
            place = place.around


def _first_problem(root: Any, depth: int) -> tuple[str, str] | None:
    """Path and description of one bad value. `depth` is the level at which `root` itself stands."""
    waiting: list[tuple[Any, _Place | None, int]] = [(root, None, depth)]
    containers = 0
    while waiting:
        node, place, level = waiting.pop()
        is_object = isinstance(node, dict)
        if not is_object and not isinstance(node, list):
            continue
        if level > json_depth_max:
            return (place.path() if place is not None else ""), _TOO_DEEP
        for key, value in node.items() if is_object else enumerate(node):
            if isinstance(value, dict | list):
                containers += 1
                if containers > json_containers_max:
                    return "", _TOO_MANY
                waiting.append((value, _Place(key, place), level + 1))
                continue
            problem = _scalar_problem(value)
            if problem is None and is_object and not _is_text(key):
                problem = _NOT_TEXT
            if problem is not None:
                return _Place(key, place).path(), problem
    return None


def _scalar_problem(value: Any) -> str | None:
    match value:
        case str():
            return None if _is_text(value) else _NOT_TEXT
        case bool() | None:
            return None
        case int():
            return None if _INTEGER_MIN <= value <= _INTEGER_MAX else _TOO_LONG_INTEGER
        case _:
            return _NOT_A_NUMBER if math.isnan(value) else None


def _is_text(value: Any) -> TypeGuard[str]:
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_request_id(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return _is_text(value) or (isinstance(value, int) and _INTEGER_MIN <= value <= _INTEGER_MAX)
