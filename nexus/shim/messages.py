"""One line of the client: what kind of message it is, what HTTP carries it under, and whether it may be sent twice.

Pure. A line is sent on as the client wrote it: what is wrong in it, the gateway says. Only a tools/call without an
idempotency key is written anew, with one; a line that Python would not write back as it was (a member twice, a number
past the range) is left alone, so that the gateway's strict reading of it is not softened here.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from bus.limits import request_body_bytes_max

RequestId: TypeAlias = str | int

VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
IDEMPOTENCY_KEY: Final = "nexus/idempotencyKey"

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
CANCELLED: Final = "notifications/cancelled"
LISTEN: Final = "subscriptions/listen"
CALL: Final = "tools/call"

NAMED_BY: Final[Mapping[str, str]] = {CALL: "name", "prompts/get": "name", "resources/read": "uri"}
"""The member of `params` that the header Mcp-Name repeats."""

REPEATABLE: Final = frozenset(
    {
        *(INITIALIZE, "ping", "server/discover", "tools/list", "prompts/list", "prompts/get", "completion/complete"),
        *("resources/list", "resources/templates/list", "resources/read", "resources/subscribe"),
        *("resources/unsubscribe", "logging/setLevel", LISTEN),
    }
)
"""Requests that may be carried out twice. A tools/call may under an idempotency key (common 8.2)."""

_PLAIN_HEADER: Final = re.compile(r"[\x20-\x7e]*")
_WRAPPED_HEADER: Final = re.compile(r"=\?base64\?.*\?=")


class Kind(Enum):
    REQUEST = "request"
    NOTIFICATION = "notification"
    ANSWER = "answer"
    """The client's answer to a request of the server."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """`version` is the protocol version that a message of the 2026-07-28 era names in its `_meta`; else None."""

    body: bytes
    kind: Kind
    id: RequestId | None
    method: str
    version: str | None
    name: str | None
    cancels: RequestId | None
    is_repeatable: bool

    @property
    def is_modern(self) -> bool:
        return self.version is not None

    def headers(self) -> dict[str, str]:
        """What this message alone asks for; a session of the older era adds its own."""
        if self.version is None:
            return {}
        headers = {"MCP-Protocol-Version": header_text(self.version), "Mcp-Method": header_text(self.method)}
        if self.name is not None:
            headers["Mcp-Name"] = header_text(self.name)
        return headers


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that no HTTP request can be made of."""

    id: RequestId | None
    code: int
    message: str
    data: Mapping[str, object] | None = None
    """The code of NEXUS' own and what goes with it."""


def too_long(outline: bytes) -> Malformed:
    """A line that is longer than the body of a request may be (common 2.5), by its outline (outline.py). Only a request
    is answered under its id: what has none waits for no answer, and the id of an answer is one of the server's."""
    try:
        message = json.loads(outline.decode())
    except (ValueError, RecursionError):
        message = None
    identifier = message.get("id") if isinstance(message, dict) and "method" in message else None
    has_id = isinstance(identifier, str | int) and not isinstance(identifier, bool)
    text = (
        f"The message is larger than {request_body_bytes_max // (1024 * 1024)} MiB, the most that NEXUS takes, and was "
        "not sent. Split what it carries into several calls."
    )
    data = {"code": "too_large", "retryable": False, "limit": request_body_bytes_max}
    return Malformed(identifier if has_id else None, INVALID_REQUEST, text, data)


def parse(line: bytes, new_key: Callable[[], str]) -> ClientMessage | Malformed:
    """The message in `line`. `new_key` gives the idempotency key of a call that has none."""
    strange: list[str] = []
    try:
        message = json.loads(
            line.decode(),
            object_pairs_hook=lambda pairs: _members(pairs, strange),
            parse_constant=strange.append,
        )
    except (ValueError, RecursionError):
        return Malformed(None, PARSE_ERROR, "The line is not JSON.")
    if not isinstance(message, dict):
        return Malformed(None, INVALID_REQUEST, "A line is one JSON-RPC message: an object. Send each on its own line.")
    identifier = message.get("id")
    has_id = isinstance(identifier, str | int) and not isinstance(identifier, bool)
    method = message.get("method")
    if "method" not in message and has_id and ("result" in message or "error" in message):
        return ClientMessage(line, Kind.ANSWER, identifier, "", None, None, None, is_repeatable=False)
    if not isinstance(method, str) or ("id" in message and not has_id):
        text = "A message needs a method and, as a request, an id that is text or a whole number."
        return Malformed(identifier if has_id else None, INVALID_REQUEST, text)
    return _classified(line, message, method, identifier if has_id else None, new_key, is_strange=bool(strange))


def _classified(
    line: bytes,
    message: dict[str, Any],
    method: str,
    identifier: RequestId | None,
    new_key: Callable[[], str],
    *,
    is_strange: bool,
) -> ClientMessage:
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    version = meta.get(VERSION_META) if isinstance(meta, dict) else None
    name = params.get(NAMED_BY.get(method, ""))
    body, is_repeatable = line, method in REPEATABLE
    if method == CALL and identifier is not None:
        body, is_repeatable = _keyed(line, message, params, meta, new_key, is_strange=is_strange)
    cancels = params.get("requestId") if method == CANCELLED else None
    return ClientMessage(
        body=body,
        kind=Kind.NOTIFICATION if identifier is None else Kind.REQUEST,
        id=identifier,
        method=method,
        version=version if isinstance(version, str) else None,
        name=name if isinstance(name, str) else None,
        cancels=cancels if isinstance(cancels, str | int) and not isinstance(cancels, bool) else None,
        is_repeatable=is_repeatable,
    )


def _keyed(
    line: bytes,
    message: dict[str, Any],
    params: dict[str, Any],
    meta: object,
    new_key: Callable[[], str],
    *,
    is_strange: bool,
) -> tuple[bytes, bool]:
    """The call with an idempotency key, and whether it has one."""
    if isinstance(meta, dict) and IDEMPOTENCY_KEY in meta:
        return line, isinstance(meta[IDEMPOTENCY_KEY], str)
    if is_strange or not (meta is None or isinstance(meta, dict)) or message.get("params") is not params:
        return line, False
    keyed = {**message, "params": {**params, "_meta": {**(meta or {}), IDEMPOTENCY_KEY: new_key()}}}
    try:
        body = _written(keyed)
    except ValueError:  # a number past the range of JSON's readers, which Python reads as infinite
        return line, False
    return (body, True) if len(body) <= request_body_bytes_max else (line, False)


def _members(pairs: list[tuple[str, Any]], strange: list[str]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        strange.append("a member twice")
    return members


def _written(message: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a character, which only an escape can stand for
        return json.dumps(message, allow_nan=False, separators=(",", ":")).encode()


def header_text(value: str) -> str:
    """`value` as a header may carry it: whatever is not plain is wrapped, as the 2026-07-28 specification says."""
    if _PLAIN_HEADER.fullmatch(value) and value == value.strip() and not _WRAPPED_HEADER.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def error_line(
    identifier: RequestId | None, code: int, message: str, data: Mapping[str, object] | None = None
) -> bytes:
    """A JSON-RPC error that the shim itself answers, without the end of the line."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = {"error": {"message": message, **data}}
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "error": error}).encode()


def one_line(text: bytes) -> bytes:
    """JSON of the gateway as one line of stdio. Raises ValueError for what is no JSON."""
    if b"\n" not in text and b"\r" not in text:
        return text
    return json.dumps(json.loads(text), separators=(",", ":")).encode()
