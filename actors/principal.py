"""Who a call is from, as the receiving host stamps it: by the link's proved class, never by what the call says.

An agent's call comes on a gateway's link and carries the stamp that its agent owner gave at admission. A stamp is
valid for `stamp_valid_ms`, and not once this host was told that the agent's authority is narrower, or began anew since;
then the call must be admitted again under the same call id (ARCHITECTURE, Admission).
"""

from __future__ import annotations

from typing import Final

from actors.decision import Principal, PrincipalKind
from actors.host_notices import HostNotices
from bus.admitted import STALE_STAMP, chain_in, chain_more_in
from bus.envelope import LinkClass, Reply
from bus.limits import stamp_valid_ms
from bus.link import Peer
from bus.value import Record


class StaleStamp(Exception):
    """The gateway must have the call admitted again."""


_PERSON: Final = Principal(PrincipalKind.PERSON)


def stale(call_id: str) -> Reply:
    """What the gateway is answered then."""
    return Reply(call_id, None, {"code": STALE_STAMP, "message": "", "retryable": True})


def principal_of(peer: Peer, stamp: Record | None, now_ms: int, notices: HostNotices) -> Principal:
    """Raises StaleStamp; PermissionError for a class that makes no calls, or a stamp where none belongs."""
    if peer.link_class is LinkClass.GATEWAY:  # first, for nearly all calls are an agent's
        if stamp is None:
            return Principal(PrincipalKind.GATEWAY, gateway=peer.incarnation)
        return _agent(stamp, now_ms, notices)
    if peer.link_class is LinkClass.PERSON and stamp is None:
        return _PERSON
    raise PermissionError(f"a {peer.link_class.value} link makes no calls")


def _agent(stamp: Record, now_ms: int, notices: HostNotices) -> Principal:
    issued_ms, version, agent_id = stamp.get("issuedMs"), stamp.get("version"), str(stamp["agentId"])
    if not isinstance(issued_ms, int) or not isinstance(version, int):
        raise StaleStamp
    if issued_ms + stamp_valid_ms < now_ms or not notices.honours(agent_id, version, issued_ms):
        raise StaleStamp
    return Principal(
        PrincipalKind.AGENT,
        agent_id=agent_id,
        workspace_id=str(stamp["workspaceId"]),
        credential=str(stamp["credential"]),
        version=version,
        chain=chain_in(stamp),
        chain_more=chain_more_in(stamp),
    )
