"""The session of the older protocol era: kept, told with every message, and begun anew when a gateway forgot it.

A session lives in one gateway and ends with it; the client knows nothing of that. So the client's own `initialize` and
`notifications/initialized` are kept and sent again (docs/decisions/0012-protocol.md, Clients of stdio).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bus.limits import shim_subscriptions_max
from nexus.shim.messages import INITIALIZED

SESSION_HEADER: Final = "Mcp-Session-Id"

_INITIALIZED_BODY: Final = json.dumps({"jsonrpc": "2.0", "method": INITIALIZED}).encode()


class NotRenewed(Exception):
    """The gateway did not take the `initialize` that it took before."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one POST was answered."""

    status: int
    session: str | None
    body: bytes


Post = Callable[[bytes, Mapping[str, str]], Reply]
"""Send a body under these headers. Raises what the socket raises."""


class LegacySession:
    """Used by any thread. There is none before the client's `initialize` was answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._initialize: bytes | None = None
        self._id: str | None = None
        self._version: str | None = None
        self._is_initialized = False
        self._subscriptions: dict[str, bytes] = {}
        """The requests by which the client subscribed, by address: a new session knows of none."""

    @property
    def id(self) -> str | None:
        return self._id

    def headers(self) -> dict[str, str]:
        """What a message of this era carries now."""
        with self._lock:
            return self._headers()

    def began(self, initialize: bytes, session: str | None, answer: bytes) -> None:
        """The gateway answered the client's `initialize`; one that it refused begins nothing."""
        version = _negotiated_version(answer)
        if version is None:
            return
        with self._lock:
            self._initialize, self._id, self._version = initialize, session, version
            self._is_initialized = False
            self._subscriptions.clear()

    def initialized(self) -> None:
        """The client's `notifications/initialized` was taken."""
        with self._lock:
            self._is_initialized = True

    def subscribed(self, address: str, request: bytes | None) -> None:
        """The gateway took the client's subscription, or its end (None)."""
        with self._lock:
            if request is None:
                self._subscriptions.pop(address, None)
            elif len(self._subscriptions) < shim_subscriptions_max or address in self._subscriptions:
                self._subscriptions[address] = request

    def renew(self, forgotten: str, post: Post) -> None:
        """Begin a new session in place of the forgotten one, unless another thread has. Raises NotRenewed, and what
        `post` raises."""
        with self._lock:
            if self._id != forgotten:
                return
            assert self._initialize is not None, "a session that was begun"
            reply = post(self._initialize, {})
            version = _negotiated_version(reply.body)
            if reply.status != 200 or version is None:
                raise NotRenewed
            self._id, self._version = reply.session, version
            if self._is_initialized:
                post(_INITIALIZED_BODY, self._headers())
            for request in self._subscriptions.values():
                post(request, self._headers())

    def _headers(self) -> dict[str, str]:
        headers = {} if self._id is None else {SESSION_HEADER: self._id}
        return headers if self._version is None else {**headers, "MCP-Protocol-Version": self._version}


def _negotiated_version(answer: bytes) -> str | None:
    """What the answer to an `initialize` settled on; None for a refusal."""
    try:
        message = json.loads(answer)
    except ValueError:
        return None
    result = message.get("result") if isinstance(message, dict) else None
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None
