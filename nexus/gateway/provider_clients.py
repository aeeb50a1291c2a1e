"""Which MCP clients are connected to this gateway now, by what they call themselves (knowledge.md, provider_*).

A client of the older era is connected as long as its session lives; one of the newer era, which has no sessions, while
a request of it is open and for some minutes after. What a client says of itself is shown and grants nothing.

Pure: time is an argument. Used from the event loop alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from bus.limits import client_names_max, client_recent_ms, legacy_session_idle_ms, legacy_sessions_max
from tools.fence import plain_name
from tools.provider_table import Provider

_CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"


def client_name(message: Mapping[str, Any] | None) -> str:
    """How the sender of a JSON-RPC message calls itself: in each request of the newer era, in `initialize` of the
    older one. Empty when it does not say."""
    params = (message or {}).get("params")
    if not isinstance(params, Mapping):
        return ""
    meta = params.get("_meta")
    return name_in(meta if isinstance(meta, Mapping) else {}) or _name_of(params.get("clientInfo"))


def name_in(meta: Mapping[str, Any]) -> str:
    """The same from the `_meta` of a request."""
    return _name_of(meta.get(_CLIENT_INFO))


def _name_of(info: object) -> str:
    name = info.get("name") if isinstance(info, Mapping) else None
    return plain_name(name) if isinstance(name, str) else ""


@dataclass(slots=True)
class _Seen:
    at_ms: int
    open: int = 0


@dataclass(slots=True)
class _Session:
    name: str
    used_ms: int


@dataclass(slots=True)
class Clients:
    """Of one gateway."""

    _seen: dict[str, _Seen] = field(default_factory=dict)
    """By name, least recently seen first."""
    _sessions: dict[tuple[str, bytes], _Session] = field(default_factory=dict)

    @contextmanager
    def request(self, name: str, now_ms: int) -> Iterator[None]:
        """A request of the newer era is under way."""
        if not name:
            yield
            return
        seen = self._noted(name, now_ms)
        seen.open += 1
        try:
            yield
        finally:
            seen.open -= 1

    def session_used(self, agent_id: str, session: bytes, name: str, now_ms: int) -> None:
        """A session of the older era. `name` is known when it is opened, and empty after that."""
        known = self._sessions.get((agent_id, session))
        if known is not None:
            known.used_ms = now_ms
        elif name and len(self._sessions) < legacy_sessions_max:
            self._sessions[agent_id, session] = _Session(name, now_ms)

    def session_ended(self, agent_id: str, session: bytes) -> None:
        """Another agent's session is left as it is."""
        self._sessions.pop((agent_id, session), None)

    def is_connected(self, provider: Provider, now_ms: int) -> bool:
        for key in [key for key, one in self._sessions.items() if now_ms - one.used_ms >= legacy_session_idle_ms]:
            del self._sessions[key]
        return any(provider.is_announced_by(session.name) for session in self._sessions.values()) or any(
            (seen.open > 0 or now_ms - seen.at_ms < client_recent_ms) and provider.is_announced_by(name)
            for name, seen in self._seen.items()
        )

    def last_seen_ms(self, provider: Provider) -> int | None:
        """When a client of this provider last said something here."""
        times = [seen.at_ms for name, seen in self._seen.items() if provider.is_announced_by(name)]
        times += [one.used_ms for one in self._sessions.values() if provider.is_announced_by(one.name)]
        return max(times, default=None)

    def _noted(self, name: str, now_ms: int) -> _Seen:
        seen = self._seen.pop(name, None) or _Seen(now_ms)
        seen.at_ms = now_ms
        self._seen[name] = seen
        if len(self._seen) > client_names_max:
            oldest = next((one for one, kept in self._seen.items() if not kept.open and one != name), None)
            if oldest is not None:
                del self._seen[oldest]
        return seen
