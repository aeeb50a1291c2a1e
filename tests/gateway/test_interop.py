"""The official client, in each of its modes, over a real uvicorn on a loopback port and on a Unix socket."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from bus.clock import SystemClock
from bus.value import Record
from nexus.gateway.asgi import Gateway
from tests.support.gateway_bench import STAMP, TOKEN, TOOLS, in_loop
from tests.support.scripted_caller import ScriptedCaller, Sent

MODES = ("auto", "legacy", "2026-07-28")
WAIT_SECONDS = 10


def owners() -> ScriptedCaller:
    def admit(sent: Sent) -> Record:
        stamp = dict(STAMP) if sent.body["arguments"] == "valid" else None
        return {"authenticated": True, "refusal": None, "stamp": stamp, "waiting": 5}

    caller = ScriptedCaller()
    caller.on("authenticate", {"authenticated": True, "agentId": "agent7", "workspaceId": "w", "waiting": 5})
    caller.on("admit", admit)
    for tool in TOOLS:
        caller.on(tool.name, {"title": "Über 😀"})
    return caller


@asynccontextmanager
async def served(caller: ScriptedCaller, unix_path: Path | None = None) -> AsyncIterator[str]:
    """The address of a gateway whose sockets already listen, so that early connections wait for it to start.

    One server has both listeners, so that the app's lifespan is entered once.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    sockets = [listener]
    if unix_path is not None:
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(str(unix_path))
        unix.listen()
        sockets.append(unix)
    app = Gateway(caller, SystemClock(), TOOLS, port).asgi_app
    server = uvicorn.Server(uvicorn.Config(app, http="httptools", loop="none", log_level="error", access_log=False))
    serving = asyncio.create_task(server.serve(sockets=sockets))
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, WAIT_SECONDS)
        for each in sockets:
            each.close()


@asynccontextmanager
async def connected(address: str, mode: str, unix_path: Path | None = None) -> AsyncIterator[Client]:
    transport = None if unix_path is None else httpx2.AsyncHTTPTransport(uds=str(unix_path))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, transport=transport) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_lists_calls_and_reads(mode: str) -> None:
    """common 1.9"""

    @in_loop
    async def scenario() -> None:
        async with served(owners()) as address, connected(address, mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]
            called = await client.call_tool("canvas_write", {"canvasId": "c", "elements": [{"x": 1}]})
            assert called.is_error is False
            assert called.structured_content == {"title": "Über 😀"}
            assert called.meta is not None and called.meta["nexus/waiting"] == 5
            refused = await client.call_tool("canvas_write", {"canvasId": 5})
            assert refused.is_error is True
            assert refused.structured_content["error"]["code"] == "invalid_arguments"
            read = await client.read_resource("nexus://mailbox")
            (content,) = read.contents
            assert isinstance(content, types.TextResourceContents) and content.text == '{"title":"Über 😀"}'

    scenario()


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_sees_unknown_tools_as_protocol_errors(mode: str) -> None:
    """common 6.1"""

    @in_loop
    async def scenario() -> None:
        async with served(owners()) as address, connected(address, mode) as client:
            with pytest.raises(MCPError) as failure:
                await client.call_tool("canvas_nothing", {"a": 1})
            assert failure.value.code == -32602

    scenario()


@pytest.mark.parametrize("mode", MODES)
def test_many_calls_at_once_each_get_their_own_answer(mode: str) -> None:
    @in_loop
    async def scenario() -> None:
        caller = owners()
        caller.on("canvas_read", lambda sent: {"title": str(sent.body["canvasId"])})
        async with served(caller) as address, connected(address, mode) as client:
            results: list[Any] = await asyncio.gather(
                *(client.call_tool("canvas_read", {"canvasId": f"c{number}"}) for number in range(40))
            )
            assert [result.structured_content["title"] for result in results] == [f"c{number}" for number in range(40)]

    scenario()


@pytest.mark.parametrize("mode", MODES)
def test_the_agents_socket_serves_the_same(mode: str) -> None:
    """common 2.5"""

    @in_loop
    async def scenario() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "mcp.sock")
            async with served(owners(), path), connected("http://localhost/mcp", mode, path) as client:
                called = await client.call_tool("canvas_read", {"canvasId": "c"})
                assert called.structured_content == {"title": "Über 😀"}

    scenario()


@in_loop
async def test_a_client_of_the_newer_era_that_goes_away_cancels_its_call() -> None:
    caller = owners()
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def never(sent: Sent) -> Record:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return {}

    caller.on("canvas_read", never)
    async with served(caller) as address, connected(address, "2026-07-28") as client:
        call = asyncio.create_task(client.call_tool("canvas_read", {"canvasId": "c"}))
        await asyncio.wait_for(started.wait(), WAIT_SECONDS)
        call.cancel()
        await asyncio.wait_for(cancelled.wait(), WAIT_SECONDS)


@in_loop
async def test_a_chunked_body_over_the_limit_is_refused_by_the_real_server() -> None:
    """common 2.5"""
    async with served(owners()) as address, httpx2.AsyncClient() as http:

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(140):
                yield b" " * 65_536

        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            response = await http.post(address, content=chunks(), headers=headers)
        except httpx2.TransportError:  # the server may close before the client has written everything
            return
        assert response.status_code == 413
