"""Whether the recipient of a task can be sent one at all, read before a card is made for it (common 4.6, mesh 2).

The sender's mailbox leaves that to the recipient's, so its own look at the call cannot tell. What is read here is what
the two agents' owners show the caller; the recipient's mailbox decides all the same when the call runs.
"""

from __future__ import annotations

from typing import Final

from bus import address
from bus.admitted import WOULD
from bus.client import Caller
from bus.clock import Clock
from bus.value import Record
from tools.errors import NOT_FOUND, Refusal
from tools.tiers import TierFacts, delivery_refusal

SENDS_TO: Final = {"agent_trigger": "agentId"}
"""The tools that send to another agent, and the argument that names it."""


async def recipient_refusal(
    caller: Caller, clock: Clock, tool: str, arguments: Record, stamp: Record, within_ms: int
) -> Refusal | None:
    """`stamp` is a look's. None also when an owner cannot say. Raises DeadlinePassed."""
    recipient = arguments.get(SENDS_TO.get(tool, ""))
    if not isinstance(recipient, str) or not address.is_id(recipient):
        return None
    facts = []
    for agent_id in (str(stamp["agentId"]), recipient):
        reply = await caller.call(
            address.agent(agent_id), "agent_facts", {}, call_id=clock.new_id(), within_ms=within_ms, stamp=stamp
        )
        would = (reply.ok or {}).get(WOULD)
        known = would.get("ok") if isinstance(would, dict) else None
        if isinstance(would, dict) and "error" in would:
            return NOT_FOUND
        if not isinstance(known, dict):
            return None
        facts.append(TierFacts.from_record(agent_id, known))
    return delivery_refusal(*facts)
