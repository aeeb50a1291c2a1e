"""The official MCP client, over Streamable HTTP with an agent's token: all that the demo's agents know of NEXUS."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from bus.value import Record, Value
from nexus.output import shown

call_seconds_max: Final = 60.0


class ToolRefused(Exception):
    """A tool answered with an error record (common 6.1)."""

    def __init__(self, tool: str, error: Record) -> None:
        super().__init__(f"{tool} was refused: {shown(error.get('code'))}: {shown(error.get('message'))}")
        self.error = error


class Tools:
    """Calls tools by name and answers their structured content."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, name: str, arguments: Mapping[str, Value]) -> Record:
        """Raises ToolRefused."""
        result = await self._client.call_tool(name, dict(arguments))
        content = result.structured_content if isinstance(result.structured_content, dict) else {}
        if result.is_error:
            error = content.get("error")
            raise ToolRefused(name, error if isinstance(error, dict) else {})
        return cast(Record, content)


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Tools]:
    """A connection as the agent whose token it is; `url` is what `nexus up --json` prints."""
    endpoint = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/mcp"
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=call_seconds_max)
    async with (
        http,
        Client(
            streamable_http_client(endpoint, http_client=http), read_timeout_seconds=call_seconds_max, cache=None
        ) as client,
    ):
        yield Tools(client)


def box(element_id: str, x: float, y: float, label: str, color: str) -> list[Value]:
    """A labelled rectangle: the shape and the text that it contains, as `elements` of canvas_create_elements."""
    shape: Record = {
        "id": element_id,
        "type": "rectangle",
        "x": x,
        "y": y,
        "width": 220,
        "height": 80,
        "backgroundColor": color,
        "fillStyle": "solid",
        "roundness": {"type": 3},
    }
    text: Record = {
        "id": f"{element_id}-label",
        "type": "text",
        "x": x + 10,
        "y": y + 28,
        "text": label,
        "fontSize": 16,
        "textAlign": "center",
        "verticalAlign": "middle",
        "containerId": element_id,
    }
    return [shape, text]
