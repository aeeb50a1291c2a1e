"""Proposals: what a commenter writes, and who makes it a revision (canvas 1.2, 3.1, 3.4)."""

from __future__ import annotations

import pytest

from actors.canvas.plain import encoded_bytes
from actors.canvas.proposal import TRANSITIONS, Stage, Verdict, proposal_row
from actors.decision import Principal
from bus.value import Record, Value
from tests.actors.canvas.board import COMMENTER, EDITOR, STRANGER, VIEWER, Board, rectangle
from tests.actors.canvas.proposing import (
    MOVE_A,
    OTHER,
    SECOND,
    approve,
    grant,
    line,
    pending,
    propose,
    reject,
    shared_pair,
)
from tests.support.bench import PERSON, agent
from tools.errors import NOT_FOUND
from tools.times import rfc3339

WRITES: list[tuple[str, dict[str, Value]]] = [
    ("create", {"elements": [rectangle("new", y=300)]}),
    ("update", {"updates": [{"id": "a", "set": {"opacity": 50}}]}),
    ("move", MOVE_A),
    ("connect", {"connections": [{"fromId": "b", "toId": "a", "label": "answers"}]}),
    ("delete", {"elementIds": ["a"]}),
    ("restore", {"elementIds": ["gone"]}),
]


@pytest.fixture
def board() -> Board:
    board = shared_pair()
    board.create(rectangle("gone", y=900))
    board.applied("delete", elementIds=["gone"])
    return board


@pytest.mark.parametrize(("verb", "arguments"), WRITES)
def test_every_write_of_a_commenter_becomes_a_proposal_and_leaves_the_scene(
    board: Board, verb: str, arguments: dict[str, Value]
) -> None:
    """canvas 1.2, 3.1, 3.3: neither the revision nor the history advances"""
    rows = dict(board.bench.rows)
    proposal_id = propose(board, verb, COMMENTER, **arguments)
    changed = {row for row in board.bench.rows if rows.get(row) != board.bench.rows[row]}
    assert changed == {"head", proposal_row(proposal_id)}
    assert rows.keys() <= board.bench.rows.keys()


@pytest.mark.parametrize(("verb", "arguments"), WRITES)
@pytest.mark.parametrize("by", [EDITOR, OTHER, PERSON])
def test_approving_makes_it_the_revision_that_its_proposer_would_have_made(
    board: Board, verb: str, arguments: dict[str, Value], by: Principal
) -> None:
    """canvas 1.2, 3.4: attributed to the proposer, with who approved it beside"""
    twin = shared_pair()
    twin.create(rectangle("gone", y=900))
    twin.applied("delete", elementIds=["gone"])
    grant(twin, COMMENTER, "editor")
    grant(board, COMMENTER, "commenter")  # so that the calls have the same ids, from which those of elements derive
    directly = twin.applied(verb, COMMENTER, **arguments)
    outcome = approve(board, propose(board, verb, COMMENTER, **arguments), by)
    assert outcome == directly
    for id_ in twin.state.entries:
        left, right = board.state.entries[id_], twin.state.entries[id_]
        times = {"updated": 0, "versionNonce": 0, "seed": 0}
        assert {**left.element, **times} == {**right.element, **times}
        assert (left.by, left.what, left.revision) == (right.by, right.what, right.revision)
    label = "person" if by is PERSON else by.agent_id
    assert (line(board)["by"], line(board)["approvedBy"]) == (COMMENTER.agent_id, label)
    assert (line(board)["reason"], line(board)["what"]) == ("a test", line(twin)["what"])
    assert pending(board) == []


def test_what_an_approved_write_makes_has_the_ids_of_the_proposing_call(board: Board) -> None:
    """canvas 3.4: what is decided again is decided alike"""
    body: Record = {
        "canvasId": "canvas1",
        "expectedRevision": board.revision,
        "reason": "a test",
        "elements": [{"type": "rectangle", "x": 0, "y": 400, "width": 9, "height": 9}],
    }
    proposed = board.bench.send("canvas_create_elements", body, COMMENTER)
    assert isinstance(proposed, dict)
    shown = pending(board)[0]["elementIds"]
    board.bench.clock.advance(3_600_000)
    board.applied("update", updates=[{"id": "b", "set": {"opacity": 10}}])
    assert approve(board, str(proposed["proposalId"]))["elementIds"] == shown


def test_get_state_lists_what_is_pending(board: Board) -> None:
    """canvas 2"""
    at, base = board.bench.clock.now_ms() + 1_000, board.revision
    proposal_id = propose(board)
    fence: Record = {"untrusted": True, "source": "canvas", "text": "a test"}
    assert pending(board) == [
        {
            "proposalId": proposal_id,
            "by": COMMENTER.agent_id,
            "at": rfc3339(at),
            "baseRevision": base,
            "what": "moved",
            "reason": fence,
            "elementIds": ["a", "a-label", "ab", "ab-label"],
            "elementCount": 4,
        }
    ]


def test_what_must_fail_is_refused_at_once_and_not_proposed(board: Board) -> None:
    """canvas 3.1, 3.5"""
    assert board.rejected("move", COMMENTER, moves=[{"id": "nobody", "dx": 1}]) == "unknown_element"
    assert board.rejected("create", COMMENTER, elements=[rectangle("a")]) == "id_taken"
    assert board.rejected("move", COMMENTER, expectedRevision=99, **MOVE_A) == "revision_ahead"
    rows = dict(board.bench.rows)
    assert board.write("move", COMMENTER, expectedRevision=1, **MOVE_A)["outcome"] == "conflict"
    assert board.bench.rows == rows


def test_what_changes_nothing_is_applied_and_not_proposed(board: Board) -> None:
    """canvas 3.3"""
    rows = dict(board.bench.rows)
    outcome = board.write("move", COMMENTER, moves=[{"id": "a", "dx": 0, "dy": 0}])
    assert outcome == {"outcome": "applied", "revision": board.revision, "elementIds": []}
    assert board.bench.rows == rows


def test_a_commenter_may_rebase(board: Board) -> None:
    """canvas 3.2: what is proposed is then for the present revision"""
    since = board.revision
    board.applied("update", updates=[{"id": "b", "set": {"opacity": 10}}])
    arguments: dict[str, Value] = {"updates": [{"id": "a-label", "set": {"text": "x"}}]}
    outcome = board.write("update", COMMENTER, expectedRevision=since, rebase="disjoint", **arguments)
    assert (outcome["outcome"], outcome["baseRevision"]) == ("proposed", board.revision)


def test_approving_is_disjoint_from_what_was_changed_since(board: Board) -> None:
    """canvas 3.4"""
    base = board.revision
    proposal_id = propose(board, "update", updates=[{"id": "a-label", "set": {"text": "words"}}])
    board.applied("update", updates=[{"id": "b", "set": {"opacity": 10}}])
    outcome = approve(board, proposal_id)
    assert (outcome["outcome"], outcome["revision"], outcome["rebasedFrom"]) == ("applied", base + 2, base)


def test_what_it_touches_was_changed_so_approving_is_a_conflict_and_it_stays_pending(board: Board) -> None:
    """canvas 3.4, 3.5"""
    proposal_id = propose(board)
    board.applied("update", updates=[{"id": "ab", "set": {"opacity": 10}}])
    rows = dict(board.bench.rows)
    outcome = approve(board, proposal_id)
    assert (outcome["outcome"], outcome["currentRevision"]) == ("conflict", board.revision)
    assert [change["elementId"] for change in outcome["changedSince"]] == ["ab"]  # type: ignore[union-attr,index,call-overload]
    assert board.bench.rows == rows
    assert [one["proposalId"] for one in pending(board)] == [proposal_id]
    assert reject(board, proposal_id)["outcome"] == "applied"


def test_a_target_that_is_gone_is_a_conflict_too(board: Board) -> None:
    """canvas 3.4"""
    proposal_id = propose(board)
    board.applied("delete", elementIds=["a"])
    assert approve(board, proposal_id)["outcome"] == "conflict"


def test_of_two_proposals_for_one_element_the_second_conflicts(board: Board) -> None:
    """canvas 3.4"""
    first, second = propose(board), propose(board, "delete", SECOND, elementIds=["a"])
    assert approve(board, first)["outcome"] == "applied"
    assert approve(board, second)["outcome"] == "conflict"


def test_rejecting_leaves_the_scene_as_it_is(board: Board) -> None:
    """canvas 2, 3.1: a done rejection is `applied`"""
    rows = dict(board.bench.rows)
    proposal_id = propose(board)
    assert reject(board, proposal_id) == {"outcome": "applied", "revision": board.revision, "elementIds": []}
    assert pending(board) == []
    left = {row: value for row, value in board.bench.rows.items() if row != proposal_row(proposal_id)}
    assert left == rows, "nor does anything else of it stay"


@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("second", [approve, reject])
def test_a_proposal_is_decided_once(board: Board, first: str, second: object) -> None:
    """canvas 3.4, 3.5"""
    proposal_id = propose(board)
    decided = (approve if first == "approve" else reject)(board, proposal_id, EDITOR)
    assert decided["outcome"] == "applied"
    rows = dict(board.bench.rows)
    outcome = second(board, proposal_id, PERSON)  # type: ignore[operator]
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "decided")
    assert board.bench.rows == rows


def test_decided_is_where_a_proposal_ends() -> None:
    """canvas 3.4"""
    assert {stage for stage, _ in TRANSITIONS} == {Stage.PENDING}
    assert {verdict for _, verdict in TRANSITIONS} == {*Verdict}


@pytest.mark.parametrize("verdict", [approve, reject])
@pytest.mark.parametrize("role", ["editor", "owner"])
def test_nobody_decides_its_own(board: Board, verdict: object, role: str) -> None:
    """canvas 1.2, 3.1: also when it has been given a higher role since"""
    proposal_id = propose(board)
    grant(board, COMMENTER, role)
    rows = dict(board.bench.rows)
    outcome = verdict(board, proposal_id, COMMENTER)  # type: ignore[operator]
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "self_approval")
    assert board.bench.rows == rows


@pytest.mark.parametrize("verdict", [approve, reject])
@pytest.mark.parametrize("by", [VIEWER, SECOND, COMMENTER])
def test_deciding_takes_editor(board: Board, verdict: object, by: Principal) -> None:
    """canvas 1.2, 3.2: before the revision is looked at"""
    proposal_id = propose(board)
    rows = dict(board.bench.rows)
    outcome = verdict(board, proposal_id, by, expectedRevision=99)  # type: ignore[operator]
    assert (outcome["outcome"], outcome["code"]) == ("rejected", "role")
    assert board.bench.rows == rows


@pytest.mark.parametrize("verdict", ["canvas_approve_proposal", "canvas_reject_proposal"])
def test_without_a_role_no_proposal_is_there(board: Board, verdict: str) -> None:
    """canvas 1.2"""
    body: Record = {"canvasId": "canvas1", "expectedRevision": 99, "reason": "r", "proposalId": propose(board)}
    assert board.refused(verdict, body, STRANGER) == NOT_FOUND
    assert board.refused(verdict, body, agent(OTHER.agent_id, "w2")) == NOT_FOUND


@pytest.mark.parametrize("verdict", ["canvas_approve_proposal", "canvas_reject_proposal"])
def test_a_proposal_that_never_was_is_not_found(board: Board, verdict: str) -> None:
    """common 1.7"""
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "r", "proposalId": "a"}
    assert board.refused(verdict, body) == NOT_FOUND


@pytest.mark.parametrize("verdict", [approve, reject])
def test_deciding_speaks_of_a_revision_as_every_write_does(board: Board, verdict: object) -> None:
    """canvas 2, 3.2"""
    proposal_id, since = propose(board), board.revision
    board.applied("update", updates=[{"id": "b", "set": {"opacity": 10}}])
    rows = dict(board.bench.rows)
    assert verdict(board, proposal_id, expectedRevision=since)["outcome"] == "conflict"  # type: ignore[operator]
    assert verdict(board, proposal_id, expectedRevision=99)["code"] == "revision_ahead"  # type: ignore[operator]
    assert board.bench.rows == rows


def test_who_approves_for_an_older_revision_has_seen_no_change_of_it_since(board: Board) -> None:
    """canvas 3.2, 3.4"""
    since = board.revision
    board.applied("update", updates=[{"id": "a", "set": {"opacity": 10}}])
    proposal_id = propose(board)
    outcome = approve(board, proposal_id, expectedRevision=since, rebase="disjoint")
    assert outcome["outcome"] == "conflict", "the approver saw `a` as it was before"
    assert reject(board, proposal_id, expectedRevision=since, rebase="disjoint") == {
        "outcome": "applied",
        "revision": board.revision,
        "elementIds": [],
        "rebasedFrom": since,
    }


def test_approving_what_somebody_has_done_meanwhile_is_applied_where_the_canvas_is(board: Board) -> None:
    """canvas 3.3: and it is decided"""
    proposal_id = propose(board, "delete", elementIds=["b"])
    second = propose(board, "delete", SECOND, elementIds=["b"])
    assert approve(board, proposal_id)["outcome"] == "applied"
    assert approve(board, second)["outcome"] == "conflict", "b was changed since"
    third = propose(board, "restore", SECOND, elementIds=["gone"])
    assert approve(board, third)["outcome"] == "applied"


def test_locks_of_others_stand_against_it_those_of_either_side_do_not(board: Board) -> None:
    """canvas 3.1, 3.4"""
    proposal_id = propose(board)
    lock: dict[str, Value] = {"elementIds": ["a-label"]}
    assert board.write("lock", EDITOR, **lock)["outcome"] == "applied"
    rows = dict(board.bench.rows)
    outcome = approve(board, proposal_id, OTHER)
    assert (outcome["code"], outcome["holder"]) == ("lock", EDITOR.agent_id)
    assert board.bench.rows == rows, "it stays pending"
    assert approve(board, proposal_id, EDITOR)["outcome"] == "applied"


def test_a_lock_stands_against_proposing(board: Board) -> None:
    """canvas 3.1"""
    assert board.write("lock", EDITOR, elementIds=["ab"])["outcome"] == "applied"
    assert board.rejected("move", COMMENTER, **MOVE_A) == "lock"


def test_of_a_proposer_without_a_role_only_the_person_approves(board: Board) -> None:
    """canvas 1.1, 1.2: it stays pending, and editors can reject it"""
    first, second = propose(board), propose(board, "update", updates=[{"id": "b", "set": {"opacity": 5}}])
    third = propose(board, "create", elements=[rectangle("new", y=900)])
    grant(board, COMMENTER, "none")
    rows = dict(board.bench.rows)
    assert approve(board, first)["code"] == "role"
    assert board.bench.rows == rows
    assert approve(board, first, PERSON)["outcome"] == "applied"
    assert reject(board, second)["outcome"] == "applied"
    grant(board, COMMENTER, "commenter")
    assert approve(board, third)["outcome"] == "applied"


def test_the_same_call_decided_again_gives_the_same_bytes(board: Board) -> None:
    """common 8.1"""
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "a test", **MOVE_A}
    call_id = board.bench.clock.new_id()
    first = board.bench.decide("canvas_move_elements", body, COMMENTER, call_id)
    assert first == board.bench.decide("canvas_move_elements", body, COMMENTER, call_id)
    wanted: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "yes"}
    wanted["proposalId"] = propose(board)
    first = board.bench.decide("canvas_approve_proposal", wanted, OTHER, "call-2")
    assert first == board.bench.decide("canvas_approve_proposal", wanted, OTHER, "call-2")


def test_the_log_tells_who_proposed_and_what_became_of_it(board: Board) -> None:
    """common 8.4"""
    proposal_id = propose(board)
    approve(board, proposal_id)
    other = propose(board, "delete", SECOND, elementIds=["b"])
    reject(board, other)
    told = [event for event in board.bench.events if "propos" in event.type or "proposalId" in event.data]
    assert [(event.type, event.data["proposalId"]) for event in told] == [
        ("canvas.proposed", proposal_id),
        ("canvas.changed", proposal_id),
        ("canvas.proposal_decided", proposal_id),
        ("canvas.proposed", other),
        ("canvas.proposal_decided", other),
    ]
    assert [event.data.get("decision") for event in told[2::2]] == ["approved", "rejected"]
    assert {event.data.get("proposedBy") for event in told[1:3]} == {COMMENTER.agent_id}


def test_a_restart_builds_the_same_proposals(board: Board) -> None:
    """common 8.1"""
    approve(board, propose(board))
    propose(board, "delete", SECOND, elementIds=["b"])
    assert board.bench.reloaded() == board.state
    assert len(board.bench.reloaded().proposals) == 2


def test_what_is_decided_keeps_no_arguments(board: Board) -> None:
    """canvas 3.4"""
    proposal_id = propose(board, "create", elements=[{**rectangle("big", y=300), "customData": {"f": "x" * 50_000}}])
    assert encoded_bytes(board.bench.rows[proposal_row(proposal_id)]) > 50_000
    reject(board, proposal_id)
    assert encoded_bytes(board.bench.rows[proposal_row(proposal_id)]) < 1_000


def test_proposals_go_with_the_canvas(board: Board) -> None:
    """canvas 2"""
    approve(board, propose(board))
    proposal_id = propose(board, "delete", SECOND, elementIds=["b"])
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "done"}
    board.answer("canvas_delete", body, PERSON)
    late: Record = {**body, "proposalId": proposal_id}
    assert board.refused("canvas_approve_proposal", late, PERSON) == NOT_FOUND
    board.go_on()
    assert [*board.bench.rows] == ["gone"]
