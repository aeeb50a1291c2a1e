"""The peer: the SDK's own server at its lowest level, with one tool that does nothing and the list of the padded
catalogue; without authentication. Prints its port."""

from __future__ import annotations

import socket
from typing import Any

import mcp_types as types
import uvicorn
import uvloop
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route

from nexus.gateway.listing import listed_tool
from tests.benchmarks.padding import padded_catalogue

_TOOLS = [listed_tool(tool) for tool in padded_catalogue()]


async def _call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text='{"ok":true}')], structured_content={"ok": True})


async def _list_tools(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=_TOOLS)


def main() -> None:
    server: Server[Any] = Server(
        "peer",
        on_call_tool=_call_tool,
        on_list_tools=_list_tools,
        get_tool_input_schema=lambda name: {"type": "object"},
    )
    server.middleware.clear()
    manager = StreamableHTTPSessionManager(server, json_response=True)
    app = Starlette(routes=[Route("/mcp", manager.asgi_app)], lifespan=lambda _: manager.run())
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="error", access_log=False)
    print(listener.getsockname()[1], flush=True)
    uvloop.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
