"""What a write and a question cost does not grow with the scene (canvas 5)."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView

import pytest

from actors.canvas.entry import Entry
from actors.decision import Delete, Put
from bus.codec import pack_row
from bus.limits import elements_per_call_max
from bus.value import Record
from tests.actors.canvas.board import EDITOR, Board, empty_board, rectangle


class Counted(dict[str, Entry]):
    """Elements by id that count how often all of them are walked over."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()

    def items(self) -> ItemsView[str, Entry]:  # type: ignore[override]
        self.walks += 1
        return super().items()

    def values(self) -> ValuesView[Entry]:  # type: ignore[override]
        self.walks += 1
        return super().values()


def _board(elements: int) -> Board:
    board = empty_board()
    for first in range(0, elements, elements_per_call_max):
        count = min(elements_per_call_max, elements - first)
        board.create(*[rectangle(f"r{first + n}", n * 10, first) for n in range(count)])
    return board


def _written(board: Board) -> dict[str, int]:
    """Bytes of each row that one small write leaves."""
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "r"}
    body["updates"] = [{"id": "r3", "set": {"opacity": 50}}]
    effects = board.bench.decide("canvas_update_elements", body, EDITOR).effects
    assert not [effect for effect in effects if isinstance(effect, Delete)]
    return {effect.row: len(pack_row(effect.value)) for effect in effects if isinstance(effect, Put)}


def test_a_write_of_one_element_stores_that_element_its_past_and_the_head_whatever_else_there_is() -> None:
    """canvas 5"""
    few, many = _written(_board(10)), _written(_board(1_000))
    assert sorted(few) == ["element/r3", "head", "history/0000000000000003"]
    assert sorted(many) == ["element/r3", "head", "history/0000000000000004"]
    assert abs(sum(many.values()) - sum(few.values())) < 20  # longer numbers


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("canvas_update_elements", {"updates": [{"id": "r3", "set": {"opacity": 50}}]}),
        ("canvas_move_elements", {"moves": [{"id": "r3", "dx": 1}], "includeGroup": True}),
        ("canvas_delete_elements", {"elementIds": ["r3"]}),
        ("canvas_create_elements", {"elements": [{"type": "frame", "x": 0, "y": 0, "width": 9, "height": 9}]}),
        ("canvas_get_state", {}),
        ("canvas_query_region", {"x": 0, "y": 0, "width": 30, "height": 30}),
        ("canvas_query_region", {"x": -9, "y": -9, "width": 9_999, "height": 9_999, "limit": 5}),
    ],
)
def test_nothing_walks_over_the_scene_once_it_is_indexed(verb: str, arguments: Record) -> None:
    """canvas 5"""
    board = _board(600)
    while not board.state.place_some():
        pass
    board.state.entries = counted = Counted(board.state.entries)
    body: Record = {"canvasId": "canvas1", **arguments}
    if verb not in ("canvas_get_state", "canvas_query_region"):
        body |= {"expectedRevision": board.revision, "reason": "r"}
    decision = board.bench.decide(verb, body, EDITOR)
    assert isinstance(decision.reply, dict)
    for effect in decision.effects:
        if isinstance(effect, Put | Delete):
            board.state.apply(effect)
    assert counted.walks == 0


def test_an_old_revision_is_told_without_a_walk() -> None:
    """canvas 3.1, 5"""
    board = _board(600)
    board.applied("update", updates=[{"id": "r3", "set": {"opacity": 50}}])
    board.state.entries = counted = Counted(board.state.entries)
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision - 1, "reason": "r", "elementIds": ["r4"]}
    reply = board.bench.decide("canvas_delete_elements", body, EDITOR).reply
    assert isinstance(reply, dict)
    assert reply["changedSince"] == [
        {"elementId": "r3", "revision": board.revision, "by": EDITOR.agent_id, "what": "updated"}
    ]
    assert counted.walks == 0


def test_a_rebased_write_looks_at_what_it_touches_however_much_was_changed_since() -> None:
    """canvas 3.2, 5"""
    board = _board(600)
    board.applied(
        "update", updates=[{"id": "r3", "set": {"groupIds": ["g"]}}, {"id": "r5", "set": {"groupIds": ["g"]}}]
    )
    before = board.revision
    board.applied("update", updates=[{"id": f"r{n}", "set": {"opacity": 50}} for n in range(5, 500)])
    board.state.entries = counted = Counted(board.state.entries)
    body: Record = {"canvasId": "canvas1", "expectedRevision": before, "rebase": "disjoint", "reason": "r"}
    alone = board.bench.decide("canvas_delete_elements", {**body, "elementIds": ["r4"]}, EDITOR).reply
    assert isinstance(alone, dict)
    assert (alone["outcome"], alone["rebasedFrom"]) == ("applied", before)
    grouped = board.bench.decide("canvas_delete_elements", {**body, "elementIds": ["r3"]}, EDITOR).reply
    assert isinstance(grouped, dict)
    assert (grouped["outcome"], grouped["changedSince"]) == (
        "conflict",
        [{"elementId": "r5", "revision": before + 1, "by": EDITOR.agent_id, "what": "updated"}],
    )
    assert counted.walks == 0
