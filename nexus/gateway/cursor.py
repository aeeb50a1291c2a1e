"""Cursors as clients see them: sealed to agent, scope, tool and query (common 7.3, security 2.11). Pure.

An owner answers `nextCursor` in whatever plain form suits it, and is given that form back; on the way out the gateway
seals it, on the way in it opens it. So one place keeps the cursor of one agent, tool, scope or query from being used
with another. A cursor holds only a place in an order, never a right: each page asks anew what the caller may see. The
key comes from the home, so cursors outlive the gateway.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from bus.value import Record
from nexus.gateway.arguments import canonical_hash
from tools.base import Tool
from tools.errors import Refusal, invalid_arguments

_SEAL_BYTES: Final = 16
_CURSOR: Final = "cursor"
_NEXT: Final = "nextCursor"
_NO_PART_OF_THE_QUERY: Final = frozenset({_CURSOR, "limit", "workspaceId"})
"""A page may be larger than the one before; a workspaceId that was admitted is the scope, given or not."""

BAD_CURSOR: Final = invalid_arguments(
    {_CURSOR: "is not a nextCursor that this tool gave you for these arguments; start again without one"}
)


@dataclass(frozen=True, slots=True)
class CursorSeal:
    """Seals and opens cursors under one key, which gateways of one home share."""

    key: bytes

    def sealed(self, place: str, *bound_to: bytes) -> str:
        """The cursor for what an owner calls `place`, of use only with the same `bound_to`."""
        return base64.urlsafe_b64encode(self._seal(place, bound_to) + place.encode()).decode().rstrip("=")

    def opened(self, cursor: str, *bound_to: bytes) -> str | None:
        """What `sealed` was given, or None for anything that it did not make for `bound_to`."""
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            place = raw[_SEAL_BYTES:].decode()
        except ValueError:
            return None
        return place if hmac.compare_digest(raw[:_SEAL_BYTES], self._seal(place, bound_to)) else None

    def _seal(self, place: str, bound_to: tuple[bytes, ...]) -> bytes:
        # Every part is preceded by its length, so that no two lists of parts give the same bytes.
        parts = b"".join(len(part).to_bytes(4, "big") + part for part in (*bound_to, place.encode()))
        return hmac.digest(self.key, parts, hashlib.sha256)[:_SEAL_BYTES]


def opened_arguments(
    seal: CursorSeal, tool: Tool, record: Record, agent_id: str, workspace_id: str
) -> Record | Refusal:
    """The arguments with the owner's own cursor in place of the client's.

    Refuses, in the same words, a cursor that is forged or of another agent, scope, tool or query.
    """
    cursor = record.get(_CURSOR)
    if not isinstance(cursor, str) or not _is_paged(tool):
        return record
    place = seal.opened(cursor, *_bound_to(tool, record, agent_id, workspace_id))
    return BAD_CURSOR if place is None else {**record, _CURSOR: place}


def sealed_content(
    seal: CursorSeal, tool: Tool, arguments: Record, content: Record, agent_id: str, workspace_id: str
) -> Record:
    """What the owner answered with its `nextCursor`, if there is one, sealed for this query. `arguments` may be those
    before or after `opened_arguments`."""
    place = content.get(_NEXT)
    if not isinstance(place, str) or not _is_paged(tool):
        return content
    return {**content, _NEXT: seal.sealed(place, *_bound_to(tool, arguments, agent_id, workspace_id))}


def _is_paged(tool: Tool) -> bool:
    return _CURSOR in tool.input.model_fields


def _bound_to(tool: Tool, arguments: Record, agent_id: str, workspace_id: str) -> tuple[bytes, ...]:
    # Defaults are filled in: an argument that says what its absence means leaves the query the same.
    whole = tool.input.model_validate({**arguments, _CURSOR: None}).model_dump(mode="json", by_alias=True)
    query = {name: value for name, value in whole.items() if name not in _NO_PART_OF_THE_QUERY}
    return agent_id.encode(), workspace_id.encode(), tool.name.encode(), canonical_hash(query)
