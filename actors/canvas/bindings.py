"""Labels and arrows: what ties elements together, and that both sides say so (canvas 4.2).

A label is a text with `containerId`; its container lists it in `boundElements`. An arrow names what its ends are tied
to in `startBinding` and `endBinding`; each target lists the arrow. The text's and the arrow's own fields are the
truth, `boundElements` follows. Only live elements are tied: a deleted one keeps its fields as they were, for restore.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from actors.canvas.draft import Draft
from actors.canvas.geometry import Point, absolute_points, centre_of, number, rotated, text
from actors.canvas.plain import is_number
from actors.canvas.ties import SIDES, bound_list, target_id
from bus.value import Record, Value

_GAP: Final = 5
_BESIDE_THE_MIDDLE: Final = 0.5001  # what the editor itself stores instead of 0.5


class Tie(NamedTuple):
    """One end of one arrow."""

    arrow_id: str
    side: str


def label_of(draft: Draft, container: Record) -> Record | None:
    """The live text that is this element's label."""
    for item in bound_list(container):
        label = draft.find_live(text(item, "id")) if item.get("type") == "text" else None
        if label is not None and label.get("containerId") == container["id"]:
            return label
    return None


def container_of(draft: Draft, label: Record) -> Record | None:
    """The live element whose label this text is."""
    id_ = text(label, "containerId") if label.get("type") == "text" else ""
    return draft.find_live(id_) if id_ else None


def ties_to(draft: Draft, element: Record) -> Iterator[Tie]:
    """The ends of live arrows that are tied to this element."""
    for item in bound_list(element):
        arrow = draft.find_live(text(item, "id")) if item.get("type") == "arrow" else None
        if arrow is not None:
            for side in SIDES:
                if target_id(arrow, side) == element["id"]:
                    yield Tie(text(item, "id"), side)


def list_on(draft: Draft, holder_id: str, id_: str, kind: str) -> None:
    """Let the holder's boundElements say that `id_` is tied to it, once."""
    listed = bound_list(draft.get(holder_id))
    if all(item.get("id") != id_ for item in listed):
        draft.edit(holder_id, {"boundElements": [*listed, {"id": id_, "type": kind}]})


def unlist_from(draft: Draft, holder_id: str, id_: str) -> None:
    holder = draft.find_live(holder_id)
    if holder is not None and any(item.get("id") == id_ for item in bound_list(holder)):
        kept: list[Value] = [item for item in bound_list(holder) if item.get("id") != id_]
        draft.edit(holder_id, {"boundElements": kept})


def completed_binding(arrow: Record, side: str, target: Record) -> Record:
    """The binding of that side in both forms at once, so that every version of the editor reads it."""
    binding = arrow[side]
    assert isinstance(binding, dict)
    whole: Record = dict(binding)
    if not is_number(whole.get("focus")):
        whole["focus"] = 0
    gap = whole.get("gap")
    if not is_number(gap) or gap < 0:
        whole["gap"] = _GAP
    if not _is_fixed_point(whole.get("fixedPoint")):
        whole["fixedPoint"] = fixed_point(arrow, side, target)
    if not isinstance(whole.get("mode"), str):
        whole["mode"] = "orbit"
    return whole


def fixed_point(arrow: Record, side: str, target: Record) -> list[Value]:
    """Where in the target's own box (0 to 1 both ways, before its rotation) that end of the arrow lies or aims."""
    points = absolute_points(arrow)
    end = points[0 if side == SIDES[0] else -1]
    inner = rotated(end, centre_of(target), -number(target, "angle"))
    across = _ratio(inner.x - number(target, "x"), number(target, "width"))
    down = _ratio(inner.y - number(target, "y"), number(target, "height"))
    return [across, down]


def _ratio(distance: float, length: float) -> float:
    ratio = min(max(distance / length, 0.0), 1.0) if length else 0.5
    return _BESIDE_THE_MIDDLE if abs(ratio - 0.5) < 0.0001 else ratio


def _is_fixed_point(value: Value) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(is_number(item) for item in value)


def end_of(arrow: Record, side: str) -> Point:
    return absolute_points(arrow)[0 if side == SIDES[0] else -1]
