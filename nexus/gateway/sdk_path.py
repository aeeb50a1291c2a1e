"""Everything that fast_path.py leaves, by the SDK's session managers, one for each protocol era.

Invariants: a request comes here when its caller is authenticated and its body is strict JSON, and without its token.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive, Scope, Send

from bus.clock import Clock
from bus.limits import (
    legacy_session_idle_ms,
    legacy_sessions_max,
    legacy_sessions_per_agent_max,
    request_body_bytes_max,
)
from nexus.gateway.answers import json_rpc_error
from nexus.gateway.ended_sessions import EndedSessions
from nexus.gateway.headers import header_values
from nexus.gateway.mcp import VISIT_KEY, Visit
from nexus.gateway.provider_clients import Clients
from nexus.gateway.sessions import SessionShares
from nexus.gateway.streams import SESSION_HEADER, Streams
from nexus.gateway.strict_json import RequestId
from tools.errors import Refusal

_NOT_FOR_SDK: Final = frozenset({b"authorization", b"content-length", b"last-event-id"})
"""Our streams number no events, so nothing can be sent again; asked for that, the SDK would answer nothing at all."""


class SdkPath:
    """`run` it around everything else."""

    def __init__(self, server: Server[Any], clock: Clock, streams: Streams, clients: Clients) -> None:
        self._clock = clock
        self._streams = streams
        self._clients = clients
        # Hosts, origins and body sizes are judged before, more strictly than the managers can. JSON answers for the
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
        self._legacy_app = EndedSessions(self._legacy.asgi_app)
        self._open_in_sessions: set[tuple[bytes, str]] = set()
        self._shares = SessionShares(legacy_sessions_per_agent_max, legacy_session_idle_ms)

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with self._legacy.run(), self._modern.run():
            yield

    async def answer_once(
        self, scope: Scope, receive: Receive, send: Send, visit: Visit, identifier: RequestId | None
    ) -> None:
        """In a session the SDK keeps open requests by the text of their id, so that of 7 and "7" one would hang."""
        sessions = header_values(scope, b"mcp-session-id")
        if not sessions or identifier is None:
            await self.answer(scope, receive, send, visit, identifier)
            return
        key = (sessions[0], str(identifier))
        if key in self._open_in_sessions:
            text = "A request with that id is still open in this session."
            await json_rpc_error(400, identifier, types.INVALID_REQUEST, text)(scope, receive, send)
            return
        self._open_in_sessions.add(key)
        try:
            await self.answer(scope, receive, send, visit)
        finally:
            self._open_in_sessions.discard(key)

    async def answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        visit: Visit,
        identifier: RequestId | None = None,
    ) -> None:
        agent_id = visit.identity.agent_id
        scope = _for_sdk(scope, visit)
        if not _is_legacy(scope):
            with self._clients.request(visit.client, visit.started_ms):
                await self._modern.asgi_app(scope, receive, send)
        elif not header_values(scope, b"mcp-session-id") and not self._shares.has_room(agent_id, self._clock.now_ms()):
            text = "You have too many open sessions. End some of them, or wait until they have been idle long enough."
            await json_rpc_error(503, identifier, types.INTERNAL_ERROR, text)(scope, receive, send)
        else:
            await self._legacy_app(scope, receive, self._counted(scope, send, visit))

    def has_stream(self, scope: Scope) -> bool:
        """Whether a GET asks for a session's stream: the newer era asks for its own by POST."""
        return _is_legacy(scope) and bool(header_values(scope, SESSION_HEADER.encode()))

    async def stream(self, scope: Scope, receive: Receive, send: Send, visit: Visit) -> Refusal | None:
        """A session's stream of notifications, for as long as it lasts; the refusal when there may be no more."""
        session = header_values(scope, SESSION_HEADER.encode())[0].decode("latin-1")
        scope = _for_sdk(scope, visit)
        counted = self._counted(scope, send, visit)
        return await self._streams.serve_session(self._legacy_app, scope, receive, counted, visit.identity, session)

    def _counted(self, scope: Scope, send: Send, visit: Visit) -> Send:
        """A `send` that keeps count of the caller's sessions by what the SDK answers."""
        agent_id = visit.identity.agent_id

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                has_ended = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] == 200)
                for session in header_values(message, b"mcp-session-id") or header_values(scope, b"mcp-session-id"):
                    if has_ended:
                        self._shares.ended(agent_id, session)
                        self._clients.session_ended(agent_id, session)
                    elif message["status"] < 400:
                        self._shares.used(agent_id, session, self._clock.now_ms())
                        self._clients.session_used(agent_id, session, visit.client, self._clock.now_ms())
            await send(message)

        return counted


def _for_sdk(scope: Scope, visit: Visit) -> Scope:
    """The SDK binds a session to this user; the token itself stays out of it."""
    agent_id = visit.identity.agent_id
    user = AuthenticatedUser(AccessToken(token="", client_id=agent_id, scopes=[], subject=agent_id))
    headers = [(name, value) for name, value in scope["headers"] if name not in _NOT_FOR_SDK]
    return {**scope, "headers": headers, "user": user, VISIT_KEY: visit}


def _is_legacy(scope: Scope) -> bool:
    versions = header_values(scope, b"mcp-protocol-version")
    return not versions or versions[0].decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS
