"""What must hold of the mesh: of every reply, of every message between mailboxes, and of what the journals tell.

Invariants:

1. A thread ends at most once, and once faults are over and time has passed exactly once, with a reason.
2. Of the threads that are free, those of higher priority are leased first, then those that came first; one whose lease
   was lost stands in its old place.
3. No two live leases of one thread; a lease that is over acknowledges nothing; attempts are at most five.
4. Acknowledged work is never offered again; what was acknowledged is on disk, and so is what a lease gave.
5. An originator is told once of work begun and once of the end, and its mirror only goes on.
6. Nobody reads or takes the mail of another; a paused agent is offered nothing.
7. Nothing is offered after its deadline, and nothing expires before it, in whatever zone that was said; what is over
   is over without anybody asking.
8. A lease that ended unseen, in a jump of the clock or an outage, holds for once more.
9. What `nexus-bus doctor` asks of a mailbox holds.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from actors.mailbox.invariants import problems
from bus import address
from bus.envelope import Reply
from bus.value import Record, Value
from tests.simulation.history import CallRecord, Fate, History
from tests.simulation.invariants import BEFORE_REPLY_US, Disks, demand
from tests.simulation.mesh_threads import Lives, thread_events
from tests.simulation.mesh_watch import MeshWatch
from tests.simulation.product_invariants import ProductJudge

_ENDING: Final = ("mail_finish", "thread_cancel")
_SURELY_CHANGES: Final = ("mail_start", "mail_progress", "mail_release", "thread_cancel")


class MeshJudge(ProductJudge):
    """Judges runs of mesh.py's script."""

    def __init__(self, disks: Disks, watch: MeshWatch) -> None:
        super().__init__(disks)
        self._watch = watch
        self._pauses: dict[str, list[CallRecord]] = {}
        self._acknowledged: list[tuple[CallRecord, str]] = []
        """The call that sent a task, and the thread that it was told."""

    def began(self, record: CallRecord) -> None:
        super().began(record)
        if record.operation.verb == "agent_pause":
            self._pauses.setdefault(record.operation.to.id, []).append(record)

    def had_effects(self, record: CallRecord) -> bool:
        assert record.ok is not None
        answer, verb = record.ok, record.operation.verb
        match verb:
            case "mail_lease":
                return bool(answer["deliveries"])
            case "mail_renew":
                return bool(answer["renewed"])
            case "mail_redeliver":
                return answer["wasLeased"] is True
            case "mail_purge":
                return answer["cancelled"] != 0
            case "agent_pause" | "agent_block":
                return answer["changed"] is True
            case "mail_finish" | "thread_requeue":  # said again, they only tell what was decided
                return record.id in self._watch.journaled
            case _:
                return verb in _SURELY_CHANGES or super().had_effects(record)

    def checked(self, record: CallRecord, reply: Reply, now_us: int) -> None:
        super().checked(record, reply, now_us)
        operation, answer = record.operation, reply.ok
        if operation.agent_id and operation.to.kind == "mailbox" and operation.agent_id != operation.to.id:
            demand(answer is None, "no mail of another", record.describe(), answer)
        if answer is None or self._disks.torn_owners:
            return
        match operation.verb:
            case "mail_lease":
                self._check_lease(record, answer)
            case "agent_inbox":
                for delivery in _records(answer["deliveries"]):
                    _check_is_theirs(record, delivery)
            case "agent_trigger":
                self._acknowledged.append((record, str(answer["threadId"])))
            case verb if verb in _ENDING:
                is_first = record.id in self._watch.journaled
                self._check_end(record, answer, is_first and now_us - record.begun_us < BEFORE_REPLY_US)

    def _check_lease(self, record: CallRecord, answer: Record) -> None:
        deliveries = _records(answer["deliveries"])
        for delivery in deliveries:
            _check_is_theirs(record, delivery)
            delivery_id = str(delivery["deliveryId"])
            demand(delivery_id in self._watch.until, "acknowledged implies durable", record.describe(), delivery)
        is_paused = bool(deliveries) and self._is_surely_paused(record)
        demand(not is_paused, "a paused agent is offered nothing", record.describe(), answer)

    def _is_surely_paused(self, record: CallRecord) -> bool:
        """Whether the person had paused the agent before the call was made, and could not have let it go on."""
        asked = self._pauses.get(record.operation.to.id, [])
        if not asked or any(pause.fate is not Fate.ANSWERED or pause.ok is None for pause in asked):
            return False
        last = max(asked, key=lambda pause: pause.begun_us)
        others = [pause for pause in asked if pause is not last]
        # The answer of one that changed nothing is not kept, so a late copy of it is decided anew.
        is_last = all(pause.heard_us < last.begun_us and _changed(pause) for pause in others)
        in_time = last.heard_us - last.begun_us < BEFORE_REPLY_US
        return is_last and in_time and last.operation.body["paused"] is True and last.heard_us < record.begun_us

    def at_end(self, history: History) -> None:
        super().at_end(history)
        if self._disks.torn_owners:
            return
        finished = {
            record.id: str(record.operation.body["deliveryId"])
            for record in history.calls
            if record.operation.verb == "mail_finish"
        }
        lives: dict[str, Lives] = {}
        for mailbox in self._disks.owners("mailbox"):
            state = self._mailbox(mailbox)
            demand(not problems(state), "a mailbox is sound", str(mailbox), problems(state))
            lives[mailbox.id] = Lives(state.received, self._watch, finished)
        for disk in self._disks.disks:
            for agent_id, kind, data, call, at_ms in thread_events(value for _, value in disk.content.scan(b"j")):
                lives[agent_id].read(kind, data, call, at_ms)
        begun = {thread: life.is_begun for each in lives.values() for thread, life in each.lives.items()}
        for each in lives.values():
            self._check_ends(each)
        for thread_id, is_begun in begun.items():
            told = self._watch.told[thread_id, "working"]
            demand(told == int(is_begun), "an originator is told once of work begun", thread_id, told)
        for record, thread_id in self._acknowledged:
            sent = self._disks.row(record.operation.to, f"sent/{thread_id}")
            demand(sent is not None and thread_id in begun, "acknowledged implies present", record.describe())
            recipient = address.mailbox(str(record.operation.body["agentId"]))
            row = self._disks.row(recipient, f"received/{thread_id}")
            deadline = row["deadline"] if isinstance(row, dict) else None
            demand(deadline == _deadline_of(record), "a deadline is one moment in every zone", record.describe(), row)

    def at_quiet(self) -> None:
        """Nothing fails, nobody calls, and every timer has rung. Raises Violation."""
        torn = self._disks.torn_owners
        for mailbox in self._disks.owners("mailbox"):
            if mailbox not in torn:
                state = self._mailbox(mailbox)
                demand(not state.leases, "a lease that is over is taken", str(mailbox), state.leases)
                demand(not state.deadlines, "what is overdue expires", str(mailbox), [*state.deadlines])

    def _check_ends(self, lives: Lives) -> None:
        for thread_id, life in lives.lives.items():
            row = lives.rows[thread_id]
            demand(row.cause is not None, "a thread ends, with a reason", thread_id, row)
            told = self._watch.told[thread_id, row.state]
            demand(told == 1, "an originator is told once of the end", thread_id, told, life)

    def is_over(self) -> bool:
        """Whether every thread has ended, as far as its mailbox can be read."""
        torn = self._disks.torn_owners
        return not any(address.mailbox(agent_id) not in torn for agent_id in self._watch.open.values())


def _check_is_theirs(record: CallRecord, delivery: Record) -> None:
    inputs = delivery["task"]
    assert isinstance(inputs, dict)
    inputs = inputs["inputs"]
    assert isinstance(inputs, dict)
    meant_for = inputs.get("data", inputs)
    assert isinstance(meant_for, dict)
    demand(meant_for["for"] == record.operation.agent_id, "no mail of another", record.describe(), delivery)


def _changed(record: CallRecord) -> bool:
    return record.ok is not None and record.ok["changed"] is True


def _deadline_of(record: CallRecord) -> int | None:
    """In milliseconds since the epoch."""
    task = record.operation.body["task"]
    assert isinstance(task, dict)
    said = task.get("deadline")
    return None if said is None else round(datetime.fromisoformat(str(said)).timestamp() * 1_000)


def _records(value: Value) -> list[Record]:
    assert isinstance(value, list)
    return [each for each in value if isinstance(each, dict)]
