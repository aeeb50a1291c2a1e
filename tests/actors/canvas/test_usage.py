"""What each agent has written into a canvas, and when its owner hears of it."""

from __future__ import annotations

import json

from actors.canvas.plain import encoded_bytes
from actors.canvas.state import Head
from actors.canvas.usage import usage_gone
from actors.decision import Context, Send
from bus import address
from bus.limits import stored_report_bytes
from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, VIEWER, Board, empty_board, rectangle
from tests.support.bench import PERSON

PLACE = "canvas/w1/canvas1"


def used(board: Board, agent_id: str = EDITOR.agent_id) -> int:
    assert board.state.head is not None
    return board.state.head.usage.get(agent_id, 0)


def stored_rows(board: Board) -> int:
    """Bytes of all rows of the canvas that its writes left."""
    kinds = ("element/", "history/")
    return sum(encoded_bytes(value) for row, value in board.bench.rows.items() if row.startswith(kinds))


def reports(board: Board, agent_id: str = EDITOR.agent_id) -> list[Value]:
    to = address.agent(agent_id)
    return [sent.body["bytes"] for sent in board.bench.sent if sent.verb == "stored" and sent.to == to]


def large(id_: str, size: int) -> Record:
    return {**rectangle(id_), "customData": {"filler": "x" * size}}


def test_what_is_counted_is_about_what_the_writes_of_an_agent_take_on_disk() -> None:
    """common 8.5"""
    board = empty_board()
    board.create(*(large(f"e{number}", 2_000) for number in range(20)))
    board.applied("move", moves=[{"id": f"e{number}", "dx": 5, "dy": 5} for number in range(20)])
    board.applied("update", updates=[{"id": "e0", "set": {"customData": {"filler": "y" * 9_000}}}])
    board.applied("delete", elementIds=["e1"])
    assert 0.9 < used(board) / stored_rows(board) < 1.1


def test_a_call_that_changes_nothing_counts_for_nothing() -> None:
    board = empty_board()
    board.create(rectangle("a"))
    before = used(board)
    board.rejected("update", updates=[{"id": "nobody", "set": {"opacity": 3}}])
    assert used(board) == before


def test_each_agent_answers_for_its_own_writes_and_nobody_for_the_persons() -> None:
    """common 8.5"""
    board = empty_board()
    board.answer("canvas_grant", {"agentId": VIEWER.agent_id, "role": "editor"}, PERSON)
    board.create(large("a", 1_000))
    mine = used(board)
    board.applied("create", VIEWER, elements=[large("b", 50_000)])
    board.applied("create", PERSON, elements=[large("c", 90_000)])
    assert used(board) == mine
    assert 50_000 < used(board, VIEWER.agent_id) < 52_000
    assert board.state.head is not None
    assert board.state.head.usage.keys() == {EDITOR.agent_id, VIEWER.agent_id}


def test_an_agents_owner_hears_whenever_enough_has_been_added() -> None:
    """common 8.5"""
    board = empty_board()
    board.create(large("a", 100_000))
    assert reports(board) == []
    board.create(large("b", 200_000))
    assert reports(board) == [used(board)]
    board.create(rectangle("c"))
    assert len(reports(board)) == 1
    board.create(large("d", 120_000), large("e", 120_000))
    assert reports(board)[1:] == [used(board)]
    assert used(board) >= 2 * stored_report_bytes


def test_a_scene_that_a_canvas_begins_with_is_its_creators() -> None:
    """common 8.5"""
    for count in (2, 300):  # at once, and step by step
        board = Board()
        elements: list[Value] = [large(f"e{number}", 600_000 // count) for number in range(count)]
        if count == 2:
            elements = [large(f"e{number}", 150_000) for number in range(count)]
        scene: Record = {"type": "excalidraw", "version": 2, "elements": elements, "appState": {}, "files": {}}
        board.bench.send("canvas_create", {"title": "T", "reason": "r", "fromScene": scene}, EDITOR)
        board.go_on()
        assert reports(board) == [used(board)]
        assert 0.8 < used(board) / len(json.dumps(scene)) < 1.6


def test_usage_is_kept_over_a_reload_and_a_head_of_before_has_none() -> None:
    board = empty_board()
    board.create(large("a", 5_000))
    assert board.bench.reloaded().head == board.state.head
    head = board.bench.rows["head"]
    assert isinstance(head, dict)
    assert Head.from_record({name: value for name, value in head.items() if name != "usage"}).usage == {}


def test_when_a_canvas_is_gone_those_who_had_been_told_of_are_told_of_nothing() -> None:
    """common 8.5"""
    board = empty_board()
    context = Context(1, EDITOR, "call", board.bench.address)
    told = usage_gone({"a": stored_report_bytes - 1, "b": stored_report_bytes, "c": 10**9}, context)
    gone: Record = {"place": PLACE, "bytes": 0}
    assert told == (Send(address.agent("b"), "stored", gone), Send(address.agent("c"), "stored", gone))


def test_deleting_a_canvas_gives_its_share_back_to_everyone_who_wrote_in_it() -> None:
    """common 8.5"""
    board = empty_board()
    board.create(large("a", 200_000))
    board.create(large("b", 200_000))
    assert reports(board) == [used(board)]
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "no room"}
    assert board.answer("canvas_delete", body)["outcome"] == "applied"
    assert reports(board)[-1] == 0
