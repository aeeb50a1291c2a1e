"""Agents that send each other tasks, the runtimes that work on them, and a person who steps in.

Runtimes lease, start, renew late or never, finish, reject and give back, forget what they hold (they died), and say an
end again under the delivery that they had. Some tasks are cursed: whoever has one begins and gives it up, so that it is
delivered as often as may be. When faults are over the script drains: honest runtimes answer whatever is left.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from bus import address
from bus.value import Record, Value
from tests.simulation.history import CallRecord, Fate, Heard, Operation
from tests.simulation.mesh_watch import MeshWatch
from tests.simulation.product import WORKSPACE, as_agent, home_of

AGENTS: Final = ("m1", "m2", "m3", "m4")
SHORT_LIVED: Final = "m5"
SETUP_CALLS: Final = 14
_RUNTIMES: Final = 2
"""Of each agent."""
_CURSED: Final = 0.12
_HELD_MAX: Final = 40
_DEADLINES_MS: Final = (200, 800, 1_500, 3_000)


@dataclass(slots=True)
class Held:
    """A delivery that a runtime was given. Nothing takes it away from here when its lease ends: it goes stale."""

    agent_id: str
    runtime_id: str
    delivery_id: str
    is_cursed: bool
    ended: int = 0
    """How often its end was said."""


@dataclass(slots=True)
class MeshScript:
    """What all clients of a run know together."""

    watch: MeshWatch
    is_draining: bool = False
    held: list[Held] = field(default_factory=list)
    threads: list[tuple[str, str]] = field(default_factory=list)
    """(recipient, thread) of tasks that some sender was told of."""
    cursed: list[tuple[str, str]] = field(default_factory=list)
    _setup: list[Operation] = field(default_factory=lambda: home_of((*AGENTS, SHORT_LIVED)))
    _setup_is_waiting: bool = False
    _todo: list[Operation] = field(default_factory=list)
    _drain: list[Operation] | None = None
    _leasing: set[str] = field(default_factory=set)

    def script(self, number: int, rng: random.Random, now_ms: Callable[[], int]) -> Callable[[], Operation | None]:
        def following() -> Operation | None:
            if self._setup and (number == 0 or self.is_draining):
                return self._next_of_setup()
            if self._setup:
                return None
            if self.is_draining:
                return self._next_of_drain(rng)
            if self._todo and rng.random() < 0.7:
                return self._todo.pop(0)
            return self._random(rng, now_ms)

        return following

    def _next_of_setup(self) -> Operation | None:
        if self._setup_is_waiting:
            return None
        self._setup_is_waiting = True
        planned = self._setup[0]

        def heard(record: CallRecord) -> None:
            self._setup_is_waiting = False
            if record.fate is Fate.ANSWERED:  # refused for being there already is as good
                self._setup.pop(0)

        return _heard_by(planned, heard)

    def _random(self, rng: random.Random, now_ms: Callable[[], int]) -> Operation:
        agent_id = rng.choice(AGENTS)
        wishes: list[tuple[int, Callable[[], Operation]]] = [
            (22, lambda: self._trigger(rng, agent_id, now_ms())),
            (22, lambda: self._lease(agent_id, f"r{rng.randrange(_RUNTIMES)}", rng.choice((1, 1, 2, 5)))),
            (5, lambda: as_agent(agent_id, address.mailbox(agent_id), "agent_inbox", {}, False)),
            (3, lambda: self._trespass(rng, agent_id)),
            (3, lambda: _person(agent_id, "agent_pause", {"paused": rng.random() < 0.4}, of_mailbox=False)),
            (1, lambda: _block(rng, agent_id)),
            (1, lambda: _person(agent_id, "mail_purge", {})),
            (1, lambda: _person(agent_id, "mail_pending", {"idleMs": 5_000}, has_effects=False)),
            (1, _remove),
        ]
        if self.held:
            wishes += [(45, lambda: self._of_held(rng)), (3, lambda: self._runtime_dies(rng))]
        if self.threads:
            wishes += [(6, lambda: self._answer(rng)), (7, lambda: self._of_thread(rng))]
        if self.cursed:
            wishes += [(5, lambda: self._requeue(rng))]
        chosen = rng.choices([wish for _, wish in wishes], weights=[weight for weight, _ in wishes])[0]
        return chosen()

    def _trigger(self, rng: random.Random, agent_id: str, now_ms: int) -> Operation:
        recipient = rng.choice([other for other in (*AGENTS, *AGENTS, SHORT_LIVED) if other != agent_id])
        is_cursed = rng.random() < _CURSED
        priority = "p1" if is_cursed else rng.choice(("p1", "p2", "p3", "p3", "p4"))
        task: Record = {"title": "Count", "instructions": "Count the beans.", "priority": priority}
        task["inputs"] = {"for": recipient, "cursed": is_cursed}
        if rng.random() < 0.25:
            task["deadline"] = _deadline(rng, now_ms + rng.choice(_DEADLINES_MS))
        own = [thread for to, thread in self.threads if to == agent_id]
        if own and rng.random() < 0.2:
            task["parentThreadId"] = rng.choice(own)
        body: Record = {"agentId": recipient, "task": task}
        if rng.random() < 0.2:
            body["idempotencyKey"] = f"key{rng.randrange(3)}"

        def heard(record: CallRecord) -> None:
            if record.ok is not None:
                (self.cursed if is_cursed else self.threads).append((recipient, str(record.ok["threadId"])))

        return as_agent(agent_id, address.mailbox(agent_id), "agent_trigger", body, True, heard)

    def _lease(self, agent_id: str, runtime_id: str, count: int) -> Operation:
        def heard(record: CallRecord) -> None:
            self._leasing.discard(agent_id)
            for delivery in _list(None if record.ok is None else record.ok["deliveries"]):
                assert isinstance(delivery, dict)
                self._take(agent_id, runtime_id, delivery)

        body: Record = {"runtimeId": runtime_id, "count": count}
        return as_agent(agent_id, address.mailbox(agent_id), "mail_lease", body, True, heard)

    def _take(self, agent_id: str, runtime_id: str, delivery: Record) -> None:
        task = delivery["task"]
        assert isinstance(task, dict)
        inputs = task["inputs"]
        assert isinstance(inputs, dict)
        held = Held(agent_id, runtime_id, str(delivery["deliveryId"]), inputs["cursed"] is True)
        if self.is_draining:
            self._todo.append(_finish(held, "completed"))
        elif held.is_cursed:
            self._todo += [_of_delivery(held, "mail_start"), _of_delivery(held, "mail_release")]
            self._todo.append(self._lease(agent_id, runtime_id, 1))
        else:
            self.held.append(held)
            del self.held[:-_HELD_MAX]

    def _of_held(self, rng: random.Random) -> Operation:
        held = rng.choice(self.held)
        verb = rng.choices(
            ("mail_start", "mail_finish", "mail_renew", "mail_progress", "mail_release"), weights=(14, 16, 6, 3, 4)
        )[0]
        match verb:
            case "mail_renew":
                of_runtime = [each.delivery_id for each in self.held if each.agent_id == held.agent_id]
                body: Record = {"runtimeId": held.runtime_id, "deliveryIds": [*of_runtime]}
                return as_agent(held.agent_id, address.mailbox(held.agent_id), verb, body, True)
            case "mail_finish":
                held.ended += 1
                if held.ended > 2:
                    self.held.remove(held)
                return _finish(held, rng.choice(("completed", "completed", "failed", "partial", "rejected")))
            case _:
                return _of_delivery(held, verb)

    def _runtime_dies(self, rng: random.Random) -> Operation:
        """All that it holds is forgotten; another runtime asks for what there is."""
        dead = rng.choice(self.held)
        self.held[:] = [
            held for held in self.held if (held.agent_id, held.runtime_id) != (dead.agent_id, dead.runtime_id)
        ]
        return self._lease(dead.agent_id, f"r{rng.randrange(_RUNTIMES)}", 2)

    def _answer(self, rng: random.Random) -> Operation:
        """As an agent without a runtime does, whoever has the thread leased."""
        recipient, thread_id = rng.choice(self.threads)
        body: Record = {"threadId": thread_id}
        if rng.random() < 0.7:
            body |= {"outcome": rng.choice(("completed", "failed", "partial")), "body": "There are seven."}
            return as_agent(recipient, address.mailbox(recipient), "agent_reply", body, True)
        return as_agent(recipient, address.mailbox(recipient), "agent_reject", {**body, "reason": "No time."}, True)

    def _of_thread(self, rng: random.Random) -> Operation:
        recipient, thread_id = rng.choice([*self.threads, *self.cursed])
        verb = rng.choice(("thread_cancel", "thread_cancel", "mail_redeliver", "mail_redeliver", "thread_get"))
        return _person(recipient, verb, {"threadId": thread_id}, has_effects=verb != "thread_get")

    def _requeue(self, rng: random.Random) -> Operation:
        recipient, thread_id = rng.choice(self.cursed)

        def heard(record: CallRecord) -> None:
            if record.ok is not None:
                self.threads.append((recipient, str(record.ok["threadId"])))

        return _heard_by(_person(recipient, "thread_requeue", {"threadId": thread_id}), heard)

    def _trespass(self, rng: random.Random, agent_id: str) -> Operation:
        """At the mailbox of another."""
        foreign = [held for held in self.held if held.agent_id != agent_id]
        if foreign and rng.random() < 0.6:
            held = rng.choice(foreign)
            body: Record = {"deliveryId": held.delivery_id, "outcome": "completed", "body": "Mine."}
            return as_agent(agent_id, address.mailbox(held.agent_id), "mail_finish", body, True)
        other = address.mailbox(rng.choice([each for each in AGENTS if each != agent_id]))
        if rng.random() < 0.5:
            return as_agent(agent_id, other, "mail_lease", {"runtimeId": "r0", "count": 5}, True)
        return as_agent(agent_id, other, "agent_inbox", {}, False)

    def _next_of_drain(self, rng: random.Random) -> Operation | None:
        if self._drain is None:
            self._todo.clear()
            everyone = (*AGENTS, SHORT_LIVED)
            self._drain = [_person(agent, "agent_pause", {"paused": False}, of_mailbox=False) for agent in everyone]
        if self._drain:
            return self._drain.pop(0)
        if self._todo:
            return self._todo.pop(0)
        waiting = {agent_id for thread, agent_id in self.watch.open.items() if thread not in self.watch.leased}
        asked = sorted(waiting - self._leasing)
        if not asked:
            return None  # what is left is leased by nobody who lives, until its time is over
        agent_id = rng.choice(asked)
        self._leasing.add(agent_id)
        return self._lease(agent_id, "drain", 20)


def _finish(held: Held, outcome: str) -> Operation:
    body: Record = {"deliveryId": held.delivery_id, "outcome": outcome, "runtimeId": held.runtime_id}
    body |= {"reason": "No time."} if outcome == "rejected" else {"body": "There are seven."}
    return as_agent(held.agent_id, address.mailbox(held.agent_id), "mail_finish", body, True)


def _of_delivery(held: Held, verb: str) -> Operation:
    body: Record = {"deliveryId": held.delivery_id, "runtimeId": held.runtime_id}
    if verb == "mail_progress":
        body["text"] = "Still counting."
    return as_agent(held.agent_id, address.mailbox(held.agent_id), verb, body, True)


def _person(agent_id: str, verb: str, body: Record, *, has_effects: bool = True, of_mailbox: bool = True) -> Operation:
    to = address.mailbox(agent_id) if of_mailbox else address.agent(agent_id)
    return Operation(to, verb, body, has_effects)


def _block(rng: random.Random, agent_id: str) -> Operation:
    other = rng.choice([each for each in AGENTS if each != agent_id])
    return _person(agent_id, "agent_block", {"agentId": other, "blocked": rng.random() < 0.3}, of_mailbox=False)


def _remove() -> Operation:
    return Operation(address.DIRECTORY, "agent_remove", {"agentId": SHORT_LIVED}, has_effects=True)


def _deadline(rng: random.Random, at_ms: int) -> str:
    """The same moment as some place on earth says it."""
    zone = timezone(timedelta(minutes=rng.choice((-570, -60, 0, 330, 840))))
    return datetime.fromtimestamp(at_ms / 1_000, UTC).astimezone(zone).isoformat(timespec="milliseconds")


def _heard_by(operation: Operation, heard: Heard) -> Operation:
    return Operation(
        operation.to, operation.verb, operation.body, operation.has_effects, operation.by_gateway, heard=heard
    )


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


__all__ = ["AGENTS", "SETUP_CALLS", "SHORT_LIVED", "WORKSPACE", "Held", "MeshScript"]
