"""A call whose client has closed its connection is given up (docs/decisions/0012-protocol.md)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from bus.value import Record
from nexus.gateway.client_watch import ClientWatch
from tests.support.gateway_bench import MODERN, PORT, TOKEN, GatewayBench, in_loop
from tests.support.loop import until
from tests.support.scripted_caller import Sent

BODY = orjson.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "canvas_read",
            "arguments": {"canvasId": "c"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
)
SCOPE: dict[str, Any] = {
    "type": "http",
    "method": "POST",
    "path": "/mcp",
    "raw_path": b"/mcp",
    "root_path": "",
    "query_string": b"",
    "scheme": "http",
    "http_version": "1.1",
    "server": ("127.0.0.1", PORT),
    "client": ("127.0.0.1", 1),
    "headers": [
        (b"host", f"127.0.0.1:{PORT}".encode()),
        (b"authorization", f"Bearer {TOKEN}".encode()),
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
        (b"mcp-protocol-version", MODERN.encode()),
        (b"mcp-method", b"tools/call"),
        (b"mcp-name", b"canvas_read"),
    ],
}


class Connection:
    """One request over ASGI, whose client may go."""

    def __init__(self) -> None:
        self.has_gone, self.is_watched = asyncio.Event(), asyncio.Event()
        self.sent: list[Any] = []
        self._body: list[dict[str, Any]] = [{"type": "http.request", "body": BODY, "more_body": False}]

    async def receive(self) -> dict[str, Any]:
        if self._body:
            return self._body.pop()
        self.is_watched.set()
        await self.has_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)


class SlowOwner:
    """Answers when it is let, and says whether anybody still waited for it."""

    def __init__(self) -> None:
        self.asked, self.may_answer, self.was_cancelled = asyncio.Event(), asyncio.Event(), False

    async def __call__(self, sent: Sent) -> Record:
        self.asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return {"title": "Plan"}


@in_loop
async def test_a_call_whose_client_goes_is_given_up_and_its_share_is_free_again() -> None:
    async with GatewayBench() as bench:
        owner, connection = SlowOwner(), Connection()
        bench.caller.on("canvas_read", owner)
        request = asyncio.ensure_future(bench.gateway.asgi_app(SCOPE, connection.receive, connection.send))
        await owner.asked.wait()
        assert bench.gateway.uses.under_way("agent7") == 1
        connection.has_gone.set()
        await request
        assert (owner.was_cancelled, connection.sent) == (True, [])
        assert bench.gateway.uses.under_way("agent7") == 0


@in_loop
async def test_a_slow_call_whose_client_stays_is_answered() -> None:
    async with GatewayBench() as bench:
        owner, connection = SlowOwner(), Connection()
        bench.caller.on("canvas_read", owner)
        request = asyncio.ensure_future(bench.gateway.asgi_app(SCOPE, connection.receive, connection.send))
        await connection.is_watched.wait()
        owner.may_answer.set()
        await request
        assert [message["type"] for message in connection.sent] == ["http.response.start", "http.response.body"]


@in_loop
async def test_a_server_that_stops_ends_the_work_by_an_exception_and_leaves_no_watch() -> None:
    connection, began = Connection(), asyncio.Event()
    connection._body.clear()
    watches: list[ClientWatch] = []

    async def work() -> None:
        with ClientWatch(connection.receive) as watch:
            watches.append(watch)
            began.set()
            await asyncio.Event().wait()

    working = asyncio.ensure_future(work())
    await began.wait()
    [watch] = watches
    await until(lambda: watch._watching is not None)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert watch._watching is not None
    await until(watch._watching.done)
    assert not watch.has_gone
