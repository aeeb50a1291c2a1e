"""Roles and the outcome contract (canvas 1, 3)."""

from __future__ import annotations

import pytest

from actors.decision import Event, Put
from bus.value import Record, Value
from tests.actors.canvas.board import (
    COMMENTER,
    EDITOR,
    STRANGER,
    VIEWER,
    board_of,
    empty_board,
    rectangle,
    tied_pair,
)
from tests.support.bench import PERSON, agent
from tools.errors import NOT_FOUND, Code

TARGET: Record = {"canvasId": "canvas1"}
READS: list[tuple[str, Record]] = [
    ("canvas_get_state", TARGET),
    ("canvas_query_region", {**TARGET, "x": 0, "y": 0, "width": 1, "height": 1}),
    ("canvas_summary", {}),
]
WRITES: list[tuple[str, Record]] = [
    ("canvas_create_elements", {"elements": [rectangle("new")]}),
    ("canvas_update_elements", {"updates": [{"id": "cache", "set": {"opacity": 50}}]}),
    ("canvas_move_elements", {"moves": [{"id": "cache", "dx": 1, "dy": 1}]}),
    ("canvas_delete_elements", {"elementIds": ["cache"]}),
    ("canvas_restore_elements", {"elementIds": ["note"]}),
]


def _body(arguments: Record, revision: int = 1) -> Record:
    return {**TARGET, "expectedRevision": revision, "reason": "a test", **arguments}


@pytest.mark.parametrize(("verb", "arguments"), [*READS, *[(verb, _body(body, 99)) for verb, body in WRITES]])
def test_without_a_role_every_call_is_not_found_before_any_outcome(verb: str, arguments: Record) -> None:
    """canvas 1.2"""
    assert board_of("checkout").refused(verb, arguments, STRANGER) == NOT_FOUND


@pytest.mark.parametrize(("verb", "arguments"), [*READS, *[(verb, _body(body)) for verb, body in WRITES]])
def test_a_canvas_that_does_not_exist_answers_like_one_without_a_role(verb: str, arguments: Record) -> None:
    """canvas 1.2, common 3.3"""
    board = board_of("checkout")
    board.bench.state = board.bench.rules.new_state()
    board.bench.rows.clear()
    assert board.refused(verb, arguments) == NOT_FOUND
    assert board.refused(verb, arguments, PERSON) == NOT_FOUND


def test_a_role_does_not_reach_out_of_the_workspace() -> None:
    """canvas 1.2, common 3.3"""
    elsewhere = agent(EDITOR.agent_id, "w2")
    assert board_of("checkout").refused("canvas_get_state", TARGET, elsewhere) == NOT_FOUND


@pytest.mark.parametrize(("verb", "arguments"), READS)
@pytest.mark.parametrize("caller", [VIEWER, COMMENTER, EDITOR, PERSON])
def test_every_role_reads(verb: str, arguments: Record, caller: object) -> None:
    """canvas 1.2"""
    board_of("checkout").answer(verb, arguments, caller)  # type: ignore[arg-type]


@pytest.mark.parametrize(("verb", "arguments"), WRITES)
def test_a_viewer_changes_nothing_and_hears_that_before_its_revision_is_looked_at(verb: str, arguments: Record) -> None:
    """canvas 1.2, 3.2"""
    board = board_of("checkout")
    rows = dict(board.bench.rows)
    outcome = board.answer(verb, _body(arguments, 99), VIEWER)
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "role")
    assert board.bench.rows == rows


@pytest.mark.parametrize(("verb", "arguments"), WRITES)
@pytest.mark.parametrize("caller", [EDITOR, PERSON])
def test_an_editor_and_the_person_write_and_the_revision_advances_by_one(
    verb: str, arguments: Record, caller: object
) -> None:
    """canvas 1.2, 3.1"""
    board = board_of("checkout")
    outcome = board.answer(verb, _body(arguments), caller)  # type: ignore[arg-type]
    assert (outcome["outcome"], outcome["revision"]) == ("applied", 2)
    assert board.revision == 2


@pytest.mark.parametrize(("verb", "arguments"), WRITES)
def test_an_old_revision_is_a_conflict_before_elements_are_looked_at(verb: str, arguments: Record) -> None:
    """canvas 3.2, 3.5"""
    board = board_of("checkout")
    board.applied("update", updates=[{"id": "cache", "set": {"opacity": 10}}])
    board.applied("move", PERSON, moves=[{"id": "logo", "dx": 1, "dy": 0}])
    rows = dict(board.bench.rows)
    outcome = board.answer(verb, _body(arguments))
    changed: list[Value] = [
        {"elementId": "logo", "revision": 3, "by": "person", "what": "moved"},
        {"elementId": "cache", "revision": 2, "by": EDITOR.agent_id, "what": "updated"},
    ]
    assert outcome == {"outcome": "conflict", "currentRevision": 3, "changedSince": changed}
    assert board.bench.rows == rows


def test_changed_since_is_bounded_and_says_so() -> None:
    """canvas 3.1, common 7.3"""
    board = empty_board()
    board.create(*[rectangle(f"r{number}") for number in range(150)])
    outcome = board.answer("canvas_delete_elements", _body({"elementIds": ["r1"]}))
    changed = outcome["changedSince"]
    assert isinstance(changed, list) and len(changed) == 100
    assert outcome["truncated"] is True


def test_a_revision_from_the_future_is_rejected() -> None:
    """canvas 3.2"""
    board = board_of("checkout")
    assert board.rejected("delete", expectedRevision=7, elementIds=["cache"]) == "revision_ahead"


def test_all_or_nothing() -> None:
    """canvas 3.3, canvas 3.5"""
    board = board_of("checkout")
    assert board.rejected("move", moves=[{"id": "cache", "dx": 1}, {"id": "no such", "dx": 1}]) == "unknown_element"
    assert board.rejected("create", elements=[rectangle("new"), rectangle("cache")]) == "id_taken"
    assert board.rejected("delete", elementIds=["cache", "no such"]) == "unknown_element"


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("update", {"updates": [{"id": "cache", "set": {"opacity": 100, "strokeColor": "#1e1e1e"}}]}),
        ("update", {"updates": [{"id": "cache-label", "set": {"text": "缓存 cache"}}]}),
        ("move", {"moves": [{"id": "cache", "dx": 0, "dy": 0}]}),
        ("move", {"moves": [{"id": "cache", "x": 10, "y": 130}]}),
        ("delete", {"elementIds": ["note"]}),
        ("restore", {"elementIds": ["cache"]}),
    ],
)
def test_a_write_that_changes_nothing_is_applied_at_the_same_revision(verb: str, arguments: Record) -> None:
    """canvas 3.3"""
    board = board_of("checkout")
    rows = dict(board.bench.rows)
    assert board.write(verb, EDITOR, **arguments) == {"outcome": "applied", "revision": 1, "elementIds": []}
    assert board.bench.rows == rows


def test_a_single_change_writes_its_element_the_head_and_one_line_of_history() -> None:
    """canvas 4.6, 5"""
    board = board_of("checkout")
    body = _body({"updates": [{"id": "logo", "set": {"opacity": 40}}]})
    decision = board.bench.decide("canvas_update_elements", body, EDITOR)
    rows = [effect.row for effect in decision.effects if isinstance(effect, Put)]
    assert rows == ["element/logo", "head", "history/0000000000000002"]
    events = [effect for effect in decision.effects if isinstance(effect, Event)]
    assert [(event.type, event.data["revision"]) for event in events] == [("canvas.changed", 2)]


def test_history_keeps_who_why_and_what_was_there_before() -> None:
    """canvas 4.6"""
    board = board_of("checkout")
    before = board.element("logo")
    board.applied("update", updates=[{"id": "logo", "set": {"opacity": 40}}])
    line = board.bench.rows["history/0000000000000002"]
    assert isinstance(line, dict)
    assert (line["by"], line["reason"], line["what"]) == (EDITOR.agent_id, "a test", "updated")
    assert line["elements"] == [{"id": "logo", "before": before}]


def test_versions_rise_and_nonces_and_times_change_with_each_change() -> None:
    """canvas 4.1"""
    board = board_of("checkout")
    seen = [board.element("logo")]
    for opacity in (40, 50):
        board.applied("update", updates=[{"id": "logo", "set": {"opacity": opacity}}])
        seen.append(board.element("logo"))
    assert [element["version"] for element in seen] == [3, 4, 5]
    assert len({element["versionNonce"] for element in seen}) == 3
    assert len({element["updated"] for element in seen}) == 3


def test_deciding_the_same_call_again_gives_the_same_bytes() -> None:
    """common 8.1"""
    board = tied_pair()
    ellipse: Record = {"type": "ellipse", "x": 0, "y": 0, "width": 5, "height": 5}
    body = _body({"elements": [ellipse]}, board.revision)
    first = board.bench.decide("canvas_create_elements", body, EDITOR, "call-1")
    assert first == board.bench.decide("canvas_create_elements", body, EDITOR, "call-1")


@pytest.mark.parametrize("rebase", ["", "ours", True])
def test_there_is_one_way_to_rebase(rebase: Value) -> None:
    """canvas 2"""
    refusal = board_of("checkout").refused("canvas_delete_elements", _body({"elementIds": ["x"], "rebase": rebase}))
    assert refusal.code is Code.INVALID_ARGUMENTS


@pytest.mark.parametrize("reason", ["", "two\nlines", "x" * 201, "bell\x07"])
def test_a_reason_is_one_plain_line(reason: str) -> None:
    """canvas 2"""
    refusal = board_of("checkout").refused("canvas_delete_elements", _body({"elementIds": ["x"], "reason": reason}))
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert refusal.details["fields"] != []


def test_messages_hold_no_ids() -> None:
    """common 6.2"""
    board = tied_pair()
    outcome = board.write("move", moves=[{"id": "a-label", "dx": 5}])
    assert "a-label" not in str(outcome["message"])
