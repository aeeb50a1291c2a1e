"""Whether the agent that a call names is there for it, read before a card is made (common 4.6, mesh 2).

The owner that decides such a call leaves that to another one - the recipient's mailbox, the directory, the other
agent's owner - so its own look at the call cannot tell. What is read here is what the two agents' owners show the
caller; whoever decides last decides all the same when the call runs.
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

NAMES_AGENT: Final = frozenset({"agent_trigger", "agent_set_provider", "agent_invite_to_channel", "team_add_member"})
"""The tools whose owner cannot say whether the agent in `agentId` exists for the caller."""
_SENDS: Final = frozenset({"agent_trigger"})
"""Those that send to it, for which it must be reachable as well."""


async def named_agent_refusal(
    caller: Caller, clock: Clock, tool: str, arguments: Record, stamp: Record, within_ms: int
) -> Refusal | None:
    """`stamp` is a look's. None also when an owner cannot say. Raises DeadlinePassed."""
    named = arguments.get("agentId")
    if tool not in NAMES_AGENT or not isinstance(named, str):
        return None
    if not address.is_id(named):
        return None if tool in _SENDS else NOT_FOUND
    facts = []
    for agent_id in (str(stamp["agentId"]), named):
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
    return delivery_refusal(*facts) if tool in _SENDS else None
