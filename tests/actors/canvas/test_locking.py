"""Locks: elements that one agent, or the person, alone may change for a while (canvas 2, 3.1, 3.3)."""

from __future__ import annotations

import pytest

from actors.canvas.lock import LAPSE, Lock
from actors.canvas.state import lock_row
from actors.decision import Principal
from bus.limits import (
    elements_per_call_max,
    lock_seconds_default,
    lock_seconds_max,
    locks_per_agent_max,
    locks_per_canvas_max,
)
from bus.value import Record, Value
from tests.actors.canvas.board import COMMENTER, EDITOR, STRANGER, VIEWER, Board, empty_board, rectangle, tied_pair
from tests.support.bench import PERSON, agent
from tools.errors import NOT_FOUND, Code
from tools.times import rfc3339

OTHER = agent("other-editor", "w1")


def shared(board: Board) -> Board:
    """EDITOR owns it; OTHER is an editor too."""
    roles = ((OTHER, "editor"), (COMMENTER, "commenter"), (VIEWER, "viewer"))
    for principal, role in roles:
        board.answer("canvas_grant", {"agentId": principal.agent_id, "role": role}, PERSON)
    return board


@pytest.fixture
def board() -> Board:
    return shared(tied_pair())


def lock(board: Board, *ids: str, by: Principal = OTHER, **more: Value) -> Record:
    return board.write("lock", by, elementIds=[*ids], **more)


def unlock(board: Board, *ids: str, by: Principal = OTHER) -> Record:
    return lock(board, *ids, by=by, locked=False)


def locks_shown(board: Board) -> dict[str, Record]:
    shown = board.answer("canvas_get_state", {"canvasId": "canvas1"})["locks"]
    assert isinstance(shown, list)
    return {str(one["elementId"]): one for one in shown if isinstance(one, dict)}


def until(board: Board, seconds: int) -> str:
    return rfc3339(board.bench.clock.now_ms() + seconds * 1_000)


def test_locking_keeps_the_revision_and_the_scene(board: Board) -> None:
    """canvas 2, 3.3"""
    revision = board.revision
    rows = dict(board.bench.rows)
    outcome = lock(board, "a", "b")
    assert outcome == {"outcome": "applied", "revision": revision, "elementIds": ["a", "b"]}
    assert board.element("a")["locked"] is False
    assert {row: board.bench.rows[row] for row in rows} == rows, "locks lie beside the scene"


def test_a_lock_is_shown_with_its_holder_and_its_end(board: Board) -> None:
    """canvas 2"""
    lock(board, "a")
    lock(board, "b", by=PERSON, seconds=lock_seconds_max)
    assert locks_shown(board) == {
        "a": {"elementId": "a", "holder": OTHER.agent_id, "until": until(board, lock_seconds_default - 1)},
        "b": {"elementId": "b", "holder": "person", "until": until(board, lock_seconds_max)},
    }


@pytest.mark.parametrize("seconds", [0, -1, lock_seconds_max + 1, 1.5])
def test_a_lock_lasts_a_bounded_time(board: Board, seconds: float) -> None:
    """canvas 2"""
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "r", "elementIds": ["a"]}
    assert board.refused("canvas_lock_elements", {**body, "seconds": seconds}).code is Code.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("update", {"updates": [{"id": "a", "set": {"opacity": 10}}]}),
        ("move", {"moves": [{"id": "a", "dx": 1, "dy": 1}]}),
        ("delete", {"elementIds": ["a"]}),
        ("create", {"elements": [{"id": "n", "type": "arrow", "x": 0, "y": 0, "points": [[0, 0], [9, 9]],
                                  "startBinding": {"elementId": "a"}}]}),
    ],
)  # fmt: skip
def test_what_somebody_else_has_locked_stays_as_it_is(board: Board, verb: str, arguments: dict[str, Value]) -> None:
    """canvas 3.1, 3.5: holder and until stand beside the code"""
    lock(board, "a")
    rows = dict(board.bench.rows)
    outcome = board.write(verb, EDITOR, **arguments)
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "lock")
    assert (outcome["holder"], outcome["until"]) == (OTHER.agent_id, until(board, lock_seconds_default - 1))
    assert OTHER.agent_id not in str(outcome["message"])
    assert board.bench.rows == rows


@pytest.mark.parametrize("locked", ["a-label", "ab", "ab-label"])
def test_a_lock_keeps_out_what_would_only_follow(board: Board, locked: str) -> None:
    """canvas 3.1: labels move with their shapes and arrows are led anew, so those locks stop it too"""
    lock(board, locked)
    assert board.rejected("move", moves=[{"id": "a", "dx": 0, "dy": 70}]) == "lock"


def test_what_does_not_change_a_locked_element_goes_on(board: Board) -> None:
    """canvas 3.1"""
    lock(board, "b")
    board.applied("update", updates=[{"id": "a", "set": {"opacity": 10}}])
    board.applied("move", moves=[{"id": "b", "dx": 0, "dy": 0}])


def test_the_holder_and_the_person_change_what_is_locked(board: Board) -> None:
    """canvas 1.2"""
    lock(board, "a")
    board.applied("move", OTHER, moves=[{"id": "a", "dx": 0, "dy": 70}])
    board.applied("update", PERSON, updates=[{"id": "a", "set": {"opacity": 10}}])
    assert "a" in locks_shown(board), "neither takes the lock off"


def test_a_conflict_is_said_before_a_lock(board: Board) -> None:
    """canvas 3.2"""
    lock(board, "a")
    board.applied("update", updates=[{"id": "b", "set": {"opacity": 10}}])
    outcome = board.write("delete", expectedRevision=board.revision - 1, elementIds=["a"])
    assert outcome["outcome"] == "conflict"


def test_a_lock_ends_with_its_time_though_its_timer_is_late(board: Board) -> None:
    """canvas 3.3: judged by the present time"""
    lock(board, "a", seconds=60)
    board.bench.clock.advance(58_999)
    assert board.rejected("delete", elementIds=["a"]) == "lock", "the call itself takes a second"
    board.applied("delete", elementIds=["a"])
    assert lock_row("a") in board.bench.rows, "the timer has not come yet"
    assert locks_shown(board) == {}


def test_a_timer_removes_dead_locks_and_waits_for_the_next(board: Board) -> None:
    """canvas 3.3"""
    lock(board, "a", seconds=60)
    lock(board, "b", seconds=120)
    board.bench.fire(LAPSE)
    assert lock_row("a") not in board.bench.rows
    assert lock_row("b") in board.bench.rows
    board.bench.fire(LAPSE)
    assert not [row for row in board.bench.rows if row.startswith("lock/")]
    assert LAPSE not in board.bench.timers
    told = [(event.type, event.data["elements"]) for event in board.bench.events if "locked" in event.type]
    assert told == [("canvas.locked", 1), ("canvas.locked", 1), ("canvas.unlocked", 1), ("canvas.unlocked", 1)]


def test_dead_locks_go_with_the_next_call_as_well(board: Board) -> None:
    lock(board, "a", seconds=1)
    board.bench.clock.advance(5_000)
    lock(board, "b", seconds=60)
    assert [row for row in board.bench.rows if row.startswith("lock/")] == [lock_row("b")]


def test_locking_again_renews(board: Board) -> None:
    """canvas 2"""
    lock(board, "a", seconds=60)
    lock(board, "a", seconds=600)
    assert locks_shown(board)["a"]["until"] == until(board, 600)


def test_two_cannot_hold_one_element(board: Board) -> None:
    """canvas 3.1"""
    lock(board, "a", "b")
    rows = dict(board.bench.rows)
    outcome = lock(board, "ab", "a", by=EDITOR)
    assert (outcome["outcome"], outcome["code"], outcome["holder"]) == ("rejected", "lock", OTHER.agent_id)
    assert board.bench.rows == rows


def test_the_holder_takes_its_lock_off(board: Board) -> None:
    """canvas 2"""
    lock(board, "a", "b")
    assert unlock(board, "a")["elementIds"] == ["a"]
    board.applied("delete", elementIds=["a-label"])
    assert board.rejected("delete", elementIds=["b"]) == "lock"


def test_an_editor_does_not_take_off_what_somebody_else_has_locked(board: Board) -> None:
    """canvas 3.1"""
    lock(board, "a", by=EDITOR)
    assert unlock(board, "a")["code"] == "lock"
    assert locks_shown(board).keys() == {"a"}


@pytest.mark.parametrize("who", [EDITOR, PERSON])
def test_an_owner_of_the_canvas_and_the_person_take_off_any_agents_lock(board: Board, who: Principal) -> None:
    """canvas 1.2"""
    lock(board, "a")
    assert unlock(board, "a", by=who)["outcome"] == "applied"
    assert locks_shown(board) == {}


def test_what_the_person_has_locked_no_agent_unlocks_or_takes_over(board: Board) -> None:
    """canvas 1.2"""
    lock(board, "a", by=PERSON)
    assert unlock(board, "a", by=EDITOR)["code"] == "lock"
    assert lock(board, "a", by=EDITOR)["code"] == "lock"
    assert board.rejected("delete", elementIds=["a"]) == "lock"


def test_unlocking_what_is_not_locked_changes_nothing(board: Board) -> None:
    """canvas 3.3"""
    rows = dict(board.bench.rows)
    assert unlock(board, "a") == {"outcome": "applied", "revision": board.revision, "elementIds": []}
    assert board.bench.rows == rows


@pytest.mark.parametrize("who", [VIEWER, COMMENTER])
def test_locking_takes_editor(board: Board, who: Principal) -> None:
    """canvas 1.2, 3.2: before the revision is looked at"""
    rows = dict(board.bench.rows)
    outcome = lock(board, "a", by=who, expectedRevision=99)
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "role")
    assert board.bench.rows == rows


def test_without_a_role_there_is_nothing_to_lock(board: Board) -> None:
    """canvas 1.2"""
    body: Record = {"canvasId": "canvas1", "expectedRevision": 99, "reason": "r", "elementIds": ["a"]}
    assert board.refused("canvas_lock_elements", body, STRANGER) == NOT_FOUND


def test_the_revision_counts_for_a_lock_as_for_any_write(board: Board) -> None:
    """canvas 2, 3.2"""
    since = board.revision
    board.applied("update", updates=[{"id": "b", "set": {"opacity": 10}}])
    assert lock(board, "a", expectedRevision=since)["outcome"] == "conflict"
    assert lock(board, "a", expectedRevision=since + 2)["code"] == "revision_ahead"
    assert lock(board, "b", expectedRevision=since, rebase="disjoint")["outcome"] == "conflict"
    rebased = lock(board, "a-label", expectedRevision=since, rebase="disjoint")
    assert (rebased["outcome"], rebased["rebasedFrom"]) == ("applied", since)


def test_only_what_is_there_is_locked_but_what_was_deleted_can_be_unlocked(board: Board) -> None:
    """canvas 3.1"""
    assert lock(board, "nobody")["code"] == "unknown_element"
    lock(board, "a")
    board.applied("delete", OTHER, elementIds=["a"])
    assert lock(board, "a")["code"] == "deleted_element"
    assert unlock(board, "a")["elementIds"] == ["a"]


def test_a_deleted_element_stays_locked(board: Board) -> None:
    """canvas 3.1: restoring it would change it"""
    lock(board, "a")
    board.applied("delete", OTHER, elementIds=["a"])
    assert board.rejected("restore", elementIds=["a"]) == "lock"


def test_whoever_loses_the_role_loses_its_locks(board: Board) -> None:
    """canvas 1.1, common 2.1"""
    lock(board, "a")
    board.answer("canvas_grant", {"agentId": OTHER.agent_id, "role": "commenter"}, PERSON)
    assert locks_shown(board) == {}
    board.applied("delete", elementIds=["a"])


@pytest.mark.parametrize("role", ["none", "viewer", "commenter"])
def test_locks_go_with_the_role_and_do_not_come_back_with_it(board: Board, role: str) -> None:
    """canvas 1.1, 3.3: their rows too, and the timer if none is left"""
    lock(board, "a", "b")
    lock(board, "ab", by=EDITOR, seconds=60)
    board.answer("canvas_grant", {"agentId": OTHER.agent_id, "role": role}, PERSON)
    assert [row for row in board.bench.rows if row.startswith("lock/")] == [lock_row("ab")]
    told = board.bench.events[-2:]
    assert [(event.type, event.data.get("elements")) for event in told if "locked" in event.type] == [
        ("canvas.unlocked", 2)
    ]
    board.answer("canvas_grant", {"agentId": OTHER.agent_id, "role": "owner"}, PERSON)
    assert locks_shown(board).keys() == {"ab"}
    board.answer("canvas_grant", {"agentId": EDITOR.agent_id, "role": role}, PERSON)
    assert len(board.state.locks) == 0
    assert LAPSE not in board.bench.timers


def test_another_role_that_may_write_keeps_the_locks(board: Board) -> None:
    """canvas 1.1"""
    lock(board, "a")
    board.answer("canvas_grant", {"agentId": OTHER.agent_id, "role": "owner"}, PERSON)
    assert locks_shown(board).keys() == {"a"}


def crowded() -> tuple[Board, list[Value]]:
    """A canvas whose locks are as many as there may be, of four agents that have no role any more, as a canvas of
    before locks went with roles can have them; and the ids of the elements."""
    board = shared(empty_board())
    ids: list[Value] = [f"r{number}" for number in range(locks_per_canvas_max)]
    until_ms = board.bench.clock.now_ms() + lock_seconds_max * 1_000
    for at in range(0, len(ids), elements_per_call_max):
        board.create(*(rectangle(str(id_)) for id_ in ids[at : at + elements_per_call_max]))
        for id_ in ids[at : at + elements_per_call_max]:
            board.bench.rows[lock_row(str(id_))] = Lock(str(id_), f"former-{at}", until_ms).to_record()
    board.bench.state = board.bench.reloaded()
    assert len(board.state.locks) == locks_per_canvas_max
    return board, ids


def test_locks_that_do_not_count_take_no_room_and_go_with_the_next_call() -> None:
    """canvas 3.3, common 8.5: nobody is held up by what canvas_get_state does not show"""
    board, ids = crowded()
    assert board.answer("canvas_get_state", {"canvasId": "canvas1"})["lockCount"] == 0
    assert lock(board, str(ids[0]), by=EDITOR)["outcome"] == "applied"
    assert board.state.locks.all().keys() == {ids[0]}


@pytest.mark.parametrize("who", [OTHER, EDITOR, PERSON])
def test_unlocking_takes_off_what_does_not_count_as_well(who: Principal) -> None:
    """canvas 3.3"""
    board, ids = crowded()
    assert board.write("lock", who, elementIds=ids[:500], locked=False)["elementIds"] == ids[:500]
    assert len(board.state.locks) == 0, "and the others go with it"
    assert LAPSE not in board.bench.timers


def test_an_agent_holds_a_bounded_number_of_locks() -> None:
    """common 8.5, canvas 3.1"""
    board = shared(empty_board())
    ids = [f"r{number}" for number in range(locks_per_agent_max + 1)]
    for at in range(0, len(ids), elements_per_call_max):
        board.create(*(rectangle(id_) for id_ in ids[at : at + elements_per_call_max]))
    assert lock(board, *ids[:locks_per_agent_max])["outcome"] == "applied"
    rows = dict(board.bench.rows)
    assert lock(board, ids[-1])["code"] == "limits"
    assert board.bench.rows == rows
    assert lock(board, ids[-1], by=EDITOR)["outcome"] == "applied", "others have their own"
    assert lock(board, *ids[:3])["outcome"] == "applied", "renewing takes no more"


def test_many_locks_are_listed_as_far_as_they_fit_and_counted() -> None:
    """common 7.3"""
    board = shared(empty_board())
    ids = [f"{number:03}-" + "x" * 190 for number in range(locks_per_agent_max)]
    board.create(*(rectangle(id_) for id_ in ids))
    lock(board, *ids)
    shown = board.answer("canvas_get_state", {"canvasId": "canvas1"})
    listed = shown["locks"]
    assert isinstance(listed, list) and 10 < len(listed) < locks_per_agent_max
    assert shown["lockCount"] == locks_per_agent_max


def test_locks_are_there_after_a_restart(board: Board) -> None:
    """common 8.1"""
    lock(board, "a", "b")
    again = board.bench.reloaded()
    assert again == board.state
    assert again.locks.all().keys() == {"a", "b"}


def test_locks_go_with_the_canvas(board: Board) -> None:
    """canvas 2"""
    lock(board, "a")
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "done"}
    board.answer("canvas_delete", body, PERSON)
    board.go_on()
    assert [*board.bench.rows] == ["gone"]
    assert LAPSE not in board.bench.timers


def test_a_timer_that_comes_after_the_canvas_is_gone_does_nothing(board: Board) -> None:
    lock(board, "a")
    timer = board.bench.timers[LAPSE]
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "done"}
    board.answer("canvas_delete", body, PERSON)
    board.bench.timers[LAPSE] = timer
    rows = dict(board.bench.rows)
    board.bench.fire(LAPSE)
    assert board.bench.rows == rows
