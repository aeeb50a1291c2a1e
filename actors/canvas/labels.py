"""Texts and labels: measuring a text whose words, font or room changed, and fitting a label into its container.

Nothing is measured anew that does not have to be: a text that was imported or moved keeps its size and line breaks
(canvas 4.2). A container that is too small for its label grows, by the editor's own rules (canvas 4.3), so that an
editor that lays the label out again comes to the same lines.
"""

from __future__ import annotations

import math
from typing import Final

from actors.canvas.bindings import container_of, label_of
from actors.canvas.draft import Draft
from actors.canvas.geometry import Point, absolute_points, middle_of, number, rotated, text
from actors.canvas.textsize import Font, Measured, measured
from bus.value import Record

PADDING: Final = 5
_ARROW_LABEL_SHARE: Final = 0.7
_ARROW_LABEL_FONT_SIZES_MIN: Final = 11
LINE_HEIGHTS: Final = {2: 1.15, 3: 1.2, 6: 1.35, 7: 1.15, 9: 1.15}
"""As a factor of the font size, by font family number, as the published editor has them; the others have 1.25."""


def normalized(words: str) -> str:
    """Line ends as the editor keeps them."""
    return words.replace("\r\n", "\n").replace("\r", "\n")


def font_of(element: Record) -> Font:
    return Font(int(number(element, "fontFamily")), number(element, "fontSize"), number(element, "lineHeight"))


def measure_free(draft: Draft, element: Record) -> Record:
    """The fields of a text outside containers after its words, font or width changed; its anchor stays.

    Raises Rejected, as `fit_label` does, when the call has texts laid out beyond its share.
    """
    words = text(element, "originalText")
    draft.count_measured(words)
    width_max = None if element.get("autoResize") is not False else number(element, "width")
    size = measured(words, font_of(element), width_max)
    width = size.width if width_max is None else width_max
    slack = number(element, "width") - width
    share = {"center": 0.5, "right": 1.0}.get(text(element, "textAlign"), 0.0)
    return {"text": size.text, "width": width, "height": size.height, "x": number(element, "x") + slack * share}


def fit_label(draft: Draft, container_id: str) -> None:
    """Wrap, measure and place the container's label anew; let the container grow if it is too small.

    Raises Rejected when the call has texts laid out beyond its share.
    """
    container = draft.get(container_id)
    label = label_of(draft, container)
    if label is None:
        return
    size = _laid_out(draft, container, label)
    if container["type"] != "arrow" and size.width > _room_across(container, label):
        # The editor leaves it at the lines of the narrower room, and comes to others when it lays them out again.
        container = draft.edit(container_id, {"width": _size_for(text(container, "type"), size.width)})
        size = _laid_out(draft, container, label)
    if container["type"] != "arrow" and size.height > _room_down(container):
        draft.edit(container_id, {"height": _size_for(text(container, "type"), size.height)})
    fields: Record = {"text": size.text, "width": size.width, "height": size.height}
    draft.edit(str(label["id"]), fields)
    place_label(draft, container_id)


def place_label(draft: Draft, container_id: str) -> None:
    """Put the container's label, as large as it is, where its alignments say; turn it as the container is turned."""
    container = draft.get(container_id)
    label = label_of(draft, container)
    if label is None:
        return
    width, height = number(label, "width"), number(label, "height")
    if container["type"] == "arrow":
        middle = middle_of(absolute_points(container))
        draft.edit(str(label["id"]), {"x": middle.x - width / 2, "y": middle.y - height / 2, "angle": 0})
        return
    left, top = _inner_corner(container)
    across, down = _room_across(container, label), _room_down(container)
    x = {"left": left, "right": left + across - width}.get(text(label, "textAlign"), left + (across - width) / 2)
    y = {"top": top, "bottom": top + down - height}.get(text(label, "verticalAlign"), top + (down - height) / 2)
    # A text is turned around its own middle, which goes around the middle of the room.
    middle = Point(left + across / 2, top + down / 2)
    own = rotated(Point(x + width / 2, y + height / 2), middle, number(container, "angle"))
    placed: Record = {"x": own.x - width / 2, "y": own.y - height / 2, "angle": container["angle"]}
    draft.edit(str(label["id"]), placed)


def carried(label: Record, before: Record, after: Record) -> Record:
    """The fields of a label whose container was moved or turned and kept its size: it goes with it, unmeasured."""
    x = number(label, "x") + number(after, "x") - number(before, "x")
    y = number(label, "y") + number(after, "y") - number(before, "y")
    if after["angle"] == before["angle"]:
        return {"x": x, "y": y}
    width, height = number(label, "width"), number(label, "height")
    middle = Point(number(after, "x") + number(after, "width") / 2, number(after, "y") + number(after, "height") / 2)
    own = rotated(Point(x + width / 2, y + height / 2), middle, number(after, "angle") - number(before, "angle"))
    return {"x": own.x - width / 2, "y": own.y - height / 2, "angle": after["angle"]}


def is_label(draft: Draft, element: Record) -> bool:
    return container_of(draft, element) is not None


def _laid_out(draft: Draft, container: Record, label: Record) -> Measured:
    words = text(label, "originalText")
    draft.count_measured(words)
    return measured(words, font_of(label), _room_across(container, label))


def _room_across(container: Record, label: Record) -> float:
    """The width that a label has in the container; below 0 in a very narrow one."""
    if container["type"] == "arrow":
        share = number(container, "width") * _ARROW_LABEL_SHARE
        return max(share, number(label, "fontSize") * _ARROW_LABEL_FONT_SIZES_MIN)
    return _room_within(text(container, "type"), number(container, "width"))


def _room_down(container: Record) -> float:
    return _room_within(text(container, "type"), number(container, "height"))


def _room_within(kind: str, size: float) -> float:
    """Of one dimension: the largest box within an ellipse or a diamond, else all of it, without the padding."""
    match kind:
        case "ellipse":
            return _rounded(size / 2 * math.sqrt(2)) - 2 * PADDING
        case "diamond":
            return _rounded(size / 2) - 2 * PADDING
        case _:
            return size - 2 * PADDING


def _size_for(kind: str, label_size: float) -> float:
    """The other way around: the width or height that a container needs."""
    padded = math.ceil(label_size) + 2 * PADDING
    match kind:
        case "ellipse":
            return _rounded(padded / math.sqrt(2) * 2)
        case "diamond":
            return 2 * padded
        case _:
            return padded


def _inner_corner(container: Record) -> tuple[float, float]:
    """Where the room for a label begins, left and top, before the container is turned."""
    share = {"ellipse": (1 - math.sqrt(2) / 2) / 2, "diamond": 0.25}.get(text(container, "type"), 0.0)
    left = number(container, "x") + number(container, "width") * share + PADDING
    return left, number(container, "y") + number(container, "height") * share + PADDING


def _rounded(size: float) -> int:
    """To the next whole number as JavaScript rounds: halves upwards."""
    return math.floor(size + 0.5)
