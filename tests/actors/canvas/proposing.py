"""What tests of proposals call most: a board with every role, a commenter that proposes, somebody who decides."""

from __future__ import annotations

from typing import Final

from actors.decision import Principal
from bus.value import Record, Value
from tests.actors.canvas.board import COMMENTER, VIEWER, Board, tied_pair
from tests.support.bench import PERSON, agent

OTHER: Final = agent("other-editor", "w1")
SECOND: Final = agent("second-commenter", "w1")
MOVE_A: Final[Record] = {"moves": [{"id": "a", "dx": 0, "dy": 70}]}


def shared_pair() -> Board:
    """`tied_pair` of EDITOR, who owns it, with OTHER as editor, two commenters and a viewer."""
    board = tied_pair()
    roles = ((OTHER, "editor"), (COMMENTER, "commenter"), (SECOND, "commenter"), (VIEWER, "viewer"))
    for principal, role in roles:
        grant(board, principal, role)
    return board


def grant(board: Board, principal: Principal, role: str) -> None:
    board.answer("canvas_grant", {"agentId": principal.agent_id, "role": role}, PERSON)


def propose(board: Board, verb: str = "move", by: Principal = COMMENTER, **arguments: Value) -> str:
    """The id of the proposal."""
    revision = board.revision
    outcome = board.write(verb, by, **(arguments or MOVE_A))
    assert outcome.keys() == {"outcome", "proposalId", "baseRevision"}, outcome
    assert (outcome["outcome"], outcome["baseRevision"]) == ("proposed", revision)
    return str(outcome["proposalId"])


def decide(board: Board, verdict: str, proposal_id: str, by: Principal = OTHER, **more: Value) -> Record:
    board.bench.clock.advance(1_000)
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "looks right", **more}
    return board.answer(f"canvas_{verdict}_proposal", {**body, "proposalId": proposal_id}, by)


def approve(board: Board, proposal_id: str, by: Principal = OTHER, **more: Value) -> Record:
    return decide(board, "approve", proposal_id, by, **more)


def reject(board: Board, proposal_id: str, by: Principal = OTHER, **more: Value) -> Record:
    return decide(board, "reject", proposal_id, by, **more)


def pending(board: Board) -> list[Record]:
    shown = board.answer("canvas_get_state", {"canvasId": "canvas1"})["proposals"]
    assert isinstance(shown, list)
    return [one for one in shown if isinstance(one, dict)]


def line(board: Board) -> Record:
    """The newest row of the history."""
    row = board.bench.rows[f"history/{board.revision:016d}"]
    assert isinstance(row, dict)
    return row
