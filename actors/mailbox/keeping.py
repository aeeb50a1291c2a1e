"""How long a mailbox keeps what is over: news for 24 hours, ended threads and undeliverable tasks up to a number.

A little is cleared with each write, at least as much as the write adds, so that no single commit has much to clear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Protocol

from actors.decision import Delete
from actors.mailbox.rows import Received, request_row, result_row, sent_row
from actors.mailbox.state import MailboxState
from actors.mailbox.thread import ENDS
from bus.limits import (
    cleared_at_once_max,
    dead_letter_tasks_kept_max,
    ended_threads_kept_max,
    notification_listed_ms,
    request_notices_kept_max,
)


class _Changing(Protocol):
    """What a decision changes (changes.py)."""

    state: MailboxState
    received: dict[str, Received | None]

    def thread(self, thread_id: str) -> Received | None: ...
    def growth(self, is_counted: Callable[[Received], bool]) -> int: ...
    def drop_task(self, thread_id: str) -> None: ...
    def forget(self, thread_id: str) -> None: ...


def is_listed(changed_ms: int, now_ms: int) -> bool:
    """Whether a notification of this time is still shown (mesh 4.3)."""
    return now_ms - changed_ms < notification_listed_ms


def without_old_notices(state: MailboxState, now_ms: int) -> tuple[Delete, ...]:
    """Forget the oldest sent threads that ended more than 24 hours ago."""
    oldest = islice(state.notices, cleared_at_once_max)
    return tuple(
        Delete(row)
        for changed_ms, thread_id in oldest
        if not is_listed(changed_ms, now_ms) and state.sent[thread_id].state in ENDS
        for row in (sent_row(thread_id), result_row(thread_id))
    )


def without_old_requests(state: MailboxState, now_ms: int) -> Iterator[Delete]:
    """Forget request notices of more than 24 hours ago, and the oldest when one more would be too many."""
    surplus = len(state.request_ends) + 1 - request_notices_kept_max
    for place, (ended_ms, request_id) in enumerate(islice(state.request_ends, cleared_at_once_max)):
        if place < surplus or not is_listed(ended_ms, now_ms):
            yield Delete(request_row(request_id))


def drop_surplus_dead_letters(changes: _Changing) -> None:
    """Of the exhausted threads only the last ones can be requeued."""
    surplus = _surplus(changes, len(changes.state.dead_letters), _keeps_task, dead_letter_tasks_kept_max)
    if surplus > 0:
        oldest = chain((thread_id for _, thread_id in changes.state.dead_letters), [*changes.received])
        for thread_id in islice((id_ for id_ in oldest if _is(changes, id_, _keeps_task)), surplus):
            changes.drop_task(thread_id)


def forget_old_ends(changes: _Changing) -> None:
    """Forget the oldest ended threads beyond the number that is kept; a late close then finds nothing."""
    added = changes.growth(_has_ended) if changes.received else 0
    surplus = min(len(changes.state.ended) + added - ended_threads_kept_max, max(added, 0) + cleared_at_once_max)
    if added > 0 and surplus > 0:
        oldest = (thread_id for _, thread_id in changes.state.ended if changes.thread(thread_id) is not None)
        for thread_id in [*islice(oldest, surplus)]:
            changes.forget(thread_id)


def _surplus(changes: _Changing, count: int, is_counted: Callable[[Received], bool], limit: int) -> int:
    return count + changes.growth(is_counted) - limit if changes.received else 0


def _is(changes: _Changing, thread_id: str, is_counted: Callable[[Received], bool]) -> bool:
    row = changes.thread(thread_id)
    return row is not None and is_counted(row)


def _has_ended(row: Received) -> bool:
    return row.has_ended


def _keeps_task(row: Received) -> bool:
    return row.keepsTask
