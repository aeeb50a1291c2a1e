"""What the gateway answers by itself over HTTP, without the SDK: refusals of a request and results of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
import orjson
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Send

from nexus.gateway.call import Answer, refused
from nexus.gateway.strict_json import CheckedMessage, Malformed, RequestId
from nexus.gateway.tool_request import WAITING_KEY
from tools.errors import Refusal, unavailable

_JSON: Final = (b"content-type", b"application/json")


def closing(status: int, text: str) -> Response:
    """A refusal that ends the connection, because the rest of the body is not read."""
    return PlainTextResponse(text, status, headers={"Connection": "close"})


def unauthorized() -> Response:
    """The same for no, a malformed, an unknown and a revoked token (common 2.3)."""
    challenge = {"WWW-Authenticate": 'Bearer realm="nexus", error="invalid_token"'}
    return JSONResponse({"error": "invalid_token"}, 401, headers=challenge)


def unreachable(message: CheckedMessage | Malformed | None) -> Response:
    """What is said while the caller's agent owner is restarting: of the token nothing is known (common 2.3)."""
    if isinstance(message, CheckedMessage) and message.id is not None:
        refusal = unavailable()
        if message.tool is None:
            error = {"error": refusal.to_record()}
            return json_rpc_error(200, message.id, types.INTERNAL_ERROR, refusal.message, error)
        return refused_call(message.id, refusal, waiting=0)
    return Response(status_code=503, headers={"Retry-After": "1"})


def limited(message: CheckedMessage, refusal: Refusal, waiting: int) -> Response:
    """A tool result for a tool's call (common 6.1), 429 for anything else."""
    if message.tool is not None and message.id is not None:
        return refused_call(message.id, refusal, waiting)
    return too_many(message.id, refusal)


def too_many(identifier: RequestId | None, refusal: Refusal) -> Response:
    """429, with when to come again."""
    error = {"error": refusal.to_record()}
    response = json_rpc_error(429, identifier, types.INTERNAL_ERROR, refusal.message, error)
    response.headers["Retry-After"] = str(refusal.details.get("retryAfterSeconds", 1))
    return response


def refused_call(identifier: RequestId, refusal: Refusal, waiting: int) -> Response:
    """What the SDK would make of a refusal; it has not seen the call."""
    return Response(call_result(identifier, refused(refusal, waiting), {}), 200, media_type="application/json")


def call_result(identifier: RequestId, answer: Answer, meta: Mapping[str, Any]) -> bytes:
    """The message that answers a tools/call. `meta` stands in its `_meta` beside the count of what waits."""
    return b"".join(
        (
            b'{"jsonrpc":"2.0","id":',
            orjson.dumps(identifier),
            b',"result":{"content":[{"type":"text","text":',
            orjson.dumps(answer.text),
            b'}],"structuredContent":',
            answer.encoded,
            b',"isError":true' if answer.is_error else b',"isError":false',
            b',"resultType":"complete","_meta":',
            orjson.dumps({WAITING_KEY: answer.waiting, **meta}),
            b"}}",
        )
    )


def json_rpc_error(
    status: int, identifier: RequestId | None, code: int, text: str, data: Mapping[str, Any] | None = None
) -> Response:
    return Response(error_message(identifier, code, text, data), status, media_type="application/json")


def error_message(identifier: RequestId | None, code: int, text: str, data: Mapping[str, Any] | None = None) -> bytes:
    """A JSON-RPC error."""
    error = {"code": code, "message": text} if data is None else {"code": code, "message": text, "data": data}
    return orjson.dumps({"jsonrpc": "2.0", "id": identifier, "error": error})


async def send_json(send: Send, status: int, body: bytes) -> None:
    """A whole answer in the two messages that ASGI needs; a `Response` costs several times as much."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length]})
    await send({"type": "http.response.body", "body": body})
