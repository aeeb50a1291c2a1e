"""Whatever runtimes, agents, the person and time do to a mailbox: each thread ends once, deliveries keep their order,
attempts are bounded, the originator is told once, and everything that is counted is right (mesh 4.1 to 4.7)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from actors.decision import Send
from actors.mailbox.state import MailboxState
from actors.mailbox.thread import ENDS
from bus import address
from bus.limits import lease_attempts_max, lease_ms
from bus.value import Record, Value
from tests.support.bench import PERSON, OwnerBench, owner
from tests.support.exchange import Home
from tools.errors import Code, Refusal
from tools.times import rfc3339

SENDER, RECIPIENT = "a1", "a2"
BOX = address.mailbox(RECIPIENT)
runtimes = st.sampled_from(["r1", "r2"])


class Recording(Home):
    """Remembers what originators are told."""

    def __init__(self) -> None:
        super().__init__()
        self.news: Counter[tuple[str, str]] = Counter()

    def _collect(self, source: OwnerBench[Any]) -> None:
        for send in source.sent:
            if isinstance(send, Send) and send.verb == "thread_changed":
                self.news[str(send.body["threadId"]), str(send.body["state"])] += 1
        super()._collect(source)


class Leases(RuleBasedStateMachine):
    threads = Bundle("threads")
    deliveries = Bundle("deliveries")

    def __init__(self) -> None:
        super().__init__()
        self.home = Recording()
        self.home.add_workspace("w1")
        for agent_id in (SENDER, RECIPIENT):
            self.home.add_agent(agent_id)
        self.latest: dict[str, str] = {}
        """Thread -> its latest delivery."""
        self.finished: dict[str, tuple[str, Record]] = {}
        """Delivery -> how its finish was answered."""

    @property
    def box(self) -> MailboxState:
        state = self.home.bench(BOX).state
        assert isinstance(state, MailboxState)
        return state

    def _say(self, verb: str, **body: Value) -> Record | Refusal:
        return self.home.mailbox_call(RECIPIENT, verb, **body)

    @rule(
        target=threads,
        priority=st.sampled_from(["p1", "p3", "p4"]),
        within_ms=st.none() | st.sampled_from([1, 1_000, lease_ms + 1, 10 * lease_ms]),
    )
    def trigger(self, priority: str, within_ms: int | None) -> object:
        now_ms = self.home.clock.now_ms()
        deadline = None if within_ms is None else rfc3339(now_ms + within_ms)
        reply = self.home.trigger(SENDER, RECIPIENT, priority=priority, deadline=deadline)
        return multiple() if isinstance(reply, Refusal) else str(reply["threadId"])

    @rule(target=deliveries, runtime=runtimes, count=st.integers(1, 3))
    def lease(self, runtime: str, count: int) -> object:
        now_ms = self.home.clock.now_ms()
        expected = self._expected_order(now_ms)
        reply = self._say("mail_lease", runtimeId=runtime, count=count)
        assert isinstance(reply, dict)
        given = reply["deliveries"]
        assert isinstance(given, list)
        ids: list[str] = []
        for delivery in given:
            assert isinstance(delivery, dict)
            thread_id, delivery_id = str(delivery["threadId"]), str(delivery["deliveryId"])
            assert isinstance(delivery["attempt"], int)
            assert 1 <= delivery["attempt"] <= lease_attempts_max
            self.latest[thread_id] = delivery_id
            ids.append(delivery_id)
        assert [delivery_id.split(".")[0] for delivery_id in ids] == expected[:count]
        return multiple(*ids)

    def _expected_order(self, now_ms: int) -> list[str]:
        """Said simply: what waits, is not over, and is leased by nobody whose lease holds, by priority and arrival."""
        facts, waiting = self.box.facts, []
        assert facts is not None
        for thread_id, row in self.box.received.items():
            lease = self.box.leases.get(thread_id)
            ends_unseen = lease is not None and not lease.isGrace and now_ms - lease.until > 5_000
            holds = lease is not None and (now_ms < lease.until or ends_unseen)
            is_last = lease is not None and lease.attempt == lease_attempts_max
            is_over = row.state in ENDS or row.is_overdue(now_ms)
            if not is_over and not holds and not is_last:
                waiting.append((row.rank, row.arrival, thread_id))
        return [] if facts.paused else [thread_id for _, _, thread_id in sorted(waiting)]

    @rule(delivery=deliveries, verb=st.sampled_from(["mail_start", "mail_progress", "mail_release", "mail_renew"]))
    def say(self, delivery: str, verb: str) -> None:
        holds = self._holds(delivery)
        if verb == "mail_renew":
            reply = self._say(verb, runtimeId=self._runtime(delivery), deliveryIds=[delivery])
            assert isinstance(reply, dict)
            assert bool(reply["renewed"]) == holds and bool(reply["lost"]) != holds
            return
        body: Record = {"text": "Half of it."} if verb == "mail_progress" else {}
        reply = self._say(verb, deliveryId=delivery, **body)
        assert isinstance(reply, dict) == holds, (reply, holds)

    @rule(delivery=deliveries, outcome=st.sampled_from(["completed", "failed", "partial", "rejected"]))
    def finish(self, delivery: str, outcome: str) -> None:
        holds = self._holds(delivery)
        reply = self._say("mail_finish", deliveryId=delivery, outcome=outcome, body="7", reason="No.")
        if delivery in self.finished:
            said, answer = self.finished[delivery]
            if said == outcome:
                assert reply == answer, "a repeat is answered as the first time"
            else:
                assert isinstance(reply, Refusal) and reply.code is Code.THREAD_CLOSED, "another end comes too late"
        elif isinstance(reply, dict):
            assert holds
            self.finished[delivery] = (outcome, reply)
        else:
            is_late_rejection = outcome == "rejected" and holds
            assert reply.code in ((Code.WRONG_STATE,) if is_late_rejection else (Code.WRONG_STATE, Code.THREAD_CLOSED))
            assert is_late_rejection or not holds

    def _holds(self, delivery: str) -> bool:
        """Whether that delivery may acknowledge now."""
        thread_id, now_ms = delivery.split(".")[0], self.home.clock.now_ms()
        row, lease = self.box.received[thread_id], self.box.leases.get(thread_id)
        if row.state in ENDS or row.is_overdue(now_ms) or lease is None or lease.deliveryId != delivery:
            return False
        assert self.latest[thread_id] == delivery, "only the latest delivery of a thread is leased"
        return now_ms < lease.until or (not lease.isGrace and now_ms - lease.until > 5_000)

    def _runtime(self, delivery: str) -> str:
        lease = self.box.leases.get(delivery.split(".")[0])
        return "r1" if lease is None else lease.runtimeId

    @rule(thread=threads, outcome=st.sampled_from(["completed", "reject"]))
    def answer(self, thread: str, outcome: str) -> None:
        if outcome == "reject":
            self._say("agent_reject", threadId=thread, reason="No.")
        else:
            self._say("agent_reply", threadId=thread, outcome=outcome, body="7")

    @rule(thread=threads, verb=st.sampled_from(["thread_cancel", "thread_requeue", "mail_redeliver", "thread_get"]))
    def oversee(self, thread: str, verb: str) -> None:
        self.home.call(BOX, verb, {"threadId": thread}, PERSON)

    @rule(limit=st.integers(1, 3))
    def read(self, limit: int) -> None:
        self.home.inbox(RECIPIENT, limit=limit)
        self.home.inbox(SENDER, limit=limit)

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.home.ok(address.agent(RECIPIENT), "agent_pause", {"paused": paused}, PERSON)

    @rule()
    def purge(self) -> None:
        self.home.ok(BOX, "mail_purge", {}, PERSON)

    @rule()
    def revoke(self) -> None:
        body: Record = {"credential": "default"}
        bench = self.home.bench(BOX)
        bench.send("credential_ended", body, owner(address.agent(RECIPIENT)))
        self.home._collect(bench)
        self.home.settle()

    @rule(milliseconds=st.sampled_from([1, 1_000, lease_ms // 2, lease_ms, 3 * lease_ms]), rings=st.booleans())
    def wait(self, milliseconds: int, rings: bool) -> None:
        """Timers may be late, never early."""
        self.home.clock.advance(milliseconds)
        if rings:
            self.home.ring()
            self.home.settle()

    @invariant()
    def a_restart_would_change_nothing(self) -> None:
        self.home.assert_reloads()

    @invariant()
    def the_timer_stands_where_the_mailbox_thinks(self) -> None:
        timer = self.home.bench(BOX).timers.get("due")
        assert (None if timer is None else timer.due_ms) == self.box.timer_ms
        times = [order.at(0)[0] for order in (self.box.lease_ends, self.box.deadlines) if order]
        if times:
            assert timer is not None
            assert timer.due_ms <= max(min(times), self.home.clock.now_ms() + 1)

    @invariant()
    def every_thread_ends_once_and_its_originator_is_told_once(self) -> None:
        ended = Counter(
            event.data["threadId"]
            for event in self.home.events
            if event.type.removeprefix("thread.") in {*ENDS, "partial"}
        )
        assert all(count == 1 for count in ended.values()), ended
        assert all(count == 1 for count in self.home.news.values()), self.home.news

    @invariant()
    def both_sides_agree(self) -> None:
        mirror = self.home.bench(address.mailbox(SENDER)).state
        for thread_id, row in self.box.received.items():
            stepped_back = row.state == "delivered" and row.isBegun
            assert mirror.sent[thread_id].state == ("working" if stepped_back else row.state)
            assert mirror.sent[thread_id].cause == row.cause
        assert self.home.waiting(RECIPIENT) == self.box.waiting
        assert self.home.waiting(SENDER) == mirror.waiting

    @invariant()
    def the_agent_knows_for_whom_it_works(self) -> None:
        owed = any(row.is_owed for row in self.box.received.values())
        known = self.home.bench(address.agent(RECIPIENT)).state.working_for
        assert [link.agentId for link in known.originators] == ([SENDER] if owed else [])

    def teardown(self) -> None:
        """When nobody says anything any more, time alone ends what is leased."""
        for _ in range(2):
            self.home.clock.advance(20 * lease_ms)
            self.home.ring()
            self.home.settle()
        assert self.box.leases == {}
        assert not any(row.state == "working" for row in self.box.received.values())
        now_ms = self.home.clock.now_ms()
        assert not any(row.is_overdue(now_ms) and row.state not in ENDS for row in self.box.received.values())
        self.both_sides_agree()


TestLeases = Leases.TestCase
TestLeases.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
