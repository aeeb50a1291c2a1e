"""One call's computing is bounded by what it may name, not by what it pulls in (canvas 5, security 2.23)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import pytest

from actors.canvas import work
from actors.canvas.create import create_elements
from actors.canvas.draft import Draft
from actors.decision import Context
from bus.limits import elements_per_call_max
from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, Board, arrow, empty_board, rectangle
from tests.support.bench import PERSON
from tools.canvas.inputs import CanvasCreateElementsInput, NewElement

LONG: Final[list[Value]] = [[n, n * 7919 % 1_000] for n in range(1_200)]


class Steps:
    """How many calls, of Python and of C, were made: the same on every machine."""

    count = 0

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.count += event in ("call", "c_call")


@contextmanager
def counted() -> Iterator[Steps]:
    steps, before = Steps(), sys.getprofile()
    sys.setprofile(steps)
    try:
        yield steps
    finally:
        sys.setprofile(before)


def _decided(board: Board, verb: str, **arguments: Value) -> tuple[str, int]:
    """The outcome or the code of a write that is not applied, and its steps."""
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "reason": "a test", **arguments}
    with counted() as steps:
        reply = board.bench.decide(f"canvas_{verb}_elements", body, EDITOR).reply
    assert isinstance(reply, dict), reply
    return str(reply.get("code", reply["outcome"])), steps.count


def _drawing(number: int) -> Record:
    return {"id": f"d{number}", "type": "freedraw", "x": 0, "y": 0, "points": LONG}


def _hub(arrows: int) -> Board:
    """`hub`, and as many arrows `a0` ... from it to `far`, drawn by somebody else."""
    board = empty_board()
    board.create(rectangle("hub"), rectangle("far", 900))
    for first in range(0, arrows, elements_per_call_max):
        numbers = range(first, min(arrows, first + elements_per_call_max))
        board.create(*[arrow(f"a{n}", "hub", "far", 105, 25, [[0, 0], [790, 0]]) for n in numbers])
    return board


@pytest.fixture
def bound_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets what one call may cost, so that small scenes reach it."""
    return lambda cost_us: monkeypatch.setattr(work, "write_cost_us_max", cost_us)


def test_connecting_two_shapes_costs_the_same_however_many_arrows_there_are_between_them() -> None:
    board = empty_board()
    board.create(rectangle("one"), rectangle("other", 400))
    many: list[Value] = [{"fromId": "one", "toId": "other"}] * 200
    outcome, first = _decided(board, "connect", connections=many)
    assert outcome == "applied"
    for _ in range(3):
        board.applied("connect", connections=many)
    assert _decided(board, "connect", connections=many)[1] < 1.5 * first


def test_arrows_tied_as_they_were_drawn_cost_the_same_however_many_the_shape_has() -> None:
    drawn: list[Value] = [arrow(f"n{n}", "hub", "far", 105, 25, [[0, 0], [790, 0]]) for n in range(100)]
    few = _decided(_hub(10), "create", elements=drawn)[1]
    many = _decided(_hub(1_500), "create", elements=drawn)[1]
    assert many < 2 * few


def test_deleting_and_restoring_arrows_costs_the_same_however_many_their_shape_has() -> None:
    ids: list[Value] = [f"a{n}" for n in range(100)]
    few, many = _hub(100), _hub(1_500)
    assert _decided(many, "delete", elementIds=ids)[1] < 4 * _decided(few, "delete", elementIds=ids)[1]
    for board in (few, many):
        board.applied("delete", elementIds=ids)
    assert _decided(many, "restore", elementIds=ids)[1] < 4 * _decided(few, "restore", elementIds=ids)[1]


class HashedId(str):
    """Counts how often it is looked for in sets and dicts or put there."""

    hashed = 0

    def __hash__(self) -> int:
        HashedId.hashed += 1
        return super().__hash__()


def test_placing_new_elements_in_the_order_costs_in_their_number() -> None:
    def hashed(count: int) -> int:
        board = empty_board()
        assert board.state.head is not None
        context = Context(board.bench.clock.now_ms(), EDITOR, board.bench.clock.new_id(), board.bench.address)
        elements = [NewElement.model_validate(rectangle(f"r{n}")) for n in range(count)]
        named = [one.model_copy(update={"id": HashedId(one.id)}) for one in elements]
        HashedId.hashed = 0
        draft = Draft(board.state, board.state.head, context, "created", "a test")
        arguments = CanvasCreateElementsInput.model_construct(
            canvasId="canvas1", expectedRevision=1, reason="r", elements=named
        )
        create_elements(draft, arguments)
        return HashedId.hashed

    assert hashed(400) < 5 * hashed(100)


def test_a_call_with_too_many_points_is_refused_before_they_are_worked_on() -> None:
    board = empty_board()
    board.create(rectangle("hub"), rectangle("far", 900))

    some = _decided(board, "create", elements=[*map(_drawing, range(8))])
    assert some[0] == "applied"
    drawings: list[Value] = [*map(_drawing, range(300))]
    arrows: list[Value] = [arrow(f"t{n}", "hub", "far", 0, 0, LONG) for n in range(300)]
    for elements in (drawings, arrows):
        code, steps = _decided(board, "create", elements=elements)
        assert code == "limits"
        assert steps < some[1]


@pytest.mark.parametrize("change", [{"width": 333}, {"opacity": 33}, {"points": LONG[:900]}])
def test_points_that_are_pulled_in_by_an_update_count_too(change: Record, bound_of: Callable[[int], None]) -> None:
    board = empty_board()
    ids = board.create(*map(_drawing, range(10)))
    bound_of(10_000)
    updates: list[Value] = [{"id": id_, "set": change} for id_ in ids]
    assert _decided(board, "update", updates=updates)[0] == "limits"
    assert _decided(board, "update", updates=updates[:1])[0] == "applied"


def test_points_of_arrows_that_follow_their_shape_count() -> None:
    board = empty_board()
    board.create(rectangle("hub"), rectangle("far", 900))
    for first in range(0, 32, 8):
        board.create(*[arrow(f"t{n}", "hub", "far", 50, 25, LONG) for n in range(first, first + 8)])
    assert _decided(board, "move", moves=[{"id": "hub", "dx": 5}])[0] == "limits"
    assert board.applied("delete", elementIds=[f"t{n}" for n in range(24)])
    assert _decided(board, "move", moves=[{"id": "hub", "dx": 5}])[0] == "applied"


def test_a_drawing_whose_points_stay_is_kept_without_looking_at_them() -> None:
    board = empty_board()
    board.create(*map(_drawing, range(2)))
    writes: list[tuple[str, Record]] = [
        ("move", {"moves": [{"id": "d0", "dx": 1}]}),
        ("update", {"updates": [{"id": "d0", "set": {"opacity": 50}}]}),
        ("delete", {"elementIds": ["d0"]}),
    ]
    for verb, arguments in writes:
        outcome, steps = _decided(board, verb, **arguments)
        assert (outcome, steps < len(LONG)) == ("applied", True), verb


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("move", {"moves": [{"id": "frame", "dx": 5}]}),
        ("move", {"moves": [{"id": "m0", "dx": 5}], "includeGroup": True}),
        ("delete", {"elementIds": ["frame"]}),
    ],
)
def test_members_are_counted_before_they_are_gathered(
    verb: str, arguments: Record, bound_of: Callable[[int], None]
) -> None:
    board = empty_board()
    board.create({**rectangle("frame", 0, 0, 900, 900), "type": "frame"})
    members: list[Record] = [{**rectangle(f"m{n}"), "frameId": "frame", "groupIds": ["g"]} for n in range(400)]
    board.create(*members)
    assert _decided(board, verb, **arguments)[0] == "applied"
    bound_of(2_000)
    code, steps = _decided(board, verb, **arguments)
    assert code == "limits"
    assert steps < 100 * 30  # as many as the bound lets in, not 400


def test_a_deletion_that_was_done_can_be_taken_back_by_one_call_even_when_all_has_moved(
    bound_of: Callable[[int], None],
) -> None:
    """canvas 4.2: restoring puts back what that deletion took."""
    board = _hub(120)
    bound_of(120 * 114 + 100)
    assert _decided(board, "delete", elementIds=["hub"])[0] == "applied"
    bound_of(120 * 100)
    assert _decided(board, "delete", elementIds=["hub"])[0] == "limits"
    bound_of(120 * 114 + 100)
    board.applied("delete", elementIds=["hub"])
    for first in range(0, 120, 40):
        ids = range(first, first + 40)
        board.applied("update", updates=[{"id": f"a{n}", "set": {"points": [[0, 0], [700, 9]]}} for n in ids])
    board.applied("restore", elementIds=["hub"])
    assert len(board.lists("hub")) == 120


def test_a_refusal_says_how_much_one_call_may_change(bound_of: Callable[[int], None]) -> None:
    board = _hub(10)
    bound_of(500)
    outcome = board.write("move", moves=[{"id": "hub", "dx": 5}])
    assert outcome["code"] == "limits"
    message = str(outcome["message"])
    for words in ("5000 elements", "1000 arrows", "points or shape ones of 20000", "Name fewer elements"):
        assert words in message


def test_a_revert_has_bounds_of_its_own(bound_of: Callable[[int], None]) -> None:
    """canvas 4.6"""
    board = _hub(20)
    before = board.revision
    board.applied("delete", elementIds=["hub"])
    bound_of(100)
    body: Record = {"canvasId": "canvas1", "expectedRevision": board.revision, "to": before, "reason": "back"}
    reply = board.answer("canvas_revert", body, PERSON)
    assert reply["outcome"] == "applied"


def test_the_most_that_one_call_may_name_is_within_the_bound() -> None:
    """canvas 2: elements 1 to 500, with labels and ends."""
    board = empty_board()
    every = range(elements_per_call_max)
    boxes: list[Record] = [
        {**rectangle(f"b{n}", n % 25 * 300, n // 25 * 200), "label": {"text": "Some words in a box"}} for n in every
    ]
    board.create(*boxes)
    ends = [(f"b{n}", f"b{(n + 1) % len(every)}") for n in every]
    arrows: list[Record] = [
        {"type": "arrow", "start": {"id": one}, "end": {"id": other}, "label": {"text": "to"}} for one, other in ends
    ]
    board.create(*arrows)
    board.applied("connect", connections=[{"fromId": one, "toId": other, "label": "calls"} for one, other in ends])
    board.applied("update", updates=[{"id": f"b{n}", "set": {"opacity": 50}} for n in every])
    board.applied("delete", elementIds=[f"b{n}" for n in range(200)])
    board.applied("restore", elementIds=[f"b{n}" for n in range(200)])
