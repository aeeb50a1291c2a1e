"""How fast an agent may send tasks, and how many of them may lie open in one mailbox (mesh 3.4, security 2.23)."""

from __future__ import annotations

from typing import Final

from actors.decision import Context
from actors.mailbox.state import MailboxState
from bus.identifier import milliseconds_of, time_ordered_id
from bus.limits import full_mailbox_retry_seconds, open_threads_sender_divisor
from tools.errors import Refusal, rate_limited
from tools.setting_catalogue import OPEN_THREADS, TRIGGERS_PER_MINUTE

_MINUTE_MS: Final = 60_000


def rate_refusal(state: MailboxState, context: Context) -> Refusal | None:
    """The sender's side: as many tasks in the last minute as may be. Those that were refused do not count."""
    limit = context.settings.of(TRIGGERS_PER_MINUTE)
    begun = state.begun
    if len(begun) < limit:
        return None
    since = time_ordered_id(max(0, context.now_ms - _MINUTE_MS + 1), bytes(10))
    if begun.count_from(since) < limit:
        return None
    wait_ms = milliseconds_of(begun.at(-limit)) + _MINUTE_MS - context.now_ms
    message = "You have sent as many tasks as you may in a minute. Wait for the seconds that are told, then go on."
    return _rate_limited(message, limit, max(1, -(-wait_ms // 1_000)))


def room_refusal(state: MailboxState, sender_id: str, context: Context) -> Refusal | None:
    """The recipient's side: its mailbox is full, or this sender has its part of it."""
    full = full_refusal(state, context)
    if full is not None:
        return full
    share = context.settings.of(OPEN_THREADS) // open_threads_sender_divisor
    if state.open_by_sender[sender_id] >= share:
        message = "You have as many open tasks with that agent as one sender may. Try again when it has answered some."
        return _rate_limited(message, share, full_mailbox_retry_seconds)
    return None


def full_refusal(state: MailboxState, context: Context) -> Refusal | None:
    limit = context.settings.of(OPEN_THREADS)
    if len(state.arrivals) < limit:
        return None
    message = "That agent has as many open tasks as a mailbox holds. Try again when it has answered some."
    return _rate_limited(message, limit, full_mailbox_retry_seconds)


def _rate_limited(message: str, limit: int, retry_seconds: int) -> Refusal:
    return rate_limited(message, {"retryAfterSeconds": retry_seconds, "limit": limit})
