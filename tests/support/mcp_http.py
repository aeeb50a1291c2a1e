"""A small MCP client of the 2026-07-28 era over plain HTTP, for tests that look at what is on the wire."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class ToolResult:
    """What a tools/call answered."""

    content: dict[str, Any]
    is_error: bool
    meta: dict[str, Any]
    raw: bytes

    @property
    def code(self) -> str:
        """The refusal's code; empty for a success."""
        return str(self.content["error"]["code"]) if self.is_error else ""


class McpHttp:
    """One agent's client. Connections are not kept, so that a restarted gateway is no concern of the test."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = urlsplit(url)
        self._token = token

    def post(self, body: bytes, method: str, name: str | None = None, **headers: str) -> tuple[int, bytes]:
        """Status and body of one request."""
        assert self._url.hostname is not None
        connection = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=40)
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            **({"Mcp-Name": name} if name else {}),
            **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
            **headers,
        }
        try:
            connection.request("POST", self._url.path, body, sent)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        name: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The JSON-RPC message that answers."""
        whole = {**(params or {}), "_meta": {**META, **(meta or {})}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": whole})
        status, answer = self.post(body.encode(), method, name)
        assert status in (200, 400, 404), (status, answer[:300])
        message: dict[str, Any] = json.loads(answer)
        return message

    def call(self, tool: str, arguments: dict[str, Any] | None = None, key: str | None = None) -> ToolResult:
        """One tools/call, which must be answered by a result. `key` is its idempotency key."""
        meta = {} if key is None else {"nexus/idempotencyKey": key}
        message = self.request("tools/call", {"name": tool, "arguments": arguments or {}}, tool, meta)
        assert "result" in message, message
        result = message["result"]
        content = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == content
        raw = json.dumps(content, sort_keys=True).encode()
        return ToolResult(content, bool(result.get("isError")), result.get("_meta", {}), raw)

    def ok(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The content of a success."""
        result = self.call(tool, arguments)
        assert not result.is_error, result.content
        return result.content
