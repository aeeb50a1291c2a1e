"""Tells the agent's owner how much of what the agent sent, and was answered, is kept (common 8.5).

A sender answers for its tasks, which lie in the recipients' mailboxes while they are open, and for the results, which
lie in its own until they are forgotten. So nobody fills another's share, and a chain of tasks is bounded by the share
of whoever began it.
"""

from __future__ import annotations

from actors.decision import Context, Decide, Decision, Delete, Effect, Message, Put, Send
from actors.mailbox.state import MailboxState
from bus import address
from bus.limits import stored_report_bytes


def reporting_stored(decide: Decide[MailboxState]) -> Decide[MailboxState]:
    """`decide`, followed by a `stored` to the own agent owner when its effects change the sum by enough."""

    def decide_and_report(state: MailboxState, message: Message, context: Context) -> Decision:
        decision = decide(state, message, context)
        size = state.stored_bytes + sum(_grown(state, effect) for effect in decision.effects)
        if size // stored_report_bytes == state.stored_bytes // stored_report_bytes:
            return decision
        told = Send(address.agent(context.address.id), "stored", {"place": str(context.address), "bytes": size})
        return Decision(decision.reply, (*decision.effects, told))

    return decide_and_report


def _grown(state: MailboxState, effect: Effect) -> int:
    if not isinstance(effect, (Put, Delete)):
        return 0
    kind, _, thread_id = effect.row.partition("/")
    if kind not in ("offer", "sent"):
        return 0
    former = state.offers.get(thread_id) if kind == "offer" else state.sent.get(thread_id)
    value = effect.value if isinstance(effect, Put) else None
    now = value.get("bytes", 0) if isinstance(value, dict) else 0
    assert isinstance(now, int)
    return now - (0 if former is None else former.bytes)
