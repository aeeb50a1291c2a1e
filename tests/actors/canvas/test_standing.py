"""What the person reads of proposals: the list, and what one of them would make of the scene (canvas 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from actors.canvas.plain import encoded_bytes
from actors.canvas.proposal import proposal_row
from actors.decision import Context, Delete, Message, Principal, PrincipalKind
from bus.identifier import time_ordered_id
from bus.limits import result_bytes_max, state_decided_bytes_max
from bus.value import Record, Value, records
from tests.actors.canvas.board import COMMENTER, Board, rectangle
from tests.actors.canvas.proposing import MOVE_A, OTHER, SECOND, approve, pending, propose, reject, shared_pair
from tests.support.bench import PERSON
from tools.errors import NOT_FOUND, Code
from tools.times import rfc3339


def listed(board: Board, **options: Value) -> Record:
    return board.answer("canvas_proposals", dict(options), PERSON)


def one(board: Board, proposal_id: str) -> Record:
    rows = dict(board.bench.rows)
    reply = board.answer("canvas_proposal", {"proposalId": proposal_id}, PERSON)
    assert board.bench.rows == rows, "it only looks"
    return reply


def test_only_the_person_reads_them() -> None:
    """canvas 1.2"""
    verbs = shared_pair().bench.rules.verbs
    for verb in ("canvas_proposals", "canvas_proposal"):
        assert verbs[verb].callers == {PrincipalKind.PERSON}


def test_pending_ones_are_listed_oldest_first_and_page_by_page() -> None:
    """common 7.3"""
    board = shared_pair()
    ids = [propose(board, by=by) for by in (COMMENTER, SECOND, COMMENTER)]
    reject(board, ids[1])
    assert [row["proposalId"] for row in records(listed(board), "proposals")] == [ids[0], ids[2]]
    first = listed(board, limit=1)
    place: Record = {"atMs": board.state.proposals[ids[0]].at_ms, "proposalId": ids[0]}
    assert ([row["proposalId"] for row in records(first, "proposals")], first["next"]) == ([ids[0]], place)
    last = listed(board, limit=1, after=place)
    assert ([row["proposalId"] for row in records(last, "proposals")], last["next"]) == ([ids[2]], None)


def paged(board: Board, limit: int, meanwhile: Callable[[], None] = lambda: None) -> list[Value]:
    body: Record = {"all": True, "limit": limit}
    ids: list[Value] = []
    while True:
        page = listed(board, **body)
        ids += [row["proposalId"] for row in records(page, "proposals")]
        if page["next"] is None:
            return ids
        body["after"] = page["next"]
        meanwhile()


def made_by_calls(board: Board, *call_ids: str, apart_ms: int) -> list[Value]:
    """The ids of proposals that these calls made, in this order."""
    ids: list[Value] = []
    for call_id in call_ids:
        body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "r", **MOVE_A}
        reply = board.bench.send("canvas_move_elements", body, COMMENTER, call_id)
        assert isinstance(reply, dict)
        ids.append(reply["proposalId"])
        board.bench.clock.advance(apart_ms)
    return ids


def call_ids(board: Board, ages_ms: Iterable[int]) -> list[str]:
    now_ms = board.bench.clock.now_ms()
    return [time_ordered_id(now_ms - age, bytes([number] * 10)) for number, age in enumerate(ages_ms)]


def test_none_is_skipped_whatever_the_ids_of_the_calls_are() -> None:
    """canvas 3.4, common 7.3: a call that waited for its approval has an id far older than when it was decided"""
    board = shared_pair()
    ids = made_by_calls(board, *call_ids(board, (5_000, 0, 9_000, 100, 1, 86_400_000)), apart_ms=7)
    assert ids != sorted(map(str, ids)), "their ids do not tell when they were made"
    for _ in ("as it is", "after a restart"):
        assert [row["proposalId"] for row in pending(board)] == ids
        assert [paged(board, limit) for limit in (1, 2, 5, 50)] == [ids] * 4
        board.bench.state = board.bench.reloaded()


def test_those_of_one_millisecond_come_in_one_order_now_and_after_a_restart() -> None:
    """canvas 3.4, common 7.3"""
    board = shared_pair()
    ids = made_by_calls(board, *call_ids(board, range(8)), apart_ms=0)
    assert len({one.at_ms for one in board.state.proposals.values()}) == 1
    before = paged(board, 3)
    assert sorted(map(str, before)) == sorted(map(str, ids))
    board.bench.state = board.bench.reloaded()
    assert paged(board, 3) == before


def test_a_page_goes_on_though_the_one_that_it_ended_with_is_gone() -> None:
    """common 7.3"""
    board = shared_pair()
    ids = made_by_calls(board, *call_ids(board, (5_000, 0, 9_000, 100)), apart_ms=7)

    def forget() -> None:
        first = str(ids[0])
        if first in board.state.proposals:
            board.state.apply(Delete(proposal_row(first)))

    assert paged(board, 1, forget) == ids


def decided_of(board: Board, principal: Principal) -> list[Record]:
    return records(board.answer("canvas_get_state", {"canvasId": "canvas1"}, principal), "decided")


def test_who_proposed_something_reads_what_became_of_it() -> None:
    """canvas 2, 3.4: the last decided first; of what others proposed nothing"""
    board = shared_pair()
    first, second, third = propose(board), propose(board, by=SECOND), propose(board)
    assert decided_of(board, COMMENTER) == []
    reject(board, third, OTHER, reason="too far")
    reject(board, second, PERSON)
    approve(board, first, PERSON, reason="better")
    fence: Record = {"untrusted": True, "source": "canvas"}
    last, before = decided_of(board, COMMENTER)
    assert (last["proposalId"], last["stage"], last["decidedBy"]) == (first, "approved", "person")
    assert last["decidedBecause"] == {**fence, "text": "better"}
    assert last["decidedAt"] == rfc3339(board.bench.clock.now_ms())
    assert (before["proposalId"], before["stage"], before["decidedBy"]) == (third, "rejected", OTHER.agent_id)
    assert before["decidedBecause"] == {**fence, "text": "too far"}
    assert [one["proposalId"] for one in decided_of(board, SECOND)] == [second]
    assert decided_of(board, OTHER) == decided_of(board, PERSON) == []


def test_of_many_that_were_decided_the_last_ones_are_told() -> None:
    """common 7.3"""
    board = shared_pair()
    ids = [propose(board) for _ in range(12)]
    for id_ in ids:
        reject(board, id_, reason="é" * 200)
    told = decided_of(board, COMMENTER)
    assert [one["proposalId"] for one in told] == ids[: -len(told) - 1 : -1]
    assert 1 < len(told) < 12
    assert encoded_bytes([*told]) <= state_decided_bytes_max + 2


def test_decided_ones_tell_by_whom_and_why() -> None:
    """canvas 3.4"""
    board = shared_pair()
    first, second = propose(board), propose(board, "update", SECOND, updates=[{"id": "b", "set": {"opacity": 1}}])
    reject(board, second, OTHER, reason="not that")
    approve(board, first, PERSON)
    rows = records(listed(board, all=True), "proposals")
    assert [(row["stage"], row["decidedBy"]) for row in rows] == [("approved", "person"), ("rejected", OTHER.agent_id)]
    fence: Record = {"untrusted": True, "source": "canvas", "text": "not that"}
    assert rows[1]["decidedBecause"] == fence
    assert one(board, second) == {"revision": board.revision, **rows[1]}


def test_one_is_shown_as_the_elements_that_it_would_make() -> None:
    """canvas 3.4"""
    board = shared_pair()
    shown = one(board, propose(board))
    assert shown["would"] == {
        "outcome": "applied",
        "revision": board.revision + 1,
        "elementIds": ["a", "a-label", "ab", "ab-label"],
    }
    elements = {str(element["id"]): element for element in records(shown, "elements")}
    assert elements.keys() == {"a", "a-label", "ab", "ab-label"}
    assert (elements["a"]["y"], board.element("a")["y"]) == (70, 0)
    assert (shown["untrusted"], shown["truncated"]) == (True, False)


def test_what_it_shows_is_what_approving_makes() -> None:
    """canvas 3.4"""
    board = shared_pair()
    box: Record = {"type": "rectangle", "x": 0, "y": 400, "width": 9, "height": 9}
    proposal_id = propose(board, "create", elements=[box])
    (drawn,) = records(one(board, proposal_id), "elements")
    approve(board, proposal_id)
    times: Record = {"updated": 0, "versionNonce": 0}
    assert {**drawn, **times} == {**board.element(str(drawn["id"])), **times}


def test_one_that_would_conflict_says_so_and_still_shows_itself() -> None:
    """canvas 3.4"""
    board = shared_pair()
    proposal_id = propose(board)
    board.applied("update", updates=[{"id": "ab", "set": {"opacity": 10}}])
    shown = one(board, proposal_id)
    assert isinstance(shown["would"], dict) and shown["would"]["outcome"] == "conflict"
    assert len(records(shown, "elements")) == 4


def test_a_large_one_is_shown_as_far_as_it_fits() -> None:
    """common 6.4, 7.3"""
    board = shared_pair()
    large: list[Value] = [{**rectangle(f"n{n}", y=500), "customData": {"f": "x" * 160_000}} for n in range(3)]
    shown = one(board, propose(board, "create", elements=large))
    assert shown["truncated"] is True
    assert len(records(shown, "elements")) == 1
    assert len(str(shown)) < result_bytes_max


def test_what_another_release_proposed_is_told_and_never_half_applied() -> None:
    """canvas 3.4: its tool is gone, or its arguments do not fit any more"""
    for field, value in (("tool", "canvas_of_tomorrow"), ("arguments", {**MOVE_A, "spin": 3})):
        board = shared_pair()
        proposal_id = propose(board)
        row = board.bench.rows[f"proposal/{proposal_id}"]
        assert isinstance(row, dict)
        board.bench.rows[f"proposal/{proposal_id}"] = {**row, field: value}
        board.bench.state = board.bench.reloaded()
        would = one(board, proposal_id)["would"]
        assert isinstance(would, dict) and (would["outcome"], would["code"]) == ("rejected", "field")
        assert approve(board, proposal_id)["code"] == "field"
        assert reject(board, proposal_id)["outcome"] == "applied"


@pytest.mark.parametrize("verb", ["canvas_proposals", "canvas_proposal"])
def test_bad_arguments_and_unknown_ids(verb: str) -> None:
    """common 1.7, 6.1"""
    board = shared_pair()
    assert board.refused(verb, {"limit": 0, "proposalId": ""}, PERSON).code is Code.INVALID_ARGUMENTS
    if verb == "canvas_proposal":
        assert board.refused(verb, {"proposalId": "nothing"}, PERSON) == NOT_FOUND


def test_a_card_shows_whose_proposal_it_is_about() -> None:
    """common 5.3, 5.4"""
    board = shared_pair()
    proposal_id = propose(board)
    fingerprint = board.bench.rules.verbs["canvas_approve_proposal"].fingerprint
    assert fingerprint is not None
    context = Context(board.bench.clock.now_ms(), OTHER, "call", board.bench.address)
    shown = [
        fingerprint(board.state, Message("canvas_approve_proposal", {"proposalId": id_}), context)
        for id_ in (proposal_id, "nothing")
    ]
    canvas: Record = {"title": "Plan", "canvasId": "canvas1"}
    about: Record = {"proposedBy": COMMENTER.agent_id, "what": "moved", "elements": 4}
    assert shown == [{**canvas, **about}, canvas]
