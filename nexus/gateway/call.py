"""The journey of a tool call, from its name and arguments to its answer; `actors/execute.py` is its second half.

    find the tool and check the arguments -> admit -> address -> send -> await -> check the result -> answer

The call rides on its admission, addressed as the caller's scope was a moment ago; where that is all there is to it, the
host of the caller's agent owner sends it on, and admission brings the answer (docs/decisions/0007).

Invariants: no owner gets a call that admission has not passed; the call keeps one id and one owner on all its
tries, so it runs once; an unknown tool is said before a bad argument, and that before anything else (common 2.3, 4.1);
what an owner answers leaves only if it fits the tool's output model (common 1.6) and the size bound (common 6.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import orjson
from pydantic import ValidationError

from bus.admitted import STALE_STAMP, STAMP_DISPATCHED
from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.envelope import Onward, Reply
from bus.limits import admissions_per_call_max, result_bytes_max
from bus.message_record import message_record
from bus.value import Record
from nexus.gateway.admitting import (
    Admission,
    Admissions,
    LooksFurther,
    MayHaveBeenSentOn,
    ToolRequest,
    nothing_further,
    remaining_ms,
)
from nexus.gateway.arguments import Arguments, check_arguments
from nexus.gateway.compose import Composer
from nexus.gateway.cursor import CursorSeal, opened_arguments, sealed_content
from nexus.gateway.incident import incident
from nexus.gateway.reading import OwnerRefused, Reading
from nexus.gateway.route import owner_of
from tools.base import Route, Tool
from tools.errors import Code, Refusal, unavailable

_OUTCOME_UNKNOWN: Final = Refusal(
    Code.OUTCOME_UNKNOWN,
    "No answer came in time, and the call may or may not have taken effect. Look at the present state before you "
    "try again.",
)
_TOO_LARGE: Final = Refusal(
    Code.TOO_LARGE, "The answer is larger than a result may be. Ask for less: a smaller page, region or limit."
)


NO_SUCH_TOOL: Final = "There is no tool of that name; tools/list names them all."


class UnknownTool(Exception):
    """No tool has that name: JSON-RPC -32602, not a result (common 6.1)."""


class NotAuthenticated(Exception):
    """The token is not, or not any more, one of its agent's: before anything else (common 2.3)."""


@message_record
class Answer:
    """What the client gets: `encoded` is the compact JSON of `content`, and so is the text of a result (common 1.6)."""

    content: Record
    encoded: bytes
    is_error: bool
    waiting: int

    @property
    def text(self) -> str:
        return self.encoded.decode()


class Journey:
    """Carries tool calls. Holds nothing that changes; any number of calls may be under way."""

    def __init__(
        self,
        caller: Caller,
        clock: Clock,
        tools: Mapping[str, Tool],
        composer: Composer,
        seal: CursorSeal,
        card_appeared: Callable[[], None] = lambda: None,
        looks_further: LooksFurther = nothing_further,
    ) -> None:
        """`card_appeared` hears of each new approval that waits for the person; it must be quick and not raise.
        `looks_further`: see Admissions."""
        self._caller = caller
        self._clock = clock
        self._tools = tools
        self._composer = composer
        self._seal = seal
        self._admissions = Admissions(caller, clock, looks_further)
        self._card_appeared = card_appeared

    async def answer(self, request: ToolRequest) -> Answer:
        """As `call`; a defect of ours is an answer too. Raises UnknownTool and NotAuthenticated."""
        try:
            return await self.call(request)
        except (UnknownTool, NotAuthenticated):
            raise
        except Exception:  # noqa: BLE001 - it is logged whole, and answered by its incident id
            return refused(incident(self._clock, "tool_call_failed", tool=request.name), request.identity.waiting)

    async def call(self, request: ToolRequest) -> Answer:
        """The answer, whatever it is. Raises UnknownTool and NotAuthenticated."""
        tool = self._tools.get(request.name)
        if tool is None:
            return await self._refuse_unknown(request)
        arguments = check_arguments(tool, request.arguments, request.bad_arguments)
        call_id = self._clock.new_id()
        onward = self._onward(request, tool, arguments, call_id)
        waiting = request.identity.waiting
        # A stamp is stale when the person has narrowed the agent meanwhile, which does not happen over and over.
        for _ in range(admissions_per_call_max):
            try:
                admission = await self._admissions.admit(request, tool, arguments, call_id, onward)
            except DeadlinePassed:
                return refused(unavailable(), waiting)
            except MayHaveBeenSentOn:
                return refused(_OUTCOME_UNKNOWN, waiting)
            waiting = admission.waiting
            if not admission.authenticated:
                raise NotAuthenticated
            if admission.is_unknown_tool:
                raise UnknownTool
            if admission.stamp is None or not isinstance(arguments, Arguments):
                return self._without_a_call(tool, arguments, admission)
            call_id = admission.call_id or call_id
            try:
                reply = admission.reply or await self._ask(request, tool, arguments, admission.stamp, call_id)
                if reply.ok is not None and self._composer.completes(tool):
                    reply = await self._completed(request, tool, admission.stamp, reply)
            except DeadlinePassed as passed:
                # What was dispatched is on its way whether anybody waits for it or not.
                nothing_happened = not admission.is_dispatched and (tool.is_read or not passed.was_sent)
                return refused(unavailable() if nothing_happened else _OUTCOME_UNKNOWN, waiting)
            if reply.ok is not None:
                return self._checked(tool, self._sealed(tool, arguments, admission.stamp, reply.ok), waiting)
            if reply.error is None or reply.error.get("code") != STALE_STAMP:
                return self._refused_by_owner(tool, reply.error, waiting)
        return refused(unavailable("Your permissions are being changed. Try again in a moment."), waiting)

    def _without_a_call(self, tool: Tool, arguments: Arguments | Refusal, admission: Admission) -> Answer:
        """Refused, waiting for the person, collected, or certain to fail."""
        if admission.is_new_card:
            self._card_appeared()
        if admission.answer is not None:
            return Answer(admission.answer, orjson.dumps(admission.answer), False, admission.waiting)
        if admission.looked is not None:
            looked = admission.looked
            if looked.error is None:
                return self._checked(tool, looked.ok, admission.waiting)
            return self._refused_by_owner(tool, looked.error, admission.waiting)
        refusal = admission.refusal or {}
        # The agent owner knows that arguments are bad, the gateway which. Only who calls is judged before them.
        if isinstance(arguments, Refusal) and refusal.get("code") != Code.UNIDENTIFIED_CALLER.value:
            return refused(arguments, admission.waiting)
        return self._refused_by_owner(tool, refusal, admission.waiting)

    async def _refuse_unknown(self, request: ToolRequest) -> Answer:
        try:
            admission = await self._admissions.note_unknown(request)
        except DeadlinePassed:
            return refused(unavailable(), request.identity.waiting)
        raise UnknownTool if admission.authenticated else NotAuthenticated

    def _onward(self, request: ToolRequest, tool: Tool, arguments: Arguments | Refusal, call_id: str) -> Onward | None:
        """The call as it would be sent under the scope that the caller's owner told last. None when it cannot go on by
        itself: it is composed of several, or refused."""
        if not isinstance(arguments, Arguments) or tool.route is Route.COMPOSED:
            return None
        identity = request.identity
        scope: Record = {"agentId": identity.agent_id, "workspaceId": identity.workspace_id}
        record = self._opened(tool, arguments, scope)
        if isinstance(record, Refusal):
            return None
        to = owner_of(tool, record, scope, call_id)
        return Onward(call_id, to, tool.name, record, identity.workspace_id)

    async def _ask(self, request: ToolRequest, tool: Tool, arguments: Arguments, stamp: Record, call_id: str) -> Reply:
        """The owner's reply, or for a composed tool one of the same form. Raises DeadlinePassed."""
        record = self._opened(tool, arguments, stamp)
        if isinstance(record, Refusal):
            return Reply(call_id, None, record.to_record())
        within_ms = remaining_ms(request, tool, self._clock)
        if tool.route is Route.COMPOSED:
            reading = Reading(self._caller, self._clock, stamp, self._clock.now_ms() + within_ms)
            try:
                return Reply(call_id, await self._composer.compose(tool, reading, record), None)
            except OwnerRefused as refused_by_owner:
                return Reply(call_id, None, refused_by_owner.error)
        to = owner_of(tool, record, stamp, call_id)
        # A dispatched call is with its owner already, from the agent's owner: this one only waits for the answer.
        body = {} if stamp.get(STAMP_DISPATCHED) is True else record
        return await self._caller.call(to, tool.name, body, call_id=call_id, within_ms=within_ms, stamp=stamp)

    async def _completed(self, request: ToolRequest, tool: Tool, stamp: Record, reply: Reply) -> Reply:
        """A success, with what other owners add to it, read as the caller. Raises DeadlinePassed."""
        assert reply.ok is not None, "a refusal is complete"
        until_ms = self._clock.now_ms() + remaining_ms(request, tool, self._clock)
        reading = Reading(self._caller, self._clock, stamp, until_ms)
        try:
            content = await self._composer.complete(tool, reading, request.identity.credential, reply.ok)
        except OwnerRefused as refused_by_owner:
            return Reply(reply.call_id, None, refused_by_owner.error)
        return Reply(reply.call_id, content, None)

    def _opened(self, tool: Tool, arguments: Arguments, scope: Record) -> Record | Refusal:
        """The arguments with the owner's own cursor. `scope` is a stamp, or what is believed of it."""
        return opened_arguments(self._seal, tool, arguments.record, str(scope["agentId"]), str(scope["workspaceId"]))

    def _sealed(self, tool: Tool, arguments: Arguments, stamp: Record, content: Record) -> Record:
        bound_to = str(stamp["agentId"]), str(stamp["workspaceId"])
        return sealed_content(self._seal, tool, arguments.record, content, *bound_to)

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
        return Answer(content or {}, encoded, False, waiting)

    def _refused_by_owner(self, tool: Tool, error: Record | None, waiting: int) -> Answer:
        try:
            return refused(Refusal.from_record(error or {}), waiting)
        except (KeyError, ValueError, TypeError):
            return refused(incident(self._clock, "refusal_does_not_fit", tool=tool.name), waiting)


def refused(refusal: Refusal, waiting: int) -> Answer:
    """A refusal in the form of common 6.1. TypeError when its details are no JSON."""
    content: Record = {"error": refusal.to_record()}
    return Answer(content, orjson.dumps(content), True, waiting)
