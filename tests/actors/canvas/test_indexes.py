"""What is kept beside the elements is what a walk over all of them would find (canvas 5)."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.canvas.entry import Entry
from actors.canvas.geometry import Box, box_of
from actors.canvas.indexes import Indexes, memberships, words_of
from bus.value import Record, Value
from tests.actors.canvas.board import Board, board_of, empty_board, rectangle, tied_pair
from tests.support.bench import PERSON

IDS = st.sampled_from([f"e{number}" for number in range(8)])
GROUPS = st.lists(st.sampled_from(["g", "h", "e0"]), max_size=3)


class Keeping(RuleBasedStateMachine):
    """Elements come, change and go while the indexes are built, before it and afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, Entry] = {}
        self.indexes = Indexes()
        self.revision = 0

    @rule(
        id_=IDS,
        kind=st.sampled_from(["rectangle", "text", "frame"]),
        place=st.integers(-9, 9),
        index=st.sampled_from(["a0", "a1", "a2"]),
        is_deleted=st.booleans(),
        groups=GROUPS,
        frame=st.one_of(st.none(), IDS),
        words=st.sampled_from(["", "words"]),
    )
    def put(
        self,
        id_: str,
        kind: str,
        place: int,
        index: str,
        is_deleted: bool,
        groups: list[Value],
        frame: str | None,
        words: str,
    ) -> None:
        self.revision += 1
        element: Record = {**rectangle(id_, place, place), "type": kind, "index": index, "isDeleted": is_deleted}
        element |= {"groupIds": groups, "frameId": frame, "originalText": words, "name": words}
        entry = Entry(element, self.revision, "someone", "updated", None)
        self.indexes.replace(id_, self.entries.get(id_), entry)
        self.entries[id_] = entry

    @rule(id_=IDS)
    def remove(self, id_: str) -> None:
        self.indexes.replace(id_, self.entries.pop(id_, None), None)

    @rule()
    def keep_some(self) -> None:
        self.indexes.keep_some(self.entries)

    @rule()
    def place_some(self) -> None:
        self.indexes.place_some(self.entries)

    @rule()
    def look(self) -> None:
        check(self.indexes, self.entries)

    @invariant()
    def nothing_wrong_is_said_to_be_whole(self) -> None:
        if self.indexes.is_whole:
            check(self.indexes, self.entries)


def check(indexes: Indexes, entries: dict[str, Entry]) -> None:
    kept, placed = indexes.kept(entries), indexes.placed(entries)
    live = {id_: entry for id_, entry in entries.items() if entry.is_live}
    assert kept.types == Counter(str(entry.element["type"]) for entry in live.values())
    assert kept.order.keys == sorted((str(entry.element["index"]), id_) for id_, entry in entries.items())
    labelled = ((str(entry.element["index"]), id_) for id_, entry in live.items() if words_of(entry.element))
    assert kept.labelled.keys == sorted(labelled)
    assert kept.recent.keys == sorted((entry.revision, id_) for id_, entry in entries.items())
    members: dict[tuple[str, str], set[str]] = {}
    for id_, entry in entries.items():
        for membership in memberships(entry.element):
            members.setdefault(membership, set()).add(id_)
    assert {membership: set(ids) for membership, ids in kept.members.items()} == members
    everywhere = Box(-1e6, -1e6, 1e6, 1e6)
    assert set(placed.live.near(everywhere)) == set(live)
    assert set(placed.deleted.near(everywhere)) == entries.keys() - live.keys()
    for id_, entry in entries.items():
        assert (placed.live if entry.is_live else placed.deleted).box(id_) == box_of(entry.element)


TestKeeping = Keeping.TestCase
TestKeeping.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


def _checked(board: Board) -> None:
    check(board.state.indexes, board.state.entries)


def test_they_hold_through_drawing_deleting_restoring_and_a_restart() -> None:
    """canvas 5"""
    board = tied_pair()
    _checked(board)
    board.applied("move", moves=[{"id": "a", "dx": 500}])
    board.applied("update", updates=[{"id": "b", "set": {"groupIds": ["g"]}}])
    _checked(board)
    board.applied("delete", elementIds=["a", "ab"])
    _checked(board)
    board.applied("restore", elementIds=["a", "ab"])
    _checked(board)
    check(board.bench.reloaded().indexes, board.state.entries)


def test_a_canvas_that_is_deleted_keeps_none_of_them() -> None:
    """canvas 5"""
    board = board_of("checkout")
    _checked(board)
    deletion: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "r"}
    assert board.answer("canvas_delete", deletion, PERSON)["outcome"] == "applied"
    assert board.state.gone is not None
    assert not board.state.indexes.is_whole


def test_neither_an_import_nor_a_load_pays_for_them() -> None:
    """canvas 5"""
    board = empty_board()
    board.create(rectangle("a"))
    assert not board.bench.reloaded().indexes.is_whole


def test_what_only_moves_a_shape_does_not_need_the_boxes() -> None:
    """canvas 5: an agent that only draws never waits for the trees"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 5}])
    assert not board.state.indexes.is_whole
