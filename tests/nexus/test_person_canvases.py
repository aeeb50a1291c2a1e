"""The person's verbs on one canvas, over its own rules: its past, who may do what on it, proposals and locks."""

from __future__ import annotations

from typing import Any

import pytest

from bus.limits import proposals_page_max
from bus.value import Record, Value
from tests.actors.canvas.board import COMMENTER, EDITOR, VIEWER, Board, board_of, number, rectangle, tied_pair
from tests.actors.canvas.test_history import live, without_own
from tests.nexus.test_person_scenes import talk
from tests.support.bench import PERSON
from tests.support.person_port import ask, refused_code, running_port
from tests.support.scripted_caller import Sent
from tests.support.served_canvas import served
from tools.canvas.scene_parts import Joined


def done(answer: dict[str, Any]) -> dict[str, Any]:
    assert "ok" in answer, answer
    ok = answer["ok"]
    assert isinstance(ok, dict)
    return ok


def revisions_in(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for line in lines for one in line["event"]["revisions"]]


def scene_in(lines: list[dict[str, Any]]) -> dict[str, Record]:
    joined = Joined()
    for line in lines:
        joined.add(line["event"]["part"])
    return {str(one["id"]): one for one in joined.scene({})["elements"]}  # type: ignore[union-attr, index, misc, call-overload]


def a_past(writes: int) -> Board:
    board = tied_pair()
    for _ in range(writes):
        board.applied("move", moves=[{"id": "a", "dx": 1, "dy": 2}])
    return board


def test_the_history_comes_newest_first_a_page_a_line() -> None:
    """canvas 4.6"""
    board = a_past(450)
    with running_port(served(board)) as port:
        *lines, last = talk(port, "canvas.history", {"canvas": "Plan"})
        assert [one["revision"] for one in revisions_in(lines)] == [*range(452, 0, -1)]
        assert len(lines) > 2
        assert done(last) == {"canvasId": "canvas1", "title": "Plan", "names": {EDITOR.agent_id: "Edda"}}
        for limit in (1, 7, 250):
            *lines, _ = talk(port, "canvas.history", {"canvas": "Plan", "limit": limit})
            assert [one["revision"] for one in revisions_in(lines)] == [*range(452, 452 - limit, -1)]


def test_a_past_revision_comes_in_parts_and_is_what_there_was() -> None:
    """canvas 4.6"""
    board = board_of("checkout")
    then = live(board)
    board.applied("delete", elementIds=["gateway"])
    board.create(rectangle("late"))
    with running_port(served(board)) as port:
        *lines, last = talk(port, "canvas.at", {"canvas": "Plan", "revision": 1})
        assert scene_in(lines) == then
        assert done(last)["revision"] == 1
        assert [line["event"]["part"].get("pieces") for line in lines if "pieces" in line["event"]["part"]]
        *lines, _ = talk(port, "canvas.at", {"canvas": "Plan", "revision": board.revision})
        assert scene_in(lines) == live(board)
        (refused,) = talk(port, "canvas.at", {"canvas": "Plan", "revision": board.revision + 1})
        assert refused_code(refused) == "not_found"


@pytest.mark.parametrize("writes_before", range(1, 7))
def test_a_past_revision_is_whole_whatever_is_written_while_it_is_read(
    writes_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """canvas 4.6: somebody draws before each message but the first few."""
    monkeypatch.setattr("actors.canvas.giving_out.part_elements_max", 2)
    monkeypatch.setattr("actors.canvas.history.part_elements_max", 2)
    board = tied_pair()
    board.create(*(rectangle(f"r{place}", x=place) for place in range(6)))
    then, revision = live(board), board.revision
    messages = 0

    def write(sent: Sent) -> None:
        nonlocal messages
        messages += 1
        if sent.verb not in ("canvas_export", "canvas_history") or messages < writes_before or messages > 40:
            return
        board.applied("move", moves=[{"id": f"r{messages % 6}", "dx": 1, "dy": 1}])
        if messages % 3 == 0:
            board.applied("delete", elementIds=["a"])
        if messages % 3 == 1:
            board.applied("restore", elementIds=["a"])
        board.create(rectangle(f"n{messages}"))

    with running_port(served(board, write)) as port:
        *lines, last = talk(port, "canvas.at", {"canvas": "Plan", "revision": revision})
        assert "ok" in last, last
        assert scene_in(lines) == then
        assert board.revision > revision


def test_reverting_makes_a_new_revision_also_when_somebody_writes_meanwhile() -> None:
    """canvas 4.6"""
    board = a_past(3)
    then, times = live(board), 0
    board.applied("delete", elementIds=["a", "b"])

    def write(sent: Sent) -> None:
        nonlocal times
        if sent.verb == "canvas_revert" and times < 2:
            times += 1
            board.create(rectangle(f"late{times}"))

    with running_port(served(board, write)) as port:
        answer = done(ask(port, "canvas.revert", {"canvas": "Plan", "revision": 5, "reason": "by mistake"}))
        assert (answer["to"], answer["revision"], answer["title"]) == (5, 9, "Plan")
        assert without_own(live(board)) == without_own(then)
        *lines, _ = talk(port, "canvas.history", {"canvas": "Plan", "limit": 1})
        (newest,) = revisions_in(lines)
        assert (newest["by"], newest["what"], newest["reason"]) == ("person", "reverted", "by mistake")
        assert done(ask(port, "canvas.revert", {"canvas": "Plan", "revision": 9}))["elementIds"] == []
        assert refused_code(ask(port, "canvas.revert", {"canvas": "Plan", "revision": 10})) == "not_found"


def test_a_write_that_never_comes_first_is_refused_in_the_end() -> None:
    """canvas 3.2"""
    board = a_past(1)

    def write(sent: Sent) -> None:
        if sent.verb == "canvas_revert":
            board.create(rectangle(f"n{board.revision}"))

    with running_port(served(board, write)) as port:
        assert refused_code(ask(port, "canvas.revert", {"canvas": "Plan", "revision": 1})) == "wrong_state"
        assert len(port.caller.bodies("canvas_revert")) == 5


def test_a_role_is_taken_away_also_from_an_agent_that_is_not_here_any_more() -> None:
    """canvas 1.1"""
    board = board_of("checkout")
    board.answer("canvas_grant", {"agentId": "removed-agent", "role": "owner"}, PERSON)
    with running_port(served(board)) as port:
        assert done(ask(port, "canvas.revoke", {"canvas": "Plan", "agent": "Vic"}))["agentId"] == VIEWER.agent_id
        assert VIEWER.agent_id not in board.state.roles
        assert done(ask(port, "canvas.revoke", {"canvas": "Plan", "agent": "Vic"}))["role"] == "none"
        done(ask(port, "canvas.revoke", {"canvas": "Plan", "agent": "removed-agent"}))
        assert "removed-agent" not in board.state.roles
        assert refused_code(ask(port, "canvas.revoke", {"canvas": "Plan", "agent": "Elsa"})) == "not_found"


def test_showing_a_canvas_tells_roles_proposals_and_locks_with_names() -> None:
    """canvas 1.1, 2"""
    board = board_of("checkout")
    board.write("move", COMMENTER, moves=[{"id": "gateway", "dx": 5, "dy": 0}])
    board.applied("lock", elementIds=["cache"])
    with running_port(served(board)) as port:
        shown = done(ask(port, "canvas.show", {"canvas": "Plan"}))
    assert {one["agentId"]: one["role"] for one in shown["roles"]} == {
        EDITOR.agent_id: "editor",
        VIEWER.agent_id: "viewer",
        COMMENTER.agent_id: "commenter",
    }
    assert shown["names"] == {EDITOR.agent_id: "Edda", VIEWER.agent_id: "Vic", COMMENTER.agent_id: "Col"}
    assert [one["by"] for one in shown["proposals"]] == [COMMENTER.agent_id]
    assert [one["elementId"] for one in shown["locks"]] == ["cache"]


def proposed(board: Board, dx: int) -> str:
    outcome = board.write("move", COMMENTER, moves=[{"id": "gateway", "dx": dx, "dy": 0}])
    return str(outcome["proposalId"])


def test_proposals_are_listed_shown_approved_and_rejected() -> None:
    """canvas 1.2, 3.4"""
    board = board_of("checkout")
    x = number(board.element("gateway"), "x")
    first, second, third = (proposed(board, dx) for dx in (5, 6, 7))

    def deciding(verb: str, proposal: str, **more: Value) -> dict[str, Any]:
        return ask(port, verb, {"canvas": "Plan", "proposal": proposal, **more})

    with running_port(served(board)) as port:
        listed = done(ask(port, "canvas.proposals", {"canvas": "Plan"}))
        assert [one["proposalId"] for one in listed["proposals"]] == [first, second, third]
        assert listed["names"] == {COMMENTER.agent_id: "Col"}
        (one,) = done(ask(port, "canvas.proposals", {"canvas": "Plan", "proposal": first}))["proposals"]
        assert one["would"]["outcome"] == "applied"
        assert done(deciding("canvas.approve", first))["revision"] == 2
        assert board.element("gateway")["x"] == x + 5
        assert refused_code(deciding("canvas.approve", second)) == "wrong_state"
        done(deciding("canvas.reject", second, reason="too late"))
        assert refused_code(deciding("canvas.reject", second)) == "decided"
        assert refused_code(deciding("canvas.reject", "no-such")) == "not_found"
        left = done(ask(port, "canvas.proposals", {"canvas": "Plan", "all": True}))["proposals"]
        assert [(one["proposalId"], one["stage"]) for one in left] == [
            (first, "approved"),
            (second, "rejected"),
            (third, "pending"),
        ]
        assert left[1]["decidedBecause"]["text"] == "too late"


def test_a_decision_that_somebody_came_before_is_made_all_the_same() -> None:
    """canvas 3.4: what was drawn meanwhile is not what the proposal touches."""
    board = board_of("checkout")
    first, second = proposed(board, 5), proposed(board, 6)

    def write(sent: Sent) -> None:
        if sent.verb != "canvas_summary":
            board.create(rectangle(f"late{board.revision}"))

    with running_port(served(board, write)) as port:
        assert done(ask(port, "canvas.approve", {"canvas": "Plan", "proposal": first}))["revision"] == 3
        refused = ask(port, "canvas.approve", {"canvas": "Plan", "proposal": second})
        assert refused_code(refused) == "wrong_state", "what it would move was moved"
        assert "Reject it" in refused["error"]["message"]
        done(ask(port, "canvas.reject", {"canvas": "Plan", "proposal": second}))
        assert len(port.caller.bodies("canvas_approve_proposal")) == 2, "trying anew would help against neither"


def test_locks_are_taken_off_while_somebody_draws_all_the_time() -> None:
    """canvas 3.3: what is drawn meanwhile is not what is locked."""
    board = board_of("checkout")
    board.applied("lock", elementIds=["gateway", "cache"])

    def write(sent: Sent) -> None:
        if sent.verb == "canvas_lock_elements":
            board.create(rectangle(f"late{board.revision}"))

    with running_port(served(board, write)) as port:
        assert set(done(ask(port, "canvas.unlock", {"canvas": "Plan"}))["elementIds"]) == {"gateway", "cache"}


def test_more_proposals_than_a_page_holds_are_all_listed() -> None:
    """canvas 3.4, common 7.3"""
    board = board_of("checkout")
    ids = []
    with running_port(served(board)) as port:
        for _ in range(proposals_page_max + 5):
            ids.append(proposed(board, 5))
            done(ask(port, "canvas.reject", {"canvas": "Plan", "proposal": ids[-1]}))
        listed = done(ask(port, "canvas.proposals", {"canvas": "Plan", "all": True}))["proposals"]
        assert [one["proposalId"] for one in listed] == ids
        assert len(port.caller.bodies("canvas_proposals")) == 2


def test_all_locks_or_those_of_some_elements_are_taken_off() -> None:
    """canvas 1.2, 3.3: the person takes off what any agent has locked."""
    board = board_of("checkout")
    board.applied("lock", elementIds=["gateway", "cache", "orders"])
    with running_port(served(board)) as port:
        asked: Record = {"canvas": "Plan", "elements": ["cache", "billing"]}
        assert done(ask(port, "canvas.unlock", asked))["elementIds"] == ["cache"]
        assert done(ask(port, "canvas.unlock", asked))["elementIds"] == []
        assert set(done(ask(port, "canvas.unlock", {"canvas": "Plan"}))["elementIds"]) == {"gateway", "orders"}
        assert len(board.state.locks) == 0
        assert done(ask(port, "canvas.unlock", {"canvas": "Plan"}))["elementIds"] == []
        unknown: Record = {"canvas": "Plan", "elements": ["no-such"]}
        assert refused_code(ask(port, "canvas.unlock", unknown)) == "unknown_element"


def test_more_locks_than_one_answer_tells_are_taken_off_as_well() -> None:
    """canvas 3.3"""
    board = tied_pair()
    ids = [f"locked-{place:04d}-{'x' * 60}" for place in range(450)]
    board.create(*(rectangle(id_, x=place) for place, id_ in enumerate(ids)))
    board.applied("lock", elementIds=[*ids])
    with running_port(served(board)) as port:
        assert sorted(done(ask(port, "canvas.unlock", {"canvas": "Plan"}))["elementIds"]) == ids
        assert len(port.caller.bodies("canvas_get_state")) > 2
