"""Where new elements lie in the order of a scene (canvas 4.1).

Editors keep a label right above what it belongs to, and main moves those that lie elsewhere when it opens a file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from actors.canvas import fractional
from actors.canvas.draft import Draft
from actors.canvas.geometry import text


def lift_labels(draft: Draft, labels: Sequence[str], new: Sequence[str]) -> None:
    """Let each of these new texts lie right above the element that its `containerId` names, where there is room.

    `new`: every element of the call that lies on top of the scene, these among them.
    """
    fresh = sorted((text(draft.get(id_), "index"), id_) for id_ in new)
    for id_ in labels:
        holder = draft.find(text(draft.get(id_), "containerId"))
        index = None if holder is None else _right_above(draft, text(holder, "index"), text(holder, "id"), fresh)
        if index is not None:
            draft.edit(id_, {"index": index})


def _right_above(draft: Draft, index: str, id_: str, fresh: list[tuple[str, str]]) -> str | None:
    """None where so much was put in that there is no room for another index that is valid."""
    above = [
        order[place]
        for order in (draft.state.in_order(), fresh)
        if (place := bisect_right(order, (index, id_))) < len(order)
    ]
    wanted = fractional.between(index, min(above)[0] if above else None)
    return wanted if fractional.is_valid(wanted) else None
