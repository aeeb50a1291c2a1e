"""Where agents' runtimes connect: `run/runtimes.sock`, one connection a runtime (mesh 5.1; decision 0014).

A runtime says Hello with its token, is judged like any call, counts as one of its agent's connections, and is then
given what waits in the agent's mailbox, up to its credit. Nothing that matters is here: what a runtime says goes to
the mailbox, which decides, and repeats are by delivery id.

Invariants:
- Before a Hello was found good its sender is told Unknown or Refused and nothing else, and costs a bounded question.
- A runtime is heard of every `runtime_silence_ms_max`, or its connection ends and its leases run out. One that says
  Bye, or whose token is not good any more, has them released at once (security 2.10). No release overtakes a finish:
  a delivery of which one is under way is given back once that was answered and has not ended it.
- One that does not take what it is sent is given up; it keeps nobody else waiting.
- One runtime id of one agent has one session: who says Hello under it again takes the former's place. Of two that are
  judged at once the later Hello stays: the earlier is most likely of a connection that the runtime has given up.

Event loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import structlog

from bus.client import CallerAndNotices, DeadlinePassed
from bus.clock import Clock
from bus.codec import Undecodable
from bus.runtime_frames import (
    PROTOCOL,
    Bye,
    Credit,
    Hello,
    Ping,
    Pong,
    Refused,
    Request,
    RuntimeFrame,
    Unknown,
    Welcome,
    decode_runtime_frame,
    encode_runtime_frame,
)
from bus.runtime_limits import (
    runtime_farewell_ms_max,
    runtime_hello_ms_max,
    runtime_hellos_open_max,
    runtime_sessions_max,
    runtime_silence_ms_max,
)
from bus.wire import Wire
from nexus.gateway.identity import parse_token
from nexus.gateway.incident import incident
from nexus.gateway.runtime_authority import BAD_TOKEN, RuntimeAuthority, RuntimeRefused
from nexus.gateway.runtime_leasing import NOT_SERVED, AgentRuntimes
from nexus.gateway.runtime_requests import RuntimeRequests
from nexus.gateway.runtime_session import LeaseFailed, RuntimeSession
from nexus.gateway.shares import AgentShares
from tools.errors import Code, Refusal, unavailable

_log = structlog.get_logger("gateway")

_OTHER_PROTOCOL: Final = Refusal(
    Code.INVALID_ARGUMENTS, "This NEXUS speaks another version of the runtimes' protocol. Use its own mailbox client."
)
_MALFORMED: Final = Refusal(Code.INVALID_ARGUMENTS, "That is no frame of the runtimes' protocol.")
_REPLACED: Final = Refusal(
    Code.WRONG_STATE, "Another program has connected under this runtime's id. Give each its own, or leave it out."
)
_TOO_MANY: Final = Refusal(
    Code.RATE_LIMITED, "As many runtimes are connected, or connecting, as may be. Try again later.", retryable=True
)


class RuntimePort:
    """Listens from its making until `close`."""

    def __init__(self, bus: CallerAndNotices, clock: Clock, uses: AgentShares, wire: Wire, path: Path) -> None:
        self._bus = bus
        self._clock = clock
        self._uses = uses
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[bytes, RuntimeSession] = {}
        self._by_runtime: dict[tuple[str, str], RuntimeSession] = {}
        self._agents: dict[str, AgentRuntimes] = {}
        self._greeting: set[bytes] = set()
        self._hellos = 0
        self._requests = RuntimeRequests(clock, uses, refused=self._refused, group=self._agents.get)
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = wire.listen(path, self._received)
        self._sweep = self._loop.call_later(runtime_silence_ms_max / 2_000, self._forget_silent)

    @property
    def runtimes(self) -> int:
        """How many are connected."""
        return len(self._sessions)

    def close(self) -> None:
        """Runtimes find the next gateway by themselves, and go on under it with what they hold."""
        self._sweep.cancel()
        for session in [*self._sessions.values()]:
            self._drop(session)
        for task in [*self._tasks]:
            task.cancel()
        self._requests.close()
        self._listener.close()

    def _received(self, route: bytes, data: bytes) -> None:
        session = self._sessions.get(route)
        try:
            frame = decode_runtime_frame(data)
        except Undecodable:
            if session is not None:
                self._refused(session, _MALFORMED)
            return
        if session is not None:
            session.heard_ms = self._clock.now_ms()
        match frame:
            case Hello():
                self._hello(route, frame)
            case _ if session is None:
                if route not in self._greeting:
                    self._send(route, Unknown())
            case Ping():
                session.send(Pong())
            case _ if session.is_leaving:
                pass  # only what it had asked before is still answered
            case Credit():
                session.set_credit(frame)
                self._agents[session.agent_id].has_room()
            case Request():
                self._requests.take(session, frame)
            case Bye():
                session.is_leaving = True
                self._start(self._farewell(session))
            case _:
                self._refused(session, _MALFORMED)

    def _send(self, route: bytes, frame: RuntimeFrame) -> None:
        """To one that may be gone, or not listen: then that is its loss."""
        self._listener.send(route, encode_runtime_frame(frame))

    def _refuse(self, route: bytes, refusal: Refusal) -> None:
        self._send(route, Refused(refusal.code.value, refusal.message, refusal.retryable))

    def _hello(self, route: bytes, hello: Hello) -> None:
        if route in self._greeting:
            return
        if len(self._greeting) >= runtime_hellos_open_max or len(self._sessions) >= runtime_sessions_max:
            self._refuse(route, _TOO_MANY)
            return
        self._greeting.add(route)
        self._hellos += 1
        self._start(self._greet(route, hello, self._hellos))

    async def _greet(self, route: bytes, hello: Hello, number: int) -> None:
        try:
            refusal = await self._admit(route, hello, number)
        except RuntimeRefused as refused:
            refusal = refused.refusal
        except DeadlinePassed:
            refusal = unavailable()
        except Exception:  # noqa: BLE001 - it is logged whole, and the runtime is better told to come again
            incident(self._clock, "runtime_greeting_failed")
            refusal = NOT_SERVED
        finally:
            self._greeting.discard(route)
        if refusal is not None:
            self._refuse(route, refusal)

    async def _admit(self, route: bytes, hello: Hello, number: int) -> Refusal | None:
        """Why not; `number` is the place of the Hello among all. Raises RuntimeRefused and DeadlinePassed."""
        if hello.protocol != PROTOCOL:
            return _OTHER_PROTOCOL
        credential = parse_token(hello.token)
        if credential is None:
            return BAD_TOKEN
        authority = RuntimeAuthority(self._bus, self._clock, credential)
        identity = await authority.judge(runtime_hello_ms_max)
        newer = self._by_runtime.get((credential.agent_id, hello.runtime_id))
        if newer is not None and newer.number > number:
            return _REPLACED
        self._take_place_of(credential.agent_id, hello, route)
        with ExitStack() as share:
            used = self._uses.request(identity.agent_id, identity.limits, self._clock.now_ms())
            too_much = share.enter_context(used)
            if too_much is not None:
                return too_much
            group = self._group(credential.agent_id)
            session = RuntimeSession(
                route,
                hello.runtime_id,
                authority,
                identity,
                hello.holding,
                number=number,
                clock=self._clock,
                share=share.pop_all(),
                send=lambda data: self._listener.send(route, data),
                gone=self._drop,
            )
        self._sessions[route] = session
        self._by_runtime[session.agent_id, session.runtime_id] = session
        # Before it is welcomed: a session that cannot be told so is dropped, and with it leaves its group.
        group.join(session)
        session.send(Welcome(PROTOCOL, session.agent_id))
        return None

    def _take_place_of(self, agent_id: str, hello: Hello, route: bytes) -> None:
        """What the former session was given and the runtime does not have, it never got."""
        for former in (self._sessions.get(route), self._by_runtime.get((agent_id, hello.runtime_id))):
            if former is None or not former.is_open:
                continue
            self._drop(former)
            if former.route != route:
                self._refuse(former.route, _REPLACED)
            is_same = (former.agent_id, former.runtime_id) == (agent_id, hello.runtime_id)
            held = frozenset(hello.holding) if is_same else frozenset()
            self._give_back(former, [one for one in former.outstanding if one not in held])

    def _group(self, agent_id: str) -> AgentRuntimes:
        group = self._agents.get(agent_id)
        if group is None:
            group = self._agents[agent_id] = AgentRuntimes(agent_id, self._bus, self._refused)
        return group

    def _drop(self, session: RuntimeSession) -> None:
        """The session is over; what it holds stays leased."""
        if not session.is_open:
            return
        session.close()
        del self._sessions[session.route]
        self._by_runtime.pop((session.agent_id, session.runtime_id), None)
        group = self._agents.get(session.agent_id)
        if group is not None:
            group.leave(session)
            if group.is_empty:
                del self._agents[session.agent_id]
                group.close()

    async def _farewell(self, session: RuntimeSession) -> None:
        """Bye, once what it finished before is answered; the rest is given back at once."""
        unfinished = [one for one in session.outstanding if not session.is_finishing(one)]
        for delivery_id in unfinished:
            session.ended(delivery_id)
        self._give_back(session, unfinished)
        await session.finishes_answered(runtime_farewell_ms_max)
        if session.is_open:  # nobody has taken its place
            self._release(session)
            self._send(session.route, Bye())

    def _release(self, session: RuntimeSession) -> None:
        """The session is over, and with it its leases."""
        self._drop(session)
        self._give_back(session, [*session.outstanding])

    def _refused(self, session: RuntimeSession, refusal: Refusal) -> None:
        """Its runtime is told why it is no runtime any more."""
        if session.is_open:
            self._refuse(session.route, refusal)
            self._release(session)

    def _give_back(self, session: RuntimeSession, delivery_ids: list[str]) -> None:
        if delivery_ids:
            self._start(self._given_back(session, delivery_ids))

    async def _given_back(self, session: RuntimeSession, delivery_ids: list[str]) -> None:
        """What cannot be given back runs out."""
        finishing = [one for one in delivery_ids if session.is_finishing(one)]
        try:
            await session.give_back([one for one in delivery_ids if one not in finishing])
            if finishing:
                await session.finishes_answered(runtime_farewell_ms_max)
                await session.give_back([one for one in finishing if one in session.outstanding])
        except (DeadlinePassed, LeaseFailed) as problem:
            _log.info("leases_run_out", agent=session.agent_id, leases=len(delivery_ids), why=repr(problem))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(self._logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _logged(self, work: Coroutine[None, None, None]) -> None:
        """Nobody awaits it, so nobody else would hear of a defect."""
        try:
            await work
        except Exception:  # noqa: BLE001 - it is logged whole; what it was to do comes by time, as leases run out
            incident(self._clock, "runtime_port_failed")

    def _forget_silent(self) -> None:
        oldest = self._clock.now_ms() - runtime_silence_ms_max
        for session in [*self._sessions.values()]:
            if session.heard_ms < oldest:
                self._drop(session)
        self._sweep = self._loop.call_later(runtime_silence_ms_max / 2_000, self._forget_silent)
