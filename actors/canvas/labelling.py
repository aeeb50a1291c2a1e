"""New labels: a text made for a shape or an arrow, or given with the container that it belongs to (canvas 2, 4.3)."""

from __future__ import annotations

from actors.canvas.bindings import label_of, list_on
from actors.canvas.draft import Draft
from actors.canvas.element import Problem
from actors.canvas.geometry import text
from actors.canvas.labels import fit_label
from actors.canvas.new_element import add_new
from actors.canvas.outcome import Rejected
from actors.canvas.ties import is_container
from bus.value import Record


def add_label(draft: Draft, holder_id: str, given: Record, index: str, place: str) -> None:
    """The text that a container's short-form label becomes, in its holder's colour, not tied yet.

    `given` has its id. Raises Rejected.
    """
    holder = draft.get(holder_id)
    look: Record = {name: holder[name] for name in ("strokeColor", "opacity")}
    ours: Record = {"type": "text", "x": holder["x"], "y": holder["y"], "containerId": holder_id}
    add_new(draft, {**look, **given, **ours}, index, place)


def labels_an_arrow(draft: Draft, id_: str) -> bool:
    """Whether the text names an arrow as its container, live or not; it is tied after the arrow is led (canvas 4.3)."""
    container = draft.find(text(draft.get(id_), "containerId"))
    return container is not None and container["type"] == "arrow"


def tie_label(draft: Draft, id_: str, given: Record, place: str) -> None:
    """Tie a new text to the container that it names and fit it in; `given` is what the call says of it.

    Raises Rejected.
    """
    container = draft.require_live(text(draft.get(id_), "containerId"), f"{place}.containerId")
    if not is_container(container):
        problem = Problem("field", "containerId", "must name a rectangle, ellipse, diamond or arrow")
        raise Rejected.because(problem, place)
    if label_of(draft, container) is not None:
        problem = Problem("field", "containerId", "names an element that has a label already; update that text")
        raise Rejected.because(problem, place)
    # Labels are centred unless the call says otherwise, and belong where their container belongs.
    draft.edit(id_, {"autoResize": True, "groupIds": container["groupIds"], "frameId": container["frameId"]})
    if "textAlign" not in given:
        draft.edit(id_, {"textAlign": "center"})
    if "verticalAlign" not in given:
        draft.edit(id_, {"verticalAlign": "middle"})
    list_on(draft, str(container["id"]), id_, "text")
    fit_label(draft, str(container["id"]))
