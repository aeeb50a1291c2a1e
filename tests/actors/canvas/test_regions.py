"""canvas_query_region finds what a scan of every element would, in order, page by page (canvas 2, 5)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.canvas.geometry import Box, box_of
from actors.canvas.regions import Query, found_in
from actors.canvas.state import CanvasState
from bus.value import Record, Value
from tests.actors.canvas.board import Board, empty_board, rectangle

PLACES = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 30), st.integers(1, 30))
KINDS = ("rectangle", "ellipse", "diamond")


def _scan(state: CanvasState, query: Query) -> list[str]:
    found = []
    for place in sorted((str(entry.element["index"]), id_) for id_, entry in state.entries.items()):
        entry = state.entries[place[1]]
        box = box_of(entry.element)
        is_there = query.region.contains(box) if query.is_contained else query.region.intersects(box)
        is_wanted = query.types is None or entry.element["type"] in query.types
        if is_there and is_wanted and place > query.after and (entry.is_live or query.with_deleted):
            found.append(place[1])
    return found[: query.limit]


def _drawn(places: list[tuple[int, int, int, int]], deleted: set[int]) -> Board:
    board = empty_board()
    board.create(*[{**rectangle(f"e{n}", *place), "type": KINDS[n % 3]} for n, place in enumerate(places)])
    gone: list[Value] = [f"e{number}" for number in sorted(deleted) if number < len(places)]
    if gone:
        board.applied("delete", elementIds=gone)
    return board


@settings(max_examples=60, deadline=None)
@given(
    places=st.lists(PLACES, min_size=1, max_size=40),
    deleted=st.sets(st.integers(0, 39), max_size=10),
    region=PLACES,
    is_contained=st.booleans(),
    types=st.one_of(st.none(), st.frozensets(st.sampled_from(KINDS), min_size=1)),
    with_deleted=st.booleans(),
    limit=st.integers(1, 10),
)
def test_every_page_is_what_a_scan_gives(
    places: list[tuple[int, int, int, int]],
    deleted: set[int],
    region: tuple[int, int, int, int],
    is_contained: bool,
    types: frozenset[str] | None,
    with_deleted: bool,
    limit: int,
) -> None:
    """canvas 2, 5: few hits by the trees, many by the order, and no difference"""
    state = _drawn(places, deleted).state
    x, y, width, height = region
    after = ("", "")
    while True:
        query = Query(Box(x, y, x + width, y + height), is_contained, types, with_deleted, after, limit)
        page = list(found_in(state, query))
        assert [id_ for _, id_ in page] == _scan(state, query)
        if len(page) < limit:
            break
        after = page[-1]


def test_a_page_of_few_hits_among_many_elements_is_in_stacking_order_and_goes_on() -> None:
    """canvas 2, 5"""
    board = empty_board()
    board.create(*[rectangle(f"e{n:03d}", n % 25 * 1_000, n // 25 * 1_000) for n in range(400)])
    corner: Record = {"canvasId": "canvas1", "x": 0, "y": 0, "width": 2_500, "height": 2_500}
    expected = [f"e{row * 25 + column:03d}" for row in range(3) for column in range(3)]
    seen: list[str] = []
    cursor: Record = {}
    while True:
        page = board.answer("canvas_query_region", {**corner, "limit": 4, **cursor})
        elements = page["elements"]
        assert isinstance(elements, list)
        seen += [str(element["id"]) for element in elements if isinstance(element, dict)]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
        board.applied("update", updates=[{"id": "e000", "set": {"opacity": len(seen)}}])
    assert seen == expected
