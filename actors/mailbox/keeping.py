"""How long a mailbox keeps what is over: notifications for 24 hours, ended threads up to a number.

A little is cleared with each write, at least as much as the write adds, so that no single commit has much to clear.
"""

from __future__ import annotations

from itertools import islice

from actors.decision import Delete
from actors.mailbox.state import MailboxState, received_row, result_row, sent_row
from actors.mailbox.thread import ENDS
from bus.limits import cleared_at_once_max, ended_threads_kept_max, notification_listed_ms


def is_listed(changed_ms: int, now_ms: int) -> bool:
    """Whether a notification of this time is still shown (mesh 4.3)."""
    return now_ms - changed_ms < notification_listed_ms


def without_old_notices(state: MailboxState, now_ms: int) -> tuple[Delete, ...]:
    """Forget the oldest sent threads that ended more than 24 hours ago."""
    oldest = islice(state.notices.items, cleared_at_once_max)
    return tuple(
        Delete(row)
        for changed_ms, thread_id in oldest
        if not is_listed(changed_ms, now_ms) and state.sent[thread_id].state in ENDS
        for row in (sent_row(thread_id), result_row(thread_id))
    )


def without_old_ends(state: MailboxState) -> tuple[Delete, ...]:
    """Forget the oldest ended threads beyond the number that is kept; a late close then finds nothing."""
    surplus = min(len(state.ended.items) + 1 - ended_threads_kept_max, cleared_at_once_max)
    return tuple(Delete(received_row(thread_id)) for _, thread_id in state.ended.items[: max(surplus, 0)])
