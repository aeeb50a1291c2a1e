"""Credentials whose agent's owner has confirmed them a moment ago.

It decides nothing about a caller: each call's admission judges its token (common 2.1). But a call whose token has just
been good may be counted against its agent's share before that, so that it costs one message less
(docs/decisions/0012-protocol.md); what else the gateway knows of the caller is that old at most.

Pure: time is an argument. Used from the event loop alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bus.limits import credential_recent_ms, credentials_recent_max
from nexus.gateway.identity import Credential, Identity


@dataclass(slots=True)
class RecentCredentials:
    """At most `credentials_recent_max`; of more the one that was confirmed first is forgotten."""

    _confirmed: dict[Credential, tuple[Identity, int]] = field(default_factory=dict)
    """With the time, in milliseconds; oldest first."""

    def identity(self, credential: Credential, now_ms: int) -> Identity | None:
        """As its owner told it within the last `credential_recent_ms`."""
        found = self._confirmed.get(credential)
        return found[0] if found is not None and now_ms - found[1] < credential_recent_ms else None

    def confirmed(self, identity: Identity, now_ms: int) -> None:
        """Its agent's owner has said that the token is good."""
        self._confirmed.pop(identity.credential, None)
        if len(self._confirmed) >= credentials_recent_max:
            del self._confirmed[next(iter(self._confirmed))]
        self._confirmed[identity.credential] = (identity, now_ms)

    def refused(self, credential: Credential) -> None:
        """Its agent's owner has said that the token is not good, or not any more."""
        self._confirmed.pop(credential, None)
