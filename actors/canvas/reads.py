"""What is read from a canvas: the row in lists, the overview, the elements of a region."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

import orjson

from actors.canvas.access import parsed, role_of, seen
from actors.canvas.geometry import Box
from actors.canvas.indexes import words_of
from actors.canvas.plain import encoded_bytes
from actors.canvas.regions import Place, Query, found_in
from actors.canvas.standing import beside_the_scene
from actors.canvas.state import CanvasState, Head
from actors.decision import Context, Decision, Message
from bus.limits import (
    label_characters_max,
    labels_max,
    region_page_bytes_max,
    state_labels_bytes_max,
    state_types_max,
)
from bus.value import Record, Value
from tools.canvas.inputs import CanvasGetStateInput, CanvasQueryRegionInput
from tools.errors import NOT_FOUND, Refusal, invalid_arguments
from tools.fence import fenced, plain_name
from tools.redact import redacted
from tools.times import rfc3339

SOURCE: Final = "canvas"


def summary(state: CanvasState, message: Message, context: Context) -> Decision:
    """The canvas's row in canvas_list; decided from head rows alone (canvas 5)."""
    role = role_of(state, context)
    if state.head is None or role is None:
        return Decision(NOT_FOUND)
    return Decision(_row(state.head, role, context))


def _row(head: Head, role: str, context: Context) -> Record:
    return {
        "canvasId": context.address.id,
        "title": head.title,
        "revision": head.revision,
        "role": role,
        "counts": {"live": head.live, "deleted": head.deleted},
        "updatedAt": rfc3339(head.updated_ms),
        "createdBy": head.created_by,
    }


def overview(state: CanvasState, message: Message, context: Context) -> Decision:
    arguments = parsed(CanvasGetStateInput, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    found = seen(state, context)
    if isinstance(found, Refusal):
        return Decision(found)
    head, role = found
    labels, is_whole = _labels(state)
    reply: Record = {
        **_row(head, role, context),
        "createdAt": rfc3339(head.created_ms),
        "types": _types(state),
        "extent": _extent(state),
        "labels": labels,
        "labelsTruncated": not is_whole,
        **beside_the_scene(state, context),
    }
    return Decision(reply)


def _types(state: CanvasState) -> Record:
    """The most frequent types of live elements."""
    most = heapq.nsmallest(state_types_max, ((-count, kind) for kind, count in state.kept.types.items()))
    return {plain_name(redacted(kind)): -count for count, kind in most}


def _extent(state: CanvasState) -> Value:
    box = state.placed.live.bounds()
    if box is None:
        return None
    edges = {"x": box.left, "y": box.top, "width": box.right - box.left, "height": box.bottom - box.top}
    return {name: int(edge) if edge.is_integer() else edge for name, edge in edges.items()}


def _labels(state: CanvasState) -> tuple[list[Value], bool]:
    """Texts and names of frames, lowest first, and whether those are all."""
    listed: list[Value] = []
    room = state_labels_bytes_max
    for label in _all_labels(state):
        room -= encoded_bytes(label) + 1
        if len(listed) == labels_max or room < 0:
            return listed, False
        listed.append(label)
    return listed, True


def _all_labels(state: CanvasState) -> Iterator[Record]:
    for _, id_ in state.kept.labelled.keys:
        element = state.entries[id_].element
        label: Record = {"elementId": id_, "text": fenced(SOURCE, words_of(element), label_characters_max)}
        if element.get("containerId") is not None:
            label["containerId"] = element["containerId"]
        yield label


def region(state: CanvasState, message: Message, context: Context) -> Decision:
    """Elements whose box meets or lies in the region, lowest first; a page ends early when it is full."""
    arguments = parsed(CanvasQueryRegionInput, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    found = seen(state, context)
    if isinstance(found, Refusal):
        return Decision(found)
    head, _ = found
    after = _opened(arguments.cursor)
    if after is None:
        return Decision(invalid_arguments({"cursor": "is not a cursor of this query; start again without one"}))
    elements: list[Value] = []
    room = region_page_bytes_max
    reply: Record = {"revision": head.revision, "untrusted": True, "source": SOURCE, "elements": elements}
    last = after
    for place in found_in(state, _query(arguments, after)):
        element = state.entries[place[1]].element
        size = encoded_bytes(element) + 1
        if len(elements) == arguments.limit or size > room:
            reply["nextCursor"] = _cursor(last)
            break
        elements.append(element)
        room -= size
        last = place
    return Decision(reply)


def _query(arguments: CanvasQueryRegionInput, after: Place) -> Query:
    return Query(
        Box(arguments.x, arguments.y, arguments.x + arguments.width, arguments.y + arguments.height),
        is_contained=arguments.match == "contains",
        types=None if arguments.types is None else frozenset(arguments.types),
        with_deleted=arguments.includeDeleted,
        after=after,
        limit=arguments.limit + 1,  # one more tells that there is another page
    )


def _cursor(place: Place) -> str:
    """The place in the stacking order of the last element given: new and changed elements do not shift it."""
    return orjson.dumps(place).decode()


def _opened(cursor: str | None) -> Place | None:
    """The place after which to go on; None for a cursor that this owner did not make."""
    if cursor is None:
        return "", ""
    try:
        held = orjson.loads(cursor)
    except orjson.JSONDecodeError:
        return None
    if isinstance(held, list) and len(held) == 2 and all(isinstance(part, str) for part in held):
        return held[0], held[1]
    return None
