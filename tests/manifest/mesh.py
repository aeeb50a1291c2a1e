"""contract/mesh.md"""

from __future__ import annotations

RULES = {
    "mesh 1": "the tools, their arguments and results",
    "mesh 2.1": "tiers and typed withheld reasons",
    "mesh 2.2": "agent_trigger decides with the same function",
    "mesh 3.1": "the Task Envelope and its bounds",
    "mesh 3.2": "context references are read as the recipient",
    "mesh 3.3": "a parent is an open thread of the caller; chains are 8 deep",
    "mesh 3.4": "rate limits with retryAfterSeconds",
    "mesh 4.1": "the states of a thread",
    "mesh 4.2": "closed exactly once; later closes name the state that won",
    "mesh 4.3": "the originator is notified; notifications cause none",
    "mesh 4.4": "leases, attempts, dead letters",
    "mesh 4.5": "reading the inbox is safe to repeat",
    "mesh 4.6": "order is priority, then arrival",
    "mesh 4.7": "every end is an event with a reason",
    "mesh 5.1": "the Python mailbox client",
    "mesh 5.2": "agent run",
    "mesh 5.3": "inbox by MCP",
    "mesh 5.4": "launched sessions",
    "mesh 5.5": "progress and usage feed the room and insight",
    "mesh 6": "channels and creation are the person's",
}

NOT_BUILT = frozenset({"mesh 5.4", "mesh 5.5"})

PARTLY_BUILT = {
    "mesh 1": "launch comes later",
}
