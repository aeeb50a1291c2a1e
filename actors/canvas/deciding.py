"""canvas_approve_proposal and canvas_reject_proposal (canvas 1.2, 3.4).

Approving makes the proposal a revision of its proposer's, on the present scene, if nothing that it touches was changed
since it was made; otherwise it stays pending, also when the scene or a lock stands against it. Locks of the proposer
and of whoever approves do not. A proposal is decided once, and never by who made it.

Of one whose proposer may not even propose any more only the person approves; an editor can still reject it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pydantic import ValidationError

from actors.canvas import outcome
from actors.canvas.access import asked, may_propose
from actors.canvas.attempt import Terms, attempted
from actors.canvas.changes import CHANGES
from actors.canvas.draft import Approval, Draft
from actors.canvas.proposal import Proposal, Verdict, proposal_row
from actors.canvas.state import HEAD, CanvasState, Head
from actors.canvas.usage import charged
from actors.canvas.write import shown_of
from actors.decision import Context, Decision, Delete, Effect, Event, Message, Principal, PrincipalKind, Put
from bus.limits import proposals_decided_kept_max
from bus.value import Record
from tools.canvas.inputs import CanvasDecideProposalInput, CanvasWrite
from tools.errors import NOT_FOUND

_VERB: Final = {Verdict.APPROVE: "approving", Verdict.REJECT: "rejecting"}


def approve(state: CanvasState, message: Message, context: Context) -> Decision:
    """canvas_approve_proposal (canvas 3.4): the proposal as a revision of its proposer's.

    `not_found` for an id that is none; `rejected` `role`, `self_approval`, `decided`, `revision_ahead`, `field` if this
    release cannot apply it, or what the scene's rules and locks say; `conflict` if what it touches was changed since
    the older of the revision that it was made for and `expectedRevision`. In all these cases it stays as it was.
    """
    found = _found(state, message, context, Verdict.APPROVE)
    if isinstance(found, Decision):
        return found
    arguments, head, proposal = found
    is_person = context.principal.kind is PrincipalKind.PERSON
    role = state.roles.get(proposal.by)
    if not is_person and (role is None or not may_propose(role)):
        words = "Whoever proposed this has no role for it any more, so only the person can approve it."
        return Decision(outcome.rejected("role", words))
    since = min(arguments.expectedRevision, proposal.base_revision)
    approval = Approval(
        by=context.principal.label(),
        at_ms=context.now_ms,
        reason=arguments.reason,
        call_id=context.call_id,
        proposal_id=proposal.id,
        frees=proposal.size,
    )
    terms = Terms(since, (proposal.by, approval.by), context.now_ms, heeds_locks=not is_person)
    decision = tried(state, head, proposal, approval, terms, context)
    if not isinstance(decision.reply, dict) or decision.reply["outcome"] != "applied":
        return decision
    # A write has given the room of the proposal back already, in the sum that its owner is told (usage.py).
    written = decision.effects or _freed(head, proposal, context)
    return Decision(decision.reply, (*written, *_decided(state, proposal, Verdict.APPROVE, arguments.reason, context)))


def reject(state: CanvasState, message: Message, context: Context) -> Decision:
    """canvas_reject_proposal (canvas 3.4): the scene stays as it is, and the proposer can read why.

    `not_found` for an id that is none; `rejected` `role`, `self_approval`, `decided`, `revision_ahead`; `conflict` for
    an older `expectedRevision` without `rebase`, with which there is nothing that it could clash with.
    """
    found = _found(state, message, context, Verdict.REJECT)
    if isinstance(found, Decision):
        return found
    arguments, head, proposal = found
    reply = outcome.applied(head.revision, ())
    if arguments.expectedRevision < head.revision:
        reply["rebasedFrom"] = arguments.expectedRevision
    freed = _freed(head, proposal, context)
    return Decision(reply, (*freed, *_decided(state, proposal, Verdict.REJECT, arguments.reason, context)))


def shown_of_proposal(state: CanvasState, message: Message, context: Context) -> Record:
    """What a card shows of it: the canvas, and what a proposal by whom (common 5.3)."""
    shown = shown_of(state, message, context)
    proposal = state.proposals.get(str(message.body.get("proposalId")))
    if proposal is None:
        return shown
    return {**shown, "proposedBy": proposal.by, "what": proposal.what, "elements": proposal.elements}


def tried(
    state: CanvasState, head: Head, proposal: Proposal, approval: Approval | None, terms: Terms, context: Context
) -> Decision:
    """What making the proposal a revision would come to. `state` is not changed by it."""
    draft_or_outcome = drafted(state, head, proposal, approval, context)
    if isinstance(draft_or_outcome, dict):
        return Decision(draft_or_outcome)
    draft, arguments = draft_or_outcome
    return attempted(draft, CHANGES[proposal.tool], arguments, terms)


def drafted(
    state: CanvasState, head: Head, proposal: Proposal, approval: Approval | None, context: Context
) -> tuple[Draft, CanvasWrite] | Record:
    """An empty draft of its proposer's, with the arguments; the outcome for arguments that are none any more."""
    change = CHANGES.get(proposal.tool)
    try:
        arguments = None if change is None else change.arguments.model_validate(proposal.arguments)
    except ValidationError:
        arguments = None
    if change is None or arguments is None:  # it was proposed under another release
        words = "This release of NEXUS cannot apply what was proposed. Reject it, and have it proposed anew."
        return outcome.rejected("field", words)
    author = Principal(
        PrincipalKind.AGENT,
        agent_id=proposal.by,
        workspace_id=proposal.workspace_id,
        credential=proposal.credential,
    )
    made = replace(context, now_ms=proposal.at_ms, principal=author, call_id=proposal.call_id)
    return Draft(state, head, made, proposal.what, proposal.reason, approval), arguments


def _found(
    state: CanvasState, message: Message, context: Context, verdict: Verdict
) -> tuple[CanvasDecideProposalInput, Head, Proposal] | Decision:
    """The checks that both have in common: those of every write, then whose it is."""
    words = f"{_VERB[verdict]} a proposal takes editor"
    found = asked(CanvasDecideProposalInput, state, message, context, "editor", words)
    if isinstance(found, Decision):
        return found
    arguments, head, _ = found
    proposal = state.proposals.get(arguments.proposalId)
    if proposal is None:
        return Decision(NOT_FOUND)
    if proposal.by == context.principal.label():
        words = "This proposal is your own; somebody else decides it. Wait, or ask the person."
        return Decision(outcome.rejected("self_approval", words))
    if not proposal.is_pending:
        words = f"This proposal is {proposal.stage} already, and a proposal is decided once."
        return Decision(outcome.rejected("decided", words))
    return arguments, head, proposal


def _freed(head: Head, proposal: Proposal, context: Context) -> tuple[Effect, ...]:
    """The head without the room that the pending proposal took, and what its proposer's owner is told of it."""
    head, told = charged(head, proposal.by, -proposal.size, context)
    return Put(HEAD, head.to_record()), *told


def _decided(
    state: CanvasState, proposal: Proposal, verdict: Verdict, because: str, context: Context
) -> Iterable[Effect]:
    """What is left of the proposal, and of older ones."""
    left = proposal.decided(verdict, context.principal.label(), context.now_ms, because)
    assert left is not None, "only a pending one is decided"
    earlier = sorted(
        (one for one in state.proposals.values() if not one.is_pending), key=lambda one: (one.decided_ms, one.id)
    )
    event: Record = {
        "canvasId": context.address.id,
        "proposalId": proposal.id,
        "decision": left.stage.value,
        "proposedBy": proposal.by,
    }
    beyond = max(len(earlier) + 1 - proposals_decided_kept_max, 0)
    return (
        Put(proposal_row(proposal.id), left.to_record()),
        *(Delete(proposal_row(one.id)) for one in earlier[:beyond]),
        Event(outcome.PROPOSAL_DECIDED, event),
    )
