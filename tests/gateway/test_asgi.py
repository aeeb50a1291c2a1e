"""The HTTP side: eras, methods, and what is said while the caller's agent owner cannot be reached (common 1.9, 2.3)."""

from __future__ import annotations

import asyncio

from bus.client import DeadlinePassed
from bus.value import Record
from tests.support.gateway_bench import LEGACY, MODERN, GatewayBench, error_of, in_loop, modern_headers
from tests.support.scripted_caller import Sent

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": "q", "method": "tools/call", "params": {"name": "canvas_read", "arguments": {}}}


@in_loop
async def test_an_unknown_version_is_told_which_one_is_served() -> None:
    async with GatewayBench() as bench:
        headers = {**modern_headers("tools/list", {}), "mcp-protocol-version": "2099-01-01"}
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2099-01-01",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        response = await bench.post({**LIST, "params": {"_meta": meta}}, headers)
        assert response.status_code == 400
        assert response.json()["error"]["data"]["supported"] == ["2026-07-28"]


@in_loop
async def test_spaces_around_header_values_make_no_difference() -> None:
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        session.headers["mcp-protocol-version"] = f" {LEGACY}\t"
        session.headers["mcp-session-id"] = f"  {session.headers['mcp-session-id']} "
        assert "result" in (await session.request("tools/list")).json()


@in_loop
async def test_only_post_the_stream_and_the_end_of_a_session_are_served() -> None:
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        authorization = {"authorization": "Bearer nx_agent7_a_secret-with_underscores"}
        for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
            response = await bench.http.request(method, "/mcp", headers={**session.headers, **authorization})
            assert (response.status_code, response.headers["allow"]) == (405, "POST, DELETE")
        for headers in ({}, {**session.headers, "mcp-protocol-version": MODERN}):
            response = await bench.http.get("/mcp", headers={**headers, **authorization})
            assert (response.status_code, response.headers["allow"]) == (405, "POST, DELETE")
        response = await bench.http.delete("/mcp", headers={**session.headers, **authorization})
        assert response.status_code == 200
        assert (await session.request("tools/list")).status_code == 404


@in_loop
async def test_other_paths_are_not_served_and_not_redirected() -> None:
    async with GatewayBench() as bench:
        for path in ("/", "/mcp/", "/mcp/x", "/.well-known/oauth-protected-resource"):
            assert (await bench.http.get(path)).status_code == 404


@in_loop
async def test_while_the_agent_owner_is_silent_a_call_is_unavailable_and_never_401() -> None:
    """common 2.3"""
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        bench.caller.on("authenticate", DeadlinePassed(was_sent=False))
        modern = await bench.post(CALL, modern_headers("tools/call", {"name": "canvas_read"}))
        legacy = await session.request("tools/call", {"name": "canvas_read", "arguments": {}})
        for response in (modern, legacy):
            assert response.status_code == 200
            error = error_of(response.json()["result"])
            assert (error["code"], error["retryable"]) == ("unavailable", True)
        assert modern.json()["id"] == "q"
        assert bench.caller.sent_of("admit") == []


@in_loop
async def test_while_the_agent_owner_is_silent_other_requests_are_errors() -> None:
    async with GatewayBench() as bench:
        bench.caller.on("authenticate", DeadlinePassed(was_sent=False))
        response = await bench.post(LIST)
        assert response.json()["error"]["data"]["error"]["code"] == "unavailable"
        for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, b"{", b"[]"):
            assert (await bench.post(body)).status_code == 503
        authorization = {"authorization": "Bearer nx_agent7_a_secret-with_underscores"}
        assert (await bench.http.get("/mcp", headers=authorization)).status_code == 503


@in_loop
async def test_an_id_that_is_still_open_in_a_session_is_refused_in_either_form() -> None:
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        started, go_on = asyncio.Event(), asyncio.Event()

        async def slow(sent: Sent) -> Record:
            started.set()
            await go_on.wait()
            return {"title": "Plan"}

        bench.caller.on("canvas_read", slow)
        message = {**CALL, "id": 7, "params": {"name": "canvas_read", "arguments": {"canvasId": "c"}}}
        first = asyncio.create_task(bench.post(message, session.headers))
        await started.wait()
        for identifier in (7, "7"):
            response = await bench.post({**message, "id": identifier}, session.headers)
            assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)
        go_on.set()
        assert (await first).json()["result"]["isError"] is False
        assert (await bench.post({**message, "id": "7"}, session.headers)).json()["id"] == "7"


@in_loop
async def test_nothing_is_sent_on_for_a_message_that_is_no_request() -> None:
    async with GatewayBench() as bench:
        for body in (b"", b"{", b"[]", b'{"jsonrpc":"2.0","id":1,"result":{}}'):
            assert (await bench.post(body)).status_code == 400
        assert {sent.verb for sent in bench.caller.sent} == {"authenticate"}
