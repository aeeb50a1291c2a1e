"""What a shard keeps of a call's answer: given, left open, too old to know, or nothing (ARCHITECTURE, Messages)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bus.codec import CorruptRow, unpack_row
from bus.envelope import Reply
from bus.known_calls import KnownCalls
from bus.store import Store, answer_key
from tools.errors import Code, Refusal


@dataclass(frozen=True, slots=True)
class Open:
    """A call that was decided and waits for an `Answer`; a repeat joins it."""


UNKNOWN: Final = Refusal(
    Code.OUTCOME_UNKNOWN,
    "This call was made too long ago to know whether it took effect. Look at the present state before you try again.",
)


def kept_answer(call_id: str, store: Store, known: KnownCalls, floor: Callable[[], str]) -> Reply | Open | None:
    """None: it was never decided. Calls of an id that is not above the floor are never decided: their answers may be
    gone, and they are answered UNKNOWN. The floor is asked again after a miss, since it rises before an answer goes.
    Any thread."""
    if call_id > floor() and not known.may_be_known(call_id):
        return None
    stored = store.get(answer_key(call_id))
    if stored is None:
        return Reply(call_id, None, UNKNOWN.to_record()) if call_id <= floor() else None
    try:
        answer = unpack_row(stored)
    except CorruptRow:
        return Reply(call_id, None, UNKNOWN.to_record())
    assert isinstance(answer, dict)
    if "open" in answer:
        return Open()
    ok, error = answer.get("ok"), answer.get("error")
    return Reply(call_id, ok if isinstance(ok, dict) else None, error if isinstance(error, dict) else None)
