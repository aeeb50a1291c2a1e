"""Which clients are told that something has changed (docs/decisions/0012, mesh 5.3, common 1.3).

Invariants:
- A stream belongs to the credential that opened it, and tells of that credential's agent only.
- Whenever the agent's authority changes, every stream of it is judged anew; one whose credential is no longer good ends
  at once (security 2.10).
- Of each kind of change a stream holds at most one that its client has not taken yet: nothing is replayed, and what
  counts is what the client reads then.
- What may have been missed while nobody listened (a new stream, a host that began anew) is told once, if anything
  waits.
- One agent has at most `streams_per_agent_max` streams here.

Event loop thread only.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import structlog

from bus import address
from bus.client import CallerAndNotices, DeadlinePassed
from bus.clock import Clock
from bus.limits import call_deadline_ms_default, streams_per_agent_max, subscribed_sessions_per_agent_max
from bus.topics import authority_topic, mailbox_topic
from bus.value import Record
from nexus.gateway.identity import Credential, Identity, authenticate
from tools.base import Family

_log = structlog.get_logger("gateway")
_JUDGE_AGAIN_SECONDS: Final = 1.0


class Change(Enum):
    """What a client can be told of."""

    MAILBOX = "mailbox"
    """nexus://mailbox reads differently."""
    TOOLS = "tools"
    """tools/list reads differently."""


@dataclass(slots=True, eq=False)
class Stream:
    """One client that listens. Whoever serves it takes what `next` gives until that is None."""

    identity: Identity
    wanted: set[Change]
    is_new: bool = True
    """Nobody has looked yet whether anything waits for it."""
    _untaken: dict[Change, None] = field(default_factory=dict)
    _has_ended: bool = False
    _awake: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self) -> Change | None:
        """The next change that its client has not been told of, oldest first; None once the stream has ended."""
        while not self._has_ended:
            if self._untaken:
                change = next(iter(self._untaken))
                del self._untaken[change]
                return change
            self._awake.clear()
            await self._awake.wait()
        return None

    async def ended(self) -> None:
        """Returns when it has ended."""
        await self._ended.wait()

    def tell(self, change: Change) -> None:
        if change in self.wanted:
            self._untaken[change] = None
            self._awake.set()

    def end(self) -> None:
        self._has_ended = True
        self._awake.set()
        self._ended.set()


@dataclass(slots=True)
class _Agent:
    streams: list[Stream] = field(default_factory=list)
    stops: list[Callable[[], None]] = field(default_factory=list)
    is_in_doubt: bool = False
    """Some stream has to be judged (anew)."""
    has_missed: bool = False
    """Changes of its mailbox may have passed unheard."""
    judging: asyncio.Task[None] | None = None


def _but_the_first(told: Callable[[Record], None]) -> Callable[[Record], None]:
    """Without the notice that only says that one listens now: who opens the first stream looks for itself, and what it
    asks reaches the owner after the host has heard who listens."""
    is_first = True

    def tell(data: Record) -> None:
        nonlocal is_first
        was_first, is_first = is_first, False
        if data or not was_first:
            told(data)

    return tell


def _sees_all(identity: Identity) -> object:
    return None


class Listeners:
    """All streams of one gateway. `end_all` when it ends."""

    def __init__(
        self,
        bus: CallerAndNotices,
        clock: Clock,
        tools_seen_by: Callable[[Identity], object] = _sees_all,
    ) -> None:
        """`tools_seen_by` says what tools/list depends on for a caller: when it differs, the list has changed."""
        self._bus = bus
        self._clock = clock
        self._tools_seen_by = tools_seen_by
        self._agents: dict[str, _Agent] = {}
        self._has_ended = False

    def open(self, identity: Identity, wanted: Iterable[Change]) -> Stream | None:
        """A stream for whoever has just been authenticated as `identity`; None when the agent has as many as it may.
        `close` it."""
        agent_id = identity.agent_id
        agent = self._agents.get(agent_id)
        if agent is not None and len(agent.streams) >= streams_per_agent_max:
            return None
        stream = Stream(identity, {*wanted})
        if self._has_ended:
            stream.end()
            return stream
        if agent is None:
            agent = self._agents[agent_id] = _Agent()
            agent.stops = self._listen(agent_id, agent)
        agent.streams.append(stream)
        # From here on its authority is listened for; what changed since it was authenticated is found out now.
        self._judge(agent)
        return stream

    def close(self, stream: Stream) -> None:
        stream.end()
        agent_id = stream.identity.agent_id
        agent = self._agents.get(agent_id)
        if agent is None or stream not in agent.streams:
            return
        agent.streams.remove(stream)
        if not agent.streams:
            del self._agents[agent_id]
            for stop in agent.stops:
                stop()
            if agent.judging is not None:
                agent.judging.cancel()

    def want(self, stream: Stream, change: Change) -> None:
        """The client of an open stream wants to hear of `change` too; it is told once if anything waits."""
        stream.wanted.add(change)
        agent = self._agents.get(stream.identity.agent_id)
        if agent is not None and stream in agent.streams:
            stream.is_new = True
            self._judge(agent)

    def tools_changed(self) -> None:
        """What this process serves has changed, for everyone."""
        for agent in self._agents.values():
            for stream in agent.streams:
                stream.tell(Change.TOOLS)

    def end_all(self) -> None:
        """No stream goes on, and none begins any more."""
        self._has_ended = True
        for agent in [*self._agents.values()]:
            for stream in [*agent.streams]:
                self.close(stream)

    def count(self, agent_id: str) -> int:
        """How many streams an agent has."""
        agent = self._agents.get(agent_id)
        return 0 if agent is None else len(agent.streams)

    def _listen(self, agent_id: str, agent: _Agent) -> list[Callable[[], None]]:
        def mailbox(data: Record) -> None:
            if not data:
                agent.has_missed = True
                self._judge(agent)
                return
            for stream in agent.streams:
                stream.tell(Change.MAILBOX)

        def authority(data: Record) -> None:
            self._judge(agent)

        owner = address.agent(agent_id)
        return [
            self._bus.listen(owner, authority_topic(agent_id), _but_the_first(authority)),
            self._bus.listen(owner, mailbox_topic(agent_id), _but_the_first(mailbox)),
        ]

    def _judge(self, agent: _Agent) -> None:
        agent.is_in_doubt = True
        if agent.judging is None:
            agent.judging = asyncio.create_task(self._judge_until_sure(agent))

    async def _judge_until_sure(self, agent: _Agent) -> None:
        """One at a time for an agent; what comes up meanwhile is judged once more."""
        try:
            while agent.is_in_doubt and agent.streams:
                agent.is_in_doubt = False
                try:
                    await self._judge_once(agent)
                except DeadlinePassed:  # of its credentials nothing is known while its owner is restarting
                    agent.is_in_doubt = True
                    await asyncio.sleep(_JUDGE_AGAIN_SECONDS)
        except Exception:  # noqa: BLE001 - what nobody can judge must not go on
            _log.exception("streams_not_judged", streams=len(agent.streams))
            for stream in [*agent.streams]:
                self.close(stream)
        finally:
            agent.judging = None

    async def _judge_once(self, agent: _Agent) -> None:
        """Raises DeadlinePassed."""
        has_missed = agent.has_missed
        by_credential: dict[Credential, list[Stream]] = {}
        for stream in agent.streams:
            by_credential.setdefault(stream.identity.credential, []).append(stream)
        for credential, streams in by_credential.items():
            identity = await authenticate(self._bus, credential, self._clock.new_id(), call_deadline_ms_default)
            for stream in streams:
                if identity is None:
                    self.close(stream)
                else:
                    self._found(stream, identity, has_missed)
        if has_missed and not agent.is_in_doubt:
            agent.has_missed = False

    def _found(self, stream: Stream, identity: Identity, has_missed: bool) -> None:
        if self._tools_seen_by(identity) != self._tools_seen_by(stream.identity):
            stream.tell(Change.TOOLS)
        if identity.waiting and (stream.is_new or has_missed):
            stream.tell(Change.MAILBOX)
        stream.is_new = False
        stream.identity = identity
        if not knows_mailbox(identity):  # it was narrowed: at once, on open streams too (common 2.1)
            stream.wanted.discard(Change.MAILBOX)


def knows_mailbox(identity: Identity) -> bool:
    """A credential that is narrowed to other families knows nothing of a mailbox (common 1.3)."""
    return identity.families is None or Family.AGENT.value in identity.families


@dataclass(slots=True)
class _Subscribed:
    is_subscribed: bool = False
    stream: Stream | None = None


class Subscriptions:
    """Which sessions of the older era have subscribed to the mailbox, and the stream of each, if it has one.

    The SDK does not say when a session is over, so an agent's are forgotten by number, the one used longest ago first.
    """

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        self._agents: dict[str, OrderedDict[str, _Subscribed]] = {}

    def set(self, agent_id: str, session: str, is_subscribed: bool) -> None:
        known = self._of(agent_id, session)
        known.is_subscribed = is_subscribed
        if known.stream is None:
            return
        if is_subscribed and knows_mailbox(known.stream.identity):
            self._listeners.want(known.stream, Change.MAILBOX)
        else:
            known.stream.wanted.discard(Change.MAILBOX)

    def attach(self, session: str, stream: Stream) -> None:
        """The session's client opens its stream."""
        known = self._of(stream.identity.agent_id, session)
        known.stream = stream
        if known.is_subscribed and knows_mailbox(stream.identity):  # a session is its agent's, not its credential's
            self._listeners.want(stream, Change.MAILBOX)

    def detach(self, session: str, stream: Stream) -> None:
        sessions = self._agents.get(stream.identity.agent_id, OrderedDict())
        known = sessions.get(session)
        if known is not None and known.stream is stream:
            known.stream = None

    def _of(self, agent_id: str, session: str) -> _Subscribed:
        sessions = self._agents.setdefault(agent_id, OrderedDict())
        known = sessions.setdefault(session, _Subscribed())
        sessions.move_to_end(session)
        while len(sessions) > subscribed_sessions_per_agent_max:
            sessions.popitem(last=False)
        return known
