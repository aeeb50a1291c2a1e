"""Ties of an imported scene, made true in both directions (canvas 4.2), a bounded number of elements at a time.

Files from other tools list labels that do not know it, point at containers that are gone, or leave ghosts of deleted
arrows behind. What can be tied is tied, in both binding forms; what cannot is let go. Deleted elements are left alone.

Each pass goes once over the scene in its order and reads only what the passes before it have settled, so it may stop
after any element and go on in another message. `PASSES` is their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from actors.canvas import fractional
from actors.canvas.bindings import completed_binding
from actors.canvas.element import FRAMES
from actors.canvas.gathered import Gathered
from actors.canvas.geometry import text
from actors.canvas.ties import SIDES, bound_list, can_be_tied_to, is_container, target_id
from bus.limits import frames_nested_max, import_looks_max, part_elements_max
from bus.value import Record, Value


@dataclass(slots=True)
class Step:
    """A stretch of one pass: what it changed, what was put right, and where the next one begins."""

    gathered: Gathered
    cursor: int
    changed: dict[str, Record] = field(default_factory=dict)
    mended: int = 0
    _labels: dict[str, str] = field(default_factory=dict)

    def find(self, id_: str) -> Record | None:
        """A live element as this step has left it."""
        return self.gathered.find_live(id_, self.changed)

    def change(self, element: Record, fields: Record, mended: int = 1) -> None:
        self.changed[text(element, "id")] = {**element, **fields}
        self.mended += mended

    def label_wanted(self, container: Record) -> str:
        """Which of the texts that name this container stays its label: the first it lists, else the lowest."""
        id_ = text(container, "id")
        if id_ not in self._labels:
            claimants = set(self.gathered.claimants(id_, "text"))
            listed = (text(item, "id") for item in bound_list(container) if item.get("type") == "text")
            first = next((label for label in listed if label in claimants), None)
            self._labels[id_] = first or min(claimants, key=self.gathered.place.__getitem__)
        return self._labels[id_]


Pass: TypeAlias = Callable[[Step, Record], None]


def go_on(gathered: Gathered, pass_: str, cursor: int, end: int | None = None) -> Step:
    """The next stretch of a pass, bounded in elements looked at and changed. It is done when `cursor` is at the end."""
    step, work = Step(gathered, cursor), PASSES[pass_]
    order = gathered.order
    stop = min(cursor + import_looks_max, len(order) if end is None else end)
    while step.cursor < stop and len(step.changed) < part_elements_max:
        id_ = order[step.cursor]
        step.cursor += 1
        element = step.changed.get(id_) or gathered.elements[id_]
        if element["isDeleted"] is not True or pass_ == "numbering":
            work(step, element)
    return step


def _number(step: Step, element: Record) -> None:
    """The order of the list is the truth: if one index says otherwise, none is kept."""
    step.change(element, {"index": fractional.nth(step.cursor - 1)})


def _adopt_label(step: Step, container: Record) -> None:
    """A container lists a text that belongs nowhere: it is its label, if the container has none."""
    id_ = text(container, "id")
    if not is_container(container) or step.gathered.claimants(id_, "text"):
        return
    for item in bound_list(container):
        label = step.find(text(item, "id")) if item.get("type") == "text" else None
        if label is not None and label["type"] == "text" and label["containerId"] is None:
            step.change(label, {"containerId": id_})
            return


def _release_label(step: Step, label: Record) -> None:
    """A text names a container that is gone, cannot hold a label or has one: it stays as a text of its own.

    A label is turned as its container is, and that of an arrow not at all.
    """
    if label["type"] != "text" or label["containerId"] is None:
        return
    holder = step.find(text(label, "containerId"))
    if holder is None or not is_container(holder) or step.label_wanted(holder) != label["id"]:
        step.change(label, {"containerId": None})
    elif label["angle"] != (angle := 0 if holder["type"] == "arrow" else holder["angle"]):
        step.change(label, {"angle": angle})


def _tie(step: Step, element: Record) -> None:
    """Arrows to what they name and elements into their frames, or neither."""
    fields: Record = {}
    mended = 0
    for side in SIDES if element["type"] in ("arrow", "line") else ():
        if element.get(side) is None:
            continue
        target = step.find(target_id(element, side) or "")
        if element["type"] == "arrow" and target is not None and can_be_tied_to(target):
            completed = completed_binding(element, side, target)
            if completed != element[side]:
                fields[side] = completed
        else:
            fields[side] = None
            mended += 1
    if element["frameId"] is not None:
        frame = step.find(str(element["frameId"]))
        is_circle = element["type"] in FRAMES and _closes_a_circle(step, element)
        if frame is None or frame["type"] not in FRAMES or is_circle:
            fields["frameId"] = None
            mended += 1
    if fields:
        step.change(element, fields, mended)


def _closes_a_circle(step: Step, element: Record) -> bool:
    """Whether the frames around this one lead back to it, or are too many. The first of a circle is let go, which
    opens it."""
    around: Record | None = element
    for _ in range(frames_nested_max + 1):
        around = step.find(str(around["frameId"])) if around is not None and around["frameId"] is not None else None
        if around is None:
            return False
        if around["id"] == element["id"]:
            return True
    return True


def _list_ties(step: Step, element: Record) -> None:
    """boundElements as the other sides have it, in the order it had, without ghosts and doubles."""
    ties = step.gathered.claims.get(text(element, "id"), {})
    bound = element["boundElements"]
    if not ties and not bound:
        return
    order = [text(item, "id") for item in bound_list(element) if text(item, "id") in ties]
    lowest_first = sorted(ties, key=step.gathered.place.__getitem__)
    wanted: list[Value] = [{"id": other, "type": ties[other]} for other in dict.fromkeys([*order, *lowest_first])]
    if wanted != (bound or []):
        step.change(element, {"boundElements": wanted})


PASSES: Final[Mapping[str, Pass]] = {
    "numbering": _number,
    "adopting": _adopt_label,
    "releasing": _release_label,
    "tying": _tie,
    "listing": _list_ties,
}
