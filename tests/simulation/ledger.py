"""Owners that count what happens to them, so that anything lost, doubled or out of order shows in their rows.

| row | holds |
| --- | --- |
| head | the total: one for each `add`, and one for each `given` that arrived |
| effect/CALL | how often the call had its effect |
| gave/OWNER | how many were sent to that owner |
| got/OWNER | the number of the last that arrived from it |
| wrong/... | what came in the wrong order, again, too early, too late, or after what was approved had changed: never |
| asked/CALL | a question on its way; the call that asked it is open |
| set/NAME | how often a timer of that name was set, and for when |
| rang/NAME/DUE | how often it rang for that time: once, unless it was set anew before |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.decision import (
    Answer,
    Context,
    Decision,
    Delete,
    Event,
    Message,
    PrincipalKind,
    Put,
    RowEffect,
    Rules,
    Send,
    SetTimer,
    Verb,
)
from bus.address import Address
from bus.value import Record, Value
from tools.errors import NOT_FOUND


@dataclass
class Ledger:
    rows: dict[str, Value] = field(default_factory=dict)

    def number(self, row: str) -> int:
        value = self.rows.get(row, 0)
        assert isinstance(value, int)
        return value


def _effect(state: Ledger, context: Context) -> Put:
    row = f"effect/{context.call_id}"
    return Put(row, state.number(row) + 1)


def _add(state: Ledger, message: Message, context: Context) -> Decision:
    """A call that a purse sent on says by when, and what its approval saw."""
    before = state.number("head")
    effects: list[Put | Event] = [Put("head", before + 1), _effect(state, context)]
    deadline_ms, seen = message.body.get("by"), message.body.get("seen", before)
    if isinstance(deadline_ms, int) and deadline_ms < context.now_ms:
        effects.append(Put(f"wrong/late/{context.call_id}", context.now_ms))
    if seen != before:
        effects.append(Put(f"wrong/seen/{context.call_id}", before))
    return Decision({"total": before + 1}, (*effects, Event("test.added", {"total": before + 1})))


def _total(state: Ledger, message: Message, context: Context) -> Record:
    return {"total": state.number("head")}


def _read(state: Ledger, message: Message, context: Context) -> Decision:
    return Decision({"total": state.number("head")})


def _give(state: Ledger, message: Message, context: Context) -> Decision:
    """Send one, or several in one commit."""
    to = Address.parse(str(message.body["to"]))
    wait, many = message.body.get("wait") is True, message.body["many"]
    assert isinstance(many, int)
    row = f"gave/{str(to).replace('/', '.')}"
    first = state.number(row) + 1
    last = first + many - 1
    onward = message.body.get("onward")
    sends = [
        Send(to, "given", {"number": number, "onward": onward}, before_reply=wait) for number in range(first, last + 1)
    ]
    return Decision({"first": first, "last": last}, (Put(row, last), _effect(state, context), *sends))


def _given(state: Ledger, message: Message, context: Context) -> Decision:
    sender = context.principal.owner
    assert sender is not None
    row = f"got/{str(sender).replace('/', '.')}"
    number, total = message.body["number"], state.number("head") + 1
    assert isinstance(number, int)
    effects: list[Put | Event | Send] = [Put("head", total), Put(row, number), Event("test.given", {"total": total})]
    if number != state.number(row) + 1:
        effects.append(Put(f"wrong/{str(sender).replace('/', '.')}/{number}/{state.number(row)}", True))
    onward = message.body.get("onward")
    if isinstance(onward, str):
        to = Address.parse(onward)
        gave = f"gave/{onward.replace('/', '.')}"
        effects.append(Put(gave, state.number(gave) + 1))
        effects.append(Send(to, "given", {"number": state.number(gave) + 1}))
    return Decision(None, tuple(effects))


def _ask(state: Ledger, message: Message, context: Context) -> Decision:
    """Left open; answered with the other's total when that comes back."""
    to = Address.parse(str(message.body["to"]))
    effects = (_effect(state, context), Put(f"asked/{context.call_id}", True))
    return Decision(None, (*effects, Send(to, "asked", {"call": context.call_id})))


def _asked(state: Ledger, message: Message, context: Context) -> Decision:
    sender = context.principal.owner
    assert sender is not None
    return Decision(None, (Send(sender, "answered", {"call": message.body["call"], "total": state.number("head")}),))


def _answered(state: Ledger, message: Message, context: Context) -> Decision:
    call, answer = str(message.body["call"]), Record({"total": message.body["total"]})
    return Decision(None, (Answer(call, answer), Delete(f"asked/{call}")))


def _alarm(state: Ledger, message: Message, context: Context) -> Decision:
    name, milliseconds = str(message.body["name"]), message.body["ms"]
    assert isinstance(milliseconds, int)
    due_ms = context.now_ms + milliseconds
    timer = SetTimer(name, due_ms, "ring", {"name": name, "due": due_ms})
    return Decision({"due": due_ms}, (Put(f"set/{name}", due_ms), _effect(state, context), timer))


def _ring(state: Ledger, message: Message, context: Context) -> Decision:
    name, due_ms = str(message.body["name"]), message.body["due"]
    assert isinstance(due_ms, int)
    row = f"rang/{name}/{due_ms}"
    effects: list[Put | Event] = [Put(row, state.number(row) + 1), Event("test.rang", {"due": due_ms})]
    if context.now_ms < due_ms or state.number(f"set/{name}") != due_ms:
        effects.append(Put(f"wrong/ring/{name}/{due_ms}", True))
    return Decision(None, tuple(effects))


def _poison(state: Ledger, message: Message, context: Context) -> Decision:
    """Send something that its receiver cannot decide: it becomes a dead letter and holds nobody up for long."""
    to = Address.parse(str(message.body["to"]))
    return Decision({}, (_effect(state, context), Send(to, "poisoned", {})))


def _fail(state: Ledger, message: Message, context: Context) -> Decision:
    raise RuntimeError("a defect in a decision")


def _half(state: Ledger, message: Message, context: Context) -> Decision:
    """Effects of which the last cannot be applied."""
    return Decision({}, (Put("head", state.number("head") + 1_000), _effect(state, context), Put("bad", "raise")))


def _refuse(state: Ledger, message: Message, context: Context) -> Decision:
    return Decision(NOT_FOUND)


_ANY: Final = frozenset(PrincipalKind)
_OWNER: Final = frozenset({PrincipalKind.OWNER})


class LedgerRules(Rules[Ledger]):
    kind = "ledger"
    verbs: Mapping[str, Verb[Ledger]] = {
        "add": Verb(_add, _ANY, fingerprint=_total),
        "read": Verb(_read, _ANY),
        "glance": Verb(_read, _ANY, head_only=True),
        "give": Verb(_give, _ANY),
        "given": Verb(_given, _OWNER),
        "ask": Verb(_ask, _ANY),
        "asked": Verb(_asked, _OWNER),
        "answered": Verb(_answered, _OWNER),
        "alarm": Verb(_alarm, _ANY),
        "ring": Verb(_ring, frozenset({PrincipalKind.TIMER})),
        "poison": Verb(_poison, _ANY),
        "poisoned": Verb(_fail, _OWNER),
        "fail": Verb(_fail, _ANY),
        "half": Verb(_half, _ANY),
        "refuse": Verb(_refuse, _ANY),
    }

    def new_state(self) -> Ledger:
        return Ledger()

    def apply(self, state: Ledger, effect: RowEffect) -> None:
        match effect:
            case Put("bad", _):
                raise RuntimeError("a defect in apply")
            case Put(row, value):
                state.rows[row] = value
            case Delete(row):
                state.rows.pop(row, None)
