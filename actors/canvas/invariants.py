"""What holds of every canvas after every commit (canvas 4.1, 4.2); the tests ask this after every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from actors.canvas.edges import is_ratio
from actors.canvas.element import FRAMES, problem_of
from actors.canvas.geometry import POINT_BASED, points_of, text
from actors.canvas.plain import is_number
from actors.canvas.state import CanvasState, Gone, Head
from actors.canvas.ties import SIDES, bound_list, can_be_tied_to, is_container, target_id
from bus.limits import proposals_decided_kept_max, proposals_pending_max
from bus.value import Record


def problems(state: CanvasState) -> list[str]:
    """Every invariant that does not hold, as a sentence with the element's id; empty for a sound canvas."""
    if state.gone is not None:
        return _of_gone(state, state.gone)
    if state.head is None:
        is_strange = (state.entries or state.roles or state.proposals or len(state.locks)) and state.arriving is None
        return ["there are rows without a head"] if is_strange else []
    if state.arriving is not None:
        return ["an import is not finished on a canvas that is there"]
    beside = (*_of_proposals(state, state.head), *_of_locks(state))
    return [*_of_counts(state), *_of_order(state), *_of_elements(state), *_of_ties(state), *beside]


def _of_gone(state: CanvasState, gone: Gone) -> list[str]:
    if state.head is not None or state.roles or state.arriving is not None:
        return ["a canvas that was deleted is still there"]
    is_beside = bool(len(state.locks) or state.proposals)
    is_rest = bool(state.entries or state.files or state.pieces or gone.history or is_beside)
    return ["something is left of a canvas that was cleared"] if gone.cleared and is_rest else []


def _of_counts(state: CanvasState) -> Iterator[str]:
    assert state.head is not None
    live = sum(entry.is_live for entry in state.entries.values())
    if (state.head.live, state.head.deleted) != (live, len(state.entries) - live):
        yield "the head's counts are not those of the elements"
    for id_, entry in state.entries.items():
        if not 1 <= entry.revision <= state.head.revision:
            yield f"{id_} was changed at a revision that the canvas has not reached"


def _of_proposals(state: CanvasState, head: Head) -> Iterator[str]:
    pending = [one for one in state.proposals.values() if one.is_pending]
    for one in state.proposals.values():
        if one.is_pending is (one.arguments is None):
            yield f"proposal {one.id} is {one.stage} and has arguments, or is pending and has none"
        if not 1 <= one.base_revision <= head.revision:
            yield f"proposal {one.id} is for a revision that the canvas has not reached"
    if len(pending) > proposals_pending_max or len(state.proposals) - len(pending) > proposals_decided_kept_max:
        yield "there are more proposals than there may be"
    waiting = Counter[str]()
    for one in pending:
        waiting[one.by] += one.size
    for agent_id, size in waiting.items():
        if head.usage.get(agent_id, 0) < size:
            yield f"the pending proposals of {agent_id} are not counted as its share"


def _of_locks(state: CanvasState) -> Iterator[str]:
    for id_, lock in state.locks.all().items():
        if id_ not in state.entries:
            yield f"{lock.holder} has locked {id_}, which is not there"


def _of_order(state: CanvasState) -> Iterator[str]:
    order = state.in_order()
    indexes = [index for index, _ in order]
    if len(set(indexes)) != len(indexes):
        yield "two elements have the same index"
    if sorted(id_ for _, id_ in order) != sorted(state.entries):
        yield "the order does not name every element once"


def _of_elements(state: CanvasState) -> Iterator[str]:
    for id_, entry in state.entries.items():
        if entry.element.get("id") != id_:
            yield f"{id_} is kept under another id"
        problem = problem_of(entry.element)
        if problem is not None:
            yield f"{id_}: {problem.field} {problem.text}"
        elif entry.element["type"] in POINT_BASED and points_of(entry.element)[0] != (0, 0):
            yield f"{id_} does not begin at its own x, y"


def _of_ties(state: CanvasState) -> Iterator[str]:
    live = {id_: entry.element for id_, entry in state.entries.items() if entry.is_live}
    for id_, element in live.items():
        yield from _of_lists(live, id_, element)
        if element["type"] == "text" and element["containerId"] is not None:
            container = live.get(text(element, "containerId"))
            if container is None or not is_container(container) or not _lists(container, id_, "text"):
                yield f"{id_} is the label of something that does not have it"
        for side in SIDES:
            if element.get(side) is not None:
                yield from _of_end(live, id_, element, side)
        frame_id = element["frameId"]
        if frame_id is not None and live.get(str(frame_id), {}).get("type") not in FRAMES:
            yield f"{id_} is in a frame that is not there"


def _of_lists(live: dict[str, Record], id_: str, element: Record) -> Iterator[str]:
    listed = [(text(item, "id"), item.get("type")) for item in bound_list(element)]
    if len(set(listed)) != len(listed):
        yield f"{id_} lists something twice"
    if sum(kind == "text" for _, kind in listed) > 1:
        yield f"{id_} has two labels"
    for other_id, kind in listed:
        other = live.get(other_id)
        if other is None:
            yield f"{id_} lists the ghost {other_id}"
        elif kind == "text" and other.get("containerId") != id_:
            yield f"{id_} lists {other_id}, which is not its label"
        elif kind == "arrow" and all(target_id(other, side) != id_ for side in SIDES):
            yield f"{id_} lists {other_id}, which is not tied to it"


def _of_end(live: dict[str, Record], id_: str, arrow: Record, side: str) -> Iterator[str]:
    target = live.get(target_id(arrow, side) or "")
    if arrow["type"] != "arrow" or target is None or not can_be_tied_to(target) or not _lists(target, id_, "arrow"):
        yield f"{side} of {id_} is tied to something that does not have it"
    binding = arrow[side]
    if isinstance(binding, dict) and not _is_in_both_forms(binding):
        yield f"{side} of {id_} is not in both forms"


def _is_in_both_forms(binding: Record) -> bool:
    gap = binding.get("gap")
    is_of_release = is_number(binding.get("focus")) and is_number(gap) and gap >= 0
    return is_of_release and is_ratio(binding.get("fixedPoint")) and isinstance(binding.get("mode"), str)


def _lists(holder: Record, id_: str, kind: str) -> bool:
    return {"id": id_, "type": kind} in [
        {"id": item.get("id"), "type": item.get("type")} for item in bound_list(holder)
    ]
