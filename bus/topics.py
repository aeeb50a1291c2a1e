"""The topics that owners give notice of and gateways listen for (docs/decisions/0012-protocol.md).

All of them are an agent's. A topic's notices come from the shard of the owner that gives them: the agent's, but for
`deliveries_topic`, which is its mailbox's.
"""

from __future__ import annotations


def mailbox_topic(agent_id: str) -> str:
    """What waits for the agent has changed. Data: {waiting}, how much does."""
    return f"mailbox/{agent_id}"


def authority_topic(agent_id: str) -> str:
    """Whoever the agent's credentials let in is to be judged anew. Data: {version}."""
    return f"authority/{agent_id}"


def approval_topic(approval_id: str) -> str:
    """The approval is decided, or is over. Data: {state}."""
    return f"approval/{approval_id}"


def deliveries_topic(agent_id: str) -> str:
    """Something can be leased, or a delivery was lost. From the mailbox's shard. Data: {leasable, lost}, both whether.

    A runtime's gateway leases when something can be, and renews to hear which deliveries are lost.
    """
    return f"deliveries/{agent_id}"
