"""Texts and labels: measuring a text whose words, font or room changed, and fitting a label into its container.

Nothing is measured anew that does not have to be: a text that was imported or moved keeps its size and line breaks
(canvas 4.2). A container that is too low for its label grows, as it does in the editor (canvas 4.3).
"""

from __future__ import annotations

import math
from typing import Final

from actors.canvas.bindings import container_of, label_of
from actors.canvas.draft import Draft
from actors.canvas.geometry import absolute_points, middle_of, number, text
from actors.canvas.textsize import Font, measured
from bus.value import Record

PADDING: Final = 5
_ARROW_LABEL_SHARE: Final = 0.7
_ARROW_LABEL_FONT_SIZES_MIN: Final = 11
LINE_HEIGHTS: Final = {2: 1.15, 3: 1.2, 7: 1.15, 8: 1.25, 9: 1.15}
"""By font family, as the editor has them; the others have 1.25."""


def normalized(words: str) -> str:
    """Line ends as the editor keeps them."""
    return words.replace("\r\n", "\n").replace("\r", "\n")


def font_of(element: Record) -> Font:
    return Font(number(element, "fontSize"), number(element, "lineHeight"))


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
    """Wrap, measure and place the container's label anew; let the container grow if it is too low."""
    container = draft.get(container_id)
    label = label_of(draft, container)
    if label is None:
        return
    width_max = _room_across(container, label)
    draft.count_measured(text(label, "originalText"))
    size = measured(text(label, "originalText"), font_of(label), width_max)
    if container["type"] != "arrow":
        needed = _needed_height(text(container, "type"), size.height)
        if number(container, "height") < needed:
            container = draft.edit(container_id, {"height": needed})
    label = {**label, "text": size.text, "width": min(size.width, width_max), "height": size.height}
    x, y = _place(container, label)
    fields: Record = {"text": size.text, "width": label["width"], "height": size.height, "x": x, "y": y}
    if container["type"] != "arrow":
        fields["angle"] = container["angle"]
    draft.edit(str(label["id"]), fields)


def is_label(draft: Draft, element: Record) -> bool:
    return container_of(draft, element) is not None


def _room_across(container: Record, label: Record) -> float:
    width = number(container, "width")
    match container["type"]:
        case "arrow":
            room = max(width * _ARROW_LABEL_SHARE, number(label, "fontSize") * _ARROW_LABEL_FONT_SIZES_MIN)
        case "ellipse":
            room = width / 2 * math.sqrt(2) - 2 * PADDING
        case "diamond":
            room = width / 2 - 2 * PADDING
        case _:
            room = width - 2 * PADDING
    return max(room, number(label, "fontSize"))


def _needed_height(kind: str, label_height: float) -> float:
    padded = label_height + 2 * PADDING
    match kind:
        case "ellipse":
            return math.ceil(padded / math.sqrt(2) * 2)
        case "diamond":
            return 2 * padded
        case _:
            return padded


def _place(container: Record, label: Record) -> tuple[float, float]:
    width, height = number(label, "width"), number(label, "height")
    if container["type"] == "arrow":
        middle = middle_of(absolute_points(container))
        return middle.x - width / 2, middle.y - height / 2
    left, top, across, down = _inner_box(container)
    x = {"left": left, "right": left + across - width}.get(text(label, "textAlign"), left + (across - width) / 2)
    y = {"top": top, "bottom": top + down - height}.get(text(label, "verticalAlign"), top + (down - height) / 2)
    return x, y


def _inner_box(container: Record) -> tuple[float, float, float, float]:
    """Left, top, width and height of the room for a label."""
    x, y, width, height = (number(container, field) for field in ("x", "y", "width", "height"))
    share = {"ellipse": (1 - math.sqrt(2) / 2) / 2, "diamond": 0.25}.get(text(container, "type"), 0.0)
    left, top = x + width * share + PADDING, y + height * share + PADDING
    return left, top, width * (1 - 2 * share) - 2 * PADDING, height * (1 - 2 * share) - 2 * PADDING
