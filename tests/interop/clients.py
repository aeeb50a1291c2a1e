"""One journey, made by every client: list, write, read, be refused, ask for what does not exist.

Whatever the library, the era and the transport, a client sees the same (common 1.9). Each returns what it saw as the
same record; `test_clients.py` compares it with what there is to see.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from fastmcp import Client as FastMcpClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.interop.node_judges import JUDGES
from tests.support.npm_folder import NODE, environment

_SCRIPT_SECONDS_MAX: Final = 60


@dataclass(frozen=True)
class Way:
    """How a client reaches NEXUS: over HTTP with its token in a header, or through the shim, which reads a file."""

    url: str | None
    headers: Mapping[str, str]
    command: tuple[str, ...]

    @classmethod
    def http(cls, url: str, token: str) -> Way:
        return cls(url, {"Authorization": f"Bearer {token}"}, ())

    @classmethod
    def shim(cls, home: Path, token: str, folder: Path) -> Way:
        file = folder / "token"
        file.touch(mode=0o600)
        file.write_text(token)
        program = (sys.executable, "-I", "-m", "nexus", "mcp")
        return cls(None, {}, (*program, "--home", str(home), "--token-file", str(file)))

    def record(self) -> dict[str, Any]:
        """As programs of Node are told, in a variable: a token is never in a command line."""
        if self.url is not None:
            return {"url": self.url, "headers": dict(self.headers)}
        return {"command": self.command[0], "arguments": list(self.command[1:])}


def typescript(script: str, mode: str, way: Way, title: str) -> dict[str, Any]:
    """`script` in tests/interop/node, run in the folder where the judges are installed."""
    source = (Path(__file__).parent / "node" / script).read_text()
    journey = json.dumps({**way.record(), "mode": mode, "title": title})
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-"],
        input=source,
        cwd=JUDGES.folder,
        env={**environment(), "JOURNEY": journey},
        capture_output=True,
        text=True,
        timeout=_SCRIPT_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


async def python_sdk(mode: str, way: Way, title: str) -> dict[str, Any]:
    """The official Python client."""
    async with _python_client(mode, way) as client:
        return await _journey(client, client.protocol_version, title)


@asynccontextmanager
async def _python_client(mode: str, way: Way) -> AsyncIterator[Client]:
    if way.url is None:
        parameters = StdioServerParameters(command=way.command[0], args=list(way.command[1:]))
        async with Client(parameters, mode=mode) as client:
            yield client
        return
    async with (
        httpx2.AsyncClient(headers=way.headers) as http,
        Client(streamable_http_client(way.url, http_client=http), mode=mode) as client,
    ):
        yield client


async def fastmcp(mode: str, way: Way, title: str) -> dict[str, Any]:
    """FastMCP's client, by its methods that answer as the protocol does."""
    transport: StreamableHttpTransport | StdioTransport
    if way.url is None:
        transport = StdioTransport(way.command[0], list(way.command[1:]), keep_alive=False)
    else:
        transport = StreamableHttpTransport(way.url, headers=dict(way.headers))
    async with FastMcpClient(transport, mode=mode) as client:
        return await _journey(_AsTheProtocolSays(client), client.session.protocol_version, title)


class _AsTheProtocolSays:
    """FastMCP's convenient methods raise for refusals and unpack lists; these leave both as they came."""

    def __init__(self, client: FastMcpClient[Any]) -> None:
        self._client = client

    async def list_tools(self) -> Any:
        return await self._client.list_tools_mcp()

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool_mcp(name, arguments)

    async def list_resources(self) -> Any:
        return await self._client.list_resources_mcp()

    async def read_resource(self, uri: str) -> Any:
        return await self._client.read_resource_mcp(uri)


async def _journey(client: Any, protocol: str | None, title: str) -> dict[str, Any]:
    created = await client.call_tool("canvas_create", {"title": title, "reason": "judged"})
    listed = await client.call_tool("canvas_list", {})
    refused = await client.call_tool("canvas_create", {"title": 5})
    inbox = await client.call_tool("agent_inbox", {})
    mailbox = await client.read_resource("nexus://mailbox")
    return {
        "protocol": protocol,
        "tools": [tool.name for tool in (await client.list_tools()).tools],
        "created": created.structured_content,
        "listed": listed.structured_content,
        "refused": refused.model_dump(mode="json", by_alias=True),
        "unknownTool": await _code_of(client.call_tool("canvas_nothing", {})),
        "resources": [str(resource.uri) for resource in (await client.list_resources()).resources],
        "inbox": inbox.structured_content,
        "mailbox": [content.model_dump(mode="json", by_alias=True) for content in mailbox.contents],
        "unknownResource": await _code_of(client.read_resource("nexus://nothing")),
    }


async def _code_of(call: Any) -> int | None:
    try:
        await call
    except MCPError as failure:
        return failure.code
    return None
