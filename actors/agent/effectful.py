"""Admissions with effects: a charge, a plan's step, a card, a consumed approval, a collected step (0009). Pure.

What is charged, recorded or consumed is committed with the call as an outgoing message; `settled` tells what came of
it. So no crash leaves a spent approval without its effect, or an effect without its approval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Field

from actors.agent import approvals, budget, keys, plan_steps
from actors.agent.admission import CallFacts
from actors.agent.approval import Approval, Happening, State
from actors.agent.approvals import AskingCall
from actors.agent.keys import GivenKey
from actors.agent.plan_steps import StepCall
from actors.agent.state import AgentState, DispatchedCall, Head, dispatched_row
from actors.decision import Context, Dispatch, Effect, Event, Put
from bus.address import Address
from bus.admitted import STAMP_DISPATCHED, STAMP_LOOK, marks_of_chain
from bus.limits import approval_arguments_bytes_max
from bus.value import Record
from tools.autonomy import took_effect
from tools.base import Model
from tools.errors import Code, Refusal, unavailable

_TOO_LARGE: Final = Refusal(
    Code.TOO_LARGE,
    "This call needs the person's approval, and its arguments are too large for a card to show them whole. Split it "
    "into smaller calls.",
)


_UNDER_WAY: Final = unavailable("This very call was approved and is under way. Look at what came of it in a moment.")


class GivenCall(Model):
    """The call itself, as the gateway would send it."""

    arguments: dict[str, Any]
    argumentsBytes: int
    """Their size as JSON."""
    target: str
    callId: str
    sameCall: Annotated[bytes, Field(min_length=32, max_length=32)]
    """SHA-256 of the canonical arguments without those that the tool declares volatile (common 5.2)."""
    workspaceId: str
    """The scope under which the target was found."""
    deadlineMs: int


class Look(Model):
    """What the target's owner would say (actors/admitted.py)."""

    would: dict[str, Any]
    """One of `ok` with the answer, `error` with the refusal, `open`."""
    fingerprint: dict[str, Any] | None = None
    isTargetChanged: bool = False
    """The call is refused because its target is another one than the person allowed, which its owner cannot see."""

    @property
    def is_certain_refusal(self) -> bool:
        """It cannot run as it is; a conflict or a trouble of ours may be over when the person has decided."""
        error = self.would.get("error")
        return isinstance(error, dict) and error.get("retryable") is not True

    @property
    def is_certain_failure(self) -> bool:
        ok = self.would.get("ok")
        return "error" in self.would or (isinstance(ok, dict) and not took_effect(ok))


@dataclass(frozen=True, slots=True)
class Admitting:
    """One call on its way through admission."""

    state: AgentState
    head: Head
    credential: str
    facts: CallFacts
    given: GivenCall | None
    looked: Look | None
    context: Context

    @property
    def now_ms(self) -> int:
        return self.context.now_ms

    @property
    def has_effects(self) -> bool:
        """Whether a call that runs is charged or recorded."""
        if self.facts.kind == "read":
            return False
        plan = plan_steps.open_plan(self.state)
        is_step = plan is not None and plan.phase == "running" and self.facts.tool not in plan_steps.NOT_STEPS
        return self.facts.isBudgeted or is_step

    @property
    def call(self) -> GivenCall | None:
        """None also when it was addressed under another scope than the present one."""
        given = self.given
        return given if given is not None and given.workspaceId == self.head.workspaceId else None

    @property
    def credential_made_ms(self) -> int:
        return self.state.credentials[self.credential].createdAt

    def stamp(self) -> Record:
        return {
            "agentId": self.context.address.id,
            "workspaceId": self.head.workspaceId,
            "credential": self.credential,
            "version": self.head.version,
            "issuedMs": self.context.now_ms,
            **marks_of_chain(self.originators, self.state.working_for.more),
        }

    @property
    def originators(self) -> tuple[str, ...]:
        """The agents whose tasks the caller has and did not end, those of the oldest task first (security 2.24)."""
        return tuple(one.agentId for one in self.state.working_for.originators)

    def needs(self, *what: str) -> Record:
        return {"needs": [*what], "stamp": {**self.stamp(), STAMP_LOOK: True}}

    def key_digest(self, given: GivenKey) -> str:
        return keys.digest_of(self.head.workspaceId, self.facts.tool, given.key)

    def step(self, call: GivenCall) -> StepCall:
        target = Address.parse(call.target)
        return StepCall(
            tool=self.facts.tool,
            kind=str(self.facts.kind),
            arguments=call.arguments,
            target=target,
            call_id=call.callId,
            workspace_id=self.head.workspaceId,
            credential=self.credential,
            credential_made_ms=self.credential_made_ms,
            creates=target.kind if self.facts.isBudgeted else None,
            chain=self.originators,
            chain_more=self.state.working_for.more,
        )


Result = tuple[Record, tuple[Effect, ...]]


def dispatches(admitting: Admitting, key: GivenKey | None, used: tuple[str, Approval] | None = None) -> Result:
    """The call leaves with what it costs. `used`: the approval that it consumes, if it needs one."""
    call, state, context = admitting.call, admitting.state, admitting.context
    if call is None:
        return admitting.needs("call"), ()
    step = admitting.step(call)
    noted = plan_steps.recorded(state, step, context)
    if isinstance(noted, Refusal):
        return {"refusal": noted.to_record()}, ()
    effects: list[Effect] = [*noted]
    if used is not None:
        effects += approvals.changed(*used, Happening.USE, context)
    if admitting.facts.isBudgeted:
        effects.append(budget.charged(state.budget, context.now_ms))
        # Admission has an id of its own, so this says for which call it was.
        told: Record = {"agentId": context.address.id, "tool": step.tool, "callId": call.callId}
        effects.append(Event("surface.charged", told))
    digest = None if key is None else admitting.key_digest(key)
    if key is not None and digest is not None:
        effects += keys.kept(state.keys, digest, key, context.now_ms, is_dispatched=True)
    row = DispatchedCall(target=call.target, approvalId=None if used is None else used[0], keyDigest=digest)
    effects.append(Put(dispatched_row(call.callId), row.model_dump()))
    effects.append(
        Dispatch(
            to=step.target,
            tool=step.tool,
            arguments=call.arguments,
            call_id=call.callId,
            stamp=admitting.stamp(),
            deadline_ms=call.deadlineMs,
            fingerprint=used[1].fingerprint or None if used is not None else None,
        )
    )
    return {"stamp": {**admitting.stamp(), STAMP_DISPATCHED: True}, "callId": call.callId}, tuple(effects)


def asks(admitting: Admitting, key: GivenKey | None) -> Result:
    """A call that needs the person's word: its card, its repeat, or the one run that was approved (common 5). A card
    that waits is looked at again, too: nobody is to decide about what is not there any more (common 4.6, 5.3)."""
    call, context = admitting.call, admitting.context
    if call is None:
        return admitting.needs("call"), ()
    if call.argumentsBytes > approval_arguments_bytes_max:
        return {"refusal": _TOO_LARGE.to_record()}, ()
    agent_id, facts = context.address.id, admitting.facts
    known = admitting.state.approvals
    found = approvals.found(known, admitting.head.workspaceId, facts.tool, call.sameCall, context.now_ms)
    if found is not None and found[1].state is State.DENIED:
        return {"refusal": approvals.denied(agent_id, *found).to_record()}, ()
    if found is not None and found[1].state is State.IN_USE:
        return {"refusal": _UNDER_WAY.to_record()}, ()
    looked = admitting.looked
    if looked is None:
        return admitting.needs("call", "look"), ()
    lapsing = () if found is None else approvals.changed(*found, Happening.CHANGED, context)
    is_pending = found is not None and found[1].state is State.PENDING
    if looked.is_certain_refusal or (looked.is_certain_failure and not is_pending):
        return {"asLooked": True}, lapsing if looked.isTargetChanged else ()
    fingerprint = looked.fingerprint or {}
    if found is not None and (found[1].fingerprint == fingerprint or looked.is_certain_failure):
        if is_pending:
            return {"refusal": approvals.required(agent_id, found[0]).to_record()}, ()
        return dispatches(admitting, key, found)
    others = {id_: one for id_, one in known.items() if found is None or id_ != found[0]}
    made = approvals.asked(others, _asking(admitting, call), fingerprint, context)
    if isinstance(made, Refusal):
        return {"refusal": made.to_record()}, lapsing
    new_id, effects = made
    refusal = approvals.required(agent_id, new_id) if found is None else approvals.lapsed(agent_id, new_id)
    return {"refusal": refusal.to_record(), "isNewCard": True}, (*lapsing, *effects)


def collects(admitting: Admitting, key: GivenKey | None) -> Result:
    """A call that is noted and not executed (common 4.4)."""
    call, looked, state = admitting.call, admitting.looked, admitting.state
    if call is None or looked is None:
        return admitting.needs("call", "look"), ()
    step = admitting.step(call)
    if looked.is_certain_failure and not plan_steps.depends_on_collected(state, step):
        return {"asLooked": True}, ()
    noted = plan_steps.collected(state, step, admitting.context)
    if isinstance(noted, Refusal):
        return {"refusal": noted.to_record()}, ()
    effects, form = noted
    if key is not None:
        digest = admitting.key_digest(key)
        effects = (*effects, *keys.kept(state.keys, digest, key, admitting.now_ms, answer=form))
    return {"answer": form}, effects


def _asking(admitting: Admitting, call: GivenCall) -> AskingCall:
    return AskingCall(
        tool=admitting.facts.tool,
        kind=str(admitting.facts.kind),
        workspace_id=admitting.head.workspaceId,
        same_call=call.sameCall,
        arguments=call.arguments,
        target=call.target,
        credential=admitting.credential,
        credential_made_ms=admitting.credential_made_ms,
        chain=(*admitting.originators, admitting.context.address.id),
        chain_more=admitting.state.working_for.more,
    )
