"""A kind of owner that keeps what it is given, as a stream of Redis or NATS does: what the bus costs, and no rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from actors.decision import Context, Decision, Event, Message, PrincipalKind, Put, RowEffect, Rules, Verb


@dataclass(slots=True)
class Count:
    items: int = 0


def _enqueue(state: Count, message: Message, context: Context) -> Decision:
    number = state.items + 1
    return Decision({"number": number}, (Put(f"item/{number:012d}", message.body["item"]),))


def _enqueue_told(state: Count, message: Message, context: Context) -> Decision:
    number = state.items + 1
    event = Event("queue.added", {"number": number})
    return Decision({"number": number}, (Put(f"item/{number:012d}", message.body["item"]), event))


def _size(state: Count, message: Message, context: Context) -> Decision:
    return Decision({"items": state.items})


_CALLERS = frozenset({PrincipalKind.PERSON})


class QueueRules(Rules[Count]):
    """`enqueue` stores one row and its answer; `enqueue_told` an event in the journal besides, as tools' writes do."""

    kind = "queue"
    verbs: Mapping[str, Verb[Count]] = {
        "enqueue": Verb(_enqueue, _CALLERS),
        "enqueue_told": Verb(_enqueue_told, _CALLERS),
        "size": Verb(_size, _CALLERS),
    }

    def new_state(self) -> Count:
        return Count()

    def apply(self, state: Count, effect: RowEffect) -> None:
        state.items += 1
