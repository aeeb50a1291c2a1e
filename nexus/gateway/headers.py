"""Headers as ASGI has them."""

from __future__ import annotations

from starlette.types import Message, Scope


def header_values(carrier: Scope | Message, wanted: bytes) -> list[bytes]:
    """Of a request's scope or of the message that starts a response."""
    return [value for name, value in carrier.get("headers", ()) if name == wanted]
