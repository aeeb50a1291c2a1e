"""Calls that an agent owner admitted and sent on itself, and looks at what a call would do (docs/decisions/0009).

Invariants:
- Only an agent's own owner sends its calls: the sender's id is the stamp's agent. Everything else under this verb is
  given to its receiver as it is, whose table has no such verb: a dead letter.
- Its stream brings a parcel once in effect, so an admitted call needs neither the floor of answers nor the age of its
  stamp to be decided once. It is decided, or refused with nothing done, and settled, in one commit.
- An older authority is not honoured once the person was told of the narrowing, also after a restart of this host, which
  forgets what it was told: the narrowing comes in the same stream behind every call that its sender admitted before it,
  so when it is acknowledged, none of them is left. What has arrived already, behind them, refuses them even earlier.
- A look has no effects: no row, no event, no kept answer.

Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from actors.decision import Context, Decision, Dispatch, Message, Principal, PrincipalKind, Verb
from actors.delivery import AdmittedCall, Delivery
from bus.address import Address
from bus.admitted import FINGERPRINT, LOOKED, SETTLED, WOULD, chain_in, chain_more_in
from bus.envelope import Parcel, Reply
from bus.journal import Handled, Outgoing
from bus.value import Record
from tools.errors import Code, Refusal

State = TypeVar("State")

TOO_LATE: Final = Refusal(Code.UNAVAILABLE, "The call came too late to be decided. Try again.", retryable=True)
NARROWED: Final = Refusal(
    Code.UNAVAILABLE,
    "What you may do was changed after this call was admitted, so nothing was done. Call again to have it judged anew.",
    retryable=True,
)
LAPSED: Final = Refusal(
    Code.APPROVAL_LAPSED,
    "What was approved has changed since, so nothing was done. Call again to ask the person anew.",
    retryable=True,
)


def dispatch_body(dispatch: Dispatch) -> Record:
    """What travels of a dispatched call."""
    return {
        "tool": dispatch.tool,
        "arguments": dispatch.arguments,
        "callId": dispatch.call_id,
        "stamp": dispatch.stamp,
        "deadlineMs": dispatch.deadline_ms,
        "fingerprint": dispatch.fingerprint,
        "asOfNow": dispatch.as_of_now,
        "isLook": dispatch.is_look,
    }


def delivery_of(parcel: Parcel, handled: Handled, gives_up: bool, answers_floor: str) -> Delivery | None:
    """The agent's call in a parcel `call_admitted`; None when it is not one that its sender may send."""
    body, stamp = parcel.body, parcel.body.get("stamp")
    tool, arguments, call_id = body.get("tool"), body.get("arguments"), body.get("callId")
    if not isinstance(stamp, dict) or not isinstance(arguments, dict):
        return None
    if not isinstance(tool, str) or not isinstance(call_id, str) or not call_id:
        return None
    version, deadline_ms, fingerprint = stamp.get("version"), body.get("deadlineMs"), body.get("fingerprint")
    if not isinstance(version, int) or not isinstance(deadline_ms, int | None):
        return None
    if not isinstance(fingerprint, dict | None):
        return None
    if parcel.sender.kind != "agent" or stamp.get("agentId") != parcel.sender.id:
        return None
    principal = Principal(
        PrincipalKind.AGENT,
        agent_id=parcel.sender.id,
        workspace_id=str(stamp.get("workspaceId", "")),
        credential=str(stamp.get("credential", "")),
        version=version,
        chain=chain_in(stamp),
        chain_more=chain_more_in(stamp),
    )
    return Delivery(
        Message(tool, arguments),
        principal,
        call_id,
        call_id,
        is_look=body.get("isLook") is True,
        # Below the floor an answer would be the next to go, and no repeat would be told it.
        keeps_answer=call_id > answers_floor,
        handled=handled,
        gives_up=gives_up,
        admitted=AdmittedCall(parcel, deadline_ms, fingerprint, body.get("asOfNow") is True),
    )


def decide(verb: Verb[State], state: State, delivery: Delivery, context: Context) -> Decision:
    """Decide an admitted call or look ahead to any. The verdict comes before the fingerprint, which is never asked of
    a target that a refusal says nothing of (it may be gone)."""
    admitted, message = delivery.admitted, delivery.message
    if admitted is not None and not delivery.is_look and _is_past(admitted, context.now_ms):
        return Decision(TOO_LATE)
    if admitted is not None and admitted.as_of_now and verb.as_of_now is not None:
        message = replace(message, body=verb.as_of_now(state, message.body))
    decision = verb.decide(state, message, context)
    is_refused = isinstance(decision.reply, Refusal)
    if delivery.is_look:
        fingerprint = verb.fingerprint(state, message, context) if verb.fingerprint and not is_refused else None
        return Decision({WOULD: _would(decision.reply), FINGERPRINT: fingerprint})
    if admitted is None or admitted.fingerprint is None or (is_refused and not decision.effects):
        return decision
    if verb.fingerprint is None or verb.fingerprint(state, message, context) != admitted.fingerprint:
        return Decision(LAPSED)
    return decision


def refused(delivery: Delivery, refusal: Refusal) -> Decision:
    """What is settled, or looked, when nothing was decided."""
    if delivery.is_look:
        return Decision({WOULD: _would(refusal), FINGERPRINT: None})
    return Decision(refusal)


def settlement(shard: int, sender: Address, reply: Reply) -> Outgoing:
    """Tells the owner `sender`, on `shard`, what became of the call that it sent on, before the caller is answered."""
    body: Record = {"callId": reply.call_id}
    body |= {"ok": reply.ok} if reply.ok is not None else {"error": reply.error}
    return Outgoing(shard, sender, SETTLED, body, before_reply=True, call_id=reply.call_id)


def looked(shard: int, sender: Address, call_id: str, answer: Record) -> Outgoing:
    """Tells the owner `sender`, on `shard`, what its call would do."""
    return Outgoing(shard, sender, LOOKED, {"callId": call_id, **answer}, before_reply=False, call_id=call_id)


def _is_past(admitted: AdmittedCall, now_ms: int) -> bool:
    return admitted.deadline_ms is not None and admitted.deadline_ms < now_ms


def _would(reply: Record | Refusal | None) -> Record:
    if reply is None:
        return {"open": True}
    return {"error": reply.to_record()} if isinstance(reply, Refusal) else {"ok": reply}
