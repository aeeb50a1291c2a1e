"""The person's verbs on a canvas's past: its revisions, the scene of one of them, and the way back to it (canvas 4.6).

Nothing of a history or scene is kept here: each part goes out as it comes, a line each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Final, cast

from pydantic import Field

from bus.address import Address
from bus.limits import history_page_max, integer_max
from bus.value import Record, Value, records
from nexus.gateway.person_canvases import CanvasNamed, names_of, place_of, written_now
from nexus.gateway.person_owners import Owners, VerbRefused, must_be_applied
from nexus.gateway.person_scenes import send_parts
from nexus.gateway.person_table import Run, Stream, checked, streamed
from nexus.gateway.person_upkeep import Emit
from tools.base import Reason
from tools.canvas.scene_parts import part_of_past
from tools.errors import Code, Refusal

Revision = Annotated[int, Field(ge=1, le=integer_max)]


class CanvasHistory(CanvasNamed):
    limit: Annotated[int, Field(ge=1, le=integer_max)] | None = None


class CanvasAt(CanvasNamed):
    revision: Revision


class CanvasRevert(CanvasNamed):
    revision: Revision
    reason: Reason | None = None


async def canvas_history(owners: Owners, asked: CanvasHistory, emit: Emit) -> Record:
    """A line `{"revisions": [...]}` a page, newest first; then whose names stand behind `by`."""
    entry, to = await place_of(owners, asked)
    left = integer_max if asked.limit is None else asked.limit
    labels: set[Value] = set()
    limit = min(left, history_page_max)
    async for page in _pages(owners, to, {"limit": limit}):
        revisions = records(page, "revisions")[:left]
        left -= len(revisions)
        labels.update(label for one in revisions for label in (one["by"], one.get("approvedBy")))
        await emit({"revisions": cast("list[Value]", revisions)})
        if not left:
            break
    told: Record = {"canvasId": to.id, "title": entry["title"]}
    return {**told, "names": names_of(await owners.directory(), labels)}


async def canvas_at(owners: Owners, asked: CanvasAt, emit: Emit) -> Record:
    """Lines as canvas.export has them, and then of every later revision what it found: the oldest is what was there.

    Consistent while others write: what they touch before an export meets it is in the history, which is read
    afterwards, and what they touch later was given as it was.
    """
    entry, to = await place_of(owners, asked)
    until: Record = {"until": asked.revision}
    first = await owners.read(to, "canvas_export", until)
    _must_be_there(asked.revision, first["revision"])
    await send_parts(owners, to, first, until, emit)
    async for page in _pages(owners, to, {"after": asked.revision, "elements": True}):
        await emit({"part": part_of_past(records(page, "revisions"))})
    told: Record = {"canvasId": to.id, "title": entry["title"], "revision": asked.revision}
    return {**told, "rest": first.get("rest", {})}


async def canvas_revert(owners: Owners, asked: CanvasRevert) -> Record:
    """Of whatever there is when it arrives: what comes between is taken back too, and can be had again."""
    entry, to = await place_of(owners, asked)
    present = (await owners.read(to, "canvas_summary", {}))["revision"]
    _must_be_there(asked.revision, present)
    reason = asked.reason or f"reverted to revision {asked.revision}"
    answer = await written_now(owners, to, "canvas_revert", {"to": asked.revision, "reason": reason})
    must_be_applied(answer)
    told: Record = {"canvasId": to.id, "title": entry["title"], "to": asked.revision}
    return {**told, **{name: value for name, value in answer.items() if name != "outcome"}}


async def _pages(owners: Owners, to: Address, asked: Record) -> AsyncIterator[Record]:
    following: Record = {}
    while True:
        page = await owners.read(to, "canvas_history", {**asked, **following})
        yield page
        if not isinstance(page["next"], dict):
            return
        following = page["next"]


def _must_be_there(revision: int, present: Value) -> None:
    assert isinstance(present, int)
    if revision > present:
        words = f"The canvas has no revision {revision}: it is at {present}. `nexus canvas history` shows them."
        raise VerbRefused.by(Refusal(Code.NOT_FOUND, words))


VERBS: Final[Mapping[str, Run]] = {"canvas.revert": checked(CanvasRevert, canvas_revert)}
STREAMS: Final[Mapping[str, Stream]] = {
    "canvas.history": streamed(CanvasHistory, canvas_history),
    "canvas.at": streamed(CanvasAt, canvas_at),
}
