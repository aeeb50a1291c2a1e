"""Hostile JSON through the whole gateway, and exception text that must stay inside (common 7.4; security 2.19)."""

from __future__ import annotations

import logging

import orjson
import pytest
from structlog.testing import capture_logs

from tests.support.gateway_bench import SECRET, TOKEN, GatewayBench, error_of, in_loop


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (b'{"canvasId":"c","elements":[{"x":NaN}]}', "elements.0.x"),
        (b'{"canvasId":"c","elements":[{"x":-Infinity}]}', "elements.0.x"),
        (b'{"canvasId":"c","elements":[{"x":1e999}]}', "elements.0.x"),
        (b'{"canvasId":"\\udfff"}', "canvasId"),
        (b'{"canvasId":"c","limit":99999999999999999999}', "limit"),
        (b'{"canvasId":"c","surprise":1}', "surprise"),
    ],
)
def test_a_bad_value_is_a_tool_result_naming_its_path_in_both_eras(arguments: bytes, path: str) -> None:
    """common 6.3"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            session = await bench.legacy_session()
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canvas_write","arguments":%s}}'
            for response in (
                await bench.call_raw("canvas_write", arguments),
                await bench.post(body % arguments, session.headers),
            ):
                assert response.status_code == 200
                error = error_of(response.json()["result"])
                assert error["code"] == "invalid_arguments"
                assert [field["path"] for field in error["fields"]] == [path]
            assert bench.caller.sent_of("canvas_write") == []

    scenario()


@in_loop
async def test_nesting_beyond_the_limit_is_named_and_nesting_beyond_reason_is_a_parse_error() -> None:
    async with GatewayBench() as bench:
        deep = b'{"canvasId":"c","elements":' + b"[" * 200 + b"]" * 200 + b"}"
        error = error_of((await bench.call_raw("canvas_write", deep)).json()["result"])
        assert error["fields"][0]["problem"].startswith("is nested too deeply")
        deeper = b'{"canvasId":"c","elements":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
        response = await bench.call_raw("canvas_write", deeper)
        assert (response.status_code, response.json()["error"]["code"]) == (400, -32700)


@in_loop
async def test_an_unknown_tool_with_bad_arguments_is_an_unknown_tool() -> None:
    """common 4.1"""
    async with GatewayBench() as bench:
        response = await bench.call_raw("nothing", b'{"x":NaN}')
        assert response.json()["error"]["code"] == -32602


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["leak-me"]}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canvas_read","arguments":"leak-me"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canvas_read","_meta":"leak-me"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":{"leak-me":1}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":["leak-me"]}}',
    ],
)
def test_no_parser_of_ours_quotes_itself_or_its_input(body: bytes) -> None:
    """common 7.4"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            session = await bench.legacy_session()
            modern = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}
            for headers in (session.headers, modern, {}):
                response = await bench.post(body, headers)
                assert response.status_code < 500
                assert "error" in response.json()
                for hint in ("pydantic", "leak-me", "line 1", "Traceback", "validation error", "Expecting"):
                    assert hint not in response.text

    scenario()


@in_loop
async def test_the_text_of_an_exception_stays_in_the_log_with_the_incident_id() -> None:
    """common 6.3, 7.4"""
    async with GatewayBench() as bench:
        bench.caller.on("canvas_read", ValueError("/var/someone/secret"))
        with capture_logs() as logged:
            error = error_of(await bench.call("canvas_read", {"canvasId": "c"}))
        assert "/var/" not in orjson.dumps(error).decode()
        assert logged[0]["incident_id"] == error["incidentId"]
        assert logged[0]["exc_info"] is True


@in_loop
async def test_a_defect_in_reading_the_mailbox_shows_no_text_either() -> None:
    async with GatewayBench() as bench:
        bench.caller.on("agent_inbox", ValueError("/var/someone/secret"))
        session = await bench.legacy_session()
        params = {"uri": "nexus://mailbox"}
        for response in (
            await bench.modern("resources/read", params),
            await session.request("resources/read", params),
        ):
            assert "/var/" not in response.text
            assert response.json()["error"]["data"]["error"]["code"] == "internal"


@in_loop
async def test_tokens_and_secrets_appear_in_no_answer_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """security 2.9"""
    caplog.set_level(logging.DEBUG)
    async with GatewayBench() as bench:
        with capture_logs() as logged:
            session = await bench.legacy_session()
            bench.caller.on("canvas_read", ValueError("broken"))
            responses = [
                await bench.modern("tools/call", {"name": "canvas_read", "arguments": {"canvasId": "c"}}),
                await session.request("tools/list"),
                await bench.post(b"{", token=f"nx_unknown_{SECRET}"),
            ]
        for text in (*(response.text for response in responses), caplog.text, str(logged)):
            assert TOKEN not in text and SECRET not in text
