"""What a request of the handshake era is told when its session ends under it: 404, as of any session that is no more.

The SDK answers 500 then, and lets the exception of its closed stream leave; a client told so would neither open
another session nor know that it may. Whether a call that was under way has taken effect, the client must look.
"""

from __future__ import annotations

from typing import Final

import anyio
import mcp_types as types
import orjson
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAID_OF_IT: Final = b"Session terminated"
"""In the SDK's answer to a request that had been handed on already."""
_ENDED: Final = "This session has ended. Open another one, and look at the present state before you repeat a call."


class EndedSessions:
    """Around the SDK's application of that era."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []
        has_ended = False

        async def unless_it_failed(message: Message) -> None:
            if held or (message["type"] == "http.response.start" and message["status"] == 500):
                held.append(message)
            else:
                await send(message)

        try:
            await self._app(scope, receive, unless_it_failed)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            if not held:
                raise
            has_ended = True
        if has_ended or _SAID_OF_IT in b"".join(message.get("body", b"") for message in held):
            await _ended()(scope, receive, send)
            return
        for message in held:
            await send(message)


def _ended() -> Response:
    error = {"code": types.INVALID_REQUEST, "message": _ENDED}
    return Response(
        orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error}), status_code=404, media_type="application/json"
    )
