"""An agent's mailbox, `mailbox/-/ID`: the tasks sent to it, and the mirror of the tasks it sent.

Invariants: the recipient's mailbox is the authority on a thread; a thread ends exactly once; nothing is queued that
could not be delivered; a notification never causes another message; at most one runtime has a thread leased.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.decision import RowEffect, Rules, Verb
from actors.mailbox import closing, due, inbox, leasing, oversight, request_notices, sending
from actors.mailbox.invariants import problems
from actors.mailbox.state import MailboxState, apply


class MailboxRules(Rules[MailboxState]):
    """One agent's mailbox: the authority over the threads that it receives."""

    @property
    def kind(self) -> str:
        return "mailbox"

    @property
    def verbs(self) -> Mapping[str, Verb[MailboxState]]:
        return _TABLE.verbs

    def new_state(self) -> MailboxState:
        return MailboxState()

    def apply(self, state: MailboxState, effect: RowEffect) -> None:
        apply(state, effect)

    def problems(self, state: MailboxState) -> list[str]:
        return problems(state)

    def shed(self, state: MailboxState) -> bool:
        return state.shed()


_TABLE: Final = (
    sending.VERBS | inbox.VERBS | closing.VERBS | leasing.VERBS | due.VERBS | oversight.VERBS | request_notices.VERBS
)
RULES: Final = MailboxRules()
