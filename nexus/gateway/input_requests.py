"""Approvals by multi-round-trip request, for clients of the newer era that can show an address (common 5.6).

A call refused `approval_required` is answered by a request for input: the address of a page that names the person's
commands, and a request state. The client shows the address and calls again with the state; that retry is held until the
person has decided or time is up, and is then admitted like any call. So nothing here approves anything, and a client's
"accept" means no more than that the person has seen the address.

Invariants:
- A state is of use to the agent, tool and arguments that it was made for, for `input_state_ms`, and once. What it
  stands for is judged by the agent's owner, so that a gateway that has forgotten what was used lets nothing run twice.
- Whatever is wrong with a state is told in the same words.

Event loop thread only.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from bus import address
from bus.client import CallerAndNotices, DeadlinePassed
from bus.clock import Clock
from bus.limits import input_hold_ms_max, input_state_ms, input_states_used_max
from bus.topics import approval_topic
from nexus.gateway.admitting import ToolRequest
from nexus.gateway.arguments import canonical_hash
from nexus.gateway.call import Answer, refused
from nexus.gateway.cursor import CursorSeal
from tools.errors import Code, approval_required

REQUEST: Final = "approval"
"""The key of the one input request, and of its response."""

_MESSAGE: Final = (
    "This call needs the approval of the person who runs NEXUS. The page names the commands that show it and decide it."
)
_BAD_STATE: Final = "Invalid or expired requestState"
_PENDING: Final = "pending"
_NOBODY: Final = "nobody"
_SPENT: Final = frozenset({"in_use", "used"})


@dataclass(frozen=True, slots=True)
class Round:
    """What a tools/call says of the rounds before it. `action` is the client's answer to the input request."""

    declares_url: bool
    state: str | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class _Opened:
    nonce: str
    expires_ms: int
    approval_id: str


class InputRequests:
    """Asks for approvals and holds retries. `answer` carries one call through admission and to its end."""

    def __init__(
        self,
        bus: CallerAndNotices,
        clock: Clock,
        seal: CursorSeal,
        page: str,
        hold_ms: int = input_hold_ms_max,
    ) -> None:
        """`seal` has a key of its own, shared by the gateways of a home; `page` is the address that is shown."""
        self._bus = bus
        self._clock = clock
        self._seal = seal
        self._page = page
        self._hold_ms = hold_ms
        self._used: OrderedDict[str, int] = OrderedDict()
        """Nonces of states that were presented, and until when those were good."""

    async def call(
        self, request: ToolRequest, this: Round, answer: Callable[[ToolRequest], Awaitable[Answer]]
    ) -> Answer | types.InputRequiredResult:
        """Raises MCPError (-32602) for a state that is not of use, and whatever `answer` raises."""
        if this.state is None:  # a response without a state answers nothing that was asked
            return self._asked(request, this, await answer(request))
        opened = self._opened(request, this.state)
        self._used[opened.nonce] = opened.expires_ms
        is_admitted = False
        try:
            if this.action in ("decline", "cancel"):
                is_admitted = True
                return refused(approval_required(opened.approval_id), request.identity.waiting)
            state = await self._state(request, opened.approval_id)
            # Under a key admission knows what came of the first try, and joins it (common 8.2).
            if state in _SPENT and request.idempotency_key is None:
                is_admitted = True
                raise _bad_state()
            if state == _PENDING and this.action == "accept":
                state = await self._held(request, opened.approval_id)
            # The person's time is not the call's: what was decided has the tool's whole deadline.
            now = request if state == _PENDING else replace(request, started_ms=self._clock.now_ms())
            is_admitted = True
            return self._asked(request, this, await answer(now))
        finally:
            if not is_admitted:  # the client went away while it was held, and nothing has come of it
                self._used.pop(opened.nonce, None)

    def _asked(self, request: ToolRequest, this: Round, answer: Answer) -> Answer | types.InputRequiredResult:
        approval_id = _approval_asked_for(answer)
        if approval_id is None or not this.declares_url:
            return answer
        return types.InputRequiredResult(
            input_requests={
                REQUEST: types.ElicitRequest(params=types.ElicitRequestURLParams(message=_MESSAGE, url=self._page))
            },
            request_state=self._sealed(request, approval_id),
        )

    async def _held(self, request: ToolRequest, approval_id: str) -> str:
        """The state of the approval once it is not pending any more, or `pending` when nobody can wait longer."""
        changed = asyncio.Event()
        owner = address.agent(request.identity.agent_id)
        stop = self._bus.listen(owner, approval_topic(approval_id), lambda data: changed.set())
        left_ms = request.started_ms + self._hold_ms - self._clock.now_ms()
        try:
            async with asyncio.timeout(max(left_ms, 0) / 1000):
                while True:
                    await changed.wait()  # the first notice says only that one listens now
                    changed.clear()
                    state = await self._state(request, approval_id)
                    if state != _PENDING:
                        return state
        except TimeoutError:
            return _PENDING
        finally:
            stop()

    async def _state(self, request: ToolRequest, approval_id: str) -> str:
        """Of an approval of the caller's own; `pending` when its owner does not answer, `nobody` when the caller's
        credential is gone. Raises MCPError for an approval that its owner does not know."""
        identity = request.identity
        left_ms = request.started_ms + self._hold_ms - self._clock.now_ms()
        try:
            reply = await self._bus.call(
                address.agent(identity.agent_id),
                "approval_state",
                {"tokenHash": identity.credential.token_hash, "approvalId": approval_id},
                call_id=self._clock.new_id(),
                within_ms=max(left_ms, 1),
            )
        except DeadlinePassed:
            return _PENDING
        if reply.ok is not None and reply.ok.get("authenticated") is not True:
            return _NOBODY  # admission says so in its own words
        state = None if reply.ok is None else reply.ok.get("state")
        if not isinstance(state, str):
            raise _bad_state()
        return state

    # The state: expiry, nonce and approval, sealed to whose call it is.

    def _sealed(self, request: ToolRequest, approval_id: str) -> str:
        place = f"{self._clock.now_ms() + input_state_ms} {self._clock.new_id()} {approval_id}"
        return self._seal.sealed(place, *_bound_to(request))

    def _opened(self, request: ToolRequest, state: str) -> _Opened:
        place = self._seal.opened(state, *_bound_to(request))
        if place is None:
            raise _bad_state()
        expires, nonce, approval_id = place.split(" ")
        now_ms = self._clock.now_ms()
        is_repeat = nonce in self._used and request.idempotency_key is None
        if int(expires) <= now_ms or is_repeat:
            raise _bad_state()
        while self._used and (len(self._used) >= input_states_used_max or next(iter(self._used.values())) <= now_ms):
            self._used.popitem(last=False)
        return _Opened(nonce, int(expires), approval_id)


def round_of(params: types.CallToolRequestParams, capabilities: types.ClientCapabilities | None) -> Round:
    """`capabilities` are what the client declared with this call."""
    elicitation = None if capabilities is None else capabilities.elicitation
    response = (params.input_responses or {}).get(REQUEST)
    return Round(
        declares_url=elicitation is not None and elicitation.url is not None,
        state=params.request_state,
        action=response.action if isinstance(response, types.ElicitResult) else None,
    )


def _approval_asked_for(answer: Answer) -> str | None:
    error: Any = answer.content.get("error") if answer.is_error else None
    if not isinstance(error, Mapping) or error.get("code") != Code.APPROVAL_REQUIRED.value:
        return None
    approval_id = error.get("approvalId")
    return approval_id if isinstance(approval_id, str) else None


def _bound_to(request: ToolRequest) -> tuple[bytes, ...]:
    return request.identity.agent_id.encode(), request.name.encode(), canonical_hash({**request.arguments})


def _bad_state() -> MCPError:
    return MCPError(types.INVALID_PARAMS, _BAD_STATE, {"reason": "invalid_request_state"})
