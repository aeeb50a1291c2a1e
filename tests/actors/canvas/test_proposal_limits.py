"""How many proposals wait on a canvas, and what they take (common 7.3, 8.5; canvas 3.1)."""

from __future__ import annotations

from actors.canvas.plain import encoded_bytes
from actors.canvas.proposal import proposal_row
from actors.decision import Principal
from bus import address
from bus.limits import (
    proposal_bytes_max,
    proposals_decided_kept_max,
    proposals_pending_bytes_max,
    proposals_pending_max,
    proposals_pending_per_agent_max,
    result_bytes_max,
    stored_report_bytes,
)
from bus.value import Record, Value
from tests.actors.canvas.board import COMMENTER, Board, rectangle
from tests.actors.canvas.proposing import SECOND, approve, grant, pending, propose, reject, shared_pair
from tests.support.bench import PERSON, agent


def drawn(id_: str, size: int = 0) -> Record:
    return {**rectangle(id_, y=500), "customData": {"f": "x" * size}}


def refused(board: Board, element: Record, by: Principal = COMMENTER) -> str:
    return board.rejected("create", by, elements=[element])


def used(board: Board, principal: Principal = COMMENTER) -> int:
    assert board.state.head is not None
    return board.state.head.usage.get(principal.agent_id, 0)


def test_one_agent_has_a_bounded_number_pending() -> None:
    """common 8.5"""
    board = shared_pair()
    ids = [propose(board) for _ in range(proposals_pending_per_agent_max)]
    assert refused(board, drawn("n")) == "limits"
    assert propose(board, "move", SECOND), "others can propose still"
    reject(board, ids[0])
    assert propose(board)


def test_a_canvas_has_a_bounded_number_pending() -> None:
    """common 8.5"""
    board = shared_pair()
    for number in range(proposals_pending_max):
        proposer = agent(f"commenter-{number // proposals_pending_per_agent_max}", "w1")
        grant(board, proposer, "commenter")
        propose(board, "move", proposer)
    assert refused(board, drawn("n")) == "limits"


def test_one_proposal_has_a_bounded_size() -> None:
    """common 8.5"""
    board = shared_pair()
    elements: list[Value] = [drawn(f"e{number}", 200_000) for number in range(3)]
    assert proposal_bytes_max < 3 * 200_000
    assert board.rejected("create", COMMENTER, elements=elements) == "limits"
    assert propose(board, "create", elements=elements[:2])


def test_all_that_are_pending_take_a_bounded_room() -> None:
    """common 8.5"""
    board = shared_pair()
    elements: list[Value] = [drawn(f"e{number}", 200_000) for number in range(2)]
    for number in range(proposals_pending_bytes_max // 400_000):
        propose(board, "create", (COMMENTER, SECOND)[number % 2], elements=elements)
    assert board.rejected("create", COMMENTER, elements=elements) == "limits"
    assert propose(board), "a small one still fits"


def test_a_field_that_no_element_keeps_cannot_make_a_proposal_that_cannot_be_stored() -> None:
    """canvas 3.1"""
    board = shared_pair()
    assert refused(board, {**drawn("n"), "version": 2**70}) == "field"
    assert refused(board, {**drawn("n"), "versionNonce": "\ud800"}) == "field"


def test_what_is_pending_counts_as_its_proposers_share_until_it_is_decided() -> None:
    """common 8.5"""
    board = shared_pair()
    before = used(board)
    proposal_id = propose(board, "create", elements=[drawn("n", 100_000)])
    assert 100_000 < used(board) - before < 101_000
    reject(board, proposal_id)
    assert used(board) == before


def test_an_approved_one_counts_as_what_it_became() -> None:
    """common 8.5: the proposer's, not the approver's"""
    board, twin = shared_pair(), shared_pair()
    grant(twin, COMMENTER, "editor")
    twin.applied("create", COMMENTER, elements=[drawn("n", 100_000)])
    approve(board, propose(board, "create", elements=[drawn("n", 100_000)]))
    assert abs(used(board) - used(twin)) < 20, "but for the digits of random numbers"


def test_the_proposers_owner_hears_of_it_both_ways() -> None:
    """common 8.5"""
    board = shared_pair()
    proposal_id = propose(board, "create", elements=[drawn("n", 200_000), drawn("m", 200_000)])
    told = [sent for sent in board.bench.sent if sent.to == address.agent(COMMENTER.agent_id)]
    assert [sent.body["bytes"] for sent in told] == [used(board)]
    assert used(board) > stored_report_bytes
    reject(board, proposal_id)
    told = [sent for sent in board.bench.sent if sent.to == address.agent(COMMENTER.agent_id)]
    assert [sent.body["bytes"] for sent in told][1:] == [0]


def test_what_the_proposers_owner_hears_last_is_what_is_stored() -> None:
    """common 8.5: one call tells it one sum, also when that gives back a proposal and takes a write"""
    board = shared_pair()
    told = 0
    for number in range(5):
        for call in ("propose", "approve"):
            before = len(board.bench.sent)
            if call == "propose":
                proposal_id = propose(
                    board, "create", elements=[drawn(f"e{number}", 62_000), drawn(f"f{number}", 62_000)]
                )
            else:
                assert approve(board, proposal_id)["outcome"] == "applied"
            reports = [sent.body["bytes"] for sent in board.bench.sent[before:] if sent.verb == "stored"]
            assert len(reports) <= 1, reports
            told = int(str(reports[-1])) if reports else told
            assert told // stored_report_bytes == used(board) // stored_report_bytes, (number, call)
    assert told > 2 * stored_report_bytes


def test_approving_what_changes_nothing_any_more_gives_the_room_back() -> None:
    """common 8.5: as another release may find of what was proposed under this one"""
    board = shared_pair()
    before, revision = used(board), board.revision
    proposal_id = propose(board)
    row = board.bench.rows[proposal_row(proposal_id)]
    assert isinstance(row, dict) and isinstance(row["arguments"], dict) and used(board) > before
    nothing: Record = {**row["arguments"], "moves": [{"id": "a", "dx": 0, "dy": 0}]}
    board.bench.rows[proposal_row(proposal_id)] = {**row, "arguments": nothing}
    board.bench.state = board.bench.reloaded()
    outcome = approve(board, proposal_id)
    assert (outcome["outcome"], outcome["revision"]) == ("applied", revision)
    assert used(board) == before
    assert not board.state.proposals[proposal_id].is_pending


def test_the_oldest_decided_ones_go() -> None:
    """canvas 3.4, common 7.3"""
    board = shared_pair()
    first = propose(board)
    reject(board, first)
    for _ in range(proposals_decided_kept_max):
        reject(board, propose(board))
    assert first not in board.state.proposals
    assert len(board.state.proposals) == proposals_decided_kept_max


def test_many_pending_ones_are_listed_as_far_as_they_fit_and_counted() -> None:
    """common 6.4, 7.3"""
    board = shared_pair()
    elements: list[Value] = [rectangle(f"{number:03}" + "é" * 190, y=500) for number in range(50)]
    for number in range(proposals_pending_max):
        proposer = agent(f"commenter-{number // proposals_pending_per_agent_max}", "w1")
        grant(board, proposer, "commenter")
        propose(board, "create", proposer, elements=elements, reason="é" * 200)
    shown = board.answer("canvas_get_state", {"canvasId": "canvas1"})
    assert shown["proposalCount"] == proposals_pending_max
    assert 5 < len(pending(board)) < proposals_pending_max
    for one in pending(board):
        ids = one["elementIds"]
        assert isinstance(ids, list) and 0 < len(ids) <= 20
        assert one["elementCount"] == 50
    assert encoded_bytes(shown) < result_bytes_max


def test_the_overview_fits_a_result_when_everything_in_it_is_as_much_as_it_can_be() -> None:
    """common 6.4"""
    board = shared_pair()
    words: list[Value] = [
        {"id": f"{number:03}" + "語" * 190, "type": "text", "x": 0, "y": number, "text": "語" * 150}
        for number in range(250)
    ]
    for first in range(0, len(words), 80):
        board.applied("create", PERSON, elements=words[first : first + 80])
    boxes: list[Value] = [rectangle(f"{number:03}" + "é" * 190, y=500) for number in range(400)]
    board.applied("create", PERSON, elements=boxes)
    board.write("lock", PERSON, elementIds=[str(box["id"]) for box in boxes if isinstance(box, dict)])
    more: list[Value] = [rectangle(f"n{number:03}" + "é" * 190, y=500) for number in range(50)]
    for number in range(proposals_pending_max):
        proposer = agent(f"commenter-{number // proposals_pending_per_agent_max}", "w1")
        grant(board, proposer, "commenter")
        propose(board, "create", proposer, elements=more, reason="é" * 200)
    shown = board.answer("canvas_get_state", {"canvasId": "canvas1"})
    assert shown["labelsTruncated"] is True
    assert 200 * 1024 < encoded_bytes(shown) < result_bytes_max
