"""The bytes of a request, judged before any other parser sees them (security 2.19)."""

from __future__ import annotations

import orjson
import pytest

from bus.limits import json_depth_max
from nexus.gateway.strict_json import INVALID_REQUEST, PARSE_ERROR, CheckedMessage, Malformed, check

CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"canvas_read","arguments":%s}}'
ENVELOPE_LEVELS = 3  # the message, its params, their arguments


def checked(body: bytes) -> CheckedMessage:
    message = check(body)
    assert isinstance(message, CheckedMessage)
    return message


def malformed(body: bytes) -> Malformed:
    message = check(body)
    assert isinstance(message, Malformed)
    return message


@pytest.mark.parametrize(
    "arguments",
    [
        b"{}",
        b'{"text":"NaN Infinity [[[[ 123456789012345678901234567890"}',
        b'{"text":"\\ud83d\\ude00 \xf0\x9f\x98\x80"}',
        b'{"n":9223372036854775807,"m":-9223372036854775808}',
        b'{"x":1e999}',
        b'{"twice":1,"twice":2}',
    ],
)
def test_a_strict_body_is_passed_on_byte_by_byte(arguments: bytes) -> None:
    message = checked(CALL % arguments)
    assert message.body == CALL % arguments
    assert (message.method, message.id, message.tool) == ("tools/call", 7, "canvas_read")
    assert message.bad_arguments == {}


@pytest.mark.parametrize(
    ("arguments", "path", "problem"),
    [
        (b'{"elements":[{"x":1},{"x":NaN}]}', "elements.1.x", "is not a number"),
        (b'{"x":-Infinity}', "x", "is not a number"),
        (b'{"title":"\\ud800"}', "title", "surrogate"),
        (b'{"a":{"\\udc00":1}}', "a.", "surrogate"),
        (b'{"n":9223372036854775808}', "n", "64 bits"),
        (b'{"n":' + b"9" * 5_000 + b"}", "n", "64 bits"),
    ],
)
def test_a_bad_value_in_the_arguments_is_named_by_its_path_and_taken_out(
    arguments: bytes, path: str, problem: str
) -> None:
    message = checked(CALL % arguments)
    assert list(message.bad_arguments) == [path]
    assert problem in message.bad_arguments[path]
    assert orjson.loads(message.body)["params"] == {"name": "canvas_read", "arguments": {}}


def test_nesting_at_the_limit_passes_and_one_level_more_is_named() -> None:
    allowed = json_depth_max - ENVELOPE_LEVELS
    assert checked(CALL % (b'{"a":' + b"[" * allowed + b"]" * allowed + b"}")).bad_arguments == {}
    deeper = checked(CALL % (b'{"a":' + b"[" * (allowed + 1) + b"]" * (allowed + 1) + b"}"))
    ((path, problem),) = deeper.bad_arguments.items()
    assert path.startswith("a.0.0") and "nested too deeply" in problem


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"NaN",
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
        CALL % b'{"text":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"a":NaN},"arguments":{"b":NaN}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{"b":NaN}}}',
    ],
)
def test_what_is_not_strict_json_outside_of_arguments_is_a_parse_error(body: bytes) -> None:
    assert malformed(body).code in (PARSE_ERROR, INVALID_REQUEST)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b"1",
        b'{"id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
)
def test_json_that_is_not_one_request_or_notification_is_an_invalid_request(body: bytes) -> None:
    assert malformed(body).code == INVALID_REQUEST


def test_an_error_carries_the_id_when_it_could_be_read() -> None:
    assert malformed(b'{"jsonrpc":"2.0","id":"q","method":"tools/list","params":{"cursor":NaN}}').id == "q"
    assert malformed(b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}').id is None


def test_a_notification_has_no_id() -> None:
    assert checked(b'{"jsonrpc":"2.0","method":"notifications/initialized"}').id is None


def test_very_many_small_containers_are_refused_as_a_whole() -> None:
    message = checked(CALL % (b'{"a":[' + b"[]," * 150_000 + b"[]]}"))
    assert message.bad_arguments == {"": "holds too many lists and objects"}
    assert len(message.body) < 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 8_000_000,
        b'{"a":' * 1_600_000,
        b'"' + b"\\" * 8_000_000,
        b'"' * 8_000_001,
        CALL % (b'{"a":' + b"[" * 4_000_000 + b"]" * 4_000_000 + b"}"),
        CALL % (b'{"a":[' + b"{}," * 2_700_000 + b"NaN]}"),
    ],
)
@pytest.mark.timeout(5)
def test_bombs_of_eight_megabytes_are_refused_without_recursion(body: bytes) -> None:
    assert malformed(body).code == PARSE_ERROR
