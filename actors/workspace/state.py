"""A workspace's rows, and the order of its canvases that is built from them.

| row | holds |
| --- | --- |
| `head` | name, color, grid, room mode, roots; there from its making until all of it is destroyed |
| `canvas/<id>` | title and roles of a canvas that is there |
| `channel/`, `request/`, `creations/` | see channel_book.py |
| `deleting` | it is being destroyed: how far its canvases have been told, and how often |
| `gone` | all that is left of one that was destroyed: a canvas that comes late must go too |
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import Final, Literal

from actors.decision import Put, RowEffect
from actors.workspace import channel_book
from actors.workspace.channel_book import ChannelBook
from tools.base import Model

HEAD_ROW: Final = "head"
DELETING_ROW: Final = "deleting"
GONE_ROW: Final = "gone"


def canvas_row(canvas_id: str) -> str:
    return f"canvas/{canvas_id}"


class Head(Model):
    name: str
    color: str
    gridColumns: int
    roomMode: Literal["local"]
    roots: list[str]
    createdAt: int


class IndexedCanvas(Model):
    title: str
    roles: dict[str, str]
    """Agent id -> role."""


class Deleting(Model):
    told: str
    """The canvases up to this id have been told to go."""
    attempts: int
    """How often those that do not answer were told, since one last did."""


@dataclass(slots=True)
class WorkspaceState:
    """One workspace with the index of its canvases, row by row."""

    head: Head | None = None
    canvases: dict[str, IndexedCanvas] = field(default_factory=dict)
    canvas_ids: list[str] = field(default_factory=list)
    """The keys of `canvases`, sorted."""
    book: ChannelBook = field(default_factory=ChannelBook)
    deleting: Deleting | None = None
    is_gone: bool = False

    def living(self) -> Head | None:
        """The workspace, unless it never was, is being destroyed or is gone."""
        return None if self.deleting is not None else self.head


def apply(state: WorkspaceState, effect: RowEffect) -> None:
    if channel_book.apply(state.book, effect):
        return
    match effect.row.partition("/"), effect:
        case ("head", _, _), Put(_, value):
            state.head = Head.model_validate(value)
        case ("head", _, _), _:
            state.head = None
        case ("canvas", _, canvas_id), Put(_, value):
            if canvas_id not in state.canvases:
                insort(state.canvas_ids, canvas_id)
            state.canvases[canvas_id] = IndexedCanvas.model_validate(value)
        case ("canvas", _, canvas_id), _:
            if state.canvases.pop(canvas_id, None) is not None:
                del state.canvas_ids[bisect_left(state.canvas_ids, canvas_id)]
        case ("deleting", _, _), Put(_, value):
            state.deleting = Deleting.model_validate(value)
        case ("deleting", _, _), _:
            state.deleting = None
        case ("gone", _, _), Put():
            state.is_gone = True
        case _:
            raise ValueError("a workspace has no such row")


def problems(state: WorkspaceState) -> list[str]:
    """What should hold of every workspace and does not."""
    if state.is_gone:
        rest = state.head is not None or state.deleting is not None or state.canvases or not state.book.is_empty()
        return ["something of a workspace that is gone is still there"] if rest else []
    found = []
    if state.head is None and state.canvases:
        found.append("there are canvases without a workspace")
    if state.living() is None and not state.book.is_empty():
        found.append("there are channels without a workspace, or in one that is being destroyed")
    if sorted(state.canvases) != state.canvas_ids:
        found.append("the index of canvases is out of order")
    return found + channel_book.problems(state.book)
