"""How a commenter's write becomes a proposal (canvas 1.2): stored as it came, once it is known to be applicable.

Proposals do not advance the revision (canvas 3.3). While one is pending its arguments count as its proposer's share of
the disk, and how many there may be is bounded, for each agent and in all.
"""

from __future__ import annotations

from typing import Final

from actors.canvas import outcome
from actors.canvas.draft import Draft
from actors.canvas.plain import encoded_bytes, fault_of
from actors.canvas.proposal import Proposal, proposal_row
from actors.canvas.state import HEAD, CanvasState
from actors.canvas.usage import charged
from actors.decision import Decision, Event, Message, Put
from bus.identifier import made_id
from bus.limits import (
    json_depth_max,
    proposal_bytes_max,
    proposal_elements_listed_bytes_max,
    proposal_elements_listed_max,
    proposals_pending_bytes_max,
    proposals_pending_max,
    proposals_pending_per_agent_max,
)
from bus.value import Record

_KIB: Final = 1024


def proposed(draft: Draft, message: Message) -> Decision:
    """The draft's call, which was found to be good, as a proposal; or why it cannot be one."""
    fault = fault_of(message.body, json_depth_max)
    if fault is not None:  # in a field that elements do not keep
        return Decision(outcome.rejected("field", f"The call {fault.value}, so it cannot be kept as a proposal."))
    proposal = _proposal_of(draft, message)
    refused = _beyond_limits(draft.state, proposal)
    if refused is not None:
        return Decision(refused)
    head, told = charged(draft.head, proposal.by, proposal.size, draft.context)
    event: Record = {
        "canvasId": draft.context.address.id,
        "proposalId": proposal.id,
        "what": proposal.what,
        "elements": proposal.elements,
    }
    return Decision(
        outcome.proposed(proposal.id, proposal.base_revision),
        (
            Put(proposal_row(proposal.id), proposal.to_record()),
            Put(HEAD, head.to_record()),
            Event(outcome.PROPOSED, event),
            *told,
        ),
    )


def _proposal_of(draft: Draft, message: Message) -> Proposal:
    context, touched = draft.context, draft.changed_ids()
    return Proposal(
        id=made_id(context.call_id, "proposal"),
        tool=message.verb,
        what=draft.what,
        by=context.principal.agent_id,
        workspace_id=context.principal.workspace_id,
        credential=context.principal.credential,
        call_id=context.call_id,
        base_revision=draft.head.revision,
        at_ms=context.now_ms,
        reason=draft.reason,
        element_ids=_first(touched),
        elements=len(touched),
        size=encoded_bytes(message.body),
        arguments=message.body,
    )


def _first(ids: list[str]) -> tuple[str, ...]:
    room, listed = proposal_elements_listed_bytes_max, list[str]()
    for id_ in ids[:proposal_elements_listed_max]:
        room -= encoded_bytes(id_) + 1
        if room < 0:
            break
        listed.append(id_)
    return tuple(listed)


def _beyond_limits(state: CanvasState, proposal: Proposal) -> Record | None:
    if proposal.size > proposal_bytes_max:
        words = f"A proposal takes at most {proposal_bytes_max // _KIB} KiB. Propose fewer elements in one call."
        return outcome.rejected("limits", words)
    pending = [one for one in state.proposals.values() if one.is_pending]
    if sum(one.by == proposal.by for one in pending) >= proposals_pending_per_agent_max:
        words = f"{proposals_pending_per_agent_max} of your proposals wait here already. Wait until some are decided."
        return outcome.rejected("limits", words)
    if (
        len(pending) >= proposals_pending_max
        or sum(one.size for one in pending) + proposal.size > proposals_pending_bytes_max
    ):
        words = "As many proposals as this canvas can hold wait to be decided. Try again when some are."
        return outcome.rejected("limits", words)
    return None
