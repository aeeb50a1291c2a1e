"""rebase "disjoint": a write for an older revision, applied to the present scene if nothing it touches was changed."""

from __future__ import annotations

import pytest

from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, Board, arrow, board_of, empty_board, label, rectangle, tied_pair
from tests.support.bench import PERSON
from tools.errors import Code, Refusal

MOVE_A: Record = {"moves": [{"id": "a", "dx": 10, "dy": 0}]}


def neighbours() -> Board:
    """Two tied boxes with labels, `far` untied, `g1` and `g2` a group, a frame `f` with `in-f` in it."""
    board = tied_pair()
    frame: Record = {"id": "f", "type": "frame", "x": 0, "y": 1_000, "width": 300, "height": 300}
    board.create(
        rectangle("far", y=500),
        {**rectangle("g1", y=600), "groupIds": ["g"]},
        {**rectangle("g2", y=700), "groupIds": ["g"]},
        frame,
    )
    board.create({**rectangle("in-f", y=1_010), "frameId": "f"})
    return board


def rebased(board: Board, verb: str, since: int, **arguments: Value) -> Record:
    return board.write(verb, EDITOR, expectedRevision=since, rebase="disjoint", **arguments)


def test_it_applies_and_says_from_where() -> None:
    """canvas 3.1, 3.2"""
    board = neighbours()
    since = board.revision
    board.applied("update", PERSON, updates=[{"id": "far", "set": {"opacity": 10}}])
    outcome = rebased(board, "move", since, **MOVE_A)
    assert (outcome["outcome"], outcome["revision"], outcome["rebasedFrom"]) == ("applied", since + 2, since)
    assert board.element("a")["x"] == 10
    assert board.element("far")["opacity"] == 10, "the other's change stays"


def test_a_call_for_the_present_revision_is_not_rebased() -> None:
    """canvas 3.1"""
    board = neighbours()
    assert "rebasedFrom" not in rebased(board, "move", board.revision, **MOVE_A)


def test_without_it_an_older_revision_is_a_conflict_though_nothing_is_in_the_way() -> None:
    """canvas 3.2"""
    board = neighbours()
    since = board.revision
    board.applied("update", updates=[{"id": "far", "set": {"opacity": 10}}])
    assert board.write("move", EDITOR, expectedRevision=since, **MOVE_A)["outcome"] == "conflict"


def test_a_newer_revision_is_rejected_with_it_too() -> None:
    """canvas 3.2"""
    board = neighbours()
    assert (
        board.rejected("move", EDITOR, expectedRevision=board.revision + 1, rebase="disjoint", **MOVE_A)
        == "revision_ahead"
    )


@pytest.mark.parametrize(
    ("changed", "call"),
    [
        ("a", ("move", MOVE_A)),
        ("a-label", ("move", MOVE_A)),
        ("ab", ("move", MOVE_A)),
        ("ab", ("update", {"updates": [{"id": "a", "set": {"opacity": 50}}]})),
        ("a", ("update", {"updates": [{"id": "a-label", "set": {"text": "other words"}}]})),
        ("b", ("update", {"updates": [{"id": "ab", "set": {"opacity": 50}}]})),
        ("a", ("delete", {"elementIds": ["ab"]})),
        ("g2", ("move", {"moves": [{"id": "g1", "dx": 1, "dy": 1}], "includeGroup": True})),
        ("g2", ("update", {"updates": [{"id": "g1", "set": {"opacity": 50}}]})),
        ("in-f", ("update", {"updates": [{"id": "f", "set": {"name": "Frame"}}]})),
        ("in-f", ("move", {"moves": [{"id": "f", "dx": 1, "dy": 1}]})),
        ("f", ("update", {"updates": [{"id": "in-f", "set": {"opacity": 50}}]})),
        ("a", ("create", {"elements": [arrow("new", "a", "far", 105, 25, [[0, 0], [1, 400]])]})),
        ("far", ("create", {"elements": [label("new", "far")]})),
        ("far", ("connect", {"connections": [{"fromId": "a", "toId": "far"}]})),
        ("f", ("create", {"elements": [{**rectangle("new"), "frameId": "f"}]})),
        ("g1", ("create", {"elements": [{**rectangle("new"), "groupIds": ["g"]}]})),
    ],
)
def test_what_is_touched_and_was_changed_is_a_conflict_that_names_it(
    changed: str, call: tuple[str, dict[str, Value]]
) -> None:
    """canvas 3.2, 3.5: targets, bound text, bound arrows, containers, group and frame members"""
    board = neighbours()
    since = board.revision
    board.applied("update", PERSON, updates=[{"id": changed, "set": {"strokeColor": "#ff0000"}}])
    board.applied("create", PERSON, elements=[rectangle("elsewhere", x=5_000)])
    rows = dict(board.bench.rows)
    verb, arguments = call
    outcome = rebased(board, verb, since, **arguments)
    listed: list[Value] = [{"elementId": changed, "revision": since + 1, "by": "person", "what": "updated"}]
    assert outcome == {"outcome": "conflict", "currentRevision": since + 2, "changedSince": listed}
    assert board.bench.rows == rows


@pytest.mark.parametrize(
    ("changed", "call"),
    [
        ("far", ("move", MOVE_A)),
        ("b-neighbour", ("move", MOVE_A)),
        ("far", ("create", {"elements": [rectangle("new")]})),
        ("in-f", ("move", {"moves": [{"id": "g1", "dx": 1, "dy": 1}], "includeGroup": True})),
        ("g1", ("move", {"moves": [{"id": "f", "dx": 1, "dy": 1}]})),
    ],
)
def test_what_is_further_away_does_not_stand_in_the_way(changed: str, call: tuple[str, dict[str, Value]]) -> None:
    """canvas 3.2: an arrow's other target is touched, what hangs on that is not"""
    board = neighbours()
    board.create(rectangle("b-neighbour", x=600))
    board.create(arrow("bn", "b", "b-neighbour", 405, 25, [[0, 0], [190, 0]]))
    since = board.revision
    board.applied("update", PERSON, updates=[{"id": changed, "set": {"strokeColor": "#ff0000"}}])
    verb, arguments = call
    assert rebased(board, verb, since, **arguments)["outcome"] == "applied"


def test_a_target_that_was_deleted_meanwhile_is_a_conflict_and_not_a_mistake() -> None:
    """canvas 3.2"""
    board = neighbours()
    since = board.revision
    board.applied("delete", PERSON, elementIds=["far"])
    outcome = rebased(board, "move", since, moves=[{"id": "far", "dx": 1, "dy": 1}])
    assert outcome["outcome"] == "conflict"
    board.applied("create", PERSON, elements=[rectangle("again", y=900)])
    assert board.rejected("move", moves=[{"id": "far", "dx": 1, "dy": 1}]) == "deleted_element"
    later = rebased(board, "move", board.revision - 1, moves=[{"id": "far", "dx": 1, "dy": 1}])
    assert (later["outcome"], later["code"]) == ("rejected", "deleted_element"), "it was deleted before that revision"


def test_an_id_that_somebody_took_meanwhile_is_a_conflict() -> None:
    """canvas 3.2"""
    board = neighbours()
    since = board.revision
    board.applied("create", PERSON, elements=[rectangle("mine", y=900)])
    assert rebased(board, "create", since, elements=[rectangle("mine", y=1_900)])["outcome"] == "conflict"


def test_a_mistake_stays_a_mistake() -> None:
    """canvas 3.2, 3.5"""
    board = neighbours()
    since = board.revision
    board.applied("update", updates=[{"id": "far", "set": {"opacity": 10}}])
    assert board.rejected("move", expectedRevision=since, rebase="disjoint", moves=[{"id": "nobody", "dx": 1}]) == (
        "unknown_element"
    )


def test_a_rebased_write_that_changes_nothing_is_applied_where_the_canvas_is() -> None:
    """canvas 3.3"""
    board = neighbours()
    since = board.revision
    board.applied("update", updates=[{"id": "far", "set": {"opacity": 10}}])
    rows = dict(board.bench.rows)
    outcome = rebased(board, "move", since, moves=[{"id": "a", "dx": 0, "dy": 0}])
    applied: Record = {"outcome": "applied", "revision": since + 1, "elementIds": [], "rebasedFrom": since}
    assert outcome == applied
    assert board.bench.rows == rows


def test_two_writers_on_either_side_of_a_canvas_never_wait_for_each_other() -> None:
    """canvas 3.2"""
    board = empty_board()
    board.create(*(rectangle(f"l{n}", x=0, y=100 * n) for n in range(5)))
    board.create(*(rectangle(f"r{n}", x=900, y=100 * n) for n in range(5)))
    since = board.revision
    for n in range(5):
        for side, principal in (("l", EDITOR), ("r", PERSON)):
            outcome = board.write(
                "move",
                principal,
                expectedRevision=since,
                rebase="disjoint",
                moves=[{"id": f"{side}{n}", "dx": 1, "dy": 0}],
            )
            assert outcome["outcome"] == "applied"
    assert board.revision == since + 10


def test_deleting_the_canvas_touches_everything() -> None:
    """canvas 3.2"""
    board = board_of("checkout")
    board.applied("move", PERSON, moves=[{"id": "logo", "dx": 1, "dy": 0}])
    body: Record = {"canvasId": "canvas1", "expectedRevision": 1, "reason": "a test", "rebase": "disjoint"}
    reply = board.answer("canvas_delete", body, PERSON)
    assert reply["outcome"] == "conflict"


def test_bad_arguments_come_before_everything() -> None:
    """common 4.1"""
    board = neighbours()
    body: Record = {"canvasId": "canvas1", "expectedRevision": 1, "rebase": "disjoint", "moves": []}
    reply = board.ask("canvas_move_elements", body)
    assert isinstance(reply, Refusal) and reply.code is Code.INVALID_ARGUMENTS
