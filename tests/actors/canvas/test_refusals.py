"""A call that is refused, rejected or in conflict leaves revision, history and bytes as they were (canvas 3.5).

One scene with everything beside it: a lock, a proposal that is pending, one that is decided. Each way in which a write
can fail is a case; each leaves every row, every timer and everything that leaves the canvas as it was.
"""

from __future__ import annotations

from typing import Final, TypeAlias, get_args

import pytest

from actors.canvas.changes import CHANGES
from actors.decision import Principal
from bus.limits import elements_per_canvas_max, proposals_pending_per_agent_max
from bus.value import Record, Value
from tests.actors.canvas.board import COMMENTER, EDITOR, STRANGER, VIEWER, Board, label, rectangle
from tests.actors.canvas.proposing import MOVE_A, OTHER, SECOND, grant, propose, reject, shared_pair
from tests.support.bench import PERSON
from tools.canvas import TOOLS
from tools.canvas.inputs import CanvasWrite
from tools.canvas.outputs import RejectedCode
from tools.errors import Refusal

Case: TypeAlias = tuple[str, str, dict[str, Value], Principal, int]
"""How it fails, the tool, its arguments, who calls, for which revision."""
NOW: Final = -1
"""Stands for the present revision."""
A_RECTANGLE: Final[Record] = {"elements": [rectangle("new", y=900)]}


def full_board() -> tuple[Board, str, str]:
    """With the id of a pending proposal, and of one that is decided: of SECOND, who is an editor by now.

    `b` is locked by OTHER, `gone` is deleted.
    """
    board = shared_pair()
    board.create(rectangle("gone", y=900), rectangle("c", y=700))
    board.applied("delete", elementIds=["gone"])
    decided = propose(board, "create", SECOND, elements=[rectangle("never", y=900)])
    reject(board, decided)
    pending = propose(board, "move", SECOND, moves=[{"id": "a", "dx": 0, "dy": 70}])
    board.write("lock", OTHER, elementIds=["b"], seconds=3_600)
    grant(board, SECOND, "editor")
    return board, pending, decided


def each(code: str, who: Principal, revision: int, *calls: tuple[str, dict[str, Value]]) -> list[Case]:
    return [(code, verb, arguments, who, revision) for verb, arguments in calls]


A: Final[list[Value]] = ["a"]
PENDING: Final[dict[str, Value]] = {"proposalId": "PENDING"}
DECIDED: Final[dict[str, Value]] = {"proposalId": "DECIDED"}
UNKNOWN: Final[dict[str, Value]] = {"proposalId": "nothing"}
REBASE: Final[dict[str, Value]] = {"rebase": "disjoint"}
NO_SUCH: Final[list[tuple[str, dict[str, Value]]]] = [
    ("delete_elements", {"elementIds": ["a", "nobody"]}),
    ("restore_elements", {"elementIds": ["nobody"]}),
    ("move_elements", {"moves": [{"id": "a", "dx": 1}, {"id": "nobody", "dx": 1}]}),
    ("update_elements", {"updates": [{"id": "a", "set": {"frameId": "nobody"}}]}),
    ("connect_elements", {"connections": [{"fromId": "a", "toId": "nobody"}]}),
    ("create_elements", {"elements": [{"type": "arrow", "start": {"id": "a"}, "end": {"id": "nobody"}}]}),
]
LOCKED: Final[list[tuple[str, dict[str, Value]]]] = [
    ("delete_elements", {"elementIds": ["b"]}),
    ("update_elements", {"updates": [{"id": "b", "set": {"x": 1}}]}),
    ("connect_elements", {"connections": [{"fromId": "a", "toId": "b"}]}),
]
CASES: Final[list[Case]] = [
    *each("role", VIEWER, 99, ("create_elements", A_RECTANGLE), ("move_elements", MOVE_A), ("delete", {})),
    *each("role", VIEWER, 99, ("lock_elements", {"elementIds": A}), ("reject_proposal", PENDING)),
    *each("role", COMMENTER, NOW, ("lock_elements", {"elementIds": A}), ("approve_proposal", PENDING)),
    *each("role", OTHER, NOW, ("delete", {})),
    *each("self_approval", SECOND, NOW, ("approve_proposal", PENDING), ("reject_proposal", PENDING)),
    *each("decided", EDITOR, NOW, ("approve_proposal", DECIDED), ("reject_proposal", DECIDED)),
    *each("decided", PERSON, NOW, ("approve_proposal", DECIDED), ("reject_proposal", DECIDED)),
    *each("revision_ahead", EDITOR, 99, ("update_elements", {"updates": [{"id": "a", "set": {"x": 1}}]})),
    *each("revision_ahead", EDITOR, 99, ("delete_elements", {"elementIds": A}), ("lock_elements", {"elementIds": A})),
    *each("revision_ahead", EDITOR, 99, ("approve_proposal", PENDING), ("reject_proposal", PENDING), ("delete", {})),
    *each("conflict", EDITOR, 1, ("create_elements", A_RECTANGLE), ("restore_elements", {"elementIds": ["gone"]})),
    *each("conflict", EDITOR, 1, ("lock_elements", {"elementIds": A}), ("delete", {}), ("delete", REBASE)),
    *each("conflict", EDITOR, 1, ("approve_proposal", PENDING), ("reject_proposal", PENDING)),
    *each("conflict", EDITOR, 1, ("move_elements", {**MOVE_A, **REBASE}), ("approve_proposal", {**PENDING, **REBASE})),
    *each("conflict", EDITOR, 1, ("lock_elements", {"elementIds": A, **REBASE})),
    *each("conflict", EDITOR, 1, ("connect_elements", {"connections": [{"fromId": "a", "toId": "c"}], **REBASE})),
    *each("conflict", COMMENTER, 1, ("move_elements", MOVE_A), ("move_elements", {**MOVE_A, **REBASE})),
    *each("lock", EDITOR, NOW, *LOCKED, ("lock_elements", {"elementIds": ["a", "b"]})),
    *each("lock", COMMENTER, NOW, *LOCKED),
    *each("unknown_element", EDITOR, NOW, *NO_SUCH, ("lock_elements", {"elementIds": ["a", "nobody"]})),
    *each("unknown_element", COMMENTER, NOW, *NO_SUCH),
    *each("deleted_element", EDITOR, NOW, ("move_elements", {"moves": [{"id": "gone", "dx": 1}]})),
    *each("deleted_element", EDITOR, NOW, ("lock_elements", {"elementIds": ["gone"]})),
    *each("deleted_element", EDITOR, NOW, ("connect_elements", {"connections": [{"fromId": "gone", "toId": "a"}]})),
    *each("id_taken", EDITOR, NOW, ("create_elements", {"elements": [rectangle("gone")]})),
    *each("geometry", COMMENTER, NOW, ("create_elements", {"elements": [rectangle("new", width=0)]})),
    *each("geometry", EDITOR, NOW, ("move_elements", {"moves": [{"id": "a", "dx": float("inf")}]})),
    *each("bound_text", EDITOR, NOW, ("move_elements", {"moves": [{"id": "a-label", "dx": 5}]})),
    *each("field", EDITOR, NOW, ("update_elements", {"updates": [{"id": "a", "set": {"opacity": 4_000}}]})),
    *each("field", COMMENTER, NOW, ("create_elements", {"elements": [label("new", "a")]})),
    *each("not_found", EDITOR, NOW, ("approve_proposal", UNKNOWN), ("reject_proposal", UNKNOWN)),
    *each("not_found", STRANGER, NOW, ("move_elements", MOVE_A), ("lock_elements", {"elementIds": A})),
    *each("not_found", STRANGER, NOW, ("approve_proposal", PENDING), ("delete", {})),
    *each("invalid_arguments", EDITOR, NOW, ("lock_elements", {"elementIds": []}), ("approve_proposal", {})),
    *each("invalid_arguments", EDITOR, NOW, ("delete_elements", {"elementIds": A, "rebase": "theirs"})),
]


def code_of(reply: Record | Refusal) -> str:
    if isinstance(reply, Refusal):
        return reply.code.value
    return str(reply["code"] if reply["outcome"] == "rejected" else reply["outcome"])


@pytest.mark.parametrize(
    ("code", "verb", "arguments", "who", "revision"),
    CASES,
    ids=[f"{code}-{verb}-{number}" for number, (code, verb, *_) in enumerate(CASES)],
)
def test_a_call_that_fails_changes_nothing(
    code: str, verb: str, arguments: dict[str, Value], who: Principal, revision: int
) -> None:
    """canvas 3.1, 3.2, 3.5"""
    board, pending, decided = full_board()
    named = {"PENDING": pending, "DECIDED": decided}
    given = {name: named.get(value, value) if isinstance(value, str) else value for name, value in arguments.items()}
    asked = board.revision if revision == NOW else revision
    body: Record = {"canvasId": "canvas1", "expectedRevision": asked, "reason": "a test", **given}
    before, state = dict(board.bench.rows), board.bench.reloaded()
    decision = board.bench.decide(f"canvas_{verb}", body, who)
    assert decision.reply is not None
    assert code_of(decision.reply) == code
    assert decision.effects == ()
    board.bench.send(f"canvas_{verb}", body, who)
    assert board.bench.rows == before
    assert board.state == state


def test_every_code_and_every_write_is_among_the_cases() -> None:
    """canvas 3.1: but what one has to fill a canvas for, which is held beside (test_proposal_limits.py)"""
    codes = {code for code, *_ in CASES}
    assert {*get_args(RejectedCode)} - codes == {"limits"}
    writes = {tool.name for tool in TOOLS if issubclass(tool.input, CanvasWrite)}
    assert {f"canvas_{verb}" for _, verb, *_ in CASES} == writes
    assert CHANGES.keys() <= writes


NAMING_NOTHING: Final[dict[str, dict[str, Value]]] = {
    **dict(NO_SUCH),
    "lock_elements": {"elementIds": ["nobody"]},
    "approve_proposal": UNKNOWN,
    "reject_proposal": UNKNOWN,
    "delete": {},
}
"""Each write, of something that is not there; a canvas cannot be named otherwise."""


def test_the_order_of_checks_is_held_of_every_write() -> None:
    """canvas 3.2"""
    assert {f"canvas_{verb}" for verb in NAMING_NOTHING} == {
        tool.name for tool in TOOLS if issubclass(tool.input, CanvasWrite)
    }


@pytest.mark.parametrize("verb", NAMING_NOTHING)
def test_role_comes_before_revision_and_revision_before_what_is_named(verb: str) -> None:
    """canvas 1.2, 3.2: and arguments before all of them"""
    board, _, _ = full_board()

    def answered(who: Principal, revision: int, **more: Value) -> str:
        body: Record = {"canvasId": "canvas1", "expectedRevision": revision, "reason": "r", **NAMING_NOTHING[verb]}
        decision = board.bench.decide(f"canvas_{verb}", {**body, **more}, who)
        assert decision.reply is not None
        return code_of(decision.reply)

    assert answered(STRANGER, 99, reason="") == "invalid_arguments"
    assert answered(STRANGER, 99) == "not_found"
    assert answered(VIEWER, 99) == answered(VIEWER, 1) == "role"
    assert answered(EDITOR, 99) == answered(EDITOR, 99, **REBASE) == "revision_ahead"
    assert answered(EDITOR, 1) == "conflict"
    of_what = {"delete": "applied", "approve_proposal": "not_found", "reject_proposal": "not_found"}
    assert answered(EDITOR, board.revision) == of_what.get(verb, "unknown_element")


def test_what_is_beyond_a_limit_changes_nothing() -> None:
    """canvas 3.1, 3.5"""
    board = shared_pair()
    for _ in range(proposals_pending_per_agent_max):
        propose(board)
    assert board.rejected("move", COMMENTER, **MOVE_A) == "limits"
    head = board.bench.rows["head"]
    assert isinstance(head, dict)
    assert board.state.head is not None
    board.bench.rows["head"] = {**head, "live": elements_per_canvas_max}
    before = board.bench.rows
    board.bench.state = board.bench.reloaded()
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "r", **A_RECTANGLE}
    decision = board.bench.decide("canvas_create_elements", body, EDITOR)
    assert isinstance(decision.reply, dict)
    assert (code_of(decision.reply), decision.effects, board.bench.rows) == ("limits", (), before)
