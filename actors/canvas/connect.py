"""canvas_connect_elements: arrows between what is there (canvas 2, 4.2).

Excalidraw's lines cannot be tied to anything, so a connection of kind `line` is an arrow without arrowheads, which is
what a person draws for it and what follows its shapes.
"""

from __future__ import annotations

from actors.canvas.draft import Draft
from actors.canvas.labelling import add_label, tie_label
from actors.canvas.new_element import TO_BE_LED, add_new, indexes_on_top
from actors.canvas.ties import SIDES
from actors.canvas.tying import Between, shape_to_tie_to, tie_and_lead
from bus.value import Record
from tools.canvas.inputs import CanvasConnectElementsInput, Connection


def connect_elements(draft: Draft, arguments: CanvasConnectElementsInput) -> None:
    """The rule of canvas_connect_elements (canvas 2).

    Raises Rejected for ends that are not there or cannot be tied to, for two shapes with the same centre, and when the
    call changes too much (work.py).
    """
    connections = arguments.connections
    indexes = iter(indexes_on_top(draft, sum(1 + (one.label is not None) for one in connections)))
    ids: list[str] = []
    labels: list[tuple[int, str]] = []
    for position, connection in enumerate(connections):
        ids.append(draft.context.new_id(f"connection/{position}"))
        place = f"connections.{position}"
        add_new(draft, _arrow(draft, ids[-1], connection, place), next(indexes), place)
        if connection.label is not None:
            labels.append((position, next(indexes)))
    between = Between(draft)
    for position, connection in enumerate(connections):
        place = f"connections.{position}"
        ends = zip(SIDES, _ends(draft, connection, place), strict=True)
        tie_and_lead(draft, ids[position], dict(ends), place, between)
    for position, index in labels:
        label = connections[position].label
        given: Record = {"id": draft.context.new_id(f"label/{position}"), "text": label}
        add_label(draft, ids[position], given, index, f"connections.{position}")
        tie_label(draft, str(given["id"]), given, f"connections.{position}")


def _ends(draft: Draft, connection: Connection, place: str) -> tuple[Record, Record]:
    return (
        shape_to_tie_to(draft, connection.fromId, f"{place}.fromId"),
        shape_to_tie_to(draft, connection.toId, f"{place}.toId"),
    )


def _arrow(draft: Draft, id_: str, connection: Connection, place: str) -> Record:
    one, other = _ends(draft, connection, place)
    given = connection.model_dump(exclude_unset=True)
    return {
        "id": id_,
        "type": "arrow",
        "x": 0,
        "y": 0,
        **TO_BE_LED,
        "roundness": {"type": 2},  # as the editor draws arrows, which shows on loops
        "frameId": one["frameId"] if one["frameId"] == other["frameId"] else None,
        "startArrowhead": given.get("startArrowhead"),
        "endArrowhead": given.get("endArrowhead", "arrow" if connection.kind == "arrow" else None),
    }
