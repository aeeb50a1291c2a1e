"""The journey of a tool call, from its name and arguments to its answer; `actors/execute.py` is its second half.

    find the tool and check the arguments -> admit -> address -> send -> await -> check the result -> answer

Invariants: nothing is sent to an owner that admission has not passed; the call keeps one id and one owner on all its
tries, so it runs once; an unknown tool is said before a bad argument, and that before anything else (common 2.3, 4.1);
what an owner answers leaves only if it fits the tool's output model (common 1.6) and the size bound (common 6.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from pydantic import ValidationError

from bus import address
from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.envelope import Reply
from bus.limits import admissions_per_call_max, call_deadline_ms_default, result_bytes_max
from bus.value import Record
from nexus.gateway.arguments import Arguments, canonical_hash, check_arguments
from nexus.gateway.compose import Composer
from nexus.gateway.cursor import CursorSeal, opened_arguments, sealed_content
from nexus.gateway.identity import Identity, waiting_count
from nexus.gateway.incident import incident
from nexus.gateway.reading import STALE_STAMP, OwnerRefused, Reading
from nexus.gateway.route import claimed_workspace, owner_of
from tools.base import Route, Tool
from tools.errors import Code, Refusal, unavailable

_UNIDENTIFIED: Final = Refusal(
    Code.UNIDENTIFIED_CALLER, "Your credential is no longer valid. Ask the person for a new one."
)
_OUTCOME_UNKNOWN: Final = Refusal(
    Code.OUTCOME_UNKNOWN,
    "No answer came in time, and the call may or may not have taken effect. Look at the present state before you "
    "try again.",
)
_TOO_LARGE: Final = Refusal(
    Code.TOO_LARGE, "The answer is larger than a result may be. Ask for less: a smaller page, region or limit."
)


class UnknownTool(Exception):
    """No tool has that name: JSON-RPC -32602, not a result (common 6.1)."""


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One tools/call of an authenticated caller. `started_ms` is when its HTTP request arrived."""

    identity: Identity
    name: str
    arguments: Mapping[str, Any]
    bad_arguments: Mapping[str, str]
    started_ms: int
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client gets: `text` is the compact JSON of `content` (common 1.6)."""

    content: Record
    text: str
    is_error: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class _Admission:
    authenticated: bool
    refusal: Record | None
    stamp: Record | None
    waiting: int
    call_id: str | None
    """The id to send the call under, when its idempotency key was used before (common 8.2)."""


class Journey:
    """Carries tool calls. Holds nothing that changes; any number of calls may be under way."""

    def __init__(
        self, caller: Caller, clock: Clock, tools: Mapping[str, Tool], composer: Composer, seal: CursorSeal
    ) -> None:
        self._caller = caller
        self._clock = clock
        self._tools = tools
        self._composer = composer
        self._seal = seal

    async def call(self, request: ToolRequest) -> Answer:
        """The answer, whatever it is. Raises UnknownTool."""
        tool = self._tools.get(request.name)
        if tool is None:
            return await self._refuse_unknown(request)
        arguments = check_arguments(tool, request.arguments, request.bad_arguments)
        call_id = self._clock.new_id()
        waiting = request.identity.waiting
        # A stamp is stale when the person has narrowed the agent meanwhile, which does not happen over and over.
        for _ in range(admissions_per_call_max):
            try:
                admission = await self._admit(request, tool, arguments, call_id)
            except DeadlinePassed:  # nothing has reached the tool's owner
                return refused(unavailable(), waiting)
            waiting = admission.waiting
            if not admission.authenticated:
                return refused(_UNIDENTIFIED, waiting)
            if isinstance(arguments, Refusal):
                return refused(arguments, waiting)
            if admission.stamp is None:
                return self._refused_by_owner(tool, admission.refusal, waiting)
            call_id = admission.call_id or call_id
            try:
                reply = await self._ask(request, tool, arguments, admission.stamp, call_id)
            except DeadlinePassed as passed:
                nothing_happened = tool.is_read or not passed.was_sent
                return refused(unavailable() if nothing_happened else _OUTCOME_UNKNOWN, waiting)
            if reply.error is None:
                return self._checked(tool, reply.ok, waiting)
            if reply.error.get("code") != STALE_STAMP:
                return self._refused_by_owner(tool, reply.error, waiting)
        return refused(unavailable("Your permissions are being changed. Try again in a moment."), waiting)

    async def _refuse_unknown(self, request: ToolRequest) -> Answer:
        """The agent owner is told, so that such calls count as the caller's too; its answer changes nothing."""
        body = self._admit_body(request, request.name, "unknown_tool")
        try:
            await self._ask_admission(request, body, self._remaining_ms(request, None))
        except DeadlinePassed:
            return refused(unavailable(), request.identity.waiting)
        raise UnknownTool

    async def _admit(
        self, request: ToolRequest, tool: Tool, arguments: Arguments | Refusal, call_id: str
    ) -> _Admission:
        """One pure decision of the caller's agent owner (common 4.1). Raises DeadlinePassed."""
        is_valid = isinstance(arguments, Arguments)
        body = self._admit_body(request, tool.name, "valid" if is_valid else "invalid")
        body["capability"] = None if tool.capability is None else tool.capability.value
        body["kind"] = tool.kind.value
        body["scope"] = tool.scope.value
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
        return await self._ask_admission(request, body, self._remaining_ms(request, tool))

    def _admit_body(self, request: ToolRequest, tool: str, arguments: str) -> Record:
        return {"tokenHash": request.identity.credential.token_hash, "tool": tool, "arguments": arguments}

    async def _ask_admission(self, request: ToolRequest, body: Record, within_ms: int) -> _Admission:
        # A new id each time: under the call's own id the host would repeat the first admission's answer.
        to, call_id = address.agent(request.identity.agent_id), self._clock.new_id()
        reply = await self._caller.call(to, "admit", body, call_id=call_id, within_ms=within_ms)
        if reply.ok is None:
            return _Admission(True, reply.error, None, request.identity.waiting, None)
        refusal, stamp, sent_as = (reply.ok.get(name) for name in ("refusal", "stamp", "callId"))
        return _Admission(
            authenticated=reply.ok.get("authenticated") is True,
            refusal=refusal if isinstance(refusal, dict) else None,
            stamp=stamp if isinstance(stamp, dict) and refusal is None else None,
            waiting=waiting_count(reply.ok.get("waiting")),
            call_id=sent_as if isinstance(sent_as, str) else None,
        )

    async def _ask(self, request: ToolRequest, tool: Tool, arguments: Arguments, stamp: Record, call_id: str) -> Reply:
        """The owner's reply, or for a composed tool one of the same form. Raises DeadlinePassed."""
        bound_to = str(stamp.get("agentId")), str(stamp.get("workspaceId"))
        record = opened_arguments(self._seal, tool, arguments.record, *bound_to)
        if isinstance(record, Refusal):
            return Reply(call_id, None, record.to_record())
        reply = await self._reply(request, tool, record, stamp, call_id)
        if reply.ok is None:
            return reply
        return replace(reply, ok=sealed_content(self._seal, tool, arguments.record, reply.ok, *bound_to))

    async def _reply(self, request: ToolRequest, tool: Tool, record: Record, stamp: Record, call_id: str) -> Reply:
        within_ms = self._remaining_ms(request, tool)
        if tool.route is Route.COMPOSED:
            reading = Reading(self._caller, self._clock, stamp, self._clock.now_ms() + within_ms)
            try:
                return Reply(call_id, await self._composer.compose(tool, reading, record), None)
            except OwnerRefused as refused_by_owner:
                return Reply(call_id, None, refused_by_owner.error)
        to = owner_of(tool, record, stamp, call_id)
        return await self._caller.call(to, tool.name, record, call_id=call_id, within_ms=within_ms, stamp=stamp)

    def _remaining_ms(self, request: ToolRequest, tool: Tool | None) -> int:
        deadline_ms = call_deadline_ms_default if tool is None else tool.deadline_ms
        remaining = request.started_ms + deadline_ms - self._clock.now_ms()
        if remaining <= 0:
            raise DeadlinePassed(was_sent=False)
        return remaining

    def _checked(self, tool: Tool, content: Record | None, waiting: int) -> Answer:
        """A success leaves only in the form that the tool declares and within the bound on results."""
        try:
            encoded = orjson.dumps(content)
            tool.output.model_validate_json(encoded)
        except (ValidationError, TypeError):  # TypeError: orjson met bytes, which never reach a result
            return refused(incident(self._clock, "result_does_not_fit", tool=tool.name), waiting)
        if len(encoded) > result_bytes_max:
            # A write has happened whatever we say, so "ask for less" would mislead.
            too_large = _TOO_LARGE if tool.is_read else incident(self._clock, "result_too_large", tool=tool.name)
            return refused(too_large, waiting)
        return Answer(content or {}, encoded.decode(), False, waiting)

    def _refused_by_owner(self, tool: Tool, error: Record | None, waiting: int) -> Answer:
        try:
            return refused(Refusal.from_record(error or {}), waiting)
        except (KeyError, ValueError, TypeError):
            return refused(incident(self._clock, "refusal_does_not_fit", tool=tool.name), waiting)


def refused(refusal: Refusal, waiting: int) -> Answer:
    """A refusal in the form of common 6.1. TypeError when its details are no JSON."""
    content: Record = {"error": refusal.to_record()}
    return Answer(content, orjson.dumps(content).decode(), True, waiting)
