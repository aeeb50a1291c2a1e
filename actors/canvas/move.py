"""canvas_move_elements: labels go with their shapes, frames take what is in them, arrows follow (canvas 4.2)."""

from __future__ import annotations

from actors.canvas.bindings import container_of, label_of
from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES
from actors.canvas.geometry import Point, number
from actors.canvas.labels import is_label
from actors.canvas.outcome import Rejected
from actors.canvas.plain import is_number
from actors.canvas.routing import reroute, shifted
from bus.value import Record
from tools.canvas.inputs import CanvasMoveElementsInput, ElementMove

_STAY = Point(0, 0)


def move_elements(draft: Draft, arguments: CanvasMoveElementsInput) -> None:
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
    waiting = [id_ for id_ in ways if _takes_others(draft.get(id_), include_group)]
    if not waiting:
        return
    members = _members(draft, include_group)
    while waiting:
        id_ = waiting.pop(0)
        for companion in _companions(draft.get(id_), members, include_group):
            if companion not in ways:
                ways[companion] = ways[id_]
                if draft.get(companion)["type"] in FRAMES:
                    waiting.append(companion)


def _takes_others(element: Record, include_group: bool) -> bool:
    return element["type"] in FRAMES or (include_group and outermost_group(element) is not None)


def _members(draft: Draft, include_group: bool) -> dict[tuple[str, str], list[str]]:
    """Ids by ("frame", its id) and ("group", the outermost one). One walk over the scene, however many move."""
    members: dict[tuple[str, str], list[str]] = {}
    for element in draft.live_elements():
        group = outermost_group(element) if include_group else None
        if group is not None:
            members.setdefault(("group", group), []).append(str(element["id"]))
        if element["frameId"] is not None:
            members.setdefault(("frame", str(element["frameId"])), []).append(str(element["id"]))
    return members


def _companions(element: Record, members: dict[tuple[str, str], list[str]], include_group: bool) -> list[str]:
    group = outermost_group(element) if include_group else None
    in_group = [] if group is None else members.get(("group", group), [])
    in_frame = members.get(("frame", str(element["id"])), []) if element["type"] in FRAMES else []
    return [*in_group, *in_frame]


def outermost_group(element: Record) -> str | None:
    """groupIds has the innermost first."""
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
