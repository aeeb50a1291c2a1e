"""How many sessions of the older protocol era each agent holds, so that one cannot use up everyone's (security 2.23).

The SDK bounds only their sum. It does not tell when an idle session ends, so that is judged here by the same time.
Pure: time is an argument. Used from the event loop alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class SessionShares:
    """`held` maps an agent's id to its sessions and when each was last used, in milliseconds."""

    per_agent_max: int
    idle_ms: int
    held: dict[str, dict[bytes, int]] = field(default_factory=dict)

    def has_room(self, agent_id: str, now_ms: int) -> bool:
        sessions = self.held.get(agent_id, {})
        for session in [each for each, used_ms in sessions.items() if now_ms - used_ms >= self.idle_ms]:
            self.ended(agent_id, session)
        return len(sessions) < self.per_agent_max

    def used(self, agent_id: str, session: bytes, now_ms: int) -> None:
        """Also when it has just been opened."""
        self.held.setdefault(agent_id, {})[session] = now_ms

    def ended(self, agent_id: str, session: bytes) -> None:
        """Another agent's session, or one that is not known, is left as it is."""
        sessions = self.held.get(agent_id, {})
        sessions.pop(session, None)
        if not sessions:
            self.held.pop(agent_id, None)
