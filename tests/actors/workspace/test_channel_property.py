"""Any sequence of what agents ask for and the person does: invariants hold, and each request ends exactly once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bus import address
from bus.address import DIRECTORY
from bus.limits import agent_creation_rate_ms
from bus.value import Value
from tests.support.bench import PERSON
from tests.support.channel_home import ChannelHome, channel_home
from tools.errors import Code, Refusal

W1 = address.workspace("w1")
AGENTS = ("a1", "a2", "a3", "b1")
NAMES = ("Reviews", "REVIEWS", "Design", "Dеsign")
AGENT = st.sampled_from(AGENTS)
CHANNEL = st.integers(0, 3)


class Channels(RuleBasedStateMachine):
    """Messages between owners wait until they are delivered, in any order that keeps each stream's own."""

    def __init__(self) -> None:
        super().__init__()
        self.home: ChannelHome = channel_home()
        self.channels = [self.home.channel("Reviews", "a1", "a2")]
        self.calls: dict[str, str] = {}
        """Open or answered calls of agents, and their tools."""

    def _channel(self, number: int) -> str:
        return self.channels[number % len(self.channels)]

    def _begin(self, agent_id: str, tool: str, **arguments: Value) -> None:
        head = self.home.bench(address.agent(agent_id)).state.head
        if head.removed or head.workspaceId != "w1":
            return
        self.calls[self.home.begin(W1, tool, arguments, self.home.as_agent(agent_id))] = tool

    def _person(self, verb: str, **arguments: Value) -> None:
        self.home.begin(W1, verb, arguments, PERSON)

    @rule(asker=AGENT, number=CHANNEL, invited=AGENT)
    def invite(self, asker: str, number: int, invited: str) -> None:
        self._begin(asker, "agent_invite_to_channel", channelId=self._channel(number), agentId=invited)

    @rule(asker=AGENT, name=st.sampled_from(("Fay", "Gus", "Ada")), number=st.none() | CHANNEL)
    def create(self, asker: str, name: str, number: int | None) -> None:
        self._begin(asker, "agent_create", name=name, channelId=None if number is None else self._channel(number))

    @rule(name=st.sampled_from(NAMES))
    def make(self, name: str) -> None:
        reply = self.home.answers[self.home.begin(W1, "channel_create", {"name": name}, PERSON)]
        if not isinstance(reply, Refusal):
            self.channels.append(str(reply["channelId"]))

    @rule(number=CHANNEL, name=st.sampled_from(NAMES))
    def rename(self, number: int, name: str) -> None:
        self._person("channel_rename", channelId=self._channel(number), name=name)

    @rule(number=CHANNEL, agent_id=AGENT, verb=st.sampled_from(("channel_add", "channel_remove")))
    def member(self, number: int, agent_id: str, verb: str) -> None:
        self._person(verb, channelId=self._channel(number), agentId=agent_id)

    @rule(number=CHANNEL)
    def delete(self, number: int) -> None:
        self._person("channel_delete", channelId=self._channel(number))

    @rule(which=st.integers(0, 9), decision=st.sampled_from(("accept", "decline")))
    def decide(self, which: int, decision: str) -> None:
        waiting = sorted(self.home.book().requests)
        if waiting:
            self._person("request_decide", requestId=waiting[which % len(waiting)], decision=decision)

    @rule(agent_id=AGENT)
    def remove(self, agent_id: str) -> None:
        self.home.begin(DIRECTORY, "agent_remove", {"agentId": agent_id}, PERSON)

    @rule(agent_id=AGENT, to=st.sampled_from(("w1", "w2")))
    def pin(self, agent_id: str, to: str) -> None:
        self.home.begin(DIRECTORY, "agent_pin", {"agentId": agent_id, "workspaceId": to}, PERSON)

    @rule(which=st.integers(0, 99))
    def deliver(self, which: int) -> None:
        streams = self.home.waiting_streams
        if streams:
            self.home.step(streams[which % len(streams)])

    @rule()
    def an_hour_passes(self) -> None:
        self.home.clock.advance(agent_creation_rate_ms)

    @invariant()
    def nobody_is_told_twice_of_one_end(self) -> None:
        ends = Counter((told["requestId"], told["kind"]) for _, told in self.home.told)
        assert not [end for end, count in ends.items() if count > 1]

    def teardown(self) -> None:
        home: Any = self.home
        home.settle()
        home.assert_reloads()
        book = home.book()
        listed = home.bench(DIRECTORY).state.agents
        ended = {told["requestId"] for _, told in home.told}
        assert [id_ for id_, one in book.requests.items() if not one.is_pending] == [], "no call waits for ever"
        assert not ended & book.requests.keys(), "what has ended waits for nobody"
        assert book.creations.keys() <= listed.keys(), "nothing is kept of an agent that is gone"
        for channel in book.channels.values():
            assert set(channel.members) <= listed.keys(), "a removed agent is a member nowhere"
        for request in book.requests.values():
            assert request.agentId in listed, "nobody is asked about an agent that is gone"
        for call_id, tool in self.calls.items():
            answer = home.answers[call_id]
            if isinstance(answer, Refusal):
                assert answer.code in (Code.NOT_FOUND, Code.WRONG_STATE, Code.RATE_LIMITED)
            elif tool == "agent_create":
                assert answer["requestId"] in ended, "whoever was accepted is told"
            else:
                assert answer["requestId"] in ended | book.requests.keys()


Channels.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestChannels = Channels.TestCase
