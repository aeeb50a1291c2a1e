"""What must hold for the product's own owners: canvases, threads, the directory and the lists that mirror them."""

from __future__ import annotations

from collections import Counter
from typing import Final

from actors.canvas.invariants import problems
from actors.canvas.proposal import proposal_row
from actors.canvas.revision import is_piece
from actors.canvas.state import HISTORY, CanvasState
from actors.decision import Put
from actors.mailbox.rows import Received, Sent
from actors.mailbox.state import MailboxState, apply
from actors.mailbox.thread import ENDS
from bus import address
from bus.address import Address
from bus.codec import unpack_row
from bus.envelope import Reply
from bus.value import Record, Value, records
from tests.simulation.history import CallRecord, Fate, History
from tests.simulation.invariants import BEFORE_REPLY_US, Disks, demand, same_answer
from tests.simulation.product import WORKSPACE

WRITES: Final = (
    "canvas_create_elements",
    "canvas_move_elements",
    "canvas_delete_elements",
    "canvas_restore_elements",
    "canvas_lock_elements",
    "canvas_revert",
)
_END_EVENTS: Final = (
    "thread.completed",
    "thread.partial",
    "thread.failed",
    "thread.rejected",
    "thread.expired",
    "thread.cancelled",
)


class ProductJudge:
    """Judges runs of the roster's rules."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self._told: dict[Address, int] = {}
        """The highest revision of a canvas that any client was told."""

    def began(self, record: CallRecord) -> None:
        record.floor = self._told.get(record.operation.to, 0)

    def had_effects(self, record: CallRecord) -> bool:
        assert record.ok is not None
        match record.operation.verb:
            case "canvas_approve_proposal" | "canvas_reject_proposal":
                return record.ok["outcome"] == "applied"
            case verb if verb in WRITES:
                return record.ok["outcome"] == "proposed" or (
                    record.ok["outcome"] == "applied" and bool(record.ok["elementIds"])
                )
            case "agent_update_self":
                return bool(record.ok["changed"])
            case "agent_trigger":
                return "idempotencyKey" not in record.operation.body
            case _:
                return record.operation.has_effects

    def checked(self, record: CallRecord, reply: Reply, now_us: int) -> None:
        same_answer(record, reply, self.had_effects)
        if reply.ok is None or self._disks.torn_owners:
            return
        in_time = now_us - record.begun_us < BEFORE_REPLY_US
        verb = record.operation.verb
        if record.operation.to.kind == "canvas":
            self._check_canvas(record, reply.ok)
        if verb == "canvas_create" and in_time:
            row = self._disks.row(address.workspace(WORKSPACE), f"canvas/{record.operation.to.id}")
            demand(row is not None, "before_reply is waited for", record.describe())
        elif verb == "agent_add" and in_time:
            agent_id = str(record.operation.body["agentId"])
            there = [
                self._disks.row(address.agent(agent_id), "head"),
                self._disks.row(address.mailbox(agent_id), "facts"),
            ]
            demand(all(row is not None for row in there), "before_reply is waited for", record.describe(), there)
        elif verb == "agent_trigger":
            thread_id = str(reply.ok["threadId"])
            there = [self._disks.row(record.operation.to, f"sent/{thread_id}")]
            demand(there[0] is not None, "acknowledged implies durable", record.describe())
        elif verb in ("agent_reply", "agent_reject"):
            self._check_end(record, reply.ok, in_time)

    def _check_canvas(self, record: CallRecord, answer: Record) -> None:
        canvas, head = record.operation.to, self._disks.row(record.operation.to, "head")
        assert isinstance(head, dict)
        if answer.get("outcome") == "proposed":
            proposal = self._disks.row(canvas, proposal_row(str(answer["proposalId"])))
            demand(proposal is not None, "acknowledged implies durable", record.describe(), answer)
        told = answer.get("revision", answer.get("currentRevision"))
        if not isinstance(told, int):
            return
        stored = head["revision"]
        assert isinstance(stored, int)
        demand(told <= stored, "no reply shows what is not stored", record.describe(), answer, head)
        if record.operation.verb == "canvas_history":
            page = [revision["revision"] for revision in records(answer, "revisions")]
            newest = range(told, max(told - 5, 0), -1)
            demand(page == [*newest], "the history is read with all that was decided before", record.describe(), answer)
        if record.operation.verb in ("canvas_summary", "canvas_history"):
            demand(told >= record.floor, "no reply shows less than was told before", record.describe(), answer)
        self._told[canvas] = max(told, self._told.get(canvas, 0))
        if record.operation.verb == "canvas_lock_elements":
            return  # it makes no revision, and what it made may be over by now
        if answer.get("outcome") == "applied" and (
            answer.get("elementIds") or record.operation.verb == "canvas_create"
        ):
            history = self._disks.row(canvas, f"history/{told:016d}")
            made_by = history.get("approval", history) if isinstance(history, dict) else None
            ours = isinstance(made_by, dict) and made_by["callId"] == record.id
            demand(ours, "acknowledged implies durable", record.describe(), answer, history)

    def _check_end(self, record: CallRecord, answer: Record, in_time: bool) -> None:
        thread_id = str(answer["threadId"])
        received = self._disks.row(record.operation.to, f"received/{thread_id}")
        assert isinstance(received, dict)
        demand(received["state"] == answer["state"], "acknowledged implies durable", record.describe(), received)
        if in_time:
            mirror = self._disks.row(address.mailbox(str(received["senderId"])), f"sent/{thread_id}")
            ended = isinstance(mirror, dict) and mirror["state"] == answer["state"]
            demand(ended, "before_reply is waited for", record.describe(), mirror)

    def at_end(self, history: History) -> None:
        if self._disks.torn_owners:
            return
        letters = [unpack_row(value) for disk in self._disks.disks for _, value in disk.content.scan(b"d")]
        demand(not letters, "nothing becomes a dead letter", letters)
        for canvas in self._disks.owners("canvas"):
            self._check_history(canvas, history)
        self._check_threads()
        self._check_directory()

    def _check_history(self, canvas: Address, history: History) -> None:
        rows = self._disks.rows(canvas)
        revisions = [value for row, value in rows.items() if row.startswith(HISTORY) and not is_piece(row)]
        head = rows["head"]
        assert isinstance(head, dict)
        numbers = [value["revision"] for value in revisions if isinstance(value, dict)]
        expected = list(range(1, len(numbers) + 1))
        demand(numbers == expected, "revisions count without gaps", str(canvas), numbers)
        demand(head["revision"] == len(numbers), "the head is at the last revision", str(canvas), head, numbers)
        calls = Counter(str(value["callId"]) for value in revisions if isinstance(value, dict))
        demand(max(calls.values()) == 1, "one effect a call", str(canvas), calls)
        refused = [record for record in history.calls if record.fate is Fate.REFUSED and record.id in calls]
        demand(not refused, "a refused call changes nothing", [record.describe() for record in refused])
        state = CanvasState()
        for row, value in rows.items():
            if not row.startswith("~"):  # the host's, about the owner
                state.apply(Put(row, value))
        made = Counter(proposal.call_id for proposal in state.proposals.values())
        demand(max(made.values(), default=1) == 1, "one effect a call", str(canvas), made)
        for proposal in state.proposals.values():
            approved = proposal.call_id in calls
            demand(approved == (proposal.stage == "approved"), "a proposal is decided once", str(canvas), proposal)
        demand(problems(state) == [], "a canvas is sound", str(canvas), problems(state))
        indexed = self._disks.row(address.workspace(WORKSPACE), f"canvas/{canvas.id}")
        assert isinstance(indexed, dict)
        demand(indexed["roles"] == state.roles, "the index knows every canvas and its roles", str(canvas), indexed)
        holders = {*state.roles, *(lock.holder for lock in state.locks.all().values())}
        removed = sorted(agent_id for agent_id in holders if self._is_removed(agent_id))
        demand(not removed, "a removed agent has no role and no lock", str(canvas), removed)

    def _is_removed(self, agent_id: str) -> bool:
        head = self._disks.row(address.agent(agent_id), "head")
        return isinstance(head, dict) and head["removed"] is True

    def _check_threads(self) -> None:
        received: dict[str, tuple[str, Received]] = {}
        sent: dict[str, tuple[str, Sent]] = {}
        for mailbox in self._disks.owners("mailbox"):
            state = self._mailbox(mailbox)
            demand(not state.offers, "open calls are answered", str(mailbox), list(state.offers))
            received |= {thread: (mailbox.id, row) for thread, row in state.received.items()}
            sent |= {thread: (mailbox.id, row) for thread, row in state.sent.items()}
            waiting = self._disks.row(address.agent(mailbox.id), "waiting") or 0
            demand(waiting == state.waiting, "the agent knows what waits", str(mailbox), waiting, state.waiting)
        demand(received.keys() == sent.keys(), "both mailboxes know a thread", sorted(received), sorted(sent))
        ends = self._ends()
        for thread, (recipient, theirs) in received.items():
            sender, mirror = sent[thread]
            # Work that lost its lease waits again; its originator is told of work begun once.
            told = "working" if theirs.state == "delivered" and theirs.isBegun else theirs.state
            agree = (sender, recipient, told) == (theirs.senderId, mirror.recipientId, mirror.state)
            demand(agree, "both mailboxes agree on a thread", thread, theirs, mirror)
            demand(ends[thread] == (theirs.state in ENDS), "a thread ends at most once", thread, ends[thread])

    def _ends(self) -> Counter[str]:
        ends: Counter[str] = Counter()
        for disk in self._disks.disks:
            for _, stored in disk.content.scan(b"j"):
                record = unpack_row(stored)
                assert isinstance(record, dict)
                for event in _list(record["events"]):
                    kind, data = _list(event)
                    if kind in _END_EVENTS and isinstance(data, dict):
                        ends[str(data["threadId"])] += 1
        return ends

    def _check_directory(self) -> None:
        listed = self._disks.rows(address.DIRECTORY, "agent/")
        for agent in self._disks.owners("agent"):
            head, entry = self._disks.row(agent, "head"), listed.get(f"agent/{agent.id}")
            facts = self._disks.row(address.mailbox(agent.id), "facts")
            if not isinstance(head, dict):
                continue
            assert isinstance(facts, dict)
            told = (facts["name"], facts["ran"], facts["revoked"])
            known = (head["name"], head["ran"], head["removed"])
            demand(told == known, "a mailbox has its agent's facts", str(agent), head, facts)
            demand((entry is None) == head["removed"], "the directory lists who is not removed", str(agent), head)
            if isinstance(entry, dict):
                demand(entry["name"] == head["name"], "the directory has every agent's name", str(agent), entry, head)
            claims = self._disks.rows(agent, "claim/")
            demand(not claims, "open calls are answered", str(agent), claims)

    def _mailbox(self, mailbox: Address) -> MailboxState:
        state = MailboxState()
        for row, value in self._disks.rows(mailbox).items():
            if not row.startswith("~"):  # the host's, about the owner
                apply(state, Put(row, value))
        return state


def _list(value: Value) -> list[Value]:
    assert isinstance(value, list)
    return value
