"""The HTTP side of the gateway: one Starlette app for the loopback port and the agents' socket.

Requests for another host or from another origin go no further (421, 403); the rest is endpoint.py's.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import AsyncIterator, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from bus.client import CallerAndNotices
from bus.clock import Clock
from nexus.event_loop import derived_key
from nexus.gateway import approvals_page, resources
from nexus.gateway.call import Journey
from nexus.gateway.compose import Composer
from nexus.gateway.cursor import CursorSeal
from nexus.gateway.endpoint import McpEndpoint
from nexus.gateway.fast_path import FastPath
from nexus.gateway.headers import HEADERS_KEY, REQUEST_TARGET_KEY, Headers
from nexus.gateway.input_requests import InputRequests
from nexus.gateway.listeners import Listeners
from nexus.gateway.listing import Listing
from nexus.gateway.mcp import McpServer
from nexus.gateway.provider_answers import ProviderAnswers, ProviderSources
from nexus.gateway.sdk_path import SdkPath
from nexus.gateway.shares import AgentShares
from nexus.gateway.streams import Streams
from tools.base import Tool

_SEAL_KEY_BYTES: Final = 32
_PATH: Final = "/mcp"
_ABSOLUTE_FORM: Final = re.compile(rb"http://([^/?#]*)", re.IGNORECASE)


class Gateway:
    """Serves MCP for one home. `asgi_app` is run by one uvicorn server over the TCP and the Unix listener."""

    def __init__(
        self,
        caller: CallerAndNotices,
        clock: Clock,
        tools: tuple[Tool, ...],
        port: int,
        *,
        seal_key: bytes | None = None,
        card_appeared: Callable[[], None] = lambda: None,
        providers: ProviderSources | None = None,
    ) -> None:
        """`port` is the TCP listener's. `seal_key` seals cursors: give all gateways of a home the same one; without
        it cursors end with this gateway. `card_appeared` hears of each new approval that waits for the person.
        `providers`: what is known of agent programs; without it none is installed."""
        seal_key = seal_key or os.urandom(_SEAL_KEY_BYTES)
        seal, state_seal = CursorSeal(seal_key), CursorSeal(derived_key(seal_key, "request states"))
        by_name = {tool.name: tool for tool in tools}
        sources = ProviderSources() if providers is None else providers
        answers = ProviderAnswers(caller, clock, sources)
        composer = Composer(tools, answers.compositions)
        journey = Journey(caller, clock, by_name, composer, seal, card_appeared, answers.choice_refusal)
        listing = Listing(tools)
        self.listeners = Listeners(caller, clock, lambda identity: identity.families)
        streams = Streams(self.listeners, any(tool.name == resources.MAILBOX_TOOL for tool in tools))
        inputs = InputRequests(caller, clock, state_seal, approvals_page.address(port))
        server = McpServer(journey, clock, listing, inputs, streams).server
        self._sdk = SdkPath(server, clock, streams, sources.clients)
        self.uses = AgentShares()
        self.fast_path = FastPath(journey, tools, listing, server.server_info_stamp)
        endpoint = McpEndpoint(caller, clock, self.fast_path, self._sdk, self.uses, sources.clients)
        self.asgi_app = _Application(ListenerGuard(endpoint, port), port, self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with self._sdk.run():
            try:
                yield
            finally:
                self.listeners.end_all()


class _Application(Starlette):
    """/mcp, past Starlette's middleware and routing, which cost as much as the rest of the way; and what is left."""

    def __init__(self, mcp: ASGIApp, port: int, lifespan: Lifespan[Starlette]) -> None:
        super().__init__(
            routes=[Route(approvals_page.PATH, approvals_page.ApprovalsPage())],
            middleware=[Middleware(ListenerGuard, port=port)],
            lifespan=lifespan,
        )
        self.router.redirect_slashes = False
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == _PATH:
            await self._mcp(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class ListenerGuard:
    """Lets through only what was addressed to this listener, on every route and web socket (common 2.5).

    A page of another origin reaches a loopback port by rebinding its own name (Host) or by a plain request (Origin). A
    request target may name a host as well, which then counts before Host (RFC 9112, 3.2.2): it is held to the same.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._tcp_hosts = (f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode())
        self._unix_hosts = (b"localhost",)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        # httptools keeps the spaces around header values, which the SDK compares byte by byte.
        lines = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = Headers(lines)
        scope = {**scope, "headers": lines, HEADERS_KEY: headers}
        status = self._refusal(scope, headers)
        if status is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        else:
            await PlainTextResponse("This listener does not serve that.", status)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> int | None:
        server = scope.get("server")
        is_unix = server is None or server[1] is None
        hosts = self._unix_hosts if is_unix else self._tcp_hosts
        given = headers.values(b"host")
        if len(given) != 1 or given[0] not in hosts:
            return 421
        target = scope.get(REQUEST_TARGET_KEY)
        if target is not None and target != b"*" and _host_of(target) not in hosts:
            return 421
        if any(origin not in [b"http://" + host for host in hosts] for origin in headers.values(b"origin")):
            return 403
        return None


def _host_of(target: bytes) -> bytes | None:
    """The host, with its port, in a request target of the form `http://host:port/path`; None for any other form."""
    absolute = _ABSOLUTE_FORM.match(target)
    return None if absolute is None else absolute[1]
