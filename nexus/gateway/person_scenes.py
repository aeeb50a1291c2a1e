"""The person's verbs that carry whole scenes: a line for each part, so that no message and no step is large.

`canvas.import`: the request announces the scene; a line `{"part": ...}` follows for each part, then `{"finish": true}`.
`canvas.export`: a line `{"event": {"part": ...}}` for each part, then the answer. Parts: tools/canvas/scene_parts.py.

Nothing of a scene is kept here. An import whose sender leaves is aborted; one whose gateway dies is given up by the
canvas itself when nobody goes on with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, cast

from pydantic import Field

from bus import address
from bus.address import Address
from bus.limits import export_rounds_max, import_abort_deadline_ms, name_characters_max, scene_deadline_ms
from bus.value import Record
from nexus.gateway.person_owners import Owners, VerbRefused, checked_arguments, must_be_applied, text
from tools.base import Model, Name
from tools.errors import unavailable
from tools.fence import plain_name

"""How often changes made meanwhile are asked for before an export gives up."""

Typed = Annotated[str, Field(min_length=1, max_length=name_characters_max)]


@dataclass(frozen=True, slots=True)
class Talk:
    """The connection behind a request: further lines from the person, and lines to it."""

    next_line: Callable[[], Awaitable[Record]]
    """Raises VerbRefused for a line that is none, and when the peer leaves."""
    emit: Callable[[Record], Awaitable[None]]
    left: Callable[[], Awaitable[None]]
    """Answers when the peer has left, or says anything more."""


class CanvasImport(Model):
    workspace: Typed
    title: Name
    elements: Annotated[int, Field(ge=0)]
    elementBytes: Annotated[int, Field(ge=0)]
    fileBytes: Annotated[int, Field(ge=0)]
    rest: dict[str, object]


class ImportLine(Model):
    """Exactly one of both."""

    part: dict[str, object] | None = None
    finish: Literal[True] | None = None


class CanvasExport(Model):
    canvas: Typed
    workspace: Typed | None = None


Converse: TypeAlias = Callable[[Owners, Record, Talk], Awaitable[Record]]


async def canvas_import(owners: Owners, raw: Record, talk: Talk) -> Record:
    asked = checked_arguments(CanvasImport, raw)
    meant = (await owners.directory()).workspace(asked.workspace)
    await owners.read(address.workspace(meant.id), "room_for_canvas", {})
    canvas_id = owners.clock.new_id()
    title = plain_name(asked.title)
    to = address.canvas(meant.id, canvas_id)
    said: Record = {name: raw[name] for name in ("elements", "elementBytes", "fileBytes", "rest")}
    begun = await owners.ask(to, "import_begin", {"title": title, **said})
    must_be_applied(begun)
    import_id = text(begun, "importId")
    try:
        answer = await _bring_in(owners, to, import_id, talk)
    except BaseException:
        await _abort(owners, to, import_id)
        raise
    return {**answer, "canvasId": canvas_id, "workspaceId": meant.id, "title": title}


async def _bring_in(owners: Owners, to: Address, import_id: str, talk: Talk) -> Record:
    number = 0
    while True:
        line = await talk.next_line()
        read = checked_arguments(ImportLine, line)
        if read.finish:
            break
        body: Record = {**cast(Record, read.part or {}), "importId": import_id, "number": number}
        must_be_applied(await owners.ask(to, "import_part", body))
        number += 1
    answer = await owners.ask(to, "import_finish", {"importId": import_id}, within_ms=scene_deadline_ms)
    must_be_applied(answer)
    return answer


async def _abort(owners: Owners, to: Address, import_id: str) -> None:
    try:
        await owners.ask(to, "import_abort", {"importId": import_id}, within_ms=import_abort_deadline_ms)
    except VerbRefused:
        return  # the canvas gives it up by itself


async def canvas_export(owners: Owners, raw: Record, talk: Talk) -> Record:
    """Consistent at the revision that the answer names: what changed while it went out is sent again."""
    asked = checked_arguments(CanvasExport, raw)
    entry = await owners.canvas(asked.canvas, asked.workspace)
    to = address.canvas(text(entry, "workspaceId"), text(entry, "canvasId"))
    first = answer = await owners.read(to, "canvas_export", {})
    begun_at = first["revision"]
    await send_parts(owners, to, answer, {}, talk.emit)
    for _ in range(export_rounds_max):
        since: Record = {"since": begun_at}
        answer = await owners.read(to, "canvas_export", since)
        if answer["revision"] == begun_at:
            break
        begun_at, is_whole = answer["revision"], answer["next"] is None
        await send_parts(owners, to, answer, since, talk.emit)
        if is_whole:
            break
    else:
        raise VerbRefused.by(unavailable("The canvas changes faster than it can be exported. Try again in a moment."))
    found: Record = {"canvasId": entry["canvasId"], "title": answer["title"], "revision": begun_at}
    return {**found, "rest": first.get("rest", {})}


async def send_parts(
    owners: Owners, to: Address, answer: Record, body: Record, emit: Callable[[Record], Awaitable[None]]
) -> None:
    """Emit the part in this answer to canvas_export with `body`, and those behind it."""
    while True:
        await emit({"part": answer["part"]})
        following = answer["next"]
        if not isinstance(following, dict):
            return
        answer = await owners.read(to, "canvas_export", {**body, **following})


CONVERSATIONS: Final[Mapping[str, Converse]] = {"canvas.import": canvas_import, "canvas.export": canvas_export}
