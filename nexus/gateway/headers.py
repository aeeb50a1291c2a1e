"""A request's headers, looked up many times on the way of each."""

from __future__ import annotations

from typing import Final

from starlette.types import Message, Scope

HEADERS_KEY: Final = "nexus.headers"
"""Where `asgi.py` leaves them in a scope."""


REQUEST_TARGET_KEY: Final = "nexus.target"
"""Where `http_border.py` leaves a request's target in a scope, as the client wrote it, when it is more than a path."""


class Headers:
    """Names are lower case; what stands around values is stripped."""

    __slots__ = ("_lines", "are_doubled", "single")

    def __init__(self, lines: list[tuple[bytes, bytes]]) -> None:
        self._lines = lines
        self.single = dict(lines)
        """By name; of a header that stands there twice the last."""
        self.are_doubled = len(self.single) != len(lines)

    def values(self, name: bytes) -> list[bytes]:
        if self.are_doubled:
            return [value for each, value in self._lines if each == name]
        value = self.single.get(name)
        return [] if value is None else [value]


def headers_of(scope: Scope) -> Headers:
    """As the listener's guard left them."""
    headers = scope[HEADERS_KEY]
    assert isinstance(headers, Headers)
    return headers


def header_values(carrier: Scope | Message, wanted: bytes) -> list[bytes]:
    """Of a scope or of the message that starts a response, as they stand there."""
    return [value for name, value in carrier.get("headers", ()) if name == wanted]
