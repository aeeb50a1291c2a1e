"""The HTTP side of the gateway: one Starlette app for the loopback port and the agents' socket.

A request passes, in this order: Host and Origin (421, 403), the bearer token (401), the method (405), encoding and
size of the body (415, 413), strict JSON (400); then the SDK's session manager of its protocol era has it. Invariants:
nothing of a request is looked at before its token is good, but for whether it came to this listener at all
(common 2.3); an agent owner that cannot be reached is `unavailable`, never 401; no token goes further than here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import mcp_types as types
import orjson
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bus.client import Caller, CallerAndNotices, DeadlinePassed
from bus.clock import Clock
from bus.limits import (
    call_deadline_ms_default,
    legacy_session_idle_ms,
    legacy_sessions_max,
    legacy_sessions_per_agent_max,
    request_body_bytes_max,
)
from nexus.event_loop import derived_key
from nexus.gateway import approvals_page, resources, strict_json
from nexus.gateway.call import Journey, refused
from nexus.gateway.compose import Composer
from nexus.gateway.cursor import CursorSeal
from nexus.gateway.ended_sessions import EndedSessions
from nexus.gateway.identity import Credential, Identity, authenticate, parse_authorization
from nexus.gateway.input_requests import InputRequests
from nexus.gateway.listeners import Listeners
from nexus.gateway.mcp import VISIT_KEY, WAITING_KEY, McpServer, Visit
from nexus.gateway.sessions import SessionShares
from nexus.gateway.shares import AgentShares
from nexus.gateway.streams import SESSION_HEADER, Streams
from tools.base import Tool
from tools.errors import Refusal, unavailable

_SEAL_KEY_BYTES: Final = 32
_PATH: Final = "/mcp"


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
    ) -> None:
        """`port` is the TCP listener's. `seal_key` seals cursors: give all gateways of a home the same one; without
        it cursors end with this gateway. `card_appeared` hears of each new approval that waits for the person."""
        seal_key = seal_key or os.urandom(_SEAL_KEY_BYTES)
        seal, state_seal = CursorSeal(seal_key), CursorSeal(derived_key(seal_key, "request states"))
        by_name = {tool.name: tool for tool in tools}
        journey = Journey(caller, clock, by_name, Composer(tools), seal, card_appeared)
        self.listeners = Listeners(caller, clock)
        streams = Streams(self.listeners, any(tool.name == resources.MAILBOX_TOOL for tool in tools))
        inputs = InputRequests(caller, clock, state_seal, approvals_page.address(port))
        server = McpServer(journey, clock, tools, inputs, streams).server
        # Hosts, origins and body sizes are judged here, more strictly than the managers can. JSON answers for the
        # older era halve its cost; with them the newer one would lose progress and cancelling by disconnect.
        self._legacy = StreamableHTTPSessionManager(
            server,
            json_response=True,
            max_request_body_size=request_body_bytes_max,
            max_sessions=legacy_sessions_max,
            session_idle_timeout=legacy_session_idle_ms / 1_000,
        )
        self._modern = StreamableHTTPSessionManager(
            server, json_response=False, max_request_body_size=request_body_bytes_max
        )
        self.uses = AgentShares()
        legacy = EndedSessions(self._legacy.asgi_app)
        endpoint = McpEndpoint(caller, clock, legacy, self._modern.asgi_app, self.uses, streams)
        self.asgi_app = Starlette(
            routes=[Route(_PATH, endpoint), Route(approvals_page.PATH, approvals_page.ApprovalsPage())],
            middleware=[Middleware(ListenerGuard, port=port)],
            lifespan=self._lifespan,
        )
        self.asgi_app.router.redirect_slashes = False

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with self._legacy.run(), self._modern.run():
            try:
                yield
            finally:
                self.listeners.end_all()


class ListenerGuard:
    """Lets through only what was addressed to this listener, on every route and web socket (common 2.5).

    A page of another origin reaches a loopback port by rebinding its own name (Host) or by a plain request (Origin).
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
        scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}
        status = self._refusal(scope)
        if status is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        else:
            await PlainTextResponse("This listener does not serve that.", status)(scope, receive, send)

    def _refusal(self, scope: Scope) -> int | None:
        server = scope.get("server")
        is_unix = server is None or server[1] is None
        hosts = self._unix_hosts if is_unix else self._tcp_hosts
        given = _header_values(scope, b"host")
        if len(given) != 1 or given[0] not in hosts:
            return 421
        if any(origin not in [b"http://" + host for host in hosts] for origin in _header_values(scope, b"origin")):
            return 403
        return None


class McpEndpoint:
    """/mcp. An instance of a class, which Starlette takes as raw ASGI for every method."""

    def __init__(
        self,
        caller: Caller,
        clock: Clock,
        legacy: ASGIApp,
        modern: ASGIApp,
        uses: AgentShares,
        streams: Streams,
    ) -> None:
        self._streams = streams
        self._caller = caller
        self._clock = clock
        self._legacy = legacy
        self._modern = modern
        self._open_in_sessions: set[tuple[bytes, str]] = set()
        self._uses = uses
        self._shares = SessionShares(legacy_sessions_per_agent_max, legacy_session_idle_ms)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_ms = self._clock.now_ms()
        credential = parse_authorization([value.decode("latin-1") for value in _header_values(scope, b"authorization")])
        identity: Identity | None = None
        is_reachable = True
        if credential is not None:
            try:
                identity = await self._authenticate(credential)
            except DeadlinePassed:
                is_reachable = False
        if is_reachable and identity is None:
            await _unauthorized()(scope, receive, send)
        elif scope["method"] == "POST":
            await self._post(scope, receive, send, identity, started_ms)
        elif identity is None:
            await _unreachable(None)(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self._hand_on(scope, receive, send, Visit(identity, {}, started_ms))
        elif scope["method"] == "GET" and _is_legacy(scope) and _header_values(scope, SESSION_HEADER.encode()):
            await self._stream(scope, receive, send, identity, started_ms)
        else:  # the older era's stream is a session's; the newer era asks for its own by POST
            await Response(status_code=405, headers={"Allow": "POST, DELETE"})(scope, receive, send)

    async def _authenticate(self, credential: Credential) -> Identity | None:
        return await authenticate(self._caller, credential, self._clock.new_id(), call_deadline_ms_default)

    async def _stream(self, scope: Scope, receive: Receive, send: Send, identity: Identity, started_ms: int) -> None:
        """It counts as a request under way for as long as it lasts."""
        session = _header_values(scope, SESSION_HEADER.encode())[0].decode("latin-1")
        with self._uses.request(identity.agent_id, identity.limits, started_ms) as too_much:
            if too_much is None:
                scope = _for_sdk(scope, Visit(identity, {}, started_ms))
                counted = self._counted(scope, send, identity.agent_id)
                too_much = await self._streams.serve_session(self._legacy, scope, receive, counted, identity, session)
            if too_much is not None:
                await _too_much(None, too_much)(scope, receive, send)

    async def _post(
        self, scope: Scope, receive: Receive, send: Send, identity: Identity | None, started_ms: int
    ) -> None:
        """`identity` None: the caller's agent owner cannot be reached."""
        if identity is None:
            await self._take(scope, receive, send, None, started_ms, None)
            return
        with self._uses.request(identity.agent_id, identity.limits, started_ms) as too_much:
            await self._take(scope, receive, send, identity, started_ms, too_much)

    async def _take(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        identity: Identity | None,
        started_ms: int,
        too_much: Refusal | None,
    ) -> None:
        """`too_much`: what is said to an agent that has used up its share (common 8.5)."""
        body = await _read_body(scope, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        message = strict_json.check(body)
        if identity is None:
            await _unreachable(message)(scope, receive, send)
        elif isinstance(message, strict_json.Malformed):
            await _json_rpc_error(400, message.id, message.code, message.message)(scope, receive, send)
        elif too_much is not None:
            await _limited(message, too_much, identity.waiting)(scope, receive, send)
        else:
            visit = Visit(identity, message.bad_arguments, started_ms)
            await self._hand_on_once(scope, _replayed(message.body, receive), send, visit, message.id)

    async def _hand_on_once(
        self, scope: Scope, receive: Receive, send: Send, visit: Visit, identifier: strict_json.RequestId | None
    ) -> None:
        """In a session the SDK keeps open requests by the text of their id, so that of 7 and "7" one would hang."""
        sessions = _header_values(scope, b"mcp-session-id")
        if not sessions or identifier is None:
            await self._hand_on(scope, receive, send, visit, identifier)
            return
        key = (sessions[0], str(identifier))
        if key in self._open_in_sessions:
            text = "A request with that id is still open in this session."
            await _json_rpc_error(400, identifier, types.INVALID_REQUEST, text)(scope, receive, send)
            return
        self._open_in_sessions.add(key)
        try:
            await self._hand_on(scope, receive, send, visit)
        finally:
            self._open_in_sessions.discard(key)

    async def _hand_on(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        visit: Visit,
        identifier: strict_json.RequestId | None = None,
    ) -> None:
        agent_id = visit.identity.agent_id
        scope = _for_sdk(scope, visit)
        if not _is_legacy(scope):
            await self._modern(scope, receive, send)
        elif not _header_values(scope, b"mcp-session-id") and not self._shares.has_room(agent_id, self._clock.now_ms()):
            text = "You have too many open sessions. End some of them, or wait until they have been idle long enough."
            await _json_rpc_error(503, identifier, types.INTERNAL_ERROR, text)(scope, receive, send)
        else:
            await self._legacy(scope, receive, self._counted(scope, send, agent_id))

    def _counted(self, scope: Scope, send: Send, agent_id: str) -> Send:
        """A `send` that keeps count of the caller's sessions by what the SDK answers."""

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                has_ended = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] == 200)
                for session in _header_values(message, b"mcp-session-id") or _header_values(scope, b"mcp-session-id"):
                    if has_ended:
                        self._shares.ended(agent_id, session)
                    elif message["status"] < 400:
                        self._shares.used(agent_id, session, self._clock.now_ms())
            await send(message)

        return counted


def _for_sdk(scope: Scope, visit: Visit) -> Scope:
    """The SDK binds a session to this user; the token itself stays out of it."""
    agent_id = visit.identity.agent_id
    user = AuthenticatedUser(AccessToken(token="", client_id=agent_id, scopes=[], subject=agent_id))
    headers = [(name, value) for name, value in scope["headers"] if name not in (b"authorization", b"content-length")]
    return {**scope, "headers": headers, "user": user, VISIT_KEY: visit}


def _is_legacy(scope: Scope) -> bool:
    versions = _header_values(scope, b"mcp-protocol-version")
    return not versions or versions[0].decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


def _header_values(carrier: Scope | Message, wanted: bytes) -> list[bytes]:
    """Of a request's scope or of the message that starts a response."""
    return [value for name, value in carrier.get("headers", ()) if name == wanted]


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response:
    """The whole body, or the refusal of one that is encoded, too large or broken off."""
    if any(value.lower() not in (b"", b"identity") for value in _header_values(scope, b"content-encoding")):
        return _closing(415, "Bodies must not be compressed.")
    declared = _header_values(scope, b"content-length")
    if any(not value.isdigit() or int(value[:20]) > request_body_bytes_max for value in declared):
        return _closing(413, "The body is too large.")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return _closing(400, "The body is not complete.")
        part = message.get("body", b"")
        size += len(part)
        if size > request_body_bytes_max:
            return _closing(413, "The body is too large.")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body` once and then whatever the connection has, such as its end."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _closing(status: int, text: str) -> Response:
    """A refusal that ends the connection, because the rest of the body is not read."""
    return PlainTextResponse(text, status, headers={"Connection": "close"})


def _unauthorized() -> Response:
    """The same for no, a malformed, an unknown and a revoked token (common 2.3)."""
    challenge = {"WWW-Authenticate": 'Bearer realm="nexus", error="invalid_token"'}
    return JSONResponse({"error": "invalid_token"}, 401, headers=challenge)


def _unreachable(message: strict_json.CheckedMessage | strict_json.Malformed | None) -> Response:
    """What is said while the caller's agent owner is restarting: of the token nothing is known (common 2.3)."""
    if isinstance(message, strict_json.CheckedMessage) and message.id is not None:
        refusal = unavailable()
        if message.tool is None:
            return _json_rpc_error(
                200, message.id, types.INTERNAL_ERROR, refusal.message, {"error": refusal.to_record()}
            )
        return _refused_call(message.id, refusal, waiting=0)
    return Response(status_code=503, headers={"Retry-After": "1"})


def _limited(message: strict_json.CheckedMessage, refusal: Refusal, waiting: int) -> Response:
    """A tool result for a tool's call (common 6.1), 429 for anything else."""
    if message.tool is not None and message.id is not None:
        return _refused_call(message.id, refusal, waiting)
    return _too_much(message.id, refusal)


def _too_much(identifier: strict_json.RequestId | None, refusal: Refusal) -> Response:
    error = {"error": refusal.to_record()}
    response = _json_rpc_error(429, identifier, types.INTERNAL_ERROR, refusal.message, error)
    response.headers["Retry-After"] = str(refusal.details.get("retryAfterSeconds", 1))
    return response


def _refused_call(identifier: strict_json.RequestId, refusal: Refusal, waiting: int) -> Response:
    """What the SDK would make of a refusal; it has not seen the call."""
    answer = refused(refusal, waiting)
    result = {
        "content": [{"type": "text", "text": answer.text}],
        "structuredContent": answer.content,
        "isError": True,
        "resultType": "complete",
        "_meta": {WAITING_KEY: waiting},
    }
    return _json({"jsonrpc": "2.0", "id": identifier, "result": result}, 200)


def _json_rpc_error(
    status: int, identifier: strict_json.RequestId | None, code: int, text: str, data: Mapping[str, Any] | None = None
) -> Response:
    error = {"code": code, "message": text} if data is None else {"code": code, "message": text, "data": data}
    return _json({"jsonrpc": "2.0", "id": identifier, "error": error}, status)


def _json(content: Mapping[str, Any], status: int) -> Response:
    return Response(orjson.dumps(content), status, media_type="application/json")
