"""tools/call and tools/list of the 2026-07-28 era without the SDK's machinery (docs/decisions/0012-protocol.md).

Invariants:
- Only what the SDK itself finds right is taken: its own classification and its own validation judge a request, and
  whatever they refuse, or is unusual in any way, is `None` here and goes to the SDK, which says what is wrong with it.
- Both paths end in `Journey.answer`, so admission, limits, sealing, redaction and results are one.
- An answer is one JSON body, however long its tool takes. Who wants signs of life meanwhile asks for progress, and
  goes to the SDK; so do tools that may take longer than most.
- tools/list is constant text, made once for each set of families; its caller has been authenticated for this request.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import mcp_types as types
import orjson
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS, InboundModernRoute, classify_inbound_request
from mcp_types import methods
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from bus.limits import call_deadline_ms_default, envelope_fits_bytes_max, envelope_fits_kept_max
from bus.message_record import message_record
from nexus.gateway.answers import call_result, error_message, send_json
from nexus.gateway.call import NO_SUCH_TOOL, Journey, UnknownTool
from nexus.gateway.client_watch import ClientWatch
from nexus.gateway.headers import headers_of
from nexus.gateway.identity import Identity
from nexus.gateway.listing import Listing
from nexus.gateway.strict_json import CheckedMessage, RequestId
from nexus.gateway.tool_request import IDEMPOTENCY_KEY, tool_request
from tools.base import Tool

_VERSION: Final = LATEST_MODERN_VERSION
_ACCEPTED: Final = frozenset({b"application/json", b"text/event-stream"})
_ROUTING: Final = (
    (b"mcp-protocol-version", "mcp-protocol-version"),
    (b"mcp-method", "mcp-method"),
    (b"mcp-name", "mcp-name"),
)
_ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "params"})
_PARAMS: Final[Mapping[str, frozenset[str]]] = {
    "tools/call": frozenset({"name", "arguments", "_meta"}),
    "tools/list": frozenset({"_meta"}),
}
_META: Final = frozenset(
    {types.PROTOCOL_VERSION_META_KEY, types.CLIENT_INFO_META_KEY, types.CLIENT_CAPABILITIES_META_KEY, IDEMPOTENCY_KEY}
)


@message_record
class PlainCall:
    """A tools/call with nothing unusual about it."""

    id: RequestId
    name: str
    arguments: Mapping[str, Any]
    meta: Mapping[str, Any]


@message_record
class PlainList:
    """A tools/list with nothing unusual about it."""

    id: RequestId


PlainRequest: TypeAlias = PlainCall | PlainList


class FastPath:
    """Of one gateway. `server_info` is what the SDK would stamp on each result."""

    def __init__(
        self, journey: Journey, tools: tuple[Tool, ...], listing: Listing, server_info: Mapping[str, Any]
    ) -> None:
        self._journey = journey
        self._tools = {tool.name: tool for tool in tools}
        # The SDK compares arguments with the headers that repeat them; a call of such a tool is never plain.
        self._with_header_arguments = frozenset(
            name for name, schema in listing.input_schemas.items() if b"x-mcp-header" in orjson.dumps(schema)
        )
        self._listing = listing
        self._stamp = {types.SERVER_INFO_META_KEY: server_info}
        self._fits = lru_cache(maxsize=envelope_fits_kept_max)(_fits)

    def plain_request(self, scope: Scope, message: CheckedMessage) -> PlainRequest | None:
        """`message` as a request of this path, or None when it is the SDK's."""
        parsed, served = message.parsed, _PARAMS.get(message.method)
        if parsed is None or served is None or message.id is None:
            return None
        lines = headers_of(scope)
        if lines.are_doubled or not _is_plain(lines.single):  # of what stands there twice the SDK knows whether it may
            return None
        params = parsed.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(meta, dict):
            return None
        if not (parsed.keys() <= _ENVELOPE and params.keys() <= served and meta.keys() <= _META):
            return None
        given = {name: lines.single[raw].decode("latin-1") for raw, name in _ROUTING if raw in lines.single}
        if not isinstance(classify_inbound_request(parsed, headers=given), InboundModernRoute):
            return None
        if not self._has_good_envelope(meta):
            return None
        if message.method == "tools/list":
            return PlainList(message.id)
        return self._plain_call(message, params, meta)

    async def call(self, call: PlainCall, identity: Identity, started_ms: int, receive: Receive, send: Send) -> None:
        """Answers a tools/call. Raises NotAuthenticated, and then has sent nothing."""
        request = tool_request(identity, call.name, call.arguments, call.meta, {}, started_ms)
        status, body = 200, b""
        with ClientWatch(receive) as client:
            try:
                body = call_result(call.id, await self._journey.answer(request), self._stamp)
            except UnknownTool:
                status = ERROR_CODE_HTTP_STATUS[types.INVALID_PARAMS]
                body = error_message(call.id, types.INVALID_PARAMS, NO_SUCH_TOOL)
        if not client.has_gone:
            await send_json(send, status, body)

    async def list(self, request: PlainList, identity: Identity, send: Send) -> None:
        """Answers a tools/list."""
        await send_json(send, 200, self._listing.message(request.id, identity.waiting, self._stamp, identity.families))

    def _plain_call(
        self, message: CheckedMessage, params: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> PlainCall | None:
        assert message.id is not None
        name, arguments = message.tool, params.get("arguments", {})
        if name is None or not isinstance(arguments, dict) or name in self._with_header_arguments:
            return None
        tool = self._tools.get(name)
        if tool is not None and (tool.deadline_ms > call_deadline_ms_default or _may_ask_back(tool, meta)):
            return None
        return PlainCall(message.id, name, arguments, meta)

    def _has_good_envelope(self, meta: Mapping[str, Any]) -> bool:
        """A client says the same of itself in each request, so the judgement on that is remembered."""
        envelope = orjson.dumps({key: value for key, value in meta.items() if key != IDEMPOTENCY_KEY})
        return len(envelope) <= envelope_fits_bytes_max and self._fits(envelope)


def _fits(envelope: bytes) -> bool:
    """Whether the SDK finds nothing wrong with this `_meta`; of the rest of a plain request it has nothing to say."""
    try:
        methods.validate_client_request("tools/list", _VERSION, {"_meta": orjson.loads(envelope)})
    except ValidationError:
        return False
    return True


def _may_ask_back(tool: Tool, meta: Mapping[str, Any]) -> bool:
    """An approval that this call may need can be shown to this client by a multi-round-trip request."""
    elicitation = meta[types.CLIENT_CAPABILITIES_META_KEY].get("elicitation")
    return not tool.is_read and isinstance(elicitation, dict) and "url" in elicitation


def _is_plain(headers: Mapping[bytes, bytes]) -> bool:
    accepted = {part.strip() for part in headers.get(b"accept", b"").split(b",")}
    return (
        headers.get(b"mcp-protocol-version") == _VERSION.encode()
        and headers.get(b"content-type", b"").startswith(b"application/json")
        and accepted >= _ACCEPTED
        and b"mcp-session-id" not in headers
        and not any(name.startswith(b"mcp-param-") for name in headers)
    )
