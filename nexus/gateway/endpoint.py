"""/mcp: who calls, how much it has used, what it says; then one of the two paths (docs/decisions/0012-protocol.md).

A request passes, in this order: the bearer token (401), the method (405), encoding and size of the body (415, 413),
strict JSON (400); then fast_path.py answers it, or sdk_path.py. The calls of a token that was good a moment ago are
read first, because their admission judges the token. Invariants: nothing is said about a request before its token is
good (common 2.3); an agent owner that cannot be reached is `unavailable`, never 401; no token goes further than here.
"""

from __future__ import annotations

from typing import TypeAlias

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.limits import call_deadline_ms_default, request_body_bytes_max
from bus.message_record import message_record
from nexus.gateway import strict_json
from nexus.gateway.answers import closing, json_rpc_error, limited, too_many, unauthorized, unreachable
from nexus.gateway.call import NotAuthenticated
from nexus.gateway.fast_path import FastPath, PlainCall, PlainList
from nexus.gateway.headers import headers_of
from nexus.gateway.identity import Credential, Identity, authenticate, parse_authorization
from nexus.gateway.mcp import Visit
from nexus.gateway.provider_clients import Clients, client_name, name_in
from nexus.gateway.recent_credentials import RecentCredentials
from nexus.gateway.sdk_path import SdkPath
from nexus.gateway.shares import AgentShares
from tools.errors import Refusal


@message_record
class _Exchange:
    """One POST, and when it arrived."""

    scope: Scope
    receive: Receive
    send: Send
    credential: Credential
    started_ms: int

    async def answer(self, response: Response) -> None:
        await response(self.scope, self.receive, self.send)


class McpEndpoint:
    """/mcp, for every method."""

    def __init__(
        self, caller: Caller, clock: Clock, fast: FastPath, sdk: SdkPath, uses: AgentShares, clients: Clients
    ) -> None:
        self._caller = caller
        self._clock = clock
        self._fast = fast
        self._sdk = sdk
        self._uses = uses
        self._clients = clients
        self._recent = RecentCredentials()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_ms = self._clock.now_ms()
        credential = parse_authorization(
            [value.decode("latin-1") for value in headers_of(scope).values(b"authorization")]
        )
        if credential is None:
            await unauthorized()(scope, receive, send)
        elif scope["method"] == "POST":
            await self._post(_Exchange(scope, receive, send, credential, started_ms))
        else:
            await self._other(_Exchange(scope, receive, send, credential, started_ms))

    async def _other(self, exchange: _Exchange) -> None:
        try:
            identity = await self._authenticate(exchange)
        except DeadlinePassed:
            await exchange.answer(unreachable(None))
            return
        if identity is None:
            await exchange.answer(unauthorized())
        elif exchange.scope["method"] == "DELETE":
            visit = Visit(identity, {}, exchange.started_ms)
            await self._sdk.answer(exchange.scope, exchange.receive, exchange.send, visit)
        elif exchange.scope["method"] == "GET" and self._sdk.has_stream(exchange.scope):
            await self._stream(exchange, identity)
        else:
            await exchange.answer(Response(status_code=405, headers={"Allow": "POST, DELETE"}))

    async def _stream(self, exchange: _Exchange, identity: Identity) -> None:
        """It counts as a request under way for as long as it lasts."""
        with self._uses.request(identity.agent_id, identity.limits, exchange.started_ms) as too_much:
            if too_much is None:
                visit = Visit(identity, {}, exchange.started_ms)
                too_much = await self._sdk.stream(exchange.scope, exchange.receive, exchange.send, visit)
            if too_much is not None:
                await exchange.answer(too_many(None, too_much))

    async def _authenticate(self, exchange: _Exchange) -> Identity | None:
        """Raises DeadlinePassed."""
        call_id = self._clock.new_id()
        identity = await authenticate(self._caller, exchange.credential, call_id, call_deadline_ms_default)
        if identity is None:
            self._recent.refused(exchange.credential)
        else:
            self._recent.confirmed(identity, self._clock.now_ms())
        return identity

    async def _post(self, exchange: _Exchange) -> None:
        """A token that was good a moment ago has its request counted and read at once. One whose agent has used up its
        share is judged anew first, like every other: before anything else is said (common 2.3)."""
        identity = self._recent.identity(exchange.credential, exchange.started_ms)
        if identity is not None:
            with self._uses.request(identity.agent_id, identity.limits, exchange.started_ms) as too_much:
                if too_much is None:
                    await self._take_of_recent(exchange, identity)
                    return
        try:
            identity = await self._authenticate(exchange)
        except DeadlinePassed:
            read = await _read(exchange)
            await exchange.answer(read if isinstance(read, Response) else unreachable(read))
            return
        if identity is None:
            await exchange.answer(unauthorized())
            return
        with self._uses.request(identity.agent_id, identity.limits, exchange.started_ms) as too_much:
            await self._take(exchange, await _read(exchange), identity, too_much)

    async def _take_of_recent(self, exchange: _Exchange, identity: Identity) -> None:
        """A plain call goes to its admission, which judges the token; for anything else that is asked now."""
        read = await _read(exchange)
        if isinstance(read, strict_json.CheckedMessage):
            plain = self._fast.plain_request(exchange.scope, read)
            if isinstance(plain, PlainCall):
                await self._call(exchange, plain, identity)
                return
        try:
            known = await self._authenticate(exchange)
        except DeadlinePassed:
            await exchange.answer(read if isinstance(read, Response) else unreachable(read))
            return
        if known is None:
            await exchange.answer(unauthorized())
        else:
            await self._take(exchange, read, known, None)

    async def _call(self, exchange: _Exchange, call: PlainCall, identity: Identity) -> None:
        try:
            with self._clients.request(name_in(call.meta), exchange.started_ms):
                await self._fast.call(call, identity, exchange.started_ms, exchange.receive, exchange.send)
        except NotAuthenticated:
            self._recent.refused(exchange.credential)
            await exchange.answer(unauthorized())

    async def _take(self, exchange: _Exchange, read: _Read, identity: Identity, too_much: Refusal | None) -> None:
        """`too_much`: what is said to an agent that has used up its share (common 8.5)."""
        if isinstance(read, Response):
            await exchange.answer(read)
            return
        if isinstance(read, strict_json.Malformed):
            await exchange.answer(json_rpc_error(400, read.id, read.code, read.message))
            return
        if too_much is not None:
            await exchange.answer(limited(read, too_much, identity.waiting))
            return
        match self._fast.plain_request(exchange.scope, read):
            case PlainCall() as call:
                await self._call(exchange, call, identity)
            case PlainList() as request:
                await self._fast.list(request, identity, exchange.send)
            case None:
                visit = Visit(identity, read.bad_arguments, exchange.started_ms, client_name(read.parsed))
                receive = _replayed(read.body, exchange.receive)
                await self._sdk.answer_once(exchange.scope, receive, exchange.send, visit, read.id)


_Read: TypeAlias = "strict_json.CheckedMessage | strict_json.Malformed | Response"


async def _read(exchange: _Exchange) -> _Read:
    """The message in the body, or what is said of one that holds none."""
    body = await _read_body(exchange.scope, exchange.receive)
    return body if isinstance(body, Response) else strict_json.check(body)


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response:
    """The whole body, or the refusal of one that is encoded, too large or broken off."""
    headers = headers_of(scope)
    if any(value.lower() not in (b"", b"identity") for value in headers.values(b"content-encoding")):
        return closing(415, "Bodies must not be compressed.")
    declared = headers.values(b"content-length")
    if any(not value.isdigit() or int(value[:20]) > request_body_bytes_max for value in declared):
        return closing(413, "The body is too large.")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return closing(400, "The body is not complete.")
        part = message.get("body", b"")
        size += len(part)
        if size > request_body_bytes_max:
            return closing(413, "The body is too large.")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body` once and then whatever the connection has, such as its end."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
