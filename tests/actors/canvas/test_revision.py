"""A revision in rows of bounded size, and how those are read again as one (actors/canvas/revision.py)."""

from __future__ import annotations

import pytest

from actors.canvas.plain import encoded_bytes
from actors.canvas.state import history_row
from bus.value import records
from tests.actors.canvas.board import empty_board, rectangle
from tests.actors.canvas.test_history import live, pages, revert, revisions, scene_at, without_own


def test_a_revision_with_much_in_it_is_written_in_pieces_of_bounded_size_and_read_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """canvas 4.6, 5: no row takes long to be packed or unpacked; how it lies makes no difference to who reads."""
    monkeypatch.setattr("actors.canvas.revision.part_bytes_max", 4_000)
    board = empty_board()
    names = [f"r{number}" for number in range(40)]
    board.create(*map(rectangle, names))
    then = live(board)
    board.applied("move", moves=[{"id": name, "dx": 1, "dy": 0} for name in names])
    board.applied("delete", elementIds=[*names])
    board.applied("restore", elementIds=[*names])
    moved = {row: value for row, value in board.bench.rows.items() if row.startswith(f"{history_row(3)}/")}
    assert len(moved) >= 4
    assert max(encoded_bytes(value) for value in moved.values()) < 4_000 + 400
    first, *_ = revisions(board)
    assert [(one["revision"], one["elementIds"]) for one in revisions(board)][:4] == [
        (revision, names) for revision in (5, 4, 3, 2)
    ]
    assert (first["what"], first["reason"]) == ("restored", "a test")
    assert {one["reason"] for one in revisions(board, elements=True, after=1)} == {"a test"}
    assert scene_at(board, 2) == then
    assert board.bench.reloaded() == board.state
    for to in (3, 2, 1):
        revert(board, to)
        assert without_own(live(board)) == without_own({} if to == 1 else then if to == 2 else live(board))
    assert scene_at(board, 2) == then


@pytest.mark.parametrize("room", [100, 900, 2_000])
def test_pages_of_elements_give_each_once_however_rows_and_pages_are_cut(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """canvas 4.6, common 7.3"""
    board = empty_board()
    names = [f"r{number}" for number in range(30)]
    board.create(*map(rectangle, names))  # in one row
    monkeypatch.setattr("actors.canvas.revision.part_bytes_max", 3_000)
    board.applied("move", moves=[{"id": name, "dx": 1, "dy": 0} for name in names])  # in pieces
    board.applied("move", moves=[{"id": "r1", "dx": 1, "dy": 0}])
    monkeypatch.setattr("actors.canvas.history.part_bytes_max", room)
    for part_elements, limit in ((3, 200), (7, 1), (100, 2)):
        monkeypatch.setattr("actors.canvas.history.part_elements_max", part_elements)
        listed = pages(board, elements=True, after=1, limit=limit)
        entries = [one for page in listed for one in records(page, "revisions")]
        items = [(one["revision"], item["id"]) for one in entries for item in records(one, "elements")]
        assert items == [(4, "r1"), *((3, name) for name in names), *((2, name) for name in names)]
    assert [one["revision"] for page in pages(board, limit=1) for one in records(page, "revisions")] == [4, 3, 2, 1]


def test_a_large_revision_of_an_older_release_lies_in_one_row_and_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """canvas 4.6"""
    board = empty_board()
    names = [f"r{number}" for number in range(30)]
    board.create(*map(rectangle, names))
    then = live(board)
    board.applied("move", moves=[{"id": name, "dx": 1, "dy": 0} for name in names])
    assert [row for row in board.bench.rows if row.startswith(f"{history_row(3)}")] == [history_row(3)]
    monkeypatch.setattr("actors.canvas.revision.part_bytes_max", 3_000)
    monkeypatch.setattr("actors.canvas.history.part_bytes_max", 3_000)
    board.applied("move", moves=[{"id": name, "dx": 1, "dy": 0} for name in names])
    assert scene_at(board, 2) == then
    assert [one["elementIds"] for one in revisions(board)][:2] == [names, names]
    revert(board, 2)
    assert without_own(live(board)) == without_own(then)


def test_a_revert_without_the_pieces_of_one_revision_read_to_the_end_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """canvas 4.6, 3.5"""
    monkeypatch.setattr("actors.canvas.revision.part_bytes_max", 3_000)
    board = empty_board()
    names = [f"r{number}" for number in range(30)]
    board.create(*map(rectangle, names))
    board.applied("move", moves=[{"id": name, "dx": 1, "dy": 0} for name in names])
    monkeypatch.setattr("actors.canvas.revert.cold_rows_max", 3)
    assert revert(board, 2)["code"] == "limits"
