"""A closed-loop load generator for MCP over HTTP (2026-07-28, JSON answers), cheap enough that the server is measured.

Each client keeps one connection and sends its next request when the last was answered. Requests are made by the
client's own function, so that a write can carry the revision that the answer before it told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    port: int
    path: str = "/mcp"
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """Calls a second over the measured time, latencies in milliseconds, and how many calls were made in all."""

    per_second: float
    p50_ms: float
    p99_ms: float
    calls: int


class Client:
    """One connection. Raises RuntimeError for any answer that is not a success."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._identifier = 0

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._endpoint.port, limit=2**24)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured content of one tools/call."""
        self._identifier += 1
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = orjson.dumps({"jsonrpc": "2.0", "id": self._identifier, "method": "tools/call", "params": params})
        self._writer.write(self._head("tools/call", tool, len(body)) + body)
        status, answer = await self._answer()
        message = orjson.loads(answer)
        if status != 200 or "result" not in message or message["result"].get("isError"):
            raise RuntimeError(f"{tool} failed: {status} {answer[:500]!r}")
        content: dict[str, Any] = message["result"].get("structuredContent") or {}
        return content

    async def list(self) -> None:
        """One tools/list. Its answer is not parsed: that would cost more than the server is measured by."""
        self._identifier += 1
        body = orjson.dumps(
            {"jsonrpc": "2.0", "id": self._identifier, "method": "tools/list", "params": {"_meta": META}}
        )
        self._writer.write(self._head("tools/list", None, len(body)) + body)
        status, answer = await self._answer()
        if status != 200 or b'"result":{' not in answer[:100]:
            raise RuntimeError(f"tools/list failed: {status} {answer[:500]!r}")

    def _head(self, method: str, tool: str | None, length: int) -> bytes:
        lines = [
            f"POST {self._endpoint.path} HTTP/1.1",
            f"Host: 127.0.0.1:{self._endpoint.port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2026-07-28",
            f"Mcp-Method: {method}",
            f"Content-Length: {length}",
        ]
        if tool is not None:
            lines.append(f"Mcp-Name: {tool}")
        if self._endpoint.token is not None:
            lines.append(f"Authorization: Bearer {self._endpoint.token}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def _answer(self) -> tuple[int, bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head[9:12])
        at = head.find(b"content-length:")
        if at >= 0:
            return status, await self._reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))
        parts = []
        while (size := int(await self._reader.readline(), 16)) > 0:
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readexactly(2)
        return status, _unframed(b"".join(parts))


def _unframed(body: bytes) -> bytes:
    """The last message of a server-sent event stream, or the body itself."""
    data = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return data[-1] if data else body


Step = Callable[[Client], Any]
"""Makes one call; awaited."""


async def measure(endpoints: list[Endpoint], steps: list[Step], seconds: float, warm_seconds: float = 1.0) -> Rate:
    """Client n talks to `endpoints[n]` by awaiting `steps[n]` again and again."""
    latencies: list[float] = []
    calls = 0
    started = time.perf_counter()
    warm, end = started + warm_seconds, started + warm_seconds + seconds

    async def worker(endpoint: Endpoint, step: Step) -> None:
        nonlocal calls
        client = Client(endpoint)
        await client.open()
        while (before := time.perf_counter()) < end:
            await step(client)
            after = time.perf_counter()
            calls += 1
            if before >= warm:
                latencies.append(after - before)
        await client.close()

    await asyncio.gather(*map(worker, endpoints, steps))
    latencies.sort()
    count = len(latencies)
    return Rate(count / seconds, latencies[count // 2] * 1e3, latencies[int(count * 0.99)] * 1e3, calls)
