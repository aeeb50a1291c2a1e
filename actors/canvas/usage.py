"""How much of a canvas each agent has written, and when its own owner hears of it (common 8.5).

Invariants:
- What is counted is what stays on disk for a write: the elements as they now are, since what they were moves into the
  history, and the rest of its history row. It only grows: deleting elements keeps them, for restoring.
- Of a proposal it is the arguments, as long as it is pending; its proposer is then charged for the write that it
  became, if it was approved.
- An agent's owner has been told of all but the last `stored_report_bytes` of each canvas. It goes by the last that it
  was told, so what one decision gives back and takes goes into one call of `charged`, and one report.
- The person's writes are nobody's share.

It lies in the row `head`, which every write puts anyway. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from actors.canvas.state import Head
from actors.decision import Context, Principal, PrincipalKind, Send
from bus import address
from bus.limits import stored_report_bytes

_HISTORY_BYTES: Final = 250
"""Of a history row: who, when, why, by which call."""
_TOUCHED_BYTES: Final = 60
"""Of a history row, for each element beside what it was."""


def history_bytes(touched: int) -> int:
    """About what a history row takes without the elements that it keeps."""
    return _HISTORY_BYTES + touched * _TOUCHED_BYTES


def writing_agent(principal: Principal) -> str:
    """Whose share a write is; empty for the person."""
    return principal.agent_id if principal.kind is PrincipalKind.AGENT else ""


def charged(head: Head, agent_id: str, size: int, context: Context) -> tuple[Head, tuple[Send, ...]]:
    """The head after `agent_id` has written `size` bytes, or given them back when it is below 0, and what its owner is
    told of it."""
    if not agent_id:
        return head, ()
    before = head.usage.get(agent_id, 0)
    after = before + size
    usage = {other: used for other, used in head.usage.items() if other != agent_id}
    if after:
        usage[agent_id] = after
    is_news = before // stored_report_bytes != after // stored_report_bytes
    return replace(head, usage=usage), (_report(context, agent_id, after),) if is_news else ()


def usage_gone(usage: Mapping[str, int], context: Context) -> tuple[Send, ...]:
    """To be sent when the canvas is deleted: nobody has anything in it any more."""
    told = (agent_id for agent_id, size in sorted(usage.items()) if size >= stored_report_bytes)
    return tuple(_report(context, agent_id, 0) for agent_id in told)


def _report(context: Context, agent_id: str, size: int) -> Send:
    return Send(address.agent(agent_id), "stored", {"place": str(context.address), "bytes": size})
