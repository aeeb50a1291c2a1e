"""What came of a dispatched call: its approval, its key and its step of a plan are completed in one commit (0009)."""

from __future__ import annotations

from typing import Any, Final

from actors.agent import approvals, keys, plan_run
from actors.agent.approval import Happening
from actors.agent.plan_steps import Settlement
from actors.agent.state import AgentState, DispatchedCall, claim_row, dispatched_row
from actors.decision import Answer, Context, Decision, Delete, Effect, PrincipalKind, Verb, VerbTable
from actors.parsed import DONE, MessageDied, parsed
from bus.admitted import CALL_ADMITTED, SETTLED
from tools.base import Model
from tools.errors import Code, Refusal, unavailable

_DIED: Final = Refusal(
    Code.INTERNAL, "The owner of this could not decide the call, and it was put aside. Tell the person."
)
_UNCLAIMED: Final = unavailable(
    "The name could not be claimed, and nothing changed. Tell the person if this happens again."
)


class Settled(Model):
    """The owner's answer to a dispatched call."""

    callId: str
    ok: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


def settled(state: AgentState, body: Settled, context: Context) -> Decision:
    call = state.dispatched.get(body.callId)
    if call is not None and str(context.principal.owner) != call.target:
        raise ValueError("a call is settled by the owner that it was sent to")
    return _settle(state, body, context)


def _settle(state: AgentState, body: Settled, context: Context) -> Decision:
    settlement = Settlement(body.ok, body.error)
    effects: list[Effect] = []
    call = state.dispatched.get(body.callId)
    if call is not None:
        effects.append(Delete(dispatched_row(body.callId)))
        effects += _approval_after(state, call, settlement, context)
        if call.keyDigest is not None and settlement.may_be_tried_again:
            effects += keys.forgotten(state.keys, call.keyDigest)
    effects += plan_run.settled(state, body.callId, settlement, context)
    return Decision({}, tuple(effects))


def message_died(state: AgentState, body: MessageDied, context: Context) -> Decision:
    """A dispatched call never ran; of a name that was claimed nobody has decided. What else dies is told in the event
    log and held by the person's commands."""
    dispatched, claiming = body.waiting_call(CALL_ADMITTED), body.waiting_call("claim_name")
    if dispatched is not None:
        return _settle(state, Settled(callId=dispatched, error=_DIED.to_record()), context)
    if claiming is not None and claiming in state.claims:
        return Decision({}, (Delete(claim_row(claiming)), Answer(claiming, _UNCLAIMED)))
    return DONE


def _approval_after(
    state: AgentState, call: DispatchedCall, settlement: Settlement, context: Context
) -> tuple[Effect, ...]:
    approval = None if call.approvalId is None else state.approvals.get(call.approvalId)
    if approval is None or call.approvalId is None:
        return ()
    happening = Happening.NOTHING_HAPPENED
    if settlement.happened:
        happening = Happening.TOOK_EFFECT
    elif settlement.error is not None and settlement.error.get("code") == Code.APPROVAL_LAPSED.value:
        happening = Happening.CHANGED
    elif settlement.is_unknown:  # it may have taken effect: nothing repeats it silently (common 8.3)
        happening = Happening.TOOK_EFFECT
    elif not state.holds(approval.credential, approval.credentialMadeMs) or not state.serves(
        approval.credential, approval.tool
    ):
        happening = Happening.REVOKE
    return approvals.changed(call.approvalId, approval, happening, context)


_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        SETTLED: Verb(parsed(Settled, settled), _OWNER),
        "message_died": Verb(parsed(MessageDied, message_died), _OWNER),
    }
)
