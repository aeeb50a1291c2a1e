"""Tells the agent's owner how many things wait, whenever a decision changes it (common 1.11).

What waits: tasks received and not begun (queued or delivered), and notifications that no reading has listed yet. A
task that was read still waits, since its sender still waits for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.decision import Context, Decide, Decision, Delete, Effect, Message, Put, Send
from actors.mailbox.state import MailboxState, Received, Sent, waits
from bus import address


def reporting_waiting(decide: Decide[MailboxState]) -> Decide[MailboxState]:
    """`decide`, followed by a `waiting_changed` to the own agent owner if its effects change the count."""

    def decide_and_report(state: MailboxState, message: Message, context: Context) -> Decision:
        decision = decide(state, message, context)
        count = _waiting_after(state, decision.effects)
        if count == state.waiting:
            return decision
        report = Send(address.agent(context.address.id), "waiting_changed", {"count": count})
        return Decision(decision.reply, (*decision.effects, report))

    return decide_and_report


def _waiting_after(state: MailboxState, effects: Sequence[Effect]) -> int:
    # Exact only because no decision writes one row twice.
    count = state.waiting
    for effect in effects:
        if not isinstance(effect, (Put, Delete)):
            continue
        kind, _, thread_id = effect.row.partition("/")
        value = effect.value if isinstance(effect, Put) else None
        if kind == "received":
            row = None if value is None else Received.model_validate(value)
            count += waits(row) - waits(state.received.get(thread_id))
        elif kind == "sent":
            mirror = None if value is None else Sent.model_validate(value)
            count += waits(mirror) - waits(state.sent.get(thread_id))
    return count
