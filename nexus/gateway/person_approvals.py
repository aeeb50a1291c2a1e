"""The person's verbs about approvals: what waits, one card whole, the decision, and each card as it comes (common 5).

A decision to approve names what was shown (`seen`, a hash of the whole card): another card than the one that the
person read is not approved. Lists are composed over all agents; an approvalId names the agent whose owner keeps it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, cast

from pydantic import Field

from bus import address
from bus.address import Address
from bus.limits import cards_remembered_max, follow_retry_ms, note_characters_max
from bus.value import Record, Value, records
from nexus.gateway import person_bus
from nexus.gateway.card_facts import facts_now
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, text
from nexus.gateway.person_table import Run, Stream, Typed, checked, streamed
from nexus.gateway.person_upkeep import Emit
from tools.base import Model
from tools.errors import Code, Refusal

APPEARED: Final = "approval.asked"
"""The event of a new card (bus/events.py)."""

_APPROVAL_ID: Final = re.compile(r"([0-9a-z]{1,64})\.[0-9A-Za-z_-]{1,64}\Z")

_MALFORMED: Final = Refusal(
    Code.INVALID_ARGUMENTS,
    "That is no approval's id; one consists of two ids with a dot between. `nexus approvals list` shows them.",
)
_NO_APPROVAL: Final = Refusal(
    Code.NOT_FOUND, "There is no such approval, or it is no longer kept. `nexus approvals list` shows those that wait."
)
_ANOTHER_CARD: Final = Refusal(
    Code.WRONG_STATE,
    "The card is no longer the one that was shown, so nothing was decided. Look at it again and decide then.",
)


class ApprovalsList(Model):
    all: bool = False
    agent: Typed | None = None
    workspace: Typed | None = None
    """Of calls in this workspace only; with `agent`, also where it is looked for."""


class ApprovalNamed(Model):
    approvalId: Annotated[str, Field(min_length=1, max_length=200)]


class ApprovalDecide(ApprovalNamed):
    decision: Literal["approve", "deny"]
    note: Annotated[str, Field(min_length=1, max_length=note_characters_max)] | None = None
    seen: Annotated[str, Field(min_length=64, max_length=64)] | None = None
    """What `approvals.show` answered as `seen`. Nothing is approved without."""


class ApprovalsWatch(Model):
    pass


async def approvals_list(owners: Owners, asked: ApprovalsList) -> Record:
    """Those that wait, or all that are kept; newest last."""
    directory = await owners.directory()
    if asked.agent is not None:
        agent_ids = [directory.agent(asked.agent, asked.workspace).id]
    else:
        agent_ids = [text(one, "agentId") for one in directory.agents]
    listed = await _listed(owners, directory, agent_ids, all_kept=asked.all)
    if asked.workspace is not None:
        inside = directory.workspace(asked.workspace).id
        listed = [one for one in listed if one.get("workspaceId") == inside]
    return {"approvals": cast("list[Value]", listed)}


async def approvals_show(owners: Owners, asked: ApprovalNamed) -> Record:
    return await _card(owners, await owners.directory(), asked.approvalId)


async def approvals_decide(owners: Owners, asked: ApprovalDecide) -> Record:
    """Once, and in time: the owner refuses what was decided already, has expired or lapsed."""
    to = _owner(asked.approvalId)
    if asked.decision == "approve" or asked.seen is not None:
        card = await _card(owners, await owners.directory(), asked.approvalId)
        if asked.seen != card["seen"]:
            raise VerbRefused.by(_ANOTHER_CARD)
    body: Record = {"approvalId": asked.approvalId, "decision": asked.decision, "how": "command"}
    if asked.note is not None:
        body["note"] = asked.note
    try:
        return await owners.ask(to, "approval_decide", body)
    except VerbRefused as refused:
        raise _told(refused) from None


async def approvals_watch(owners: Owners, asked: ApprovalsWatch, emit: Emit) -> None:
    """Emit the card of each approval that waits, then each new one, until cancelled."""
    # The places first: what appears while the cards that wait are read comes as an event, at worst as both.
    places = await person_bus.ends(owners)
    directory = await owners.directory()
    shown: dict[str, None] = {}

    async def show(approval_id: str) -> None:
        if approval_id in shown:
            return
        shown[approval_id] = None
        if len(shown) > cards_remembered_max:
            del shown[next(iter(shown))]
        card = await _card_when_answered(owners, approval_id)
        if card is not None:
            await emit(card)

    async def each(event: Record) -> None:
        data = event.get("data")
        if event.get("type") == APPEARED and isinstance(data, dict):
            await show(text(data, "approvalId"))

    for one in await _listed(owners, directory, [text(one, "agentId") for one in directory.agents], all_kept=False):
        if one.get("state") == "pending":
            await show(text(one, "approvalId"))
    await person_bus.follow_from(owners, places, each)


async def _listed(owners: Owners, directory: Directory, agent_ids: Sequence[str], *, all_kept: bool) -> list[Record]:
    wanted = [address.agent(agent_id) for agent_id in agent_ids]
    answers = await owners.read_each(wanted, "approvals_list", {"all": all_kept})
    listed = [
        {**one, "agent": directory.agent_name(text(one, "agentId")), "workspace": _workspace_name(directory, one)}
        for answer in answers
        for one in records(answer or {}, "approvals")
    ]
    return sorted(listed, key=lambda one: text(one, "createdAt"))


async def _card_when_answered(owners: Owners, approval_id: str) -> Record | None:
    """The card; an owner that restarts is waited for. None if there is no such card any more."""
    while True:
        try:
            return await _card(owners, await owners.directory(), approval_id)
        except VerbRefused as refused:
            if refused.error.get("code") == Code.NOT_FOUND.value:
                return None
            if refused.error.get("retryable") is not True:
                raise
            await asyncio.sleep(follow_retry_ms / 1000)


async def _card(owners: Owners, directory: Directory, approval_id: str) -> Record:
    """The owner's card with the names that belong to its ids, and `seen`."""
    try:
        card = await owners.read(_owner(approval_id), "approval_show", {"approvalId": approval_id})
    except VerbRefused as refused:
        raise _told(refused) from None
    chain = card.get("chain")
    whole: Record = {
        **card,
        "now": await facts_now(owners, directory, card) if card.get("state") == "pending" else {},
        "workspace": {"id": card.get("workspaceId"), "name": _workspace_name(directory, card)},
        "chain": [
            {"id": one, "name": directory.agent_name(one)}
            for one in (chain if isinstance(chain, list) else [])
            if isinstance(one, str)
        ],
    }
    return {**whole, "seen": hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()}


def _workspace_name(directory: Directory, record: Record) -> str:
    return directory.workspace_name(text(record, "workspaceId"))


def _owner(approval_id: str) -> Address:
    """Whose approval it is. Raises VerbRefused for what is no approval's id."""
    matched = _APPROVAL_ID.match(approval_id)
    if matched is None:
        raise VerbRefused.by(_MALFORMED)
    return address.agent(matched[1])


def _told(refused: VerbRefused) -> VerbRefused:
    """An owner's `not_found` speaks to agents; the person is told where to look."""
    is_absent = refused.error.get("code") == Code.NOT_FOUND.value
    return VerbRefused.by(_NO_APPROVAL) if is_absent else refused


VERBS: Final[Mapping[str, Run]] = {
    "approvals.list": checked(ApprovalsList, approvals_list),
    "approvals.show": checked(ApprovalNamed, approvals_show),
    "approvals.decide": checked(ApprovalDecide, approvals_decide),
}
STREAMS: Final[Mapping[str, Stream]] = {"approvals.watch": streamed(ApprovalsWatch, approvals_watch)}
