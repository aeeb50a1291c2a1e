"""Whatever agents do and however messages cross: every thread ends at most once, both sides agree once it is quiet,
and a restart would build the same state (mesh 4.2, common 8.1)."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from actors.decision import Send
from actors.mailbox.thread import ENDS
from bus import address
from bus.address import DIRECTORY
from bus.value import Record
from tests.support.bench import PERSON, agent
from tests.support.exchange import Home
from tools.errors import Code, Refusal

AGENTS = ("a1", "a2", "a3")
agents = st.sampled_from(AGENTS)


class Threads(RuleBasedStateMachine):
    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.home = Home()
        self.home.add_workspace("w1")
        for agent_id in AGENTS:
            self.home.add_agent(agent_id)
        self.closes: list[tuple[str, str]] = []
        """(call id, thread id) of every reply and rejection."""
        self.removed: set[str] = set()
        self.recipients: dict[str, str] = {}
        """Call id of a trigger -> whom it sent to."""

    def _begin(self, agent_id: str, verb: str, body: Record) -> str:
        return self.home.begin(address.mailbox(agent_id), verb, body, agent(agent_id, "w1"))

    @rule(target=calls, caller=agents, callee=agents, priority=st.sampled_from(["p1", "p3"]), keyed=st.booleans())
    def trigger(self, caller: str, callee: str, priority: str, keyed: bool) -> str:
        body: Record = {
            "agentId": callee,
            "task": {"title": "Count", "instructions": "Count the beans.", "priority": priority},
            "idempotencyKey": f"{callee}-{priority}" if keyed else None,
        }
        call_id = self._begin(caller, "agent_trigger", body)
        self.recipients[call_id] = callee
        return call_id

    @rule(agent_id=agents, limit=st.integers(1, 3))
    def read(self, agent_id: str, limit: int) -> None:
        self._begin(agent_id, "agent_inbox", {"limit": limit})

    @rule(
        call=calls,
        intruder=st.none() | agents,
        outcomes=st.lists(st.sampled_from(["completed", "partial", "failed", "reject"]), min_size=1, max_size=3),
        reads_first=st.booleans(),
    )
    def close(self, call: str, intruder: str | None, outcomes: list[str], reads_first: bool) -> None:
        """Mostly the recipient, perhaps twice; sometimes someone who has no right to."""
        if reads_first:
            self.settle_and_read(self.recipients[call])
        answer = self.home.answers.get(call)
        if not isinstance(answer, dict):
            return
        thread_id = str(answer["threadId"])
        for outcome in outcomes:
            body: Record = {"threadId": thread_id}
            body |= {"reason": "No."} if outcome == "reject" else {"outcome": outcome, "body": "7"}
            verb = "agent_reject" if outcome == "reject" else "agent_reply"
            self.closes.append((self._begin(intruder or self.recipients[call], verb, body), thread_id))

    @rule(agent_id=agents)
    def remove(self, agent_id: str) -> None:
        if agent_id in self.removed or len(self.removed) == 2:
            return
        self.removed.add(agent_id)
        self.home.begin(DIRECTORY, "agent_remove", {"agentId": agent_id}, PERSON)

    @rule(choice=st.integers(0, 50), repeat=st.booleans())
    def deliver(self, choice: int, repeat: bool) -> None:
        """One message of any stream moves; offers may arrive more than once."""
        streams = self.home.waiting_streams
        if not streams:
            return
        stream = streams[choice % len(streams)]
        send = self.home.streams[stream][0].send
        is_offer = isinstance(send, Send) and send.verb == "task_offered"
        self.home.step(stream, repeat=repeat and is_offer)

    @rule(milliseconds=st.sampled_from([1, 1_000]))
    def wait(self, milliseconds: int) -> None:
        self.home.clock.advance(milliseconds)

    @rule()
    def settle(self) -> None:
        self.home.settle()
        self._both_sides_agree()

    @rule(reader=agents)
    def settle_and_read(self, reader: str) -> None:
        self.home.settle()
        self.read(reader, 3)

    @invariant()
    def a_restart_would_change_nothing(self) -> None:
        self.home.assert_reloads()

    @invariant()
    def every_thread_was_queued_once_and_ended_at_most_once(self) -> None:
        queued = Counter(event.data["threadId"] for event in self.home.events if event.type == "thread.queued")
        assert all(count == 1 for count in queued.values()), queued
        ended = Counter(
            event.data["threadId"]
            for event in self.home.events
            if event.type.removeprefix("thread.") in {*ENDS, "partial"}
        )
        assert all(count == 1 for count in ended.values()), ended
        won = Counter(thread for close, thread in self.closes if isinstance(self.home.answers.get(close), dict))
        assert all(count == 1 for count in won.values()), won

    def _both_sides_agree(self) -> None:
        boxes = {agent_id: self.home.bench(address.mailbox(agent_id)).state for agent_id in AGENTS}
        for agent_id, box in boxes.items():
            assert box.offers == {}, "no call stays open"
            assert self.home.waiting(agent_id) == box.waiting
            for thread_id, sent in box.sent.items():
                received = boxes[sent.recipientId].received[thread_id]
                assert (received.state, received.senderId) == (sent.state, agent_id)
            for thread_id, received in box.received.items():
                assert thread_id in boxes[received.senderId].sent, "nothing is queued that nobody was told of"
                assert (thread_id in box.tasks) == (received.state not in ENDS)
        for answer in self.home.answers.values():
            if isinstance(answer, Refusal):
                assert answer.code not in (Code.INTERNAL, Code.INVALID_ARGUMENTS), answer

    def teardown(self) -> None:
        self.home.settle()
        self._both_sides_agree()


TestThreads = Threads.TestCase
TestThreads.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
