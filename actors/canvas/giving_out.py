"""canvas_export: the canvas as the parts of an .excalidraw file, one bounded part a call (canvas 4.5).

Elements come in their order, each part from behind the place where the one before it ended, so what is not touched
meanwhile comes exactly once. What was changed since the first part was given is asked for afterwards with `since`,
deleted elements too; once that fits one answer, all that was given is the canvas as it was at that moment. So an export
is consistent, and neither stops those who draw nor is stopped by them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

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
    """`after` and `piece`: as the answer before said in `next`. `since`: only what was changed after that revision;
    `until`: only what was not."""

    includeDeleted: bool = False
    since: int | None = None
    until: int | None = None
    after: list[str] | None = Field(default=None, min_length=2, max_length=2)
    piece: int | None = Field(default=None, ge=0)


def export_part(state: CanvasState, message: Message, context: Context) -> Decision:
    """Deleted elements stay out, as in the editor's own files, unless asked for or changed since."""
    arguments = parsed(ExportPart, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    found = seen(state, context)
    if isinstance(found, Refusal):
        return Decision(found)
    head, _ = found
    reply: Record = {"title": head.title, "revision": head.revision}
    if arguments.piece is not None:
        pieces, following = _pieces(state, arguments.piece)
        return Decision({**reply, "part": {"pieces": pieces}, "next": following})
    if arguments.after is None:
        reply["rest"] = state.scene
    elements, last = _elements(state, arguments)
    following = None if last is None else {"after": list(last)}
    if last is None and arguments.since is None and state.files:
        following = {"piece": 0}
    return Decision({**reply, "part": {"elements": elements}, "next": following})


def _elements(state: CanvasState, arguments: ExportPart) -> tuple[list[Value], tuple[str, str] | None]:
    """Lowest first, and the place behind which the next part begins; None behind the last."""
    order = state.in_order()
    start = 0 if arguments.after is None else bisect_right(order, (arguments.after[0], arguments.after[1]))
    batch: list[Value] = []
    room, last = part_bytes_max, ("", "")
    for at in range(start, len(order)):
        entry = state.entries[order[at][1]]
        is_wanted = entry.is_live or arguments.includeDeleted
        if arguments.since is not None:
            is_wanted = entry.revision > arguments.since
        if arguments.until is not None and entry.revision > arguments.until:
            is_wanted = False
        if not is_wanted:
            continue
        room -= encoded_bytes(entry.element)
        if batch and (room < 0 or len(batch) == part_elements_max):
            return batch, last
        batch.append(entry.element)
        last = order[at]
    return batch, None


def _pieces(state: CanvasState, offset: int) -> tuple[list[Value], Value]:
    batch: list[Value] = []
    room = part_bytes_max
    for place, piece in enumerate(_all_pieces(state)):
        if place < offset:
            continue
        room -= encoded_bytes(piece)
        if batch and (room < 0 or len(batch) == part_elements_max):
            return batch, {"piece": place}
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
