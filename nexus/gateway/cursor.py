"""Cursors of composed lists: where the next page starts, sealed to agent, scope and tool (common 7.3). Pure.

A sealed cursor of one agent is refused from another (security 2.11). It holds only a place in an order, never a
right: each page asks the owners anew what the caller may see.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

_SEAL_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class CursorSeal:
    """Seals and opens cursors under one key, which gateways of one home share."""

    key: bytes

    def sealed(self, after: str, *bound_to: str) -> str:
        """The cursor for a page that starts after `after`, of use only with the same `bound_to`."""
        return base64.urlsafe_b64encode(self._seal(after, bound_to) + after.encode()).decode().rstrip("=")

    def opened(self, cursor: str, *bound_to: str) -> str | None:
        """What `sealed` was given, or None for anything that it did not make for `bound_to`."""
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            after = raw[_SEAL_BYTES:].decode()
        except ValueError:
            return None
        return after if hmac.compare_digest(raw[:_SEAL_BYTES], self._seal(after, bound_to)) else None

    def _seal(self, after: str, bound_to: tuple[str, ...]) -> bytes:
        # Every part is preceded by its length, so that no two lists of parts give the same bytes.
        parts = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in (*bound_to, after))
        return hmac.digest(self.key, parts, hashlib.sha256)[:_SEAL_BYTES]
