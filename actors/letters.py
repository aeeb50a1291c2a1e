"""Dead letters of a shard: listed with why they died, put back into the stream, or dropped by the person.

Invariants: a letter is put back or dropped once: its row goes in the commit that sends it again, and while that commit
is on its way the letter is taken. Both are events by the person, and their answers are kept like those of any call
with effects. The parcel keeps its sender, so its receiver judges it as before.

Runs on the host's loop thread, but for `listing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from actors.backup import Tell
from actors.decision import PrincipalKind, Rules
from bus import address
from bus.address import Address
from bus.admitted import CALL_ADMITTED
from bus.clock import Clock
from bus.codec import CorruptRow, pack_row, unpack_row, unpack_versioned
from bus.envelope import Call, Mark, Reply
from bus.journal import Commit, Journal, Outgoing
from bus.limits import page_items_default, page_items_max
from bus.store import Store, answer_key, dead_letter_key, letter_of, state_prefix
from bus.value import Record, Value
from tools.errors import NOT_FOUND, Code, Refusal, unavailable

_DAMAGED: Final = Refusal(
    Code.WRONG_STATE, "That letter is damaged and cannot be sent again. It can be dropped: nexus-bus dead drop"
)
_SETTLED: Final = Refusal(
    Code.WRONG_STATE,
    "That letter is a call of an agent, which was told that it failed and may have called again since. It can be "
    "dropped: nexus-bus dead drop",
)
_FULL: Final = Refusal(Code.STORAGE_FULL, "The disk that holds NEXUS is full, so nothing was changed.")
_NOT_STORED: Final = unavailable("The change could not be stored and was not made. Try again in a moment.")


@dataclass(frozen=True, slots=True)
class _Letter:
    to: Address
    verb: str
    body: Record
    sender: Address
    message_id: str
    call_id: str


class Letters:
    """Answers the verbs about dead letters."""

    def __init__(
        self,
        shard: int,
        shards: int,
        store: Store,
        clock: Clock,
        roster: Mapping[str, Rules[Any]],
        next_incarnation: Callable[[], int],
        from_thread: Callable[[Callable[[], None]], None],
    ) -> None:
        self._shard = shard
        self._shards = shards
        self._store = store
        self._clock = clock
        self._roster = roster
        self._next_incarnation = next_incarnation
        self._from_thread = from_thread
        self._taken: set[bytes] = set()
        self.verbs: Final[Mapping[str, Callable[[Call, Tell], None]]] = {
            "dead_retry": self._retry,
            "dead_drop": self._drop,
        }

    def attach(self, journal: Journal) -> None:
        self._journal = journal

    def listing(self, body: Record) -> Record:
        """One page after the letter `after`. Looks at the receivers' rows: for the thread beside the loop."""
        after, limit = body.get("after"), body.get("limit")
        position = None if after is None else _key_of(str(after))
        count = min(limit if isinstance(limit, int) and limit > 0 else page_items_default, page_items_max)
        rows = self._store.scan(b"d", position, count)
        answer: Record = {"letters": [self._describe(key, value) for key, value in rows]}
        if len(rows) == count:
            answer["next"] = _name_of(rows[-1][0])
        return answer

    def _describe(self, key: bytes, value: bytes) -> Value:
        described: Record = {"letter": _name_of(key), "shard": self._shard}
        try:
            letter = _letter(value)
        except CorruptRow:
            return {**described, "why": "The letter itself fails its checksum."}
        described |= {"to": str(letter.to), "verb": letter.verb, "from": str(letter.sender)}
        return {**described, "call": letter.call_id, "message": letter.message_id, "why": self._why(letter)}

    def _why(self, letter: _Letter) -> str:
        """As far as it can be told now; a defect's text stands in the host's log, never in a store."""
        rules = self._roster.get(letter.to.kind)
        if rules is None:
            return f"No owner is of the kind {letter.to.kind}."
        verb = rules.verbs.get(letter.verb)
        if verb is None:
            return f"Owners of the kind {letter.to.kind} know no verb {letter.verb}."
        if PrincipalKind.OWNER not in verb.callers:
            return f"The verb {letter.verb} is not for owners to send."
        for _, value in self._store.scan(state_prefix(letter.to)):
            try:
                unpack_versioned(value)
            except CorruptRow:
                return "A stored row of its receiver fails its checksum; nexus-bus doctor names it."
        return "Its receiver failed to handle it, each time it was tried; the host's log says how."

    def _retry(self, call: Call, tell: Tell) -> None:
        found = self._found(call, tell)
        if found is None:
            return
        key, value = found
        try:
            letter = _letter(value)
        except CorruptRow:
            tell(_DAMAGED)
            return
        if letter.verb == CALL_ADMITTED and letter.sender.kind == "agent":
            tell(_SETTLED)
            return
        outgoing = Outgoing(
            letter.to.shard(self._shards), letter.to, letter.verb, letter.body, before_reply=False, sender=letter.sender
        )
        event: Record = {"letter": _name_of(key), "to": str(letter.to), "verb": letter.verb}
        # Under the call that led to it, so that a trace of that call goes on here.
        self._commit(call, tell, key, letter.call_id, ("message.retried", event), [outgoing])

    def _drop(self, call: Call, tell: Tell) -> None:
        found = self._found(call, tell)
        if found is None:
            return
        key, value = found
        event: Record = {"letter": _name_of(key)}
        call_id = call.call_id
        try:
            letter = _letter(value)
            event |= {"to": str(letter.to), "verb": letter.verb}
            call_id = letter.call_id
        except CorruptRow:
            pass
        self._commit(call, tell, key, call_id, ("message.dropped", event), [])

    def _found(self, call: Call, tell: Tell) -> tuple[bytes, bytes] | None:
        """The letter's row; None when the call is answered already."""
        known = self._store.get(answer_key(call.call_id))
        if known is not None:
            answer = unpack_row(known)
            ok = answer.get("ok") if isinstance(answer, dict) else None
            tell(ok if isinstance(ok, dict) else NOT_FOUND)
            return None
        key = _key_of(str(call.body["letter"]))
        value = self._store.get(key)
        if value is None:
            tell(NOT_FOUND)
            return None
        if key in self._taken:
            tell(unavailable("That letter is being dealt with. Look again in a moment."))
            return None
        return key, value

    def _commit(
        self, call: Call, tell: Tell, key: bytes, origin: str, event: tuple[str, Record], outgoing: list[Outgoing]
    ) -> None:
        ok: Record = {"letter": _name_of(key), "shard": self._shard}
        self._taken.add(key)

        def over(refusal: Refusal | None) -> None:
            self._taken.discard(key)
            if refusal is not None:
                tell(refusal)

        self._journal.submit(
            Commit(
                owner=address.host(self._shard),
                incarnation=self._next_incarnation(),
                call_id=origin,
                by=PrincipalKind.PERSON.value,
                at_ms=self._clock.now_ms(),
                rows=[(key, None), (answer_key(call.call_id), pack_row({"ok": ok}))],
                events=[event],
                answers_added=1,
                is_privileged=True,
                outgoing=outgoing,
                replies=[Reply(call.call_id, ok, None)],
                released=lambda: self._from_thread(lambda: over(None)),
                failed=lambda is_full: self._from_thread(lambda: over(_FULL if is_full else _NOT_STORED)),
            )
        )


def _letter(stored: bytes) -> _Letter:
    """Raises CorruptRow, also for what is no letter."""
    row = unpack_row(stored)
    try:
        assert isinstance(row, dict)
        body = row["body"]
        assert isinstance(body, dict)
        to, sender = Address.parse(str(row["to"])), Address.parse(str(row["from"]))
        return _Letter(to, str(row["verb"]), body, sender, str(row["message"]), str(row["call"]))
    except (AssertionError, KeyError, ValueError) as problem:
        raise CorruptRow("not a dead letter") from problem


def _name_of(key: bytes) -> str:
    """How the person names a letter: source shard, sequence and index of the parcel that it was."""
    source, mark = letter_of(key)
    return f"{source}:{mark.sequence}:{mark.index}"


def _key_of(name: str) -> bytes:
    """Raises KeyError for what names no letter: the host answers it as a bad argument."""
    try:
        source, sequence, index = (int(part) for part in name.split(":"))
        return dead_letter_key(source, Mark(sequence, index))
    except (ValueError, OverflowError):
        raise KeyError(name) from None
