"""Requests from a seed: well-formed ones of both eras, with some of their parts changed. Pure.

A request starts as one that a client could send; then up to four of its parts are changed, each where a different
layer would notice: the tree of the message, its `_meta`, its bytes, the headers, the method and path, the delivery.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.fuzz.request import OTHER_SESSION, OTHER_TOKEN, SESSION, TOKEN, Request
from tests.fuzz.sampling import FromSchema, nested, odd_value
from tools.base import Tool
from tools.schema import input_schema

MODERN: Final = "2026-07-28"
_VERSIONS: Final = (MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2099-01-01", "", "é", "x" * 300)
_PREFIX: Final = "io.modelcontextprotocol/"
_METHODS: Final = (
    *("tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover", "ping"),
    *("initialize", "prompts/get", "completion/complete", "logging/setLevel", "resources/subscribe"),
    *("resources/unsubscribe", "subscriptions/listen", "tasks/get", "roots/list", "notifications/initialized"),
    *("notifications/cancelled", "notifications/progress", "sampling/createMessage", "", "tools/call/", "é" * 90),
)
_URIS: Final = (
    "nexus://capabilities",
    "nexus://planes",
    "nexus://mailbox",
    "nexus://nothing",
    "file:///etc/x",
    "",
    "é",
)
_HOST: Final = b"127.0.0.1:7331"
_BIG_BYTES: Final = 9 * 1024 * 1024


class Requests:
    """An endless supply. `known` are ids that exist in the home."""

    def __init__(self, chance: random.Random, tools: Sequence[Tool], known: Sequence[str]) -> None:
        self._chance = chance
        self._arguments = {tool.name: FromSchema(input_schema(tool), known) for tool in tools}
        self._next_id = 0

    def next(self) -> Request:
        chance = self._chance
        is_modern = chance.random() < 0.6
        message = self._message(is_modern)
        for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
            message = self._changed_tree(message)
        headers = self._headers(message, is_modern)
        for _ in range(chance.choice((0, 0, 0, 0, 0, 1, 1, 2))):
            headers = self._changed_headers(headers)
        body = self._encoded(message)
        if chance.random() < 0.1:
            body = self._changed_bytes(body)
        method = (
            "POST" if chance.random() < 0.93 else chance.choice(("GET", "DELETE", "PUT", "HEAD", "OPTIONS", "PROPFIND"))
        )
        path = "/mcp" if chance.random() < 0.98 else chance.choice(("/", "/mcp/", "/mcp/../x", "/MCP", "/mcp%00"))
        return Request(method, path, tuple(headers), self._chunks(body), chance.random() < 0.02)

    def _message(self, is_modern: bool) -> dict[str, Any]:
        chance = self._chance
        self._next_id += 1
        method, params = self._method()
        if is_modern:
            params["_meta"] = self._meta()
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        if method.startswith("notifications/") or chance.random() < 0.01:
            del message["id"]
        return message

    def _method(self) -> tuple[str, dict[str, Any]]:
        chance = self._chance
        roll = chance.random()
        if roll < 0.5:
            name = chance.choice(list(self._arguments))
            return "tools/call", {"name": name, "arguments": self._arguments[name].draw(chance)}
        if roll < 0.6:
            return "resources/read", {"uri": chance.choice(_URIS)}
        method = chance.choice(_METHODS)
        if method == "initialize":
            info = {"name": "fuzz", "version": "1"}
            return method, {"protocolVersion": chance.choice(_VERSIONS), "capabilities": {}, "clientInfo": info}
        if method == "subscriptions/listen":
            wanted = {"toolsListChanged": True, "resourceSubscriptions": [chance.choice(_URIS)]}
            return method, {"notifications": wanted}
        if method.startswith("resources/"):
            return method, {"uri": chance.choice(_URIS)}
        return method, chance.choice(({}, {}, {"cursor": "x"}, {"name": "x"}, {"level": "debug"}, {"requestId": 1}))

    def _meta(self) -> dict[str, Any]:
        chance = self._chance
        meta: dict[str, Any] = {
            f"{_PREFIX}protocolVersion": MODERN if chance.random() < 0.95 else chance.choice(_VERSIONS),
            f"{_PREFIX}clientInfo": {"name": "fuzz", "version": "1"},
            f"{_PREFIX}clientCapabilities": chance.choice(({}, {}, {"elicitation": {"url": {}}}, {"sampling": {}})),
        }
        if chance.random() < 0.1:
            more: Sequence[tuple[str, Any]] = (
                ("progressToken", chance.choice((1, "p", 1.5, None))),
                (f"{_PREFIX}logLevel", chance.choice(("debug", "loud", 3))),
                ("nexus/idempotencyKey", chance.choice(("k", "k" * 300, 5, ""))),
                (f"{_PREFIX}clientInfo", odd_value(chance)),
                ("traceparent", "00-x"),
                ("", 1),
            )
            key, value = chance.choice(more)
            meta[key] = value
        return meta

    def _changed_tree(self, message: Any) -> Any:
        """One place of the message is replaced, taken out, doubled under another name, or put in."""
        chance = self._chance
        places = list(_places(message))
        if chance.random() < 0.7:  # most of what may be changed, and of what is looked at, is in the parameters
            places = [place for place in places if place[0] is not message] or places
        holder, key = chance.choice(places) if places else (None, None)
        roll = chance.random()
        if holder is None or roll < 0.02:
            return odd_value(chance)
        if roll < 0.55:
            holder[key] = odd_value(chance)
        elif roll < 0.75:
            del holder[key]
        elif isinstance(holder, dict):
            name = chance.choice(("id", "method", "_meta", "params", "inputResponses", "requestState", "task", "x"))
            holder[name] = chance.choice((holder[key], odd_value(chance), "Mi4w", {"a": {"action": "accept"}}))
        else:
            holder.append(holder[key])
        return message

    def _headers(self, message: Any, is_modern: bool) -> list[tuple[bytes, bytes]]:
        chance = self._chance
        headers = [
            (b"host", _HOST),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
            (b"authorization", b"Bearer " + TOKEN),
        ]
        record: Mapping[str, Any] = message if isinstance(message, dict) else {}
        raw = record.get("params")
        params: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
        if is_modern:
            headers += [(b"mcp-protocol-version", MODERN.encode()), (b"mcp-method", _header_text(record.get("method")))]
            name = params.get("name", params.get("uri"))
            if name is not None:
                headers.append((b"mcp-name", _header_text(name)))
        elif record.get("method") != "initialize" or chance.random() < 0.1:
            headers += [(b"mcp-session-id", SESSION), (b"mcp-protocol-version", b"2025-11-25")]
        return headers

    def _changed_headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        chance = self._chance
        place = chance.randrange(len(headers))
        name, value = headers[place]
        changes: Sequence[Callable[[], list[tuple[bytes, bytes]]]] = (
            lambda: headers[:place] + headers[place + 1 :],
            lambda: [*headers, (name, value)],
            lambda: [*headers[:place], (name, self._header_value(name, value)), *headers[place + 1 :]],
            lambda: [*headers, self._other_header()],
        )
        return chance.choice(changes)() or headers

    def _header_value(self, name: bytes, value: bytes) -> bytes:
        chance = self._chance
        fitting: Mapping[bytes, Sequence[bytes]] = {
            b"authorization": (
                b"Bearer " + OTHER_TOKEN,
                b"Bearer nx_a_b",
                b"Basic eDp5",
                b"Bearer ",
                b"bearer " + TOKEN,
            ),
            b"mcp-session-id": (OTHER_SESSION, b"0" * 32, b"", b"\xff"),
            b"mcp-protocol-version": [version.encode() for version in _VERSIONS],
            b"content-type": (b"text/plain", b"application/json; charset=utf-16", b"", b"multipart/form-data"),
            b"accept": (b"*/*", b"text/html", b"application/json", b"text/event-stream", b"", b"a/b;q=x"),
            b"host": (b"localhost:7331", b"evil.example", b"127.0.0.1", b""),
        }
        odd = (
            b"",
            b"\xff\xfe",
            b"x" * 5_000,
            b" " + value + b"\t",
            b"=?base64?4pyT?=",
            b"=?base64?!!?=",
            b"tools/list",
        )
        return chance.choice((*fitting.get(name, ()), *odd))

    def _other_header(self) -> tuple[bytes, bytes]:
        return self._chance.choice(
            (
                (b"origin", b"null"),
                (b"origin", b"http://127.0.0.1:7331"),
                (b"content-encoding", b"gzip"),
                (b"content-length", b"5"),
                (b"content-length", b"9999999999999999999999"),
                (b"content-length", b"-1"),
                (b"last-event-id", b"1"),
                (b"mcp-param-x", b"1"),
                (b"mcp-method", b"tools/call"),
                (b"mcp-session-id", SESSION),
                (b"x-forwarded-for", b"10.0.0.1"),
                (b"!#$%&'*+-.^_`|~", b"1"),
            )
        )

    def _encoded(self, message: Any) -> bytes:
        roll = self._chance.random()
        if roll < 0.02:
            message = [message, message]
        text = json.dumps(message, ensure_ascii=roll < 0.5, separators=(",", ":") if roll < 0.9 else None)
        return text.encode("utf-16" if roll > 0.995 else "utf-8", "surrogatepass")

    def _changed_bytes(self, body: bytes) -> bytes:
        chance = self._chance
        place = chance.randrange(len(body) + 1)
        changes: Sequence[Callable[[], bytes]] = (
            lambda: body[:place],
            lambda: body[place:],
            lambda: body + body,
            lambda: body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :],
            lambda: (
                body[:place]
                + chance.choice((b'"', b"{", b"}", b"[", b",", b"\\", b"\x00", b"\xef\xbb\xbf"))
                + body[place:]
            ),
            lambda: body.replace(b":1", b":1" + b"0" * chance.choice((20, 400, 5_000))),
            lambda: body.replace(b'"id"', b'"id":null,"id"', 1),
            lambda: body.replace(b"{", b'{"id":[],', 1),
            lambda: b"[" * chance.choice((64, 3_000, 200_000)),
            lambda: b'{"a":' * 100_000,
            lambda: json.dumps(nested(500, "object")).encode(),
            lambda: b" " * (_BIG_BYTES if chance.random() < 0.05 else 100) + body,
            lambda: b"",
        )
        return chance.choice(changes)()

    def _chunks(self, body: bytes) -> tuple[bytes, ...]:
        if self._chance.random() < 0.9 or len(body) < 2:
            return (body,)
        place = self._chance.randrange(1, len(body))
        return (body[:place], b"", body[place:])


def _places(value: Any) -> Any:
    """Every place that holds a part of `value`, as (holder, key)."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])


def _header_text(value: object) -> bytes:
    """As a client would write it; other than ASCII in the form that the protocol has for that is for the mutations."""
    return str(value).encode("ascii", "replace").replace(b"\n", b" ").replace(b"\x00", b"?")
