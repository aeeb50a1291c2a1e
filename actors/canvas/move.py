"""canvas_move_elements: labels go with their shapes, frames take what is in them, arrows follow (canvas 4.2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from actors.canvas.bindings import container_of, label_of
from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES
from actors.canvas.geometry import Point, number
from actors.canvas.indexes import Membership
from actors.canvas.labels import is_label
from actors.canvas.outcome import Rejected
from actors.canvas.plain import is_number
from actors.canvas.routing import reroute, shifted
from bus.value import Record
from tools.canvas.inputs import CanvasMoveElementsInput, ElementMove

_STAY = Point(0, 0)


def move_elements(draft: Draft, arguments: CanvasMoveElementsInput) -> None:
    """The rule of canvas_move_elements (canvas 2, 4.2). Distances are scene units.

    Raises Rejected for elements that are not there or deleted, numbers that are not finite, labels that would leave
    their containers, and when the call changes too much (work.py).
    """
    ways: dict[str, Point] = {}
    for position, move in enumerate(arguments.moves):
        ways[move.id] = _way(draft, move, f"moves.{position}")
    asked = list(ways)
    _take_along(draft, ways, arguments.includeGroup)
    _check_labels(draft, ways, asked)
    for id_, way in ways.items():
        element = draft.get(id_)
        if is_label(draft, element):
            continue
        _shift(draft, element, way)
        label = label_of(draft, element)
        if label is not None:
            _shift(draft, label, way)
    reroute(draft)


def _way(draft: Draft, move: ElementMove, place: str) -> Point:
    element = draft.require_live(move.id, place)
    given = (move.dx, move.dy, move.x, move.y)
    if not all(value is None or is_number(value) for value in given):
        raise Rejected("geometry", f"{place}: a move takes finite numbers.")
    dx = number(element, "x") if move.x is None else move.x
    dy = number(element, "y") if move.y is None else move.y
    if move.x is None and move.y is None:
        return Point(move.dx or 0, move.dy or 0)
    return Point(dx - number(element, "x"), dy - number(element, "y"))


def _take_along(draft: Draft, ways: dict[str, Point], include_group: bool) -> None:
    """Add what moves because something else does; what the call names itself goes its own way."""
    waiting = deque(ways)
    taken: set[Membership] = set()
    while waiting:
        id_ = waiting.popleft()
        element = draft.get(id_)
        for membership in _takes(element, include_group):
            if membership in taken:
                continue
            taken.add(membership)
            for companion in _companions(draft, membership):
                if companion not in ways:
                    draft.touch(companion, draft.get(companion))  # before all are gathered: there may be very many
                    ways[companion] = ways[id_]
                    if draft.get(companion)["type"] in FRAMES:
                        waiting.append(companion)


def _takes(element: Record, include_group: bool) -> Iterator[Membership]:
    """What an element takes along: its outermost group, and as a frame what is in it."""
    group = outermost_group(element) if include_group else None
    if group is not None:
        yield "group", group
    if element["type"] in FRAMES:
        yield "frame", str(element["id"])


def _companions(draft: Draft, membership: Membership) -> Iterator[str]:
    """Who is taken along with it: of a group, those whose outermost one it is."""
    kind, id_ = membership
    for element in draft.members(membership):
        if kind == "frame" or outermost_group(element) == id_:
            yield str(element["id"])


def outermost_group(element: Record) -> str | None:
    """The id of the group that holds all other groups of the element, which editors list last (canvas 4.4)."""
    groups = element["groupIds"]
    return str(groups[-1]) if isinstance(groups, list) and groups else None


def _check_labels(draft: Draft, ways: dict[str, Point], asked: list[str]) -> None:
    """A label cannot leave its container; naming it beside its container is fine. Raises Rejected."""
    for position, id_ in enumerate(asked):
        container = container_of(draft, draft.get(id_))
        if container is not None and str(container["id"]) not in ways and ways[id_] != _STAY:
            raise Rejected("bound_text", f"moves.{position} is the label of another element. Move that one instead.")


def _shift(draft: Draft, element: Record, way: Point) -> None:
    if way != _STAY:
        draft.edit(str(element["id"]), shifted(element, way.x, way.y))
