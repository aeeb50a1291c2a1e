"""A commenter's writes, and decisions on proposals, through admission (canvas 1.2): plans and cards.

Owners in memory, as in test_plan_journey.py. `a1` owns the canvas, `a2` is a commenter on it, `a3` an editor.
"""

from __future__ import annotations

import pytest

from bus import address
from bus.value import Record, Value
from tests.support.admitting import Caller, Came
from tests.support.bench import PERSON
from tests.support.exchange import Home
from tests.support.reading import at
from tools.catalogue import BY_NAME
from tools.errors import Code
from tools.plan import PlanGetOutput

BOX: Record = {"type": "rectangle", "id": "box", "x": 0, "y": 0, "width": 10, "height": 10}


class Board:
    def __init__(self) -> None:
        self.home = Home()
        self.home.add_workspace("w1")
        for agent_id in ("a1", "a2", "a3"):
            self.home.add_agent(agent_id)
        made = Caller(self.home, "a1").call(BY_NAME["canvas_create"], {"title": "Board", "reason": "test"})
        self.canvas = address.canvas("w1", str(done(made)["canvasId"]))
        for agent_id, role in (("a2", "commenter"), ("a3", "editor")):
            self.home.ok(self.canvas, "canvas_grant", {"agentId": agent_id, "role": role}, PERSON)

    @property
    def revision(self) -> int:
        revision = self.state("a1")["revision"]
        assert isinstance(revision, int)
        return revision

    def state(self, agent_id: str) -> Record:
        return done(Caller(self.home, agent_id).call(BY_NAME["canvas_get_state"], {"canvasId": self.canvas.id}))

    def call(self, agent_id: str, tool: str, **arguments: Value) -> Came:
        body: Record = {"canvasId": self.canvas.id, "expectedRevision": self.revision, "reason": "test", **arguments}
        return Caller(self.home, agent_id).call(BY_NAME[tool], body)

    def draw(self, agent_id: str, **box: Value) -> Came:
        return self.call(agent_id, "canvas_create_elements", elements=[{**BOX, **box}])

    def proposal(self) -> str:
        return str(done(self.draw("a2"))["proposalId"])

    def mode(self, agent_id: str, mode: str) -> None:
        self.home.ok(address.agent(agent_id), "agent_set_mode", {"mode": mode}, PERSON)

    def approve_card(self, agent_id: str, came: Came) -> str:
        assert came.error is not None and came.code == Code.APPROVAL_REQUIRED, came
        approval = str(came.error["approvalId"])
        body: Record = {"approvalId": approval, "decision": "approve", "how": "command"}
        self.home.ok(address.agent(agent_id), "approval_decide", body, PERSON)
        return approval

    def approval_state(self, agent_id: str, approval: str) -> object:
        return at(self.home.ok(address.agent(agent_id), "approval_show", {"approvalId": approval}, PERSON), "state")

    def plan(self, agent_id: str) -> PlanGetOutput:
        return PlanGetOutput.model_validate(done(Caller(self.home, agent_id).call(BY_NAME["plan_get"], {})))


def done(came: Came) -> Record:
    assert came.ok is not None, came.error
    return came.ok


@pytest.fixture
def board() -> Board:
    return Board()


def test_a_commenters_write_is_a_step_that_proposed(board: Board) -> None:
    """canvas 3.1, common 4.2"""
    done(Caller(board.home, "a2").call(BY_NAME["plan_begin"], {"title": "Draw", "steps": []}))
    board.proposal()
    (step,) = board.plan("a2").happened
    assert (step.state, step.outcome, step.revision, step.code) == ("done", "proposed", None, None)
    board.home.assert_reloads()


def test_a_collected_write_of_a_commenter_is_proposed_when_it_is_run(board: Board) -> None:
    """canvas 1.2, common 4.4: for the revision that the canvas then has"""
    board.mode("a2", "plan_collect")
    form = done(board.draw("a2"))
    assert form["status"] == "collected"
    assert board.state("a1")["proposals"] == []
    done(board.draw("a1", id="other"))
    board.home.ok(address.agent("a2"), "plan_run", {"planId": form["planId"]}, PERSON)
    board.home.settle()
    (step,) = board.plan("a2").happened
    assert (step.state, step.outcome) == ("done", "proposed")
    proposals = board.state("a1")["proposals"]
    assert (at(proposals, 0, "by"), at(proposals, 0, "baseRevision")) == ("a2", board.revision)
    board.home.assert_reloads()


def test_what_a_commenter_cannot_propose_is_not_collected(board: Board) -> None:
    """common 4.6"""
    board.mode("a2", "plan_collect")
    assert done(board.draw("a2", width=0))["code"] == "geometry"
    assert done(board.call("a2", "canvas_lock_elements", elementIds=["box"]))["code"] == "role"


def test_an_approval_of_the_person_is_spent_on_proposing(board: Board) -> None:
    """common 5.2"""
    board.mode("a2", "approval")
    approval = board.approve_card("a2", board.draw("a2"))
    assert done(board.draw("a2"))["outcome"] == "proposed"
    assert board.approval_state("a2", approval) == "used"
    board.home.assert_reloads()


def test_deciding_a_proposal_is_a_write_that_may_need_the_person_too(board: Board) -> None:
    """canvas 2, common 4.2, 5.2: a conflict does not spend the approval"""
    proposal_id = board.proposal()
    board.mode("a3", "approval")
    approval = board.approve_card("a3", board.call("a3", "canvas_approve_proposal", proposalId=proposal_id))
    assert done(board.call("a3", "canvas_approve_proposal", proposalId=proposal_id, expectedRevision=0))["outcome"] == (
        "conflict"
    )
    assert board.approval_state("a3", approval) == "approved"
    assert done(board.call("a3", "canvas_approve_proposal", proposalId=proposal_id))["outcome"] == "applied"
    assert board.approval_state("a3", approval) == "used"
    assert board.state("a1")["proposals"] == []
    board.home.assert_reloads()


def test_the_card_of_a_decision_shows_whose_proposal_it_is_about(board: Board) -> None:
    """common 5.3, 5.4"""
    proposal_id = board.proposal()
    board.mode("a3", "approval")
    came = board.call("a3", "canvas_approve_proposal", proposalId=proposal_id)
    assert came.error is not None
    shown = board.home.ok(address.agent("a3"), "approval_show", {"approvalId": came.error["approvalId"]}, PERSON)
    target: Record = {"title": "Board", "canvasId": board.canvas.id}
    assert shown["target"] == {**target, "proposedBy": "a2", "what": "created", "elements": 1}


def test_no_card_is_made_for_what_would_be_refused(board: Board) -> None:
    """common 4.6, canvas 3.1"""
    proposal_id = board.proposal()
    board.mode("a2", "approval")
    board.home.ok(board.canvas, "canvas_grant", {"agentId": "a2", "role": "editor"}, PERSON)
    came = board.call("a2", "canvas_approve_proposal", proposalId=proposal_id)
    assert done(came)["code"] == "self_approval"


def test_a_collected_approval_is_of_the_proposal_as_the_canvas_then_is(board: Board) -> None:
    """common 4.4, canvas 3.4"""
    proposal_id = board.proposal()
    board.mode("a3", "plan_collect")
    form = done(board.call("a3", "canvas_approve_proposal", proposalId=proposal_id))
    done(board.draw("a1", id="other"))
    board.home.ok(address.agent("a3"), "plan_run", {"planId": form["planId"]}, PERSON)
    board.home.settle()
    (step,) = board.plan("a3").happened
    assert (step.state, step.outcome, step.revision) == ("done", "applied", board.revision)
    board.home.assert_reloads()
