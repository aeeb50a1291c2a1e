"""The gateway's side of admission: what the caller's agent owner says of a call (docs/decisions/0009-authority.md).

The agent owner decides; this only brings what it asks for. It may want the `call` (arguments and target), because what
it charges, records or consumes is committed with the call itself, and a `look`, what the target's owner would say,
because a card or a collected step is due.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import orjson

from bus import address
from bus.admitted import FINGERPRINT, STALE_STAMP, STAMP_DISPATCHED, TARGET_CHANGED, WOULD
from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.envelope import Onward, Reply
from bus.limits import admission_rounds_max, call_deadline_ms_default
from bus.message_record import message_record
from bus.value import Record
from nexus.gateway.arguments import Arguments, canonical_hash
from nexus.gateway.identity import Credential, Identity, waiting_count
from nexus.gateway.recipients import named_agent_refusal
from nexus.gateway.room import canvas_room_refusal
from nexus.gateway.route import claimed_workspace, owner_of
from tools.base import Tool
from tools.errors import Refusal, unavailable


@dataclass(frozen=True, slots=True)
class FurtherRefusal:
    """Why a call is certain to be refused for something that no owner knows."""

    refusal: Refusal
    is_target_changed: bool = False
    """The target is another one than the person allowed, so what they approved of it lapses (common 5.3)."""


LooksFurther: TypeAlias = Callable[[str, Record], Awaitable[FurtherRefusal | None]]
"""By tool and arguments. May raise DeadlinePassed."""


class MayHaveBeenSentOn(Exception):
    """No answer to an admission that had the call: it may be dispatched or collected (common 8.3)."""


@message_record
class ToolRequest:
    """One tools/call of an authenticated caller. `started_ms` is when its HTTP request arrived."""

    identity: Identity
    name: str
    arguments: Mapping[str, Any]
    bad_arguments: Mapping[str, str]
    started_ms: int
    idempotency_key: str | None = None


@message_record
class Admission:
    """What the agent owner decided. Beside `refusal`, exactly one of `stamp`, `answer` and `looked` stands when the
    call is admitted, and none of them when the tool is unknown."""

    authenticated: bool
    waiting: int
    refusal: Record | None = None
    stamp: Record | None = None
    """Under which the call is sent, or, marked `dispatched`, joined."""
    answer: Record | None = None
    """A call that was collected answers this."""
    looked: Reply | None = None
    """A call that is certain to fail answers what its owner would say (common 4.6)."""
    reply: Reply | None = None
    """What the call's owner answered, when its host has sent it on itself."""
    call_id: str | None = None
    """The id to send the call under, when its idempotency key was used before (common 8.2)."""
    is_new_card: bool = False
    is_unknown_tool: bool = False
    """There is no such tool for this credential (common 1.3)."""

    @property
    def is_dispatched(self) -> bool:
        return self.stamp is not None and self.stamp.get(STAMP_DISPATCHED) is True


_UNSETTLED: Final = unavailable("What you may do is being changed. Try again in a moment.")


async def nothing_further(tool: str, arguments: Record) -> FurtherRefusal | None:
    return None


class Admissions:
    """Asks agent owners. Holds nothing that changes."""

    def __init__(self, caller: Caller, clock: Clock, looks_further: LooksFurther = nothing_further) -> None:
        """`looks_further`: why a call is certain to be refused for something that no owner knows."""
        self._caller = caller
        self._clock = clock
        self._looks_further = looks_further

    async def admit(
        self, request: ToolRequest, tool: Tool, arguments: Arguments | Refusal, call_id: str, onward: Onward | None
    ) -> Admission:
        """`onward` is the call itself, for its host to send on when that is all that is left to do (0007). Raises
        DeadlinePassed, when nothing can have come of the call yet, and MayHaveBeenSentOn."""
        body = self._body(request, tool, arguments, call_id)
        for _ in range(admission_rounds_max):
            within_ms = remaining_ms(request, tool, self._clock)
            try:
                reply = await self._ask(request, body, within_ms, onward)
            except DeadlinePassed as passed:
                if passed.was_sent and ("call" in body or (passed.went_on and not tool.is_read)):
                    raise MayHaveBeenSentOn from passed
                raise
            if reply.admission is not None:
                return replace(_admission(reply.admission, None), reply=reply)
            if reply.ok is None:
                return Admission(True, request.identity.waiting, refusal=reply.error)
            needs, stamp = reply.ok.get("needs"), reply.ok.get("stamp")
            if not isinstance(needs, list):
                return _admission(reply.ok, body.get("look"))
            assert isinstance(arguments, Arguments), "bad arguments are refused before anything is asked for"
            assert isinstance(stamp, dict), "a look is taken under a stamp"
            refusal = (
                None if "call" in body else await canvas_room_refusal(self._caller, self._clock, tool, stamp, within_ms)
            )
            if refusal is not None:
                return Admission(True, request.identity.waiting, refusal=refusal.to_record())
            onward = None  # what is charged, recorded or asked for does not go on by a stamp
            body = {**body, "call": self._call(request, tool, arguments, stamp, call_id)}
            body.pop("look", None)
            if "look" in needs:
                look = await self._look(request, tool, arguments, stamp, call_id)
                if look is not None:
                    body["look"] = look
        return Admission(True, request.identity.waiting, refusal=_UNSETTLED.to_record())

    async def note_unknown(self, request: ToolRequest) -> Admission:
        """The agent owner is told, so that such calls count as the caller's too, and so that its token is judged first.
        Raises DeadlinePassed."""
        body: Record = {
            "tokenHash": request.identity.credential.token_hash,
            "tool": request.name,
            "arguments": "unknown_tool",
        }
        reply = await self._ask(request, body, remaining_ms(request, None, self._clock), None)
        if reply.ok is None:  # a trouble of the owner's own: of the token nothing is known
            raise DeadlinePassed(was_sent=False)
        return _admission(reply.ok, None)

    def _body(self, request: ToolRequest, tool: Tool, arguments: Arguments | Refusal, call_id: str) -> Record:
        body: Record = {
            **call_facts(tool),
            "tokenHash": request.identity.credential.token_hash,
            "arguments": "valid" if isinstance(arguments, Arguments) else "invalid",
        }
        if isinstance(arguments, Arguments):
            workspace_id = claimed_workspace(tool, arguments.record)
            if workspace_id is not None:
                body["workspaceId"] = workspace_id
            if request.idempotency_key is not None and not tool.is_read:
                body["idempotency"] = {
                    "key": request.idempotency_key,
                    "arguments": canonical_hash(arguments.record),
                    "callId": call_id,
                }
        return body

    def _call(self, request: ToolRequest, tool: Tool, arguments: Arguments, stamp: Record, call_id: str) -> Record:
        compared = {name: value for name, value in arguments.record.items() if name not in tool.volatile}
        return {
            "arguments": arguments.record,
            "argumentsBytes": len(orjson.dumps(arguments.record)),
            "target": str(owner_of(tool, arguments.record, stamp, call_id)),
            "callId": call_id,
            "sameCall": canonical_hash(compared),
            "workspaceId": stamp["workspaceId"],
            "deadlineMs": self._clock.now_ms() + remaining_ms(request, tool, self._clock),
        }

    async def _look(
        self, request: ToolRequest, tool: Tool, arguments: Arguments, stamp: Record, call_id: str
    ) -> Record | None:
        """None when the authority changed meanwhile, so that admission must begin anew.

        A look has an id of its own: the call's belongs to the call.
        """
        to, within_ms = owner_of(tool, arguments.record, stamp, call_id), remaining_ms(request, tool, self._clock)
        reply = await self._caller.call(
            to, tool.name, arguments.record, call_id=self._clock.new_id(), within_ms=within_ms, stamp=stamp
        )
        if reply.ok is not None:
            refusal = await named_agent_refusal(
                self._caller, self._clock, tool.name, arguments.record, stamp, within_ms
            )
            would = reply.ok.get(WOULD)
            if refusal is None and isinstance(would, dict) and "error" not in would:
                further = await self._looks_further(tool.name, arguments.record)
                if further is not None:
                    return {WOULD: {"error": further.refusal.to_record()}, TARGET_CHANGED: further.is_target_changed}
            if refusal is not None:
                return {WOULD: {"error": refusal.to_record()}}
            return {WOULD: would, FINGERPRINT: reply.ok.get(FINGERPRINT)}
        error = reply.error or {}
        return None if error.get("code") == STALE_STAMP else {WOULD: {"error": error}}

    async def _ask(self, request: ToolRequest, body: Record, within_ms: int, onward: Onward | None) -> Reply:
        # A new id each time: under the call's own id the host would repeat the first admission's answer.
        to, call_id = address.agent(request.identity.agent_id), self._clock.new_id()
        return await self._caller.call(to, "admit", body, call_id=call_id, within_ms=within_ms, onward=onward)


async def admit_read(caller: Caller, clock: Clock, credential: Credential, tool: Tool, within_ms: int) -> Admission:
    """Whether a credential may call `tool`, a read, now: for what the gateway reads for it otherwise than by a call of
    that tool. A refusal, a stamp, an unknown tool, or not authenticated. Raises DeadlinePassed when the owner cannot
    say."""
    body: Record = {**call_facts(tool), "tokenHash": credential.token_hash}
    to, call_id = address.agent(credential.agent_id), clock.new_id()
    reply = await caller.call(to, "admit", body, call_id=call_id, within_ms=within_ms)
    if reply.ok is None:  # a trouble of the owner's own: of the token nothing is known
        raise DeadlinePassed(was_sent=True)
    return _admission(reply.ok, None)


def call_facts(tool: Tool) -> Record:
    """The declaration of a tool as admission judges by it (actors/agent/admission.py)."""
    facts: Record = {
        "tool": tool.name,
        "arguments": "valid",
        "kind": tool.kind.value,
        "scope": tool.scope.value,
        "capability": None if tool.capability is None else tool.capability.value,
        "family": tool.family.value,
    }
    # Left out when false: most calls are neither, and this is sent with each.
    flags = {
        "isBudgeted": tool.budgeted,
        "passesWhenStopped": tool.passes_when_stopped,
        "freesSpace": tool.frees_space,
    }
    return facts | {name: True for name, is_so in flags.items() if is_so}


def remaining_ms(request: ToolRequest, tool: Tool | None, clock: Clock) -> int:
    """How long somebody still waits for the answer. Raises DeadlinePassed when nobody does."""
    deadline_ms = call_deadline_ms_default if tool is None else tool.deadline_ms
    remaining = request.started_ms + deadline_ms - clock.now_ms()
    if remaining <= 0:
        raise DeadlinePassed(was_sent=False)
    return remaining


def _admission(ok: Record, look: object) -> Admission:
    refusal, stamp, answer, call_id = (ok.get(name) for name in ("refusal", "stamp", "answer", "callId"))
    return Admission(
        authenticated=ok.get("authenticated") is True,
        waiting=waiting_count(ok.get("waiting")),
        refusal=refusal if isinstance(refusal, dict) else None,
        stamp=stamp if isinstance(stamp, dict) else None,
        answer=answer if isinstance(answer, dict) else None,
        looked=_as_looked(look) if ok.get("asLooked") is True else None,
        call_id=call_id if isinstance(call_id, str) else None,
        is_new_card=ok.get("isNewCard") is True,
        is_unknown_tool=ok.get("isUnknownTool") is True,
    )


def _as_looked(look: object) -> Reply:
    would = look.get(WOULD) if isinstance(look, dict) else None
    assert isinstance(would, dict), "only a look that was sent can be the answer"
    ok, error = would.get("ok"), would.get("error")
    return Reply("", ok if isinstance(ok, dict) else None, error if isinstance(error, dict) else None)
