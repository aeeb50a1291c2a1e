"""A client of the hosts without asyncio: it speaks over the product's links and does what bus/client.py does.

It repeats open calls by id when a link opens anew, after a deadline, and after its own death if it remembers them; it
sends some twice, and asks some again long after it was answered. It believes a refusal that says that nothing was
changed unless another copy of the call can still be on its way: it sent more than one in this session of the link.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from bus.admitted import STALE_STAMP
from bus.envelope import Call, Envelope, LinkClass, Onward, Reply, Welcome
from bus.link import Identity, LinkClient
from tests.simulation.history import CallRecord, Fate, History, Operation
from tests.simulation.host import KEY, Ground
from tests.simulation.scheduler import Process
from tests.support.purse import WORKSPACE

_NOTHING_CHANGED: Final = ("unavailable", "storage_full")
_OPEN_MAX: Final = 3


def _fate_of(code: str) -> Fate:
    if code == "outcome_unknown":
        return Fate.UNKNOWN
    return Fate.REFUSED if code in (*_NOTHING_CHANGED, "internal") else Fate.ANSWERED


class Client:
    """One client over all its lives. `script` gives what to ask next, or None for nothing now; `checked` is told of
    every reply that comes for a call that waits for one."""

    def __init__(
        self,
        number: int,
        ground: Ground,
        history: History,
        rng: random.Random,
        script: Callable[[], Operation | None],
        began: Callable[[CallRecord], None],
        checked: Callable[[CallRecord, Reply], None],
    ) -> None:
        self.number = number
        self.process: Process | None = None
        self.calls_left = 0
        self._ground = ground
        self._history = history
        self._rng = rng
        self._script = script
        self._began = began
        self._checked = checked
        self._open: dict[str, CallRecord] = {}
        self._asked_again: dict[str, CallRecord] = {}
        self._admissions: dict[str, CallRecord] = {}
        """Calls that ride on an admission that is not answered, by that one's id."""
        self._links: dict[LinkClass, list[LinkClient]] = {}

    @property
    def name(self) -> str:
        return f"client-{self.number}"

    @property
    def is_done(self) -> bool:
        return self.calls_left == 0 and not self._open and not self._asked_again

    def start(self) -> None:
        """Begin a life: link up, take up what the former one still wanted to know, and go on."""
        self.process = process = Process(self._ground.scheduler, self.name)
        wire = self._ground.network.wire_of(process)
        for link_class in (LinkClass.PERSON, LinkClass.GATEWAY):
            identity = Identity(link_class, self.name, process.clock.new_id(), KEY)
            self._links[link_class] = [
                LinkClient(
                    wire,
                    path,
                    identity,
                    clock=process.clock,
                    scheduler=process.loop,
                    nonce=lambda: self._ground.scheduler.random.randbytes(16),
                    received=self._received,
                    welcomed=lambda welcome, c=link_class, s=shard: self._welcomed(c, s, welcome),  # type: ignore[misc]
                )
                for shard, path in enumerate(self._ground.sockets)
            ]
        for record in list(self._open.values()):
            self._send(record)
        self._go_on()

    def die(self) -> None:
        """Some of the open calls are forgotten with it: nobody will ever know what became of them."""
        assert self.process is not None
        self.process.kill()
        self._asked_again.clear()
        self._admissions.clear()
        for record in list(self._open.values()):
            if self._rng.random() < 0.5:
                self._settle(record, Fate.UNKNOWN)

    def _go_on(self) -> None:
        assert self.process is not None
        if self.calls_left and len(self._open) < _OPEN_MAX:
            operation = self._script()
            if operation is not None:
                self.calls_left -= 1
                self._begin(operation)
        self.process.loop.call_later(self._rng.randrange(1, 120) / 1_000, self._go_on)

    def _begin(self, operation: Operation) -> None:
        assert self.process is not None
        record = CallRecord(
            operation.call_id or self.process.clock.new_id(), operation, self.number, self._ground.scheduler.now_us
        )
        self._history.calls.append(record)
        self._open[record.id] = record
        self._began(record)
        self._send(record)

    def _send(self, record: CallRecord) -> None:
        """One attempt, sometimes doubled, with its own deadline."""
        process = self.process
        assert process is not None
        within_ms = self._rng.choice((300, 2_000, 8_000))
        deadline_ms = process.clock.now_ms() + within_ms
        record.admission_id = process.clock.new_id() if record.operation.via is not None else ""
        for _ in range(2 if self._rng.random() < 0.1 else 1):
            self._send_copy(record, deadline_ms)
        record.attempts += 1
        attempt = record.attempts
        process.loop.call_later(within_ms / 1_000, lambda: self._deadline_passed(record, attempt))

    def _send_copy(self, record: CallRecord, deadline_ms: int) -> None:
        assert self.process is not None
        operation = record.operation
        stamp = operation.stamp
        if operation.agent_id:
            stamp = {"agentId": operation.agent_id, "workspaceId": operation.workspace_id, "credential": "default"}
            stamp |= {"version": 1, "issuedMs": self.process.clock.now_ms()}
        link_class = LinkClass.GATEWAY if operation.is_gateways else LinkClass.PERSON
        call = Call(record.id, operation.to, operation.verb, operation.body, stamp, deadline_ms)
        if operation.via is not None:
            onward = Onward(record.id, operation.to, operation.verb, operation.body, WORKSPACE)
            call = Call(record.admission_id, operation.via, "admit", {}, None, deadline_ms, onward)
            self._admissions[record.admission_id] = record
        if self._links[link_class][call.to.shard(len(self._ground.sockets))].send(call):
            record.copies += 1
            record.copies_in_session += 1
            record.deadline_ms = record.deadline_ms or deadline_ms

    def _deadline_passed(self, record: CallRecord, attempt: int) -> None:
        if record.attempts != attempt:
            return  # another attempt has its own deadline
        if record.attempts >= record.operation.attempts_max or (record.fate is Fate.OPEN and self._rng.random() < 0.1):
            self._give_up(record)
        elif record.fate is Fate.OPEN or record.id in self._asked_again:
            self._send(record)

    def _give_up(self, record: CallRecord) -> None:
        self._asked_again.pop(record.id, None)
        if record.fate is Fate.OPEN:
            self._settle(record, Fate.UNKNOWN)

    def _welcomed(self, link_class: LinkClass, shard: int, welcome: Welcome) -> None:
        for record in [*self._open.values(), *self._asked_again.values()]:
            operation = record.operation
            theirs = LinkClass.GATEWAY if operation.is_gateways else LinkClass.PERSON
            to = operation.via or operation.to
            if theirs is link_class and to.shard(len(self._ground.sockets)) == shard:
                record.copies_in_session = 0
                assert self.process is not None
                # As bus/client.py does: the same envelope again, even if its deadline has passed by now.
                self._send_copy(record, record.deadline_ms or self.process.clock.now_ms() + 3_000)

    def _received(self, envelope: Envelope) -> None:
        if not isinstance(envelope, Reply):
            return
        admitted = self._admissions.pop(envelope.call_id, None)
        if admitted is not None:
            self._admitted(admitted, envelope)
        else:
            self._answered(envelope)

    def _admitted(self, record: CallRecord, reply: Reply) -> None:
        """As nexus/gateway/call.py does: the call was sent on and is answered, or it is sent now."""
        if reply.admission is not None:
            self._answered(Reply(record.id, reply.ok, reply.error))
        elif record.id not in self._open and record.id not in self._asked_again:
            return
        elif reply.ok is None:
            self._again_later(record)
        else:
            stamp, operation = reply.ok["stamp"], record.operation
            assert isinstance(stamp, dict)
            call = Call(record.id, operation.to, operation.verb, operation.body, stamp, record.deadline_ms)
            self._links[LinkClass.GATEWAY][operation.to.shard(len(self._ground.sockets))].send(call)

    def _answered(self, envelope: Reply) -> None:
        record = self._open.get(envelope.call_id) or self._asked_again.pop(envelope.call_id, None)
        if record is None:
            return
        code = "" if envelope.error is None else str(envelope.error["code"])
        if code == STALE_STAMP and record.operation.stamp is not None:
            self._give_up(record)  # its stamp is what it asked with; an earlier copy may have been decided
            return
        if code == STALE_STAMP or (
            code in _NOTHING_CHANGED and (self._may_come_again(record) or self._rng.random() < 0.5)
        ):
            self._again_later(record)
            return
        self._checked(record, envelope)
        if record.fate is Fate.OPEN:
            record.reply, record.heard_us = envelope, self._ground.scheduler.now_us
            fate = _fate_of(code)
            self._settle(record, fate)
            if fate is Fate.ANSWERED and record.operation.has_effects and self._rng.random() < 0.2:
                self._again_later(record)

    def _may_come_again(self, record: CallRecord) -> bool:
        """Whether another copy of it may be on its way: of one that rides on admissions nobody counts them."""
        return record.copies_in_session > 1 or record.operation.via is not None

    def _again_later(self, record: CallRecord) -> None:
        assert self.process is not None
        if record.attempts >= record.operation.attempts_max:
            self._give_up(record)
            return
        if record.fate is not Fate.OPEN:
            self._asked_again[record.id] = record
        self.process.loop.call_later(self._rng.randrange(5, 900) / 1_000, lambda: self._ask_again(record))

    def _ask_again(self, record: CallRecord) -> None:
        if record.id in self._open or record.id in self._asked_again:
            self._send(record)

    def _settle(self, record: CallRecord, fate: Fate) -> None:
        record.fate = fate
        self._open.pop(record.id, None)
        if record.operation.heard is not None:
            record.operation.heard(record)
