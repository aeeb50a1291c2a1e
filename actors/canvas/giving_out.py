"""canvas_export: the canvas as the parts of an .excalidraw file, one bounded part a call (canvas 4.5).

A place in an export is (section, offset) at one revision: while the revision stands, nothing that is exported changes.
Whoever asks with a revision that is over hears the present one and begins again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from actors.canvas.access import parsed, seen
from actors.canvas.plain import encoded_bytes
from actors.canvas.state import CanvasState
from actors.decision import Context, Decision, Message
from bus.limits import part_bytes_max, part_elements_max
from bus.value import Record, Value
from tools.base import Model
from tools.canvas.scene_parts import pieces_of
from tools.errors import Refusal


class ExportPart(Model):
    """`revision` from the first answer on; `section` and `offset` as the answer before said in `next`."""

    includeDeleted: bool = False
    revision: int | None = None
    section: Literal["elements", "pieces"] = "elements"
    offset: int = Field(default=0, ge=0)


def export_part(state: CanvasState, message: Message, context: Context) -> Decision:
    """Deleted elements stay out, as in the editor's own files, unless asked for."""
    arguments = parsed(ExportPart, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    found = seen(state, context)
    if isinstance(found, Refusal):
        return Decision(found)
    head, _ = found
    reply: Record = {"title": head.title, "revision": head.revision}
    if arguments.revision is not None and arguments.revision != head.revision:
        return Decision(reply)
    if arguments.revision is None:
        reply["rest"] = state.scene
    if arguments.section == "elements":
        batch, offset = _elements(state, arguments)
        following: Value = {"section": "elements", "offset": offset}
        if offset >= len(state.entries):
            following = {"section": "pieces", "offset": 0} if state.files else None
    else:
        batch, following = _pieces(state, arguments.offset)
    return Decision({**reply, "part": {arguments.section: batch}, "next": following})


def _elements(state: CanvasState, arguments: ExportPart) -> tuple[list[Value], int]:
    """Lowest first, and where the next part begins."""
    order = state.in_order()
    batch: list[Value] = []
    room, offset = part_bytes_max, arguments.offset
    while offset < len(order) and len(batch) < part_elements_max:
        entry = state.entries[order[offset][1]]
        if entry.is_live or arguments.includeDeleted:
            room -= encoded_bytes(entry.element)
            if batch and room < 0:
                break
            batch.append(entry.element)
        offset += 1
    return batch, offset


def _pieces(state: CanvasState, offset: int) -> tuple[list[Value], Value]:
    batch: list[Value] = []
    room = part_bytes_max
    for place, piece in enumerate(_all_pieces(state)):
        if place < offset:
            continue
        room -= encoded_bytes(piece)
        if batch and (room < 0 or len(batch) == part_elements_max):
            return batch, {"section": "pieces", "offset": place}
        batch.append(piece)
    return batch, None


def _all_pieces(state: CanvasState) -> Iterator[Record]:
    for id_, file in state.files.items():
        texts = state.pieces.get(id_)
        if texts is None:  # a row of an older release: the data URL is in the file's own
            yield from pieces_of({id_: file})
            continue
        meta: Record = {name: value for name, value in file.items() if name != "id"}
        for number, text in enumerate(texts):
            piece: Record = {"id": id_, "text": text, "more": number + 1 < len(texts)}
            yield piece if number else {**piece, "meta": meta}
