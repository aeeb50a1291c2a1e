"""How a canvas ends: canvas_delete, the undo of its creation, the end of its workspace (canvas 1.2, 2, 3.2)."""

from __future__ import annotations

import pytest

from actors.canvas import RULES
from actors.canvas.state import CanvasState
from actors.decision import Context, Message, Principal, Put
from bus import address
from bus.value import Record
from tests.actors.canvas.board import COMMENTER, EDITOR, STRANGER, VIEWER, Board, board_of
from tests.support.bench import PERSON, agent, owner
from tools.errors import NOT_FOUND, Code, Refusal

CREATOR = agent("creator", "w1")
WORKSPACE = address.workspace("w1")


def _made() -> Board:
    """Made by CREATOR, with a role for EDITOR and VIEWER."""
    board = Board()
    board.answer("canvas_create", {"title": "Plan", "reason": "a test"}, CREATOR)
    for principal, role in ((EDITOR, "editor"), (VIEWER, "viewer"), (COMMENTER, "commenter")):
        board.answer("canvas_grant", {"agentId": principal.agent_id, "role": role}, PERSON)
    return board


def _body(board: Board, **arguments: object) -> Record:
    return {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "done with", **arguments}  # type: ignore[dict-item]


def _draw(board: Board, principal: Principal = EDITOR, count: int = 1) -> None:
    elements: list[object] = [{"type": "rectangle", "x": n, "y": 0, "width": 9, "height": 9} for n in range(count)]
    board.answer("canvas_create_elements", _body(board, elements=elements), principal)


def _carry(board: Board) -> None:
    due = next(send for send in board.bench.sent if send.to == board.bench.address)
    board.bench.sent.remove(due)
    board.bench.send(due.verb, due.body, owner(board.bench.address))


def _clear(board: Board) -> int:
    """Carry the messages that the canvas sends itself, until there is none; how many there were."""
    steps = 0
    while any(send.to == board.bench.address for send in board.bench.sent):
        _carry(board)
        steps += 1
    return steps


def test_its_owner_deletes_it_and_it_is_there_for_nobody() -> None:
    """canvas 1.2"""
    board = _made()
    _draw(board)
    board.bench.sent.clear()
    assert board.answer("canvas_delete", _body(board), CREATOR) == {
        "outcome": "applied",
        "revision": 2,
        "elementIds": [],
    }
    told = [(str(send.to), send.verb, send.before_reply) for send in board.bench.sent]
    assert ("workspace/w1/w1", "canvas_gone", True) in told
    assert board.bench.events[-1].type == "canvas.deleted"
    later: Record = {"canvasId": "canvas1", "expectedRevision": 2, "reason": "again"}
    for principal in (CREATOR, EDITOR, STRANGER, PERSON):
        for verb, body in (
            ("canvas_get_state", {"canvasId": "canvas1"}),
            ("canvas_summary", {}),
            ("canvas_delete", later),
            ("canvas_delete_elements", {**later, "elementIds": ["x"]}),
        ):
            assert board.refused(verb, body, principal) == NOT_FOUND  # type: ignore[arg-type]


@pytest.mark.parametrize("principal", [EDITOR, COMMENTER, VIEWER])
def test_whoever_has_another_role_is_rejected_for_it(principal: Principal) -> None:
    """canvas 1.2, 3.5"""
    board = _made()
    before = dict(board.bench.rows)
    outcome = board.answer("canvas_delete", _body(board, expectedRevision=0), principal)
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "role")
    assert board.bench.rows == before


def test_whoever_has_no_role_is_not_told_that_there_is_one() -> None:
    """canvas 1.2, common 3.3"""
    assert _made().refused(
        "canvas_delete", {"canvasId": "canvas1", "expectedRevision": 1, "reason": "x"}, STRANGER
    ) == (NOT_FOUND)


def test_an_old_revision_is_a_conflict_and_a_newer_one_rejected() -> None:
    """canvas 3.2, 3.5"""
    board = _made()
    _draw(board)
    before = dict(board.bench.rows)
    outcome = board.answer("canvas_delete", _body(board, expectedRevision=1), CREATOR)
    assert (outcome["outcome"], outcome["currentRevision"]) == ("conflict", 2)
    outcome = board.answer("canvas_delete", _body(board, expectedRevision=3), CREATOR)
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "revision_ahead")
    assert board.bench.rows == before


def test_bad_arguments_are_told_by_field() -> None:
    refusal = _made().refused("canvas_delete", {"canvasId": "canvas1", "expectedRevision": 1}, CREATOR)
    assert refusal.code is Code.INVALID_ARGUMENTS


def test_all_its_rows_go_a_bounded_number_at_once_and_a_small_one_stays() -> None:
    board = board_of("checkout")
    for _ in range(2):
        _draw(board, count=300)
    rows = len(board.bench.rows)
    assert rows > 600
    board.answer("canvas_delete", _body(board), PERSON)
    sizes = []
    while any(send.to == board.bench.address for send in board.bench.sent):
        before = len(board.bench.rows)
        _carry(board)
        sizes.append(before - len(board.bench.rows))
    assert max(sizes) <= 250
    assert [*board.bench.rows] == ["gone"]
    assert len(str(board.bench.rows["gone"])) < 200
    assert board.bench.reloaded() == board.state


def test_pictures_and_every_revision_go_too() -> None:
    board = Board()
    picture = (
        "data:image/png;base64,"
        + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    element = {"id": "i", "type": "image", "x": 0, "y": 0, "width": 1, "height": 1, "fileId": "f", "status": "saved"}
    file = {"id": "f", "mimeType": "image/png", "dataURL": picture, "created": 1}
    scene: Record = {"type": "excalidraw", "elements": [element], "files": {"f": file}, "appState": {"gridSize": 20}}  # type: ignore[dict-item, list-item]
    board.answer("canvas_create", {"title": "Plan", "reason": "a test", "fromScene": scene}, CREATOR)
    board.answer("canvas_grant", {"agentId": EDITOR.agent_id, "role": "editor"}, PERSON)
    for _ in range(5):
        _draw(board)
    kinds = {row.split("/")[0] for row in board.bench.rows}
    assert kinds >= {"element", "file", "piece", "history", "scene", "head"}
    board.answer("canvas_delete", _body(board), CREATOR)
    _clear(board)
    assert [*board.bench.rows] == ["gone"]


def test_revisions_in_pieces_go_too_a_bounded_number_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 2: its history is gone, also what a reader of rows could not read."""
    monkeypatch.setattr("actors.canvas.revision.part_bytes_max", 200)
    board = _made()
    _draw(board, count=500)
    history = [row for row in board.bench.rows if row.startswith("history/")]
    assert sum("/" in row.removeprefix("history/") for row in history) > 50
    board.bench.rows[history[-1]] = None  # whatever it holds: only its name is read
    board.answer("canvas_delete", _body(board), CREATOR)
    monkeypatch.setattr("actors.canvas.deleting._ROWS_AT_ONCE", 20)
    while any(send.to == board.bench.address for send in board.bench.sent):
        before = len(board.bench.rows)
        _carry(board)
        assert before - len(board.bench.rows) <= 20
    assert [*board.bench.rows] == ["gone"]


def test_a_step_that_an_older_release_asked_for_goes_on_with_the_history() -> None:
    """common 8.1: its message says nothing, and its row counts down."""
    board = _made()
    for _ in range(3):
        _draw(board)
    board.answer("canvas_delete", _body(board), CREATOR)
    while board.state.entries or board.state.proposals:
        _carry(board)
    assert board.state.gone is not None
    board.bench.rows.pop("history/0000000000000004")
    board.bench.send("clear_rows", {}, owner(board.bench.address))
    _clear(board)
    assert [*board.bench.rows] == ["gone"]


def test_clearing_goes_on_where_a_killed_host_left_it() -> None:
    """common 8.1"""
    board = _made()
    _draw(board, count=400)
    board.answer("canvas_delete", _body(board), CREATOR)
    board.bench.send("clear_rows", {}, owner(board.bench.address))
    board.bench.state = board.bench.reloaded()
    assert board.state.entries, "the test is about what is left"
    _clear(board)
    assert [*board.bench.rows] == ["gone"]
    assert board.bench.decide("clear_rows", {}, owner(board.bench.address)).effects == ()


def test_only_the_canvas_itself_clears_it() -> None:
    board = _made()
    with pytest.raises(ValueError, match="itself"):
        board.bench.decide("clear_rows", {}, owner(WORKSPACE))


def test_an_id_is_not_used_twice() -> None:
    board = _made()
    board.answer("canvas_delete", _body(board), CREATOR)
    assert board.refused("canvas_create", {"title": "Plan", "reason": "x"}, CREATOR).code is Code.WRONG_STATE
    begin: Record = {"title": "Plan", "elements": 0, "elementBytes": 0, "fileBytes": 0, "rest": {}}
    assert board.refused("import_begin", begin, PERSON).code is Code.WRONG_STATE


def test_the_undo_of_its_creation_deletes_it_at_any_revision_and_tells_the_agent() -> None:
    """work-plan-tool, undo"""
    board = _made()
    _draw(board)
    board.bench.sent.clear()
    body: Record = {"planId": "p1", "agentId": "creator"}
    board.bench.send("surface_closed", body, owner(address.agent("creator")))
    told = [send for send in board.bench.sent if send.to == address.agent("creator")]
    assert [(send.verb, send.body) for send in told] == [
        ("surface_gone", {"planId": "p1", "kind": "canvas", "id": "canvas1", "existed": True})
    ]
    board.bench.sent.clear()
    board.bench.send("surface_closed", body, owner(address.agent("creator")))
    assert [send.body["existed"] for send in board.bench.sent if send.verb == "surface_gone"] == [False]


@pytest.mark.parametrize(("agent_id", "sender"), [("other", "other"), ("creator", "other"), ("other", "creator")])
def test_a_plan_closes_only_what_its_agent_made(agent_id: str, sender: str) -> None:
    body: Record = {"planId": "p1", "agentId": agent_id}
    with pytest.raises(ValueError, match="made"):
        _made().bench.decide("surface_closed", body, owner(address.agent(sender)))


def test_the_person_is_told_what_an_undo_would_take_from_others() -> None:
    board = Board()
    nothing: Record = {"exists": False, "title": "", "changedByOthers": False, "sharedWith": []}
    assert board.answer("surface_facts", {}, PERSON) == nothing
    board.answer("canvas_create", {"title": "Plan", "reason": "a test"}, CREATOR)
    _draw(board, CREATOR)
    alone: Record = {"exists": True, "title": "Plan", "changedByOthers": False, "sharedWith": []}
    assert board.answer("surface_facts", {}, PERSON) == alone
    board.answer("canvas_grant", {"agentId": EDITOR.agent_id, "role": "editor"}, PERSON)
    assert board.answer("surface_facts", {}, PERSON) == {**alone, "sharedWith": [EDITOR.agent_id]}
    _draw(board, EDITOR)
    facts = board.answer("surface_facts", {}, PERSON)
    assert facts["changedByOthers"] is True


def test_a_change_of_anothers_is_known_after_its_creator_changed_the_same_element() -> None:
    board = _made()
    _draw(board, EDITOR)
    element_id = next(iter(board.state.entries))
    move: Record = {"moves": [{"id": element_id, "dx": 1, "dy": 1}]}
    board.answer("canvas_move_elements", {**_body(board), **move}, CREATOR)
    assert board.state.entries[element_id].by == "creator"
    assert board.answer("surface_facts", {}, PERSON)["changedByOthers"] is True
    assert board.bench.reloaded() == board.state


def test_a_head_of_an_older_release_tells_by_its_elements() -> None:
    board = _made()
    _draw(board, EDITOR)
    head = board.bench.rows["head"]
    assert isinstance(head, dict)
    state = CanvasState()
    for row, value in board.bench.rows.items():
        state.apply(Put(row, {name: one for name, one in head.items() if name != "others"} if row == "head" else value))
    assert state.head is not None
    assert state.head.others is False
    board.bench.state = state
    assert board.answer("surface_facts", {}, PERSON)["changedByOthers"] is True


def test_its_workspace_destroys_it_and_hears_when_it_is_gone() -> None:
    board = _made()
    board.bench.sent.clear()
    board.bench.send("destroy", {"canvasId": "canvas1"}, owner(WORKSPACE))
    assert [send.verb for send in board.bench.sent if send.to == WORKSPACE] == ["canvas_gone", "destroyed"]
    board.bench.sent.clear()
    board.bench.send("destroy", {"canvasId": "canvas1"}, owner(WORKSPACE))
    assert [(send.verb, send.body) for send in board.bench.sent] == [("destroyed", {"canvasId": "canvas1"})]
    with pytest.raises(ValueError, match="own workspace"):
        board.bench.decide("destroy", {"canvasId": "canvas1"}, owner(address.workspace("w2")))


WRITES = (
    "canvas_create_elements", "canvas_update_elements", "canvas_move_elements", "canvas_delete_elements",
    "canvas_restore_elements", "canvas_delete",
)  # fmt: skip


@pytest.mark.parametrize("verb", WRITES)
def test_every_write_has_a_card_with_the_canvass_title_and_id_and_a_form_as_of_now(verb: str) -> None:
    """common 5.3, work-plan-tool"""
    board = _made()
    _draw(board)
    rule = RULES.verbs[verb]
    assert rule.fingerprint is not None
    assert rule.as_of_now is not None
    context = Context(0, CREATOR, "c", board.bench.address)
    body = _body(board, expectedRevision=0)
    assert rule.fingerprint(board.state, Message(verb, body), context) == {"title": "Plan", "canvasId": "canvas1"}
    assert rule.as_of_now(board.state, body) == {**body, "expectedRevision": 2}
    assert rule.fingerprint(CanvasState(), Message(verb, body), context) == {}
    assert rule.as_of_now(CanvasState(), body) == body


def test_a_refusal_is_no_outcome_of_a_canvas_that_is_gone() -> None:
    board = _made()
    board.answer("canvas_delete", _body(board), CREATOR)
    reply = board.ask("canvas_grant", {"agentId": EDITOR.agent_id, "role": "viewer"}, PERSON)
    assert isinstance(reply, Refusal)
    assert reply == NOT_FOUND
