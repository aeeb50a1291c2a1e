"""Approvals in the agent's owner: asking, deciding, using, giving back (common 5). Pure.

Invariants: an agent never decides one; a call that is pending has one card however often it is repeated; at most
`approvals_pending_max` wait; whoever decides twice or late is told; a granted one lets one identical call run, by the
agent that asked, in the workspace that it asked in, while the credential that asked exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from actors.agent.admission import CARDS_ARE_FULL
from actors.agent.approval import OPEN, Approval, AskedBy, Happening, State
from actors.decision import CancelTimer, Context, Delete, Effect, Event, Notify, SetTimer
from bus.limits import (
    approval_denied_ms,
    approval_pending_ms,
    approvals_forgotten_a_call_max,
    approvals_kept_max,
    approvals_pending_max,
)
from bus.topics import approval_topic
from bus.value import Record
from tools.errors import Code, Refusal, approval_required, rate_limited
from tools.fence import Fence

DUE: Final = "approval_due"
"""The verb of an approval's timer."""

_LAPSED: Final = (
    "What this call would change is not what the person was asked about any more, so nothing ran. The person has "
    "been asked anew; make the same call again once it is approved."
)
_DENIED: Final = (
    "The person has denied this call. Read the note, if there is one, and do something else or ask the person."
)


@dataclass(frozen=True, slots=True)
class AskingCall:
    """A call that needs the person's word."""

    tool: str
    kind: str
    workspace_id: str
    same_call: bytes
    arguments: Record
    target: str
    credential: str
    credential_made_ms: int
    chain: tuple[str, ...]
    chain_more: int
    step: AskedBy | None = None


def approval_id(agent_id: str, id_: str) -> str:
    """The id that callers and people see; it names its owner."""
    return f"{agent_id}.{id_}"


def own_id(approval_id: str, context: Context) -> str:
    """The part after the agent's id; what belongs to another agent is like one that never was."""
    agent_id, _, id_ = approval_id.partition(".")
    return id_ if agent_id == context.address.id else ""


def pending_count(approvals: Mapping[str, Approval], now_ms: int) -> int:
    return sum(approval.state_at(now_ms) is State.PENDING for approval in approvals.values())


def found(
    approvals: Mapping[str, Approval], workspace_id: str, tool: str, same_call: bytes, now_ms: int
) -> tuple[str, Approval] | None:
    """The newest approval that answers an identical call of the agent itself: pending, approved, in use or denied."""
    for id_, approval in reversed([*approvals.items()]):
        if approval.step is not None or approval.sameCall != same_call:
            continue
        if (approval.workspaceId, approval.tool) == (workspace_id, tool) and _answers(approval, now_ms):
            return id_, approval
    return None


def asked(
    approvals: Mapping[str, Approval], call: AskingCall, fingerprint: Record, context: Context
) -> tuple[str, tuple[Effect, ...]] | Refusal:
    """A new card: its id and what makes it; refused when as many wait as may (common 5.1)."""
    if pending_count(approvals, context.now_ms) >= approvals_pending_max:
        return rate_limited(CARDS_ARE_FULL, {"limit": approvals_pending_max})
    id_ = context.new_id("approval")
    approval = Approval(
        tool=call.tool,
        kind=call.kind,  # type: ignore[arg-type]  # pydantic checks it
        workspaceId=call.workspace_id,
        sameCall=call.same_call,
        arguments=call.arguments,
        fingerprint=fingerprint,
        target=call.target,
        credential=call.credential,
        credentialMadeMs=call.credential_made_ms,
        chain=[*call.chain],
        chainMore=call.chain_more,
        askedMs=context.now_ms,
        expiresMs=context.now_ms + approval_pending_ms,
        step=call.step,
    )
    effects: tuple[Effect, ...] = (
        *_forgotten(approvals, context.now_ms),
        approval.put(id_),
        _timer(id_, approval),
        _event("approval.asked", id_, approval, context),
    )
    return id_, effects


def changed(id_: str, approval: Approval, happening: Happening, context: Context) -> tuple[Effect, ...]:
    """What `happening` makes of it; nothing if it cannot happen to it."""
    following = approval.after(happening, context.now_ms)
    if following is None:
        return ()
    if following.step is not None and happening is Happening.NOTHING_HAPPENED:
        following = following.model_copy(update={"state": State.LAPSED})  # a step that is run again asks anew
    effects: tuple[Effect, ...] = (following.put(id_), _event(_EVENTS[happening], id_, following, context))
    if following.state in _OVER_UNUSED:
        effects = (*effects, _notice(id_, following, context))
    if following.state not in OPEN:
        return (*effects, CancelTimer(_timer_name(id_)))
    # Given back late, it is over at once: its time went on while it was in use.
    return (*effects, _timer(id_, following)) if happening is Happening.NOTHING_HAPPENED else effects


def decided(id_: str, following: Approval, context: Context) -> tuple[Effect, ...]:
    """The person's decision, recorded with how it was made (common 5.5)."""
    is_granted = following.state is State.APPROVED
    timer: Effect = _timer(id_, following) if is_granted else CancelTimer(_timer_name(id_))
    event = _event("approval.approved" if is_granted else "approval.denied", id_, following, context)
    return (following.put(id_), timer, event, _notice(id_, following, context))


def voided(approvals: Mapping[str, Approval], context: Context) -> tuple[Effect, ...]:
    """These end at once: what was asked for by whoever may not any more (common 2.1)."""
    ended: list[Effect] = []
    for id_, approval in approvals.items():
        if approval.state is not State.IN_USE:
            ended += changed(id_, approval, Happening.REVOKE, context)
    return tuple(ended)


def required(agent_id: str, id_: str) -> Refusal:
    """The refusal that makes or repeats a card (common 5.1)."""
    return approval_required(approval_id(agent_id, id_))


def lapsed(agent_id: str, new_id: str) -> Refusal:
    return Refusal(Code.APPROVAL_LAPSED, _LAPSED, retryable=True, details={"approvalId": approval_id(agent_id, new_id)})


def denied(agent_id: str, id_: str, approval: Approval) -> Refusal:
    note = None if approval.note is None else Fence(source="person's note", text=approval.note).model_dump()
    return Refusal(Code.APPROVAL_DENIED, _DENIED, details={"approvalId": approval_id(agent_id, id_), "note": note})


def _answers(approval: Approval, now_ms: int) -> bool:
    state = approval.state_at(now_ms)
    if state is State.DENIED:
        return (approval.decidedMs or 0) + approval_denied_ms > now_ms
    return state in (State.PENDING, State.APPROVED, State.IN_USE)


def _forgotten(approvals: Mapping[str, Approval], now_ms: int) -> Iterator[Delete]:
    """The oldest that are over, a few a call, when there are more than are kept."""
    over = [id_ for id_, approval in approvals.items() if approval.state_at(now_ms) not in OPEN]
    surplus = len(over) - approvals_kept_max
    return (Delete(f"approval/{id_}") for id_ in over[: max(0, min(surplus, approvals_forgotten_a_call_max))])


def _timer_name(id_: str) -> str:
    return f"approval/{id_}"


def _timer(id_: str, approval: Approval) -> SetTimer:
    return SetTimer(_timer_name(id_), approval.expiresMs, DUE, {"id": id_})


def _event(kind: str, id_: str, approval: Approval, context: Context) -> Event:
    return Event(
        kind,
        {
            "approvalId": approval_id(context.address.id, id_),
            "agentId": context.address.id,
            "workspaceId": approval.workspaceId,
            "tool": approval.tool,
        },
    )


def _notice(id_: str, approval: Approval, context: Context) -> Notify:
    """To whoever waits for the person's word (common 5.6)."""
    return Notify(approval_topic(approval_id(context.address.id, id_)), {"state": approval.state.value})


_OVER_UNUSED: Final = frozenset({State.EXPIRED, State.LAPSED, State.VOIDED})

_EVENTS: Final[Mapping[Happening, str]] = {
    Happening.EXPIRE: "approval.expired",
    Happening.USE: "approval.sent_on",
    Happening.TOOK_EFFECT: "approval.used",
    Happening.NOTHING_HAPPENED: "approval.given_back",
    Happening.CHANGED: "approval.lapsed",
    Happening.REVOKE: "approval.voided",
}
