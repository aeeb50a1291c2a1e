"""What is read from a canvas: the row in lists, the overview, the elements of a region."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Final

import orjson

from actors.canvas.access import parsed, role_of, seen
from actors.canvas.element import FRAMES
from actors.canvas.geometry import Box, text
from actors.canvas.plain import encoded_bytes
from actors.canvas.standing import beside_the_scene
from actors.canvas.state import CanvasState, Entry, Head
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
    types = Counter(text(entry.element, "type") for entry in state.entries.values() if entry.is_live)
    counted: Record = {plain_name(redacted(kind)): count for kind, count in types.most_common(state_types_max)}
    reply: Record = {
        **_row(head, role, context),
        "createdAt": rfc3339(head.created_ms),
        "types": counted,
        "extent": _extent(state),
        "labels": labels,
        "labelsTruncated": not is_whole,
        **beside_the_scene(state, context),
    }
    return Decision(reply)


def _extent(state: CanvasState) -> Value:
    left = top = math.inf
    right = bottom = -math.inf
    for entry in state.entries.values():
        if entry.is_live:
            box = entry.box
            left, top = min(left, box.left), min(top, box.top)
            right, bottom = max(right, box.right), max(bottom, box.bottom)
    return None if left > right else {"x": left, "y": top, "width": right - left, "height": bottom - top}


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
    for entry in state.live():
        element = entry.element
        words = text(element, "originalText") if element["type"] == "text" else ""
        if element["type"] in FRAMES:
            words = text(element, "name")
        if words:
            label: Record = {"elementId": element["id"], "text": fenced(SOURCE, words, label_characters_max)}
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
    for place, entry in _matching(state, arguments, after):
        size = encoded_bytes(entry.element) + 1
        if len(elements) == arguments.limit or size > room:
            reply["nextCursor"] = _cursor(last)
            break
        elements.append(entry.element)
        room -= size
        last = place
    return Decision(reply)


def _matching(
    state: CanvasState, arguments: CanvasQueryRegionInput, after: tuple[str, str]
) -> Iterator[tuple[tuple[str, str], Entry]]:
    """A scan of every box. The spatial index will answer here instead."""
    wanted = Box(arguments.x, arguments.y, arguments.x + arguments.width, arguments.y + arguments.height)
    types = None if arguments.types is None else frozenset(arguments.types)
    for place in state.in_order():
        entry = state.entries[place[1]]
        if place <= after or not (entry.is_live or arguments.includeDeleted):
            continue
        if types is not None and entry.element["type"] not in types:
            continue
        if wanted.contains(entry.box) if arguments.match == "contains" else wanted.intersects(entry.box):
            yield place, entry


def _cursor(place: tuple[str, str]) -> str:
    """The place in the stacking order of the last element given: new and changed elements do not shift it."""
    return orjson.dumps(place).decode()


def _opened(cursor: str | None) -> tuple[str, str] | None:
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
