"""A gateway in this process over scripted owners, spoken to in both protocol eras through its ASGI app."""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, ParamSpec, Self

import httpx2
import orjson
from pydantic import Field

from bus.clock import ManualClock
from bus.value import Record
from nexus.gateway.asgi import Gateway
from tests.support.scripted_caller import ScriptedCaller, Sent
from tools.base import Capability, Family, Identifier, Kind, Model, Route, Scope, ScopedInput, Tool, ToolInput

Parameters = ParamSpec("Parameters")

PORT: Final = 7331  # never bound: requests go straight into the app
AGENT: Final = "agent7"
WORKSPACE: Final = "workspace7"
SECRET: Final = "a_secret-with_underscores"
TOKEN: Final = f"nx_{AGENT}_{SECRET}"
TOKEN_HASH: Final = hashlib.sha256(SECRET.encode()).digest()
STAMP: Final[Record] = {
    "agentId": AGENT,
    "workspaceId": WORKSPACE,
    "credential": "default",
    "version": 1,
    "issuedMs": 0,
}
MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_NAMED_BY: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Element(Model):
    x: float
    note: str | None = None


class CanvasInput(ScopedInput):
    canvasId: Identifier
    limit: int | None = Field(default=None, ge=1, le=10)
    elements: list[Element] = Field(default=[], max_length=500)


class WorkspaceGetInput(ToolInput):
    workspaceId: Identifier


class NamedAgentInput(ScopedInput):
    agentId: Identifier


class TitleOutput(Model):
    title: str


def tool(name: str, route: Route, kind: Kind = Kind.READ, arguments: type[ToolInput] = ScopedInput) -> Tool:
    """A small tool of workspace scope; what differs between tests is how it is routed and gated."""
    return Tool(
        name=name,
        family=Family(name.split("_")[0]),
        kind=kind,
        scope=Scope.WORKSPACE,
        capability=None if name.startswith("canvas") else Capability.MESH,
        route=route,
        summary="A tool of the tests.",
        input=arguments,
        output=TitleOutput,
        side_effects="None.",
        reversibility="Nothing to undo.",
    )


TOOLS: Final[tuple[Tool, ...]] = (
    tool("canvas_new", Route.NEW_CANVAS, Kind.WRITE),
    tool("canvas_read", Route.CANVAS, arguments=CanvasInput),
    tool("canvas_remove", Route.CANVAS, Kind.IRREVERSIBLE, CanvasInput),
    tool("canvas_write", Route.CANVAS, Kind.WRITE, CanvasInput),
    tool("agent_get", Route.NAMED_AGENT, arguments=NamedAgentInput),
    tool("agent_inbox", Route.OWN_MAILBOX),
    tool("agent_update_self", Route.OWN_AGENT, Kind.WRITE),
    tool("workspace_get", Route.WORKSPACE, arguments=WorkspaceGetInput),
)


def in_loop(
    test: Callable[Parameters, Coroutine[Any, Any, None]],
) -> Callable[Parameters, None]:
    """Runs an async test in a loop of its own."""

    @functools.wraps(test)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class GatewayBench:
    """`async with` it. Knows one agent, admitted to everything until the test scripts otherwise."""

    def __init__(self, tools: tuple[Tool, ...] = TOOLS, card_appeared: Callable[[], None] = lambda: None) -> None:
        self.clock = ManualClock()
        self.caller = ScriptedCaller()
        self.waiting = 3
        self.caller.on("authenticate", self._authenticate)
        self.caller.on("admit", self._admit)
        for each in tools:
            self.caller.on(each.name, {"title": "Plan"})
        self.gateway = Gateway(self.caller, self.clock, tools, PORT, card_appeared=card_appeared)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        app = self.gateway.asgi_app
        await self._stack.enter_async_context(app.router.lifespan_context(app))
        self.http = await self._stack.enter_async_context(
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=app, raise_app_exceptions=True),
                base_url=f"http://127.0.0.1:{PORT}",
            )
        )
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    def _authenticate(self, sent: Sent) -> Record:
        if sent.to.id != AGENT or sent.body["tokenHash"] != TOKEN_HASH:
            return {"authenticated": False}
        return {"authenticated": True, "agentId": AGENT, "workspaceId": WORKSPACE, "waiting": self.waiting}

    def _admit(self, sent: Sent) -> Record:
        stamp = dict(STAMP) if sent.body["arguments"] == "valid" else None
        return {"authenticated": True, "refusal": None, "stamp": stamp, "waiting": self.waiting}

    async def post(
        self, body: bytes | Mapping[str, Any], headers: Mapping[str, str] | None = None, token: str | None = TOKEN
    ) -> httpx2.Response:
        """One POST to /mcp as it stands, with the headers that every client sends."""
        sent = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        return await self.http.post("/mcp", content=content, headers={**sent, **(headers or {})})

    async def modern(
        self, method: str, params: Mapping[str, Any] | None = None, token: str | None = TOKEN
    ) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": _META}}
        return await self.post(message, modern_headers(method, params or {}), token)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result of a tools/call in the modern era."""
        response = await self.modern("tools/call", {"name": name, "arguments": arguments or {}})
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()["result"]
        return result

    async def call_raw(self, name: str, arguments: bytes) -> httpx2.Response:
        """A modern tools/call whose arguments are exactly these bytes."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s,"arguments":%s,"_meta":%s}}' % (
            orjson.dumps(name),
            arguments,
            orjson.dumps(_META),
        )
        return await self.post(body, modern_headers("tools/call", {"name": name}))

    async def legacy_session(self, token: str = TOKEN) -> LegacySession:
        session = LegacySession(self, token)
        await session.initialize()
        return session


class LegacySession:
    """One session of the handshake era."""

    def __init__(self, bench: GatewayBench, token: str) -> None:
        self._bench = bench
        self._token = token
        self.headers: dict[str, str] = {}
        self._next_id = 0

    async def initialize(self) -> None:
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        response = await self.request("initialize", params)
        assert response.status_code == 200, response.text
        self.headers = {"mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": LEGACY}
        await self._bench.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers, self._token)

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, token: str | None = None
    ) -> httpx2.Response:
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params or {}}
        return await self._bench.post(message, self.headers, token or self._token)


def modern_headers(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    if method in _NAMED_BY:
        headers["mcp-name"] = str(params[_NAMED_BY[method]])
    return headers


def error_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The refusal inside a tool result, after checking that both forms of it agree (common 1.6, 6.1)."""
    assert result["isError"] is True
    content = result["structuredContent"]
    assert orjson.loads(result["content"][0]["text"]) == content
    assert list(content) == ["error"]
    error: dict[str, Any] = content["error"]
    return error
