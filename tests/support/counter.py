"""A small kind of owner for tests of hosts: counts, tells another counter, and fails on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.decision import (
    Answer,
    CancelTimer,
    Context,
    Decision,
    Delete,
    Event,
    Message,
    Notify,
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
from tools.errors import NOT_FOUND, Code, Refusal
from tools.setting_catalogue import GRID_COLUMNS


@dataclass
class Count:
    rows: dict[str, Value] = field(default_factory=dict)

    @property
    def value(self) -> int:
        value = self.rows.get("head", 0)
        assert isinstance(value, int)
        return value


def _add(state: Count, message: Message, context: Context) -> Decision:
    total = state.value + 1
    return Decision({"total": total}, (Put("head", total), Event("test.added", {"total": total})))


def _add_at(state: Count, message: Message, context: Context) -> Decision:
    """An addition that names the total that it saw."""
    if message.body["expected"] != state.value:
        return Decision(Refusal(Code.VERSION_CONFLICT, "The total is another one."))
    return _add(state, message, context)


def _total(state: Count, message: Message, context: Context) -> Record:
    if "gone" in state.rows:
        raise LookupError("nobody asks for the fingerprint of what is not there")
    return {"total": state.value}


def _as_of_now(state: Count, arguments: Record) -> Record:
    return {**arguments, "expected": state.value}


def _read(state: Count, message: Message, context: Context) -> Decision:
    return Decision({"total": state.value, "whole": "extra" in state.rows})


def _tell(state: Count, message: Message, context: Context) -> Decision:
    to = Address.parse(str(message.body["to"]))
    wait = message.body.get("wait") is True
    return Decision({"told": True}, (Put("told", context.call_id), Send(to, "told", {}, before_reply=wait)))


def _told(state: Count, message: Message, context: Context) -> Decision:
    return Decision(None, (Put("head", state.value + 1), Event("test.told", {"total": state.value + 1})))


def _ask(state: Count, message: Message, context: Context) -> Decision:
    to = Address.parse(str(message.body["to"]))
    return Decision(None, (Put("asked", context.call_id), Send(to, "asked", {"call": context.call_id})))


def _asked(state: Count, message: Message, context: Context) -> Decision:
    sender = context.principal.owner
    assert sender is not None
    return Decision(None, (Send(sender, "answered", {"call": message.body["call"], "total": state.value}),))


def _answered(state: Count, message: Message, context: Context) -> Decision:
    answer: Record = {"total": message.body["total"]}
    return Decision(None, (Answer(str(message.body["call"]), answer), Delete("asked")))


def _close(state: Count, message: Message, context: Context) -> Decision:
    return Decision({}, (Answer(str(message.body["call"]), {"total": 7}),))


def _fail(state: Count, message: Message, context: Context) -> Decision:
    raise RuntimeError("a secret in an exception")


def _half(state: Count, message: Message, context: Context) -> Decision:
    return Decision({}, (Put("head", 99), Put("bad", message.body.get("value"))))


def _set_alarm(state: Count, message: Message, context: Context) -> Decision:
    seconds = message.body["seconds"]
    assert isinstance(seconds, int)
    name = str(message.body.get("name", "alarm"))
    return Decision({}, (SetTimer(name, context.now_ms + seconds * 1_000, str(message.body["verb"]), {}),))


def _cancel_alarm(state: Count, message: Message, context: Context) -> Decision:
    return Decision({}, (CancelTimer("alarm"),))


def _rang(state: Count, message: Message, context: Context) -> Decision:
    total = state.value + 1
    return Decision(None, (Put("head", total), Event("test.rang", {"total": total})))


def _followed(state: Count, message: Message, context: Context) -> Decision:
    assert context.source is not None
    shard, sequence = context.source
    return Decision(None, (Put(f"vector/{shard}", sequence), Put(f"event/{shard}/{sequence:08}", message.body)))


def _announce(state: Count, message: Message, context: Context) -> Decision:
    total = state.value + 1
    return Decision({"total": total}, (Put("head", total), Notify(f"counter/{context.address.id}", {"total": total})))


def _refuse(state: Count, message: Message, context: Context) -> Decision:
    return Decision(NOT_FOUND)


def _odd(state: Count, message: Message, context: Context) -> Decision:
    return Decision({"text": "\ud800"})


_ANY: Final = frozenset(PrincipalKind)


class CounterRules(Rules[Count]):
    kind = "counter"
    verbs: Mapping[str, Verb[Count]] = {
        "add": Verb(_add, _ANY, fingerprint=_total),
        "add_at": Verb(_add_at, _ANY, fingerprint=_total, as_of_now=_as_of_now),
        "read": Verb(_read, _ANY),
        "glance": Verb(_read, _ANY, head_only=True),
        "tell": Verb(_tell, _ANY),
        "told": Verb(_told, frozenset({PrincipalKind.OWNER})),
        "ask": Verb(_ask, _ANY),
        "asked": Verb(_asked, frozenset({PrincipalKind.OWNER})),
        "answered": Verb(_answered, frozenset({PrincipalKind.OWNER})),
        "keep_open": Verb(lambda s, m, c: Decision(None), _ANY),
        "close": Verb(_close, _ANY),
        "fail": Verb(_fail, _ANY),
        "half": Verb(_half, _ANY),
        "refuse": Verb(_refuse, _ANY, fingerprint=_total),
        "setting": Verb(lambda s, m, c: Decision({"columns": c.settings.of(GRID_COLUMNS)}), _ANY),
        "who": Verb(lambda s, m, c: Decision({"by": c.principal.label(), "call": c.call_id}), _ANY),
        "go": Verb(lambda s, m, c: Decision({}, (Put("gone", True),)), _ANY),
        "odd": Verb(_odd, _ANY),
        "make_odd": Verb(lambda s, m, c: Decision({}, (Put("odd", True),)), _ANY),
        "alarm": Verb(_set_alarm, _ANY),
        "cancel": Verb(_cancel_alarm, _ANY),
        "rang": Verb(_rang, frozenset({PrincipalKind.TIMER})),
        "rang badly": Verb(_fail, frozenset({PrincipalKind.TIMER})),
        "events_happened": Verb(_followed, frozenset({PrincipalKind.OWNER})),
        "announce": Verb(_announce, _ANY),
        "extra": Verb(lambda s, m, c: Decision({}, (Put("extra", True),)), _ANY),
    }

    def new_state(self) -> Count:
        return Count()

    def apply(self, state: Count, effect: RowEffect) -> None:
        match effect:
            case Put("bad", "raise"):
                raise RuntimeError("a defect in apply")
            case Put(row, value):
                state.rows[row] = value
            case Delete(row):
                state.rows.pop(row, None)

    def problems(self, state: Count) -> list[str]:
        return ["the count is odd on purpose"] if state.rows.get("odd") else []


class FollowerRules(CounterRules):
    """A projection of what counters tell."""

    kind = "follower"
    follows = frozenset({"test.added", "test.rang"})
