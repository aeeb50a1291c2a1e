"""Owners of one agent and its mailbox as a test wants them: what waits is put in, what was said of it is kept."""

from __future__ import annotations

import hashlib
from typing import Final

from bus.clock import ManualClock
from bus.topics import authority_topic, deliveries_topic
from bus.value import Record, Value
from tests.support.scripted_caller import ScriptedCaller, Sent
from tools.errors import Code, Refusal
from tools.plain_json import encoded_bytes
from tools.times import rfc3339

AGENT: Final = "ada"
SECRET: Final = "a-secret"
TOKEN: Final = f"nx_{AGENT}_{SECRET}"

_ENDED: Final = Refusal(Code.THREAD_CLOSED, "The thread has ended.")
_NOT_HELD: Final = Refusal(Code.WRONG_STATE, "The delivery is over.")


class ScriptedMailbox:
    """`caller` is the bus of a port. Threads wait in the order of `put`; leases end when the test says so."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.lease_ms = 60_000
        self.caller = ScriptedCaller()
        self.waiting: list[Record] = []
        self.leases: dict[str, str] = {}
        """Delivery id -> runtime id."""
        self.ended: dict[str, str] = {}
        """Delivery id -> the outcome, or the state by which its thread ended elsewhere."""
        self.released: list[str] = []
        self.attempts: dict[str, int] = {}
        self.good_hashes = {hashlib.sha256(SECRET.encode()).digest()}
        self.refusal: Refusal | None = None
        self.families: list[str] | None = None
        self.canvases: dict[str, Record | Refusal] = {}
        self._tasks: dict[str, Record] = {}
        for verb in ("authenticate", "admit", "mail_lease", "mail_renew", "mail_held", "mail_release", "mail_finish"):
            self.caller.on(verb, getattr(self, f"_{verb}"))
        self.caller.on("mail_start", self._said)
        self.caller.on("mail_progress", self._said)
        self.caller.on("canvas_summary", lambda sent: self.canvases.get(sent.to.id, _NOT_FOUND))

    def put(self, thread_id: str, **task: Value) -> None:
        """One more task waits, and that is told."""
        envelope: Record = {"title": thread_id, "instructions": "Do it.", "priority": "p3", **task}
        self._tasks[thread_id] = envelope
        self.waiting.append({"threadId": thread_id})
        self.tell(leasable=True)

    def end(self, delivery_id: str, state: str) -> None:
        """Its thread ends elsewhere."""
        del self.leases[delivery_id]
        self.ended[delivery_id] = state
        self.tell(lost=True)

    def lose(self, delivery_id: str) -> None:
        """Its lease runs out, and the task waits again."""
        del self.leases[delivery_id]
        self.waiting.insert(0, {"threadId": delivery_id.partition(".")[0]})
        self.tell(leasable=True, lost=True)

    def tell(self, *, leasable: bool = False, lost: bool = False) -> None:
        self.caller.notice(deliveries_topic(AGENT), {"leasable": leasable, "lost": lost})

    def narrow(self, refusal: Refusal | None = None) -> None:
        """The agent may not be served any more: its tokens are revoked, or what it does is refused."""
        self.refusal = refusal
        if refusal is None:
            self.good_hashes.clear()
        self.caller.notice(authority_topic(AGENT), {"version": 2})

    def _authenticate(self, sent: Sent) -> Record:
        good = sent.to.id == AGENT and sent.body["tokenHash"] in self.good_hashes
        return {"authenticated": good, "agentId": AGENT, "waiting": len(self.waiting)}

    def _admit(self, sent: Sent) -> Record:
        if sent.to.id != AGENT or sent.body["tokenHash"] not in self.good_hashes:
            return {"authenticated": False, "waiting": 0}
        if self.families is not None and sent.body["family"] not in self.families:
            return {"authenticated": True, "isUnknownTool": True, "waiting": 0}
        if self.refusal is not None:
            return {"authenticated": True, "refusal": self.refusal.to_record(), "waiting": 0}
        stamp: Record = {"agentId": AGENT, "workspaceId": "w1", "credential": "default", "version": 1, "issuedMs": 0}
        return {"authenticated": True, "stamp": stamp, "waiting": 0}

    def _mail_lease(self, sent: Sent) -> Record:
        count, size, given, used = sent.body["count"], sent.body["bytes"], list[Value](), 0
        assert isinstance(count, int) and isinstance(size, int)
        for waiting in self.waiting[:count]:
            thread_id = str(waiting["threadId"])
            used += encoded_bytes(self._tasks[thread_id])
            if given and used > size:
                break
            attempt = self.attempts[thread_id] = self.attempts.get(thread_id, 0) + 1
            delivery_id = f"{thread_id}.{attempt}"
            self.leases[delivery_id] = str(sent.body["runtimeId"])
            given.append(
                {
                    "threadId": thread_id,
                    "deliveryId": delivery_id,
                    "attempt": attempt,
                    "leaseUntil": rfc3339(self.clock.now_ms() + self.lease_ms),
                    "from": {"agentId": "bob", "name": "Bob"},
                    "workspaceId": "w1",
                    "queuedAt": rfc3339(self.clock.now_ms()),
                    "chainDepth": 1,
                    "task": self._tasks[thread_id],
                }
            )
        del self.waiting[: len(given)]
        return {"deliveries": given, "waiting": len(self.waiting)}

    def _mail_renew(self, sent: Sent) -> Record:
        renewed, lost = list[Value](), list[Value]()
        ids = sent.body["deliveryIds"]
        assert isinstance(ids, list)
        for delivery_id in map(str, ids):
            if self.leases.get(delivery_id) == sent.body["runtimeId"]:
                until = rfc3339(self.clock.now_ms() + self.lease_ms)
                renewed.append({"deliveryId": delivery_id, "leaseUntil": until})
            else:
                state = self.ended.get(delivery_id)
                reason = "lease_lost" if state is None else "thread_closed"
                thread_id = delivery_id.partition(".")[0]
                lost.append({"deliveryId": delivery_id, "threadId": thread_id, "reason": reason, "state": state})
        return {"renewed": renewed, "lost": lost}

    def _mail_held(self, sent: Sent) -> Record:
        return {"lost": self._mail_renew(sent)["lost"]}

    def _mail_release(self, sent: Sent) -> Record | Refusal:
        delivery_id = str(sent.body["deliveryId"])
        if delivery_id not in self.leases:
            return _NOT_HELD
        self.released.append(delivery_id)
        self.lose(delivery_id)
        return {}

    def _mail_finish(self, sent: Sent) -> Record | Refusal:
        delivery_id, outcome = str(sent.body["deliveryId"]), str(sent.body["outcome"])
        if self.ended.get(delivery_id) == outcome:
            return {"outcome": outcome}
        if delivery_id not in self.leases:
            return _ENDED if delivery_id in self.ended else _NOT_HELD
        del self.leases[delivery_id]
        self.ended[delivery_id] = outcome
        return {"outcome": outcome}

    def _said(self, sent: Sent) -> Record | Refusal:
        return {} if str(sent.body["deliveryId"]) in self.leases else _NOT_HELD


_NOT_FOUND: Final = Refusal(Code.NOT_FOUND, "Nothing.")
