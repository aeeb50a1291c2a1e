"""What runtimes ask about their deliveries, on its way to the mailbox and back (mesh 5.1).

Invariants: each request counts as a call of its agent (common 8.5); it is answered once on the connection that it came
by; one whose outcome is not known is answered `unavailable`, since asking again under its delivery id changes nothing
that has happened.

Event loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from bus.client import DeadlinePassed
from bus.clock import Clock
from bus.codec import Unencodable
from bus.envelope import Reply
from bus.runtime_frames import Answered, Request
from bus.runtime_limits import runtime_requests_open_max
from bus.value import Record, Value, records
from nexus.gateway.incident import incident
from nexus.gateway.runtime_authority import RuntimeRefused
from nexus.gateway.runtime_leasing import AgentRuntimes
from nexus.gateway.runtime_session import RuntimeSession, lease_left_ms
from nexus.gateway.shares import AgentShares
from tools.errors import Code, Refusal, invalid_arguments, unavailable

_ENDS: Final = frozenset({"finish", "release"})
_TOO_MANY: Final = Refusal(
    Code.RATE_LIMITED,
    "As many requests of this runtime are open as may be. Await some of their answers first.",
    retryable=True,
    details={"limit": runtime_requests_open_max, "retryAfterSeconds": 1},
)


class RuntimeRequests:
    """`refused` closes a session whose token is not good any more; `group` is that of an agent, if it has sessions."""

    def __init__(
        self,
        clock: Clock,
        uses: AgentShares,
        *,
        refused: Callable[[RuntimeSession, Refusal], None],
        group: Callable[[str], AgentRuntimes | None],
    ) -> None:
        self._clock = clock
        self._uses = uses
        self._refused = refused
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, session: RuntimeSession, request: Request) -> None:
        if len(session.requests) >= runtime_requests_open_max:
            session.send(Answered(request.number, None, _TOO_MANY.to_record()))
            return
        task = asyncio.get_running_loop().create_task(self._answer(session, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        session.requests[task] = request
        task.add_done_callback(session.requests.pop)

    def close(self) -> None:
        for task in [*self._tasks]:
            task.cancel()

    async def _answer(self, session: RuntimeSession, request: Request) -> None:
        try:
            ok, error = await self._asked(session, request)
            session.send(Answered(request.number, ok, error))
        except RuntimeRefused as refused:
            self._refused(session, refused.refusal)
            return
        except Exception:  # noqa: BLE001 - it is logged whole, and answered by its incident id
            error = incident(self._clock, "runtime_request_failed", verb=request.verb).to_record()
            session.send(Answered(request.number, None, error))
        self._follow(session, request, error)

    async def _asked(self, session: RuntimeSession, request: Request) -> tuple[Record | None, Record | None]:
        """Raises RuntimeRefused."""
        limits, now_ms = session.identity.limits, self._clock.now_ms()
        with self._uses.request(session.agent_id, limits, now_ms) as too_much:
            if too_much is not None:
                return None, too_much.to_record()
            body = dict(request.body)
            if request.verb == "renew":
                body["runtimeId"] = session.runtime_id
            try:
                reply = await session.authority.call(f"mail_{request.verb}", body)
            except DeadlinePassed:
                return None, unavailable().to_record()
            except Unencodable:
                return None, invalid_arguments({}).to_record()
        if request.verb == "renew" and reply.ok is not None:
            session.lost(reply.ok)
            return self._renewed(reply.ok), None
        return reply.ok, _as_told(reply)

    def _renewed(self, ok: Record) -> Record:
        renewed: list[Value] = [
            {"deliveryId": one.get("deliveryId"), "leaseMs": lease_left_ms(one.get("leaseUntil"), self._clock)}
            for one in records(ok, "renewed")
        ]
        return {"renewed": renewed}

    def _follow(self, session: RuntimeSession, request: Request, error: Record | None) -> None:
        """What the answer says of the delivery: that it is over, or, refused, that it may be. Also for a session that
        is over itself: what has ended is not to be given back."""
        is_end = error is None and request.verb in _ENDS
        if is_end:
            session.ended(str(request.body.get("deliveryId")))
        group = self._group(session.agent_id)
        if group is None:
            return
        if is_end:
            group.has_room()
        elif error is not None:
            group.is_in_doubt()


def _as_told(reply: Reply) -> Record | None:
    """Only the mailbox's own refusals leave; `outcome_unknown` cannot be, of what may be repeated."""
    if reply.error is not None and reply.error.get("code") == Code.OUTCOME_UNKNOWN.value:
        return unavailable().to_record()
    return reply.error
