"""canvas_create_elements: full elements or the short form, on top of what is there (canvas 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from actors.canvas.draft import Draft
from actors.canvas.element import CONTAINERS, Problem
from actors.canvas.geometry import text
from actors.canvas.labelling import add_label, labels_an_arrow, tie_label
from actors.canvas.new_element import add_new, index_right_above, indexes_on_top
from actors.canvas.outcome import Rejected
from actors.canvas.routing import reroute
from actors.canvas.shape import check_frame
from actors.canvas.ties import SIDES, can_be_tied_to, target_id
from actors.canvas.tying import Between, shape_to_tie_to, tie_and_lead, tie_as_drawn
from bus.value import Record
from tools.canvas.inputs import CanvasCreateElementsInput, NewElement

_SHORT_SIDES: Final = {"start": SIDES[0], "end": SIDES[1]}


@dataclass(frozen=True, slots=True)
class _New:
    """One element of the call."""

    id: str
    place: str
    given: Record
    ends: Mapping[str, str]
    """By side, the id that `start` or `end` names."""
    label: Record | None


@dataclass(frozen=True, slots=True)
class _Words:
    """A text of the call that names a container."""

    id: str
    place: str
    given: Record


def create_elements(draft: Draft, arguments: CanvasCreateElementsInput) -> None:
    """The rule of canvas_create_elements (canvas 2).

    Raises Rejected for elements that cannot stand in a scene, ids that are taken, containers, frames, files and ends
    that are not there, and when the call changes too much (work.py).
    """
    for given in arguments.elements:
        draft.work.points(len(given.points))
    new = [_new(draft, position, given) for position, given in enumerate(arguments.elements)]
    indexes = _indexes(draft, new)
    for one in new:
        add_new(draft, {**one.given, "id": one.id}, indexes[one.id], one.place)
    words = [_Words(one.id, one.place, one.given) for one in new if _names_a_container(draft, one.id)]
    for one in new:
        if one.label is not None:
            label_id = text(one.label, "id")
            add_label(draft, one.id, one.label, indexes[label_id], f"{one.place}.label")
            words.append(_Words(label_id, f"{one.place}.label", one.label))
    for one in new:
        check_frame(draft, draft.get(one.id), one.place)
        draft.tell_slips(draft.get(one.id), one.given.keys(), one.place)
    _tie(draft, new, words)


def _indexes(draft: Draft, new: list[_New]) -> dict[str, str]:
    """By id, on top in the order given; but a label right above what it belongs to, where editors put it anyway."""
    ids = {one.id for one in new}
    named: dict[str, list[str]] = {}
    above: dict[str, str] = {}
    sequence: list[str] = []
    for one in new:
        container_id = text(one.given, "containerId") if one.given["type"] == "text" else ""
        if container_id in ids and container_id != one.id:
            named.setdefault(container_id, []).append(one.id)
        elif (index := index_right_above(draft, container_id)) is not None:
            above[one.id] = index
        elif draft.before(container_id) is not None:
            sequence.append(one.id)  # of the topmost element: below all that is new
    placed = {*sequence, *above, *(id_ for labels in named.values() for id_ in labels)}
    for one in new:
        if one.id not in placed:
            sequence += [one.id, *([text(one.label, "id")] if one.label is not None else []), *named.get(one.id, [])]
    # Texts that name each other are refused, but have to have an index until then.
    placed = {*sequence, *above}
    sequence += [one.id for one in new if one.id not in placed]
    indexes = zip(sequence, indexes_on_top(draft, len(sequence)), strict=True)
    return {**dict(indexes), **above}


def _tie(draft: Draft, new: list[_New], words: list[_Words]) -> None:
    """Arrows are led when the shapes have their labels, which may make them higher; arrows' labels come last."""
    late = {one.id: one for one in words if labels_an_arrow(draft, one.id)}
    for label in words:
        if label.id not in late:
            tie_label(draft, label.id, label.given, label.place)
    between = Between(draft)
    for one in new:
        _tie_arrow(draft, one, between)
    for label in late.values():
        tie_label(draft, label.id, label.given, label.place)
    reroute(draft)


def _new(draft: Draft, position: int, element: NewElement) -> _New:
    given: Record = element.model_dump(exclude_unset=True)
    place = f"elements.{position}"
    ends: dict[str, str] = {}
    for name, side in _SHORT_SIDES.items():
        end = given.get(name)
        if isinstance(end, dict):
            if given["type"] != "arrow":
                words = "belongs to arrows; for a plain line between shapes give an arrow whose endArrowhead is null"
                raise Rejected.because(Problem("field", name, words), place)
            ends[side] = text(end, "id")
    label = given.get("label")
    if isinstance(label, dict) and given["type"] not in CONTAINERS:
        words = "belongs to rectangles, ellipses, diamonds and arrows; put a text element beside others"
        raise Rejected.because(Problem("field", "label", words), place)
    if isinstance(label, dict):
        said = {name: value for name, value in label.items() if value is not None}
        label = {"id": draft.context.new_id(f"label/{position}"), **said}
    else:
        label = None
    return _New(element.id or draft.context.new_id(f"element/{position}"), place, given, ends, label)


def _names_a_container(draft: Draft, id_: str) -> bool:
    element = draft.get(id_)
    return element["type"] == "text" and element["containerId"] is not None


def _tie_arrow(draft: Draft, new: _New, between: Between) -> None:
    to_be_led: dict[str, Record] = {}
    for side in SIDES:
        if side in new.ends:
            name = "start" if side == SIDES[0] else "end"
            to_be_led[side] = shape_to_tie_to(draft, new.ends[side], f"{new.place}.{name}.id")
        elif draft.get(new.id).get(side) is not None:
            target = _bound_target(draft, new, side)
            if not tie_as_drawn(draft, new.id, side, target):
                to_be_led[side] = target
    if to_be_led:
        tie_and_lead(draft, new.id, to_be_led, new.place, between)
    else:
        between.tell(new.id)


def _bound_target(draft: Draft, new: _New, side: str) -> Record:
    """What a full element's binding names. Raises Rejected."""
    element = draft.get(new.id)
    if element["type"] != "arrow":
        raise Rejected.because(Problem("field", side, "belongs to arrows"), new.place)
    target = draft.require_live(target_id(element, side) or "", f"{new.place}.{side}.elementId")
    if not can_be_tied_to(target):
        raise Rejected.because(Problem("field", side, "names an element that arrows cannot be tied to"), new.place)
    return target
