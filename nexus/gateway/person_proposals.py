"""The person's verbs on proposals: what commenters would change on a canvas, and deciding it (canvas 1.2, 3.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Final, cast

from bus.value import Record, Value, records
from nexus.gateway.person_canvases import CanvasNamed, names_of, place_of
from nexus.gateway.person_owners import Owners, VerbRefused, must_be_applied, text
from nexus.gateway.person_table import Run, checked
from tools.base import Identifier, Reason
from tools.errors import NOT_FOUND, Code, Refusal

_APPROVED: Final = "approved by the person"
_REJECTED: Final = "rejected by the person"
_NO_PROPOSAL: Final = Refusal(
    Code.NOT_FOUND, "The canvas has no such proposal. `nexus canvas proposals` shows those that wait."
)
_OVERTAKEN: Final = Refusal(
    Code.WRONG_STATE,
    "What the proposal touches was changed since it was made, so it cannot be applied; it still waits. Reject it, so "
    "that it is proposed anew.",
)


class CanvasProposals(CanvasNamed):
    """`proposal`: that one, with what it would make. `all`: decided ones too."""

    proposal: Identifier | None = None
    all: bool = False


class CanvasDecide(CanvasNamed):
    proposal: Identifier
    reason: Reason | None = None


async def canvas_proposals(owners: Owners, asked: CanvasProposals) -> Record:
    """Oldest first. There are never many: they are bounded, decided ones too."""
    entry, to = await place_of(owners, asked)
    found: list[Record] = []
    if asked.proposal is not None:
        found = [await _of_one(owners.read(to, "canvas_proposal", {"proposalId": asked.proposal}))]
    else:
        body: Record = {"all": asked.all}
        while True:
            page = await owners.read(to, "canvas_proposals", body)
            found += records(page, "proposals")
            if page["next"] is None:
                break
            body["after"] = page["next"]
    labels = [label for one in found for label in (one.get("by"), one.get("decidedBy"))]
    told: Record = {"canvasId": to.id, "title": entry["title"], "proposals": cast("list[Value]", found)}
    return {**told, "names": names_of(await owners.directory(), labels)}


async def canvas_approve(owners: Owners, asked: CanvasDecide) -> Record:
    answer = await _decided(owners, asked, "canvas_approve_proposal", _APPROVED)
    if answer.get("outcome") == "conflict":
        raise VerbRefused.by(_OVERTAKEN)
    must_be_applied(answer)
    return _told(answer)


async def canvas_reject(owners: Owners, asked: CanvasDecide) -> Record:
    answer = await _decided(owners, asked, "canvas_reject_proposal", _REJECTED)
    must_be_applied(answer)
    return _told(answer)


async def _decided(owners: Owners, asked: CanvasDecide, verb: str, reason: str) -> Record:
    entry, to = await place_of(owners, asked)
    head = await owners.read(to, "canvas_summary", {})
    # Rebased, since what counts is what was changed after the proposal was made, of what it touches: whoever draws
    # something else meanwhile is in nobody's way, and a conflict is never one that trying anew would help against.
    body: Record = {"canvasId": to.id, "expectedRevision": head["revision"], "rebase": "disjoint"}
    body |= {"proposalId": asked.proposal, "reason": asked.reason or reason}
    answer = await _of_one(owners.ask(to, verb, body))
    return {"canvasId": to.id, "title": entry["title"], "proposalId": asked.proposal, **answer}


async def _of_one(asking: Awaitable[Record]) -> Record:
    """The answer; of a proposal that there is not, in words that say so."""
    try:
        return await asking
    except VerbRefused as refused:
        if text(refused.error, "code") == NOT_FOUND.code.value:
            raise VerbRefused.by(_NO_PROPOSAL) from refused
        raise


def _told(answer: Record) -> Record:
    return {name: value for name, value in answer.items() if name != "outcome"}


VERBS: Final[Mapping[str, Run]] = {
    "canvas.proposals": checked(CanvasProposals, canvas_proposals),
    "canvas.approve": checked(CanvasDecide, canvas_approve),
    "canvas.reject": checked(CanvasDecide, canvas_reject),
}
