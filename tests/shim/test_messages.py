"""What the shim makes of a client's line, without any input or output."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import NAME_BEARING_METHODS, decode_header_value, encode_header_value

from nexus.gateway import tool_request
from nexus.shim.messages import (
    IDEMPOTENCY_KEY,
    NAMED_BY,
    ClientMessage,
    Kind,
    Malformed,
    error_line,
    header_text,
    one_line,
    parse,
)


def parsed(line: str | bytes) -> ClientMessage:
    message = parse(line.encode() if isinstance(line, str) else line, lambda: "made")
    assert isinstance(message, ClientMessage), message
    return message


def call(params: str) -> str:
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'


def test_the_names_are_those_of_the_gateway_and_of_the_specification() -> None:
    assert tool_request.IDEMPOTENCY_KEY == IDEMPOTENCY_KEY
    assert dict(NAME_BEARING_METHODS) == NAMED_BY


@given(st.text())
def test_a_header_is_written_as_the_sdk_writes_it(value: str) -> None:
    assert header_text(value) == encode_header_value(value)
    assert decode_header_value(header_text(value)) == value


def test_a_line_is_sent_on_as_it_was_written() -> None:
    line = '{ "jsonrpc":"2.0", "id":"7", "method":"tools/list", "params":{"cursor":"\\u00fc"} }'
    message = parsed(line)
    assert message.body == line.encode()
    assert (message.kind, message.id, message.is_repeatable, message.is_modern) == (Kind.REQUEST, "7", True, False)


def test_a_call_gets_a_key_and_keeps_all_else() -> None:
    """common 8.2"""
    message = parsed(
        call('{"name":"t","arguments":{"x":"\\ud83d\\ude00 \\ud800","y":0.10},"_meta":{"progressToken":1}}')
    )
    params = json.loads(message.body)["params"]
    assert params["_meta"] == {"progressToken": 1, IDEMPOTENCY_KEY: "made"}
    assert params["arguments"] == {"x": "😀 \ud800", "y": 0.1} and params["name"] == "t"
    assert message.is_repeatable and message.name == "t"


def test_the_clients_own_key_stays() -> None:
    line = call('{"name":"t","_meta":{"nexus/idempotencyKey":"mine"}}')
    assert parsed(line).body == line.encode() and parsed(line).is_repeatable


@pytest.mark.parametrize(
    "params",
    [
        '{"name":"t","name":"u"}',
        '{"name":"t","arguments":{"x":1,"x":2}}',
        '{"name":"t","arguments":{"x":NaN}}',
        '{"name":"t","arguments":{"x":1e999}}',
        '{"name":"t","_meta":7}',
        '{"name":"t","_meta":{"nexus/idempotencyKey":7}}',
        "[1]",
    ],
)
def test_a_call_that_the_gateway_must_see_as_it_is_gets_no_key_and_is_not_repeated(params: str) -> None:
    """security 2.19: what the gateway reads strictly is not softened on the way."""
    message = parsed(call(params))
    assert message.body == call(params).encode() and not message.is_repeatable


@pytest.mark.parametrize(
    "line",
    [
        *(b"[" * 100_000, b"\xff", b"\xff\xfe{\x00}\x00", b"{", b"7", b"[{}]", b"{}", b'{"id":1}', b'{"method":7}'),
        *(b'{"id":null,"method":"m"}', b'{"id":1.5,"method":"m"}', b'{"id":[],"method":"m"}'),
    ],
)
def test_what_is_no_message_is_told_so(line: bytes) -> None:
    message = parse(line, lambda: "made")
    assert isinstance(message, Malformed)
    assert json.loads(error_line(message.id, message.code, message.message))["error"]["code"] == message.code


def test_notifications_answers_and_cancellations_are_told_apart() -> None:
    assert parsed('{"method":"notifications/initialized"}').kind is Kind.NOTIFICATION
    assert parsed('{"id":"a","result":{}}').kind is Kind.ANSWER
    assert parsed('{"method":"notifications/cancelled","params":{"requestId":"7"}}').cancels == "7"
    assert parsed('{"method":"notifications/cancelled","params":{"requestId":true}}').cancels is None


def test_json_over_several_lines_becomes_one() -> None:
    assert one_line(b'{\n "a": "\\n"\r\n}') == b'{"a":"\\n"}'
    with pytest.raises(ValueError, match=r"Expecting|delimiter"):
        one_line(b"{\n")
