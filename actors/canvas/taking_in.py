"""The steps of an import, each small enough for one message (ARCHITECTURE, The store; docs/decisions/0006).

The owner sends itself `import_continue` until the canvas is there or everything of it is gone again; the step that is
due follows from the rows alone, so a host that was killed goes on where it was. No step looks at or writes more than a
part's worth of elements.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import orjson

from actors.canvas import outcome
from actors.canvas.arrival import (
    ARRIVING,
    Arriving,
    Event,
    Facts,
    Part,
    Phase,
    part_row,
    raw_row,
)
from actors.canvas.mend import go_on
from actors.canvas.opening import opened, opening
from actors.canvas.outcome import Rejected
from actors.canvas.plain import encoded_bytes
from actors.canvas.scene_import import Before, PartRead, read_part
from actors.canvas.state import SCENE, CanvasState, element_row, file_row, piece_row
from actors.decision import Answer, Context, Decision, Delete, Effect, Message, Put, Send
from actors.decision import Event as Happened
from bus.limits import (
    element_bytes_max,
    elements_per_canvas_max,
    import_parts_max,
    left_out_listed_max,
    part_elements_max,
    scene_elements_bytes_max,
    scene_files_bytes_max,
)
from bus.value import Record, Value

CONTINUE: Final = "import_continue"
_CLEARED_PIECES: Final = 16
_MIB: Final = 1024 * 1024


def proceed(state: CanvasState, message: Message, context: Context) -> Decision:
    """The next step. A message that comes when there is none left to do changes nothing."""
    sender = context.principal.owner
    if sender != context.address:
        raise ValueError("only the canvas itself goes on with its import")
    arriving = state.arriving
    if arriving is None or arriving.facts.phase is Phase.RECEIVING:
        return Decision({})
    return Decision({}, tuple(step(state, arriving, context)))


def step(state: CanvasState, arriving: Arriving, context: Context) -> list[Effect]:
    """The effects of the step that is due. One that breaks a rule of scenes ends the import."""
    facts = arriving.facts
    try:
        match facts.phase:
            case Phase.UNPACKING:
                return _unpack(state, arriving, context)
            case Phase.OPENING:
                return _open(arriving, context)
            case Phase.CLEARING:
                return _clear(state, arriving, context)
            case _:
                return _mend(arriving, context)
    except Rejected as refused:
        answer = Answer(facts.waiting, outcome.rejected(refused.code, refused.message))
        return [*give_up(facts, context), answer]


def complete(arriving: Arriving, waiting: str) -> Facts:
    """Every part is in: the passes begin. Numbering is left out where every index of the scene is kept."""
    facts = replace(arriving.facts.after(Event.COMPLETE), waiting=waiting)
    return facts if _numbered_anew(arriving) else facts.after(Event.PASSED)


def going_on(facts: Facts, context: Context) -> list[Effect]:
    return [Put(ARRIVING, facts.to_record()), Send(context.address, CONTINUE, {})]


def give_up(facts: Facts, context: Context) -> list[Effect]:
    """Begin to remove what is there."""
    return going_on(facts.after(Event.GIVEN_UP), context)


def take(state: CanvasState, arriving: Arriving, part: Record) -> list[Effect]:
    """The rows that one part brings. Raises Rejected; nothing of it is kept then."""
    elements, pieces = part.get("elements"), part.get("pieces")
    brought = elements if isinstance(elements, list) else []
    if arriving.seen + len(brought) > min(arriving.facts.announced, elements_per_canvas_max):
        raise Rejected("limits", "The scene has more elements than were announced.")
    if len(arriving.parts) >= import_parts_max:
        raise Rejected("limits", "The scene comes in too many parts.")
    listed = [piece for piece in pieces if isinstance(piece, dict)] if isinstance(pieces, list) else []
    read = read_part(brought, listed, _before(state, arriving))
    _check_sizes(arriving, read)
    record: Record
    by = arriving.facts.founding.by
    rows: list[Effect] = []
    for id_, element in read.elements.items():
        record = {"element": element, "revision": 1, "by": by, "what": "created"}
        rows.append(Put(element_row(id_), record))
    if read.taken_back is not None:
        id_, count = read.taken_back
        rows += [Delete(piece_row(id_, number)) for number in reversed(range(count))]
        rows.append(Delete(file_row(id_)))
    rows += [Put(file_row(id_), file) for id_, file in read.files.items()]
    rows += [Put(piece_row(id_, number), {"id": id_, "text": text}) for id_, number, text in read.pieces]
    # Before the elements, so that their place is known when they are applied; a load meets them in this order too.
    return [Put(part_row(len(arriving.parts)), _row_of(arriving, part, read).to_record()), *rows]


def raw_rows(parts: Iterator[Record]) -> Iterator[Effect]:
    """A scene that came in one message, set aside to be taken in part by part."""
    for number, part in enumerate(parts):
        yield Put(raw_row(number), _written(part))


def digest_of(part: Record) -> str:
    """Tells a repeated part from another one of the same number."""
    said = _written({name: part.get(name) or [] for name in ("elements", "pieces")})
    return hashlib.blake2b(said, digest_size=16).hexdigest()


def _before(state: CanvasState, arriving: Arriving) -> Before:
    last = arriving.last_part
    is_kept = last is not None and last.open_file is not None and not last.open_file_is_left_out
    return Before(
        import_id=arriving.facts.founding.call_id,
        is_known=state.entries.__contains__,
        seen=arriving.seen,
        kept=len(arriving.gathered.order),
        last_index=None if last is None else last.last_index,
        misordered_from=None if last is None else last.misordered_from,
        open_file=None if last is None else last.open_file,
        open_file_is_left_out=last is not None and last.open_file_is_left_out,
        pieces_of_open_file=state.pieces[str(last.open_file)] if last is not None and is_kept else (),
        is_known_file=state.files.__contains__,
    )


def _check_sizes(arriving: Arriving, read: PartRead) -> None:
    if arriving.element_bytes + read.element_bytes > scene_elements_bytes_max:
        raise Rejected("limits", f"The scene's elements take more than {scene_elements_bytes_max // _MIB} MiB.")
    if arriving.file_bytes + read.file_bytes > scene_files_bytes_max:
        raise Rejected("limits", f"The scene's files take more than {scene_files_bytes_max // _MIB} MiB.")


def _row_of(arriving: Arriving, part: Record, read: PartRead) -> Part:
    room = left_out_listed_max - sum(len(before.listed) for before in arriving.parts)
    return Part(
        digest=digest_of(part),
        ids=list(read.elements),
        files=list(read.files),
        seen=read.seen,
        deleted=sum(element["isDeleted"] is True for element in read.elements.values()),
        repaired=read.repaired,
        left_out=len(read.left_out),
        listed=read.left_out[: max(room, 0)],
        element_bytes=read.element_bytes,
        file_bytes=read.file_bytes,
        misordered_from=read.misordered_from,
        last_index=read.last_index,
        open_file=read.open_file,
        open_file_is_left_out=read.open_file_is_left_out,
        pieces_of_open_file=read.pieces_of_open_file,
    )


def _numbered_anew(arriving: Arriving) -> int:
    """How many elements at the beginning kept an index of their own that does not fit those behind them."""
    last = arriving.last_part
    return 0 if last is None or last.misordered_from is None else last.misordered_from


def _unpack(state: CanvasState, arriving: Arriving, context: Context) -> list[Effect]:
    row = raw_row(len(arriving.parts))
    if row not in arriving.raw:
        return going_on(complete(arriving, arriving.facts.waiting), context)
    return [*take(state, arriving, _read(arriving.raw[row])), Delete(row), Send(context.address, CONTINUE, {})]


def _mend(arriving: Arriving, context: Context) -> list[Effect]:
    facts, gathered = arriving.facts, arriving.gathered
    end = _numbered_anew(arriving) if facts.phase is Phase.NUMBERING else len(gathered.order)
    done = go_on(gathered, facts.phase.value, facts.cursor, end)
    effects: list[Effect] = []
    for id_, element in done.changed.items():
        if encoded_bytes(element) > element_bytes_max:
            raise Rejected(
                "limits", f"An element with all that is tied to it is larger than {element_bytes_max} bytes."
            )
        by = facts.founding.by
        effects.append(Put(element_row(id_), {"element": element, "revision": 1, "by": by, "what": "created"}))
    following = replace(facts, cursor=done.cursor, repaired=facts.repaired + done.mended)
    return [*effects, *going_on(following.after(Event.PASSED) if done.cursor >= end else following, context)]


def _open(arriving: Arriving, context: Context) -> list[Effect]:
    facts = arriving.facts
    deleted = sum(part.deleted for part in arriving.parts)
    answer = Answer(facts.waiting, {**opened(context), **arriving.report()})
    gone = [Delete(part_row(number)) for number in reversed(range(len(arriving.parts)))]
    size = sum(part.element_bytes + part.file_bytes for part in arriving.parts)
    return [
        *(Delete(ARRIVING), *gone),
        *opening(context, facts.founding, len(arriving.gathered.order) - deleted, deleted, size),
        answer,
    ]


def _clear(state: CanvasState, arriving: Arriving, context: Context) -> list[Effect]:
    """Remove some of what came, last come first. Only then the row that says so."""
    gone: list[str]
    if state.pieces:
        id_, pieces = next(reversed(state.pieces.items()))
        first = max(len(pieces) - _CLEARED_PIECES, 0)
        gone = [piece_row(id_, number) for number in reversed(range(first, len(pieces)))]
    elif state.files:
        gone = [file_row(id_) for id_ in list(state.files)[:part_elements_max]]
    elif arriving.raw:
        gone = list(arriving.raw)[:_CLEARED_PIECES]
    elif arriving.parts:
        last = arriving.parts[-1]
        gone = [*map(element_row, last.ids), part_row(len(arriving.parts) - 1)]
    else:
        event = Happened("canvas.import_given_up", {"canvasId": context.address.id})
        return [Delete(SCENE), Delete(ARRIVING), event]
    return [*map(Delete, gone), Send(context.address, CONTINUE, {})]


def _written(part: Record) -> bytes:
    try:
        return orjson.dumps(part)
    except (TypeError, ValueError):  # a number beyond 64 bits, half a character: kept until it is left out
        return json.dumps(part, default=repr).encode()


def _read(raw: bytes) -> Record:
    try:
        part: Value = orjson.loads(raw)
    except ValueError:
        part = json.loads(raw)
    assert isinstance(part, dict)
    return part
