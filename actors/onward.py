"""A call that rides on its own admission, and when its host sends it on (docs/decisions/0007).

Invariant: it goes on under nothing but what its admission answered just now, and only if that is all there is to it: a
plain stamp, given under the scope that the call was addressed in, for this very call. Everything else is the gateway's
to go on from.

Pure.
"""

from __future__ import annotations

from bus.admitted import STAMP_DISPATCHED, STAMP_LOOK
from bus.envelope import Call, Reply
from bus.link import Peer
from bus.message_record import message_record


@message_record
class Admitting:
    """Who waits for an admission with a call riding on it."""

    peer: Peer
    admission: Call


@message_record
class Admitted:
    """Who waits for a call that was sent on from its admission, and is told its answer as that of the admission."""

    peer: Peer
    admission: Reply

    def told(self, answer: Reply) -> Reply:
        """What it hears."""
        return Reply(self.admission.call_id, answer.ok, answer.error, self.admission.ok)


def call_sent_on(admission: Call, answer: Reply) -> Call | None:
    """The call that goes on by this answer, under its stamp and within the same deadline."""
    onward, told = admission.onward, answer.ok
    if onward is None or told is None or "needs" in told:
        return None
    stamp = told.get("stamp")
    if not isinstance(stamp, dict) or STAMP_DISPATCHED in stamp or STAMP_LOOK in stamp:
        return None
    if stamp.get("workspaceId") != onward.workspace_id or told.get("callId", onward.call_id) != onward.call_id:
        return None
    return Call(onward.call_id, onward.to, onward.verb, onward.body, stamp, admission.deadline_ms)
