"""What a canvas was, and how it becomes that again: canvas_history and canvas_revert (canvas 4.6)."""

from __future__ import annotations

from typing import Final, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from actors.canvas.revert import OWN_FIELDS
from actors.canvas.state import history_row
from bus.value import Record, Value, records
from tests.actors.canvas.board import (
    COMMENTER,
    EDITOR,
    Board,
    arrow,
    board_of,
    empty_board,
    label,
    rectangle,
    tied_pair,
)
from tests.actors.canvas.test_properties import Editing
from tests.support.bench import PERSON
from tools.canvas.scene_parts import Joined, part_of_past
from tools.errors import NOT_FOUND, Code, Refusal

PASSED: Final = settings(max_examples=40, stateful_step_count=30, deadline=None)


def pages(board: Board, **asked: Value) -> list[Record]:
    """Every page of the history from the newest revision on."""
    found: list[Record] = []
    body: Record = dict(asked)
    while True:
        page = board.answer("canvas_history", body, PERSON)
        found.append(page)
        if page["next"] is None:
            return found
        body = {**asked, **cast(Record, page["next"])}


def revisions(board: Board, **asked: Value) -> list[Record]:
    return [one for page in pages(board, **asked) for one in records(page, "revisions")]


def scene_at(board: Board, revision: int) -> dict[str, Record]:
    """Its live elements then, as the person reads them: what was not touched since, and what is in the history."""
    joined = Joined()
    body: Record = {"until": revision}
    while True:
        reply = board.answer("canvas_export", body, PERSON)
        joined.add(cast(Record, reply["part"]))
        if reply["next"] is None:
            break
        body = {"until": revision, **cast(Record, reply["next"])}
    for page in pages(board, after=revision, elements=True):
        joined.add(part_of_past(records(page, "revisions")))
    elements = joined.scene({})["elements"]
    assert isinstance(elements, list)
    return {str(one["id"]): one for one in elements if isinstance(one, dict)}


def live(board: Board) -> dict[str, Record]:
    return {id_: entry.element for id_, entry in board.state.entries.items() if entry.is_live}


def revert(board: Board, to: int, **arguments: Value) -> Record:
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "a mistake", "to": to}
    return board.answer("canvas_revert", {**body, **arguments}, PERSON)


def without_own(elements: dict[str, Record]) -> dict[str, Record]:
    return {
        id_: {name: value for name, value in one.items() if name not in OWN_FIELDS} for id_, one in elements.items()
    }


def test_every_revision_says_who_when_why_and_which_elements_newest_first() -> None:
    """canvas 4.6"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 5, "dy": 0}])
    moved, made, begun = revisions(board)
    assert {**moved, "elementIds": None} == {
        "revision": 3,
        "by": EDITOR.agent_id,
        "at": moved["at"],
        "what": "moved",
        "reason": "a test",
        "elementIds": None,
    }
    assert set(cast("list[str]", moved["elementIds"])) == {"a", "a-label", "ab", "ab-label"}
    assert (made["revision"], made["elementIds"]) == (2, ["a", "b", "a-label", "ab", "ab-label"])
    assert (begun["revision"], begun["elementIds"], begun["what"]) == (1, [], "created")
    assert str(made["at"]) < str(moved["at"])


def test_pages_are_bounded_and_together_name_each_revision_once() -> None:
    """canvas 4.6, common 7.3"""
    board = empty_board()
    for number in range(12):
        board.create(rectangle(f"r{number}"))
    whole = [one["revision"] for one in revisions(board)]
    assert whole == [*range(13, 0, -1)]
    for limit in (1, 4, 13):
        listed = pages(board, limit=limit)
        assert all(len(records(page, "revisions")) <= limit for page in listed)
        assert [one["revision"] for page in listed for one in records(page, "revisions")] == whole
    assert [one["revision"] for one in revisions(board, before=4)] == [3, 2, 1]
    assert [one["revision"] for one in revisions(board, after=11, limit=1)] == [13, 12]
    assert revisions(board, before=1) == []
    assert revisions(board, after=13) == []


def test_a_revision_with_much_in_it_comes_in_parts_that_each_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 4.6, 5"""
    board = empty_board()
    board.create(*(rectangle(f"r{number}") for number in range(300)))
    board.applied("move", moves=[{"id": f"r{number}", "dx": 1, "dy": 0} for number in range(300)])
    monkeypatch.setattr("actors.canvas.history.part_elements_max", 7)
    listed = pages(board, elements=True, after=1)
    assert all(len(records(one, "elements")) <= 7 for page in listed for one in records(page, "revisions"))
    items = [item for page in listed for one in records(page, "revisions") for item in records(one, "elements")]
    assert [item["id"] for item in items] == [f"r{number}" for number in range(300)] * 2
    assert [item["before"] is None for item in items] == [False] * 300 + [True] * 300


def test_history_is_the_persons_and_says_no_more_to_anybody_else() -> None:
    """canvas 4.6: agents have no tool for it."""
    board = tied_pair()
    for verb in ("canvas_history", "canvas_revert"):
        with pytest.raises(AssertionError, match="may not send"):
            board.ask(verb, {}, EDITOR)
    assert Board().refused("canvas_history", {}, PERSON) == NOT_FOUND
    assert board.refused("canvas_history", {"before": 0}, PERSON).code is Code.INVALID_ARGUMENTS


def test_a_past_revision_is_read_as_it_was() -> None:
    """canvas 4.6"""
    board = tied_pair()
    then = live(board)
    board.applied("delete", elementIds=["a"])
    board.create(rectangle("late"))
    board.applied("update", updates=[{"id": "b", "set": {"strokeColor": "#ff0000"}}])
    board.applied("delete", elementIds=["late"])
    assert scene_at(board, 2) == then
    assert scene_at(board, 1) == {}
    assert scene_at(board, board.revision) == live(board)


def test_reverting_makes_a_new_revision_of_the_earlier_scene() -> None:
    """canvas 4.6: versions rise, ties are as they were, what was made later is deleted and can be restored."""
    board = tied_pair()
    then = live(board)
    board.applied("delete", elementIds=["a"])
    board.create(rectangle("late"), label("late-label", "late"), arrow("b-late", "b", "late", 0, 0, [[0, 0], [9, 9]]))
    versions = {id_: entry.element["version"] for id_, entry in board.state.entries.items()}
    before = board.revision
    outcome = revert(board, 2)
    assert (outcome["outcome"], outcome["revision"]) == ("applied", before + 1)
    assert without_own(live(board)) == without_own(then)
    assert board.lists("a") == ["a-label", "ab"]
    for id_, version in versions.items():
        entry = board.state.entries[id_]
        assert entry.element["version"] == version + (entry.revision == before + 1)  # type: ignore[operator]
    assert board.state.entries["late"].what == "reverted"
    assert {one["reason"] for one in revisions(board)[:1]} == {"a mistake"}
    board.applied("restore", elementIds=["late", "b-late"])
    assert board.lists("late") == ["late-label", "b-late"]
    assert board.element("late-label")["isDeleted"] is False


def test_what_was_deleted_then_is_deleted_again_and_restores_as_it_would_have_then() -> None:
    """canvas 4.2, 4.6: the note of what its deletion took comes back with it."""
    board = tied_pair()
    tied = board.element("ab")
    board.applied("delete", elementIds=["a"])
    deleted = board.revision
    board.applied("restore", elementIds=["a"])
    board.applied("move", moves=[{"id": "b", "dx": 50, "dy": 0}])
    revert(board, deleted)
    assert board.element("a")["isDeleted"] is True
    board.applied("restore", elementIds=["a"])
    assert without_own({"ab": board.element("ab")}) == without_own({"ab": tied})
    assert board.lists("a") == ["a-label", "ab"]


def test_a_note_that_changed_while_its_element_did_not_comes_back_too() -> None:
    """canvas 4.2, 4.6: `ab` is restored while `a` is deleted, which only notes that on `a`."""
    board = tied_pair()
    board.applied("delete", elementIds=["a", "ab"])
    noted = board.state.entries["a"].deletion
    deleted = board.revision
    board.applied("restore", elementIds=["ab"])
    assert board.state.entries["a"].deletion != noted
    revert(board, deleted)
    assert board.state.entries["a"].deletion == noted


def test_reverting_is_undone_by_reverting_to_what_was_before_it() -> None:
    """canvas 4.6"""
    board = board_of("checkout")
    board.applied("delete", elementIds=["gateway"])
    board.create(rectangle("late"))
    then, revision = live(board), board.revision
    revert(board, 1)
    assert "late" not in live(board)
    revert(board, revision)
    assert without_own(live(board)) == without_own(then)


def test_reverting_to_the_present_changes_nothing_and_a_later_revision_is_rejected() -> None:
    """canvas 3.3, 4.6"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 1, "dy": 1}])
    board.applied("move", moves=[{"id": "a", "dx": -1, "dy": -1}])
    rows = dict(board.bench.rows)
    assert revert(board, board.revision) == {"outcome": "applied", "revision": board.revision, "elementIds": []}
    assert revert(board, board.revision + 1)["code"] == "revision_ahead"
    assert revert(board, 1, expectedRevision=board.revision - 1)["outcome"] == "conflict"
    refused = board.bench.send(
        "canvas_revert",
        {"canvasId": "canvas1", "expectedRevision": 1, "reason": "r", "to": 1, "rebase": "disjoint"},
        PERSON,
    )
    assert isinstance(refused, Refusal)
    assert refused.code is Code.INVALID_ARGUMENTS
    assert board.bench.rows == rows


def test_locks_of_agents_do_not_stop_the_person_from_reverting() -> None:
    """canvas 1.2: the person may do everything."""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 5, "dy": 0}])
    board.applied("lock", elementIds=["a"])
    assert revert(board, 2)["outcome"] == "applied"


@pytest.mark.parametrize("limit", ["revert_elements_max", "revert_bytes_max"])
def test_a_revert_that_would_write_too_much_is_rejected_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """canvas 4.6, 3.5"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 5, "dy": 0}])
    monkeypatch.setattr(f"actors.canvas.revert.{limit}", 3)
    rows = dict(board.bench.rows)
    rejected = revert(board, 2)
    assert (rejected["outcome"], rejected["code"]) == ("rejected", "limits")
    assert "nexus canvas at" in str(rejected["message"])
    assert board.bench.rows == rows


def test_a_revert_over_more_revisions_than_are_read_is_rejected() -> None:
    """canvas 4.6, 3.5: one of whose rows is missing stands for those that were not read."""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 5, "dy": 0}])
    board.applied("move", moves=[{"id": "a", "dx": 5, "dy": 0}])
    del board.bench.rows[history_row(3)]
    assert revert(board, 2)["code"] == "limits"


def test_history_that_an_older_release_wrote_has_no_notes_and_is_reverted_all_the_same() -> None:
    """canvas 4.6"""
    board = tied_pair()
    board.applied("delete", elementIds=["a"])
    board.applied("restore", elementIds=["a"])
    for row, value in board.bench.rows.items():
        if row.startswith("history/"):
            assert isinstance(value, dict)
            value.pop("notes", None)
    revert(board, 3)
    assert board.element("a")["isDeleted"] is True
    board.applied("restore", elementIds=["a"])


def test_the_row_of_an_applied_proposal_names_who_approved_it() -> None:
    """canvas 3.4, 4.6"""
    board = board_of("checkout")
    proposed = board.write("move", COMMENTER, moves=[{"id": "gateway", "dx": 5, "dy": 0}])
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "fine"}
    board.answer("canvas_approve_proposal", {**body, "proposalId": proposed["proposalId"]}, PERSON)
    newest = revisions(board)[0]
    assert (newest["by"], newest["approvedBy"]) == (COMMENTER.agent_id, "person")


class Remembering(Editing):
    """Remembers every scene that there was; whatever is called, each can be read, and come back (canvas 4.6)."""

    def __init__(self) -> None:
        super().__init__()
        self.scenes: dict[int, tuple[dict[str, Record], dict[str, tuple[Record, Record | None]]]] = {}

    @invariant()
    def it_is_remembered(self) -> None:
        if hasattr(self, "board"):
            gone = {
                id_: (one.element, one.deletion) for id_, one in self.board.state.entries.items() if not one.is_live
            }
            self.scenes.setdefault(self.board.revision, (live(self.board), gone))

    @rule(back=st.integers(0, 40))
    def read_the_past(self, back: int) -> None:
        revision = max(self.board.revision - back, 1)
        assert scene_at(self.board, revision) == self.scenes[revision][0]

    @rule(back=st.integers(0, 40))
    def go_back(self, back: int) -> None:
        before = self.board.revision
        revision = max(before - back, 1)
        self.it_is_remembered()
        assert revert(self.board, revision)["outcome"] == "applied"
        then, gone = self.scenes[revision]
        assert without_own(live(self.board)) == without_own(then)
        assert [id_ for _, id_ in self.board.state.in_order() if id_ in then] == sorted(
            then, key=lambda id_: (str(then[id_]["index"]), id_)
        )
        for id_, (element, note) in gone.items():
            entry = self.board.state.entries[id_]
            assert without_own({id_: entry.element}) == without_own({id_: element})
            assert entry.deletion == note
        assert self.board.revision in (before, before + 1)


TestRemembering = Remembering.TestCase
TestRemembering.settings = PASSED
