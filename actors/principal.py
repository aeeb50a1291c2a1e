"""Who a call is from, as the receiving host stamps it: by the link's proved class, never by what the call says.

An agent's call comes on a gateway's link and carries the stamp that its agent owner gave at admission. A stamp is
valid for `stamp_valid_ms`; an older one must be admitted again under the same call id (ARCHITECTURE, Admission).
"""

from __future__ import annotations

from typing import Final

from actors.decision import Principal, PrincipalKind
from bus.envelope import LinkClass
from bus.limits import stamp_valid_ms
from bus.value import Record


class StaleStamp(Exception):
    """The gateway must have the call admitted again."""


_PERSON: Final = Principal(PrincipalKind.PERSON)
_GATEWAY: Final = Principal(PrincipalKind.GATEWAY)


def principal_of(link_class: LinkClass, stamp: Record | None, now_ms: int) -> Principal:
    """Raises StaleStamp; PermissionError for a class that makes no calls, or a stamp where none belongs."""
    match link_class:
        case LinkClass.PERSON if stamp is None:
            return _PERSON
        case LinkClass.GATEWAY if stamp is None:
            return _GATEWAY
        case LinkClass.GATEWAY:
            assert stamp is not None
            return _agent(stamp, now_ms)
        case _:
            raise PermissionError(f"a {link_class.value} link makes no calls")


def _agent(stamp: Record, now_ms: int) -> Principal:
    issued_ms = stamp.get("issuedMs")
    if not isinstance(issued_ms, int) or issued_ms + stamp_valid_ms < now_ms:
        raise StaleStamp
    return Principal(
        PrincipalKind.AGENT,
        agent_id=str(stamp["agentId"]),
        workspace_id=str(stamp["workspaceId"]),
        credential=str(stamp["credential"]),
    )
