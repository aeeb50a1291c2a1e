"""The runtimes of one agent at this gateway: which is given what waits, and what becomes of its leases (mesh 5.1).

Invariants:
- Nothing is polled: the mailbox gives notice when something can be leased and when a lease or its thread ends. A slow
  look again covers a notice that was missed.
- One lease is asked for at a time, so runtimes take turns; nobody asks while nobody has room.
- What has become of leases is asked without renewing them: whoever works renews (mesh 4.4).
- Whenever the agent's authority changes each runtime is judged anew, and `refused` when it is none any more.

Event loop thread only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import structlog

from bus import address
from bus.client import Notices
from bus.limits import call_deadline_ms_default
from bus.runtime_limits import runtime_check_gap_ms, runtime_look_again_ms
from bus.topics import authority_topic, deliveries_topic
from bus.value import Record
from nexus.gateway.runtime_authority import RuntimeRefused
from nexus.gateway.runtime_session import LeaseFailed, RuntimeSession
from nexus.gateway.turns import Turns
from tools.errors import Code, Refusal

_log = structlog.get_logger("gateway")

NOT_SERVED: Final = Refusal(
    Code.UNAVAILABLE, "Something went wrong inside NEXUS. Connect again in a moment.", retryable=True
)


class AgentRuntimes:
    """`close` it when it has no sessions any more."""

    def __init__(self, agent_id: str, bus: Notices, refused: Callable[[RuntimeSession, Refusal], None]) -> None:
        """`refused` must close the session and `leave` with it."""
        self._sessions: deque[RuntimeSession] = deque()
        self._refused = refused
        self._leasing = Turns(self._lease, self._give_up)
        self._checking = Turns(self._check, self._give_up, runtime_check_gap_ms / 1_000)
        self._judging = Turns(self._judge, self._give_up)
        self._stops = [
            bus.listen(address.agent(agent_id), authority_topic(agent_id), self._authority_changed),
            bus.listen(address.mailbox(agent_id), deliveries_topic(agent_id), self._deliveries_changed),
        ]
        self._again = asyncio.get_running_loop().call_later(runtime_look_again_ms / 1_000, self._look_again)

    @property
    def is_empty(self) -> bool:
        return not self._sessions

    def join(self, session: RuntimeSession) -> None:
        self._sessions.append(session)
        # What has changed since it was judged; from here on its authority is listened for.
        self._judging.ask()
        if session.outstanding:
            self._checking.ask()

    def leave(self, session: RuntimeSession) -> None:
        self._sessions.remove(session)

    def has_room(self) -> None:
        """Some session may be given more."""
        self._leasing.ask()

    def is_in_doubt(self) -> None:
        """Some delivery may not be its runtime's any more."""
        self._checking.ask()

    def close(self) -> None:
        for stop in self._stops:
            stop()
        self._again.cancel()
        for turns in (self._leasing, self._checking, self._judging):
            turns.close()

    def _deliveries_changed(self, data: Record) -> None:
        """Without data: some notice may have been missed."""
        if not data or data.get("leasable") is True:
            self._leasing.ask()
        if not data or data.get("lost") is True:
            self._checking.ask()

    def _authority_changed(self, data: Record) -> None:
        self._judging.ask()

    def _look_again(self) -> None:
        self._deliveries_changed({})
        self._again = asyncio.get_running_loop().call_later(runtime_look_again_ms / 1_000, self._look_again)

    async def _lease(self) -> None:
        """Until nobody has room or nothing waits."""
        left = len(self._sessions)
        while left > 0 and self._sessions:
            self._sessions.rotate(-1)
            session = self._sessions[-1]
            left -= 1
            count, size = session.room()
            if count == 0:
                continue
            try:
                leased = await session.lease(count, size)
            except RuntimeRefused as refused:
                self._refused(session, refused.refusal)
                continue
            except LeaseFailed as failed:
                _log.warning("lease_failed", agent=session.agent_id, why=str(failed))
                return
            if leased.is_more_due:
                self._leasing.ask()
                return
            if not leased.count or not leased.waiting:
                return
            if leased.delivered:
                left = len(self._sessions)

    async def _check(self) -> None:
        for session in [*self._sessions]:
            try:
                has_room = await session.check()
            except RuntimeRefused as refused:
                self._refused(session, refused.refusal)
            except LeaseFailed as failed:
                _log.warning("check_failed", agent=session.agent_id, why=str(failed))
            else:
                if has_room:
                    self._leasing.ask()

    async def _judge(self) -> None:
        for session in [*self._sessions]:
            if not session.is_open:
                continue
            try:
                session.identity = await session.authority.judge(call_deadline_ms_default)
            except RuntimeRefused as refused:
                self._refused(session, refused.refusal)

    def _give_up(self) -> None:
        """Whom a defect keeps from being served is better told to come again."""
        for session in [*self._sessions]:
            self._refused(session, NOT_SERVED)
