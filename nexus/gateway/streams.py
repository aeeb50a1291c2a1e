"""How clients of both protocol eras are told of changes: what stands on the wire (docs/decisions/0012).

The newer era asks by `subscriptions/listen`, whose response is the stream; the older one by `resources/subscribe`, and
is told on its session's GET stream. That stream is the SDK's, which checks the session and keeps it alive; what is sent
on it is written here, because only so does one know when a client has taken it: a client that does not read holds up
nothing but itself. Neither era replays anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bus.limits import streams_per_agent_max
from nexus.gateway import resources
from nexus.gateway.identity import Identity
from nexus.gateway.listeners import Change, Listeners, Stream, Subscriptions, knows_mailbox
from tools.errors import Code, Refusal

SESSION_HEADER: Final = "mcp-session-id"

_EVENTS: Final[Mapping[Change, ServerEvent]] = {
    Change.MAILBOX: ResourceUpdated(resources.MAILBOX),
    Change.TOOLS: ToolsListChanged(),
}
_MESSAGES: Final[Mapping[Change, Mapping[str, Any]]] = {
    Change.MAILBOX: {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": resources.MAILBOX},
    },
    Change.TOOLS: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
}
_TOO_MANY: Final = Refusal(
    Code.RATE_LIMITED,
    "You listen on as many streams as you may. End one of them, or use one that is open.",
    retryable=True,
    details={"limit": streams_per_agent_max},
)
_NEVER_CHANGES: Final = "Only nexus://mailbox can be subscribed to; the other resources never change."


class AnnouncingServer(Server[Any]):
    """The SDK's server, which announces the same to both eras and nothing that never happens (common 1.1)."""

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        return types.ServerCapabilities(
            prompts=types.PromptsCapability(list_changed=False),
            resources=types.ResourcesCapability(
                subscribe="resources/subscribe" in self._request_handlers, list_changed=False
            ),
            tools=types.ToolsCapability(list_changed=True),
        )


class Streams:
    """Serves the streams of one gateway."""

    def __init__(self, listeners: Listeners, serves_mailbox: bool) -> None:
        self._listeners = listeners
        self._subscriptions = Subscriptions(listeners)
        self.serves_mailbox = serves_mailbox

    # The newer era.

    async def listen(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.SubscriptionsListenRequestParams,
        identity: Identity,
    ) -> types.SubscriptionsListenResult:
        """Acknowledges what of the wish can ever come, then tells of changes until the client goes away, its credential
        ends or the gateway does."""
        honored = self._honored(params.notifications, identity)
        wanted = [Change.MAILBOX] if honored.resource_subscriptions else []
        stream = self._listeners.open(identity, [*wanted, Change.TOOLS] if honored.tools_list_changed else wanted)
        if stream is None:
            raise MCPError(types.INTERNAL_ERROR, _TOO_MANY.message, {"error": _TOO_MANY.to_record()})
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
        try:
            await context.session.send_notification(
                types.SubscriptionsAcknowledgedNotification(
                    params=types.SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
                ),
                related_request_id=context.request_id,
            )
            while (change := await stream.next()) is not None:
                notification = event_to_notification(_EVENTS[change], meta)
                await context.session.send_notification(notification, related_request_id=context.request_id)
        finally:
            self._listeners.close(stream)
        return types.SubscriptionsListenResult(_meta=meta)

    def _knows_mailbox(self, identity: Identity) -> bool:
        return self.serves_mailbox and knows_mailbox(identity)

    def _honored(self, wish: types.SubscriptionFilter, identity: Identity) -> types.SubscriptionFilter:
        wants_mailbox = self._knows_mailbox(identity) and resources.MAILBOX in (wish.resource_subscriptions or ())
        return types.SubscriptionFilter(
            tools_list_changed=True if wish.tools_list_changed else None,
            resource_subscriptions=[resources.MAILBOX] if wants_mailbox else None,
        )

    # The older era.

    def subscribe(
        self, context: ServerRequestContext[Any, Any], uri: str, identity: Identity, is_subscribed: bool
    ) -> types.EmptyResult:
        if uri != resources.MAILBOX or not self._knows_mailbox(identity):
            raise MCPError(types.INVALID_PARAMS, _NEVER_CHANGES)
        assert context.request is not None, "served over HTTP only"
        session = context.request.headers.get(SESSION_HEADER)
        assert session is not None, "the SDK serves this method in sessions only"
        self._subscriptions.set(identity.agent_id, session, is_subscribed)
        return types.EmptyResult()

    async def serve_session(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, identity: Identity, session: str
    ) -> Refusal | None:
        """The GET stream of a session of the older era; `app` is the SDK's manager. The refusal, when nothing was sent
        because the agent has too many streams."""
        stream = self._listeners.open(identity, [Change.TOOLS])
        if stream is None:
            return _TOO_MANY
        response = _SessionStream(stream, receive, send)

        def begun() -> None:
            self._subscriptions.attach(session, stream)

        try:
            await response.serve(app, scope, begun)
        finally:
            self._subscriptions.detach(session, stream)
            self._listeners.close(stream)
        return None


class _SessionStream:
    """One GET stream: the SDK's response, with our notifications between its pings."""

    def __init__(self, stream: Stream, receive: Receive, send: Send) -> None:
        self._stream = stream
        self._receive = receive
        self._send = send
        self._sending = asyncio.Lock()
        """A ping and a notification never mix."""
        self._is_complete = False
        self._writing: asyncio.Task[None] | None = None

    async def serve(self, app: ASGIApp, scope: Scope, begun: Any) -> None:
        """`begun` is called when the SDK has accepted the stream."""
        self._begun = begun
        try:
            await app(scope, self._receive_or_end, self._sent)
            if self._writing is not None and not self._is_complete:
                await self._sent({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if self._writing is not None:
                self._writing.cancel()

    async def _receive_or_end(self) -> Message:
        """To the SDK a stream that has ended is a client that went away: so it ends its part in order."""
        receiving = asyncio.ensure_future(self._receive())
        ending = asyncio.ensure_future(self._stream.ended())
        try:
            await asyncio.wait((receiving, ending), return_when=asyncio.FIRST_COMPLETED)
            return {"type": "http.disconnect"} if ending.done() else receiving.result()
        finally:
            receiving.cancel()
            ending.cancel()

    async def _sent(self, message: Message) -> None:
        async with self._sending:
            if self._is_complete:
                return
            self._is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            await self._send(message)
        if message["type"] == "http.response.start" and message["status"] == 200:
            self._begun()
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while (change := await self._stream.next()) is not None:
            data = orjson.dumps(_MESSAGES[change])
            await self._sent(
                {
                    "type": "http.response.body",
                    "body": b"event: message\r\ndata: " + data + b"\r\n\r\n",
                    "more_body": True,
                }
            )
