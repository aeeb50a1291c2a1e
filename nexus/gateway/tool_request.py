"""What a tools/call asks for, from whichever path it came by. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bus.limits import identifier_characters_max
from nexus.gateway.admitting import ToolRequest
from nexus.gateway.identity import Identity

WAITING_KEY: Final = "nexus/waiting"
"""In every result's `_meta`: how many deliveries wait for the caller (common 1.11)."""
IDEMPOTENCY_KEY: Final = "nexus/idempotencyKey"
"""In a tools/call's `_meta`: repeats under the same key get the first answer (common 8.2)."""


def tool_request(
    identity: Identity,
    name: str,
    arguments: Mapping[str, Any],
    meta: Mapping[str, Any],
    bad_arguments: Mapping[str, str],
    started_ms: int,
) -> ToolRequest:
    """`meta` is the call's `_meta`; a key in it that is none becomes one more of the `bad_arguments`."""
    key: object = meta.get(IDEMPOTENCY_KEY)
    if key is not None and not (isinstance(key, str) and 1 <= len(key) <= identifier_characters_max):
        problem = f"must be text of 1 to {identifier_characters_max} characters"
        bad_arguments = {**bad_arguments, f"_meta.{IDEMPOTENCY_KEY}": problem}
        key = None
    return ToolRequest(identity, name, arguments, bad_arguments, started_ms, key if isinstance(key, str) else None)
