"""What a task refers to, read as whoever the task is for, when it is delivered (mesh 3.2).

Invariants: a reference is read as by a call of canvas_get_state with the recipient's own credential - admitted like one
(common 1.3, 4.1), under the recipient's stamp - so it says here what the recipient would read by itself; what the
recipient may not read arrives as `withheld`, and of what it may not know of the reason is `not_found`, as for what
never was (common 3.3); no reference makes a delivery fail.

A reference becomes `{ref, kind: "canvas", title, revision}`, or `{ref, withheld: {reason, detail}}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast

from bus import address
from bus.admitted import STALE_STAMP
from bus.client import DeadlinePassed
from bus.value import Record, Value, records
from nexus.gateway.admitting import admit_read
from nexus.gateway.identity import Credential
from nexus.gateway.reading import OwnerRefused, Reading
from tools import canvas

CANVAS: Final = "canvas://"

WithheldReason: TypeAlias = Literal["not_found", "role_required", "capability_disabled", "unavailable"]

_DETAIL: Final[Mapping[WithheldReason, str]] = {
    "not_found": "Nothing with that address is here for you.",
    "role_required": "Your role does not let you read it; the person can give you another.",
    "capability_disabled": "The tool that reads it is not yours to call. Only the person can change that.",
    "unavailable": "It could not be read now. Ask for it by its own tool.",
}
"""The codes of refusals that are told as such; any other trouble is `unavailable`."""

_READ_BY: Final = next(tool for tool in canvas.TOOLS if tool.name == "canvas_get_state")


async def inbox_with_references(reading: Reading, credential: Credential, inbox: Record) -> Record:
    """What agent_inbox answers, with the references of its deliveries read. The mailbox has left room for them.

    Raises OwnerRefused for a stale stamp.
    """
    deliveries = records(inbox, "deliveries")
    if not any(_references(one) for one in deliveries):
        return inbox
    read: list[Value] = [*await deliveries_with_references(reading, credential, deliveries)]
    return {**inbox, "deliveries": read}


async def deliveries_with_references(
    reading: Reading, credential: Credential, deliveries: Sequence[Record]
) -> list[Record]:
    """The same for deliveries by themselves. Raises OwnerRefused for a stale stamp."""
    wanted = {ref: None for one in deliveries for ref in _references(one)}
    if not wanted:
        return [*deliveries]
    reason = await _reason_against_all(reading, credential)
    if reason is not None:
        return _without_references(deliveries, reason)
    found = dict(zip(wanted, await asyncio.gather(*(_read(reading, ref) for ref in wanted)), strict=True))
    return [_with_references(one, found) for one in deliveries]


def without_references(deliveries: Sequence[Record]) -> list[Record]:
    """When the recipient's owner does not answer, so that nothing can be read as it."""
    return _without_references(deliveries, "unavailable")


def _without_references(deliveries: Sequence[Record], reason: WithheldReason) -> list[Record]:
    told = {ref: _withheld(ref, reason) for one in deliveries for ref in _references(one)}
    return [_with_references(one, told) for one in deliveries]


async def _reason_against_all(reading: Reading, credential: Credential) -> WithheldReason | None:
    """Why this credential may read no canvas at all, though its agent may: owners know agents, not credentials."""
    within_ms = reading.until_ms - reading.clock.now_ms()
    if within_ms <= 0:
        return "unavailable"
    try:
        admission = await admit_read(reading.caller, reading.clock, credential, _READ_BY, within_ms)
    except DeadlinePassed:
        return "unavailable"
    if admission.is_unknown_tool:  # the credential is narrowed to other families
        return "capability_disabled"
    if admission.refusal is not None:
        return _reason_of(admission.refusal)
    return None if admission.stamp is not None else "unavailable"


def _reason_of(error: Record) -> WithheldReason:
    code = str(error.get("code"))
    return cast("WithheldReason", code) if code in _DETAIL else "unavailable"


def _references(delivery: Record) -> list[str]:
    task = delivery.get("task")
    listed = task.get("contextRefs") if isinstance(task, dict) else None
    return [ref for ref in listed if isinstance(ref, str)] if isinstance(listed, list) else []


def _with_references(delivery: Record, found: Mapping[str, Record]) -> Record:
    refs, task = _references(delivery), delivery.get("task")
    if not refs or not isinstance(task, dict):
        return delivery
    listed: list[Value] = [found[ref] for ref in refs]
    return {**delivery, "task": {**task, "contextRefs": listed}}


async def _read(reading: Reading, ref: str) -> Record:
    canvas_id = ref.removeprefix(CANVAS)
    if canvas_id == ref or not address.is_id(canvas_id):
        return _withheld(ref, "not_found")
    try:
        summary = await reading.ask(address.canvas(reading.workspace_id, canvas_id), "canvas_summary", {})
    except OwnerRefused as refused:
        if (
            refused.error.get("code") == STALE_STAMP
        ):  # of what the recipient may read nothing is known: the whole is admitted anew
            raise
        return _withheld(ref, _reason_of(refused.error))
    except DeadlinePassed:
        return _withheld(ref, "unavailable")
    return {"ref": ref, "kind": "canvas", "title": summary.get("title"), "revision": summary.get("revision")}


def _withheld(ref: str, reason: WithheldReason) -> Record:
    return {"ref": ref, "withheld": {"reason": reason, "detail": _DETAIL[reason]}}
