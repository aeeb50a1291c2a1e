"""Runs one owner's rules inline: decide, then apply its effects, as the host does but without disk or threads."""

from __future__ import annotations

from typing import Generic, TypeVar

from actors.decision import (
    Answer,
    CancelTimer,
    ColdRow,
    Context,
    Decision,
    Delete,
    Dispatch,
    Event,
    Message,
    Notify,
    Principal,
    PrincipalKind,
    Put,
    Rules,
    Send,
    SetTimer,
    TellHosts,
)
from bus.address import Address
from bus.clock import ManualClock
from bus.value import Record, Value
from tools.errors import Refusal
from tools.setting_catalogue import DEFAULTS

State = TypeVar("State")
PERSON = Principal(PrincipalKind.PERSON)
GATEWAY = Principal(PrincipalKind.GATEWAY)


def agent(agent_id: str, workspace_id: str) -> Principal:
    return Principal(PrincipalKind.AGENT, agent_id, workspace_id, "default")


def gateway(incarnation: str) -> Principal:
    return Principal(PrincipalKind.GATEWAY, gateway=incarnation)


def owner(address: Address) -> Principal:
    return Principal(PrincipalKind.OWNER, owner=address)


class OwnerBench(Generic[State]):
    """`state` is the owner's; `rows` what the store would hold; `sent`, `events`, `answers` what left it, in order."""

    def __init__(self, rules: Rules[State], address: Address, clock: ManualClock | None = None) -> None:
        self.rules = rules
        self.address = address
        self.clock = clock or ManualClock()
        self.state = rules.new_state()
        self.rows: dict[str, Value] = {}
        self.sent: list[Send] = []
        self.events: list[Event] = []
        self.answers: list[Answer] = []
        self.timers: dict[str, SetTimer] = {}
        self.dispatched: list[Dispatch] = []
        self.told: list[TellHosts] = []
        self.notices: list[Notify] = []
        self.settings = DEFAULTS

    def cold_rows(self, verb: str, body: Record) -> tuple[ColdRow, ...]:
        """What the host would hand to the decision."""
        cold_rows = self.rules.verbs[verb].cold_rows
        wanted = None if cold_rows is None else cold_rows(Message(verb, body))
        if wanted is None:
            return ()
        assert self.rules.is_cold(wanted.prefix)
        names = sorted((row for row in self.rows if wanted.wants(row)), reverse=True)
        return tuple(ColdRow(row, None if wanted.names_only else self.rows[row]) for row in names[: wanted.limit])

    def decide(self, verb: str, body: Record, principal: Principal, call_id: str | None = None) -> Decision:
        """Decide without applying. Fails the test if the principal may not send this verb."""
        rule = self.rules.verbs[verb]
        assert principal.kind in rule.callers, f"{principal.kind} may not send {verb}"
        context = Context(
            self.clock.now_ms(),
            principal,
            call_id or self.clock.new_id(),
            self.address,
            settings=self.settings,
            cold=self.cold_rows(verb, body),
        )
        return rule.decide(self.state, Message(verb, body), context)

    def send(
        self, verb: str, body: Record, principal: Principal, call_id: str | None = None
    ) -> Record | Refusal | None:
        """Decide and apply; answers the reply."""
        decision = self.decide(verb, body, principal, call_id)
        for effect in decision.effects:
            match effect:
                case Put(row, value):
                    assert len(row.encode()) <= 300
                    self.rows[row] = value
                    self._apply(effect)
                case Delete(row):
                    self.rows.pop(row, None)
                    self._apply(effect)
                case Send():
                    self.sent.append(effect)
                case Event():
                    self.events.append(effect)
                case Answer():
                    self.answers.append(effect)
                case SetTimer():
                    self.timers[effect.name] = effect
                case CancelTimer(name):
                    self.timers.pop(name, None)
                case Dispatch():
                    self.dispatched.append(effect)
                case TellHosts():
                    self.told.append(effect)
                case Notify():
                    self.notices.append(effect)
        assert self.rules.problems(self.state) == []
        return decision.reply

    def _apply(self, effect: Put | Delete) -> None:
        if not self.rules.is_cold(effect.row):
            self.rules.apply(self.state, effect)

    def fire(self, name: str) -> None:
        """The timer of that name is due."""
        timer = self.timers.pop(name)
        self.clock.advance(max(timer.due_ms - self.clock.now_ms(), 0))
        self.send(timer.verb, timer.body, Principal(PrincipalKind.TIMER, owner=self.address))

    def reloaded(self) -> State:
        """The state that a restart would build from the stored rows (in key order, as the store gives them)."""
        state = self.rules.new_state()
        for row in sorted(self.rows, key=str.encode):
            if not self.rules.is_cold(row):
                self.rules.apply(state, Put(row, self.rows[row]))
        return state
