"""The peer: a FastMCP server with one tool that does nothing. Prints its port when it listens."""

from __future__ import annotations

import socket

import uvicorn
import uvloop
from fastmcp import FastMCP


def main() -> None:
    def nothing() -> dict[str, bool]:
        return {"ok": True}

    server = FastMCP("peer")
    server.tool(nothing)  # no decorator: without fastmcp, which only `make bench` installs, it would be an untyped one

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    app = server.http_app(path="/mcp", json_response=True, stateless_http=True)
    config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="error", access_log=False)
    print(listener.getsockname()[1], flush=True)
    uvloop.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
