"""The trees find what a look at every box finds (canvas 5)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.canvas.boxes import Boxes
from actors.canvas.geometry import Box

EDGES = st.one_of(st.integers(-50, 50), st.floats(-50, 50), st.sampled_from([1e29, -1e29, 1e300, -1e300]))
BOXES = st.builds(
    lambda across, down: Box(min(across), min(down), max(across), max(down)),
    st.tuples(EDGES, EDGES),
    st.tuples(EDGES, EDGES),
)
IDS = st.sampled_from([f"e{number}" for number in range(12)])


def _filled(boxes: dict[str, Box]) -> Boxes:
    made = Boxes()
    for _ in made.fill(iter(boxes.items())):
        pass
    return made


def _around(boxes: list[Box]) -> Box:
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


@settings(max_examples=200, deadline=None)
@given(
    first=st.dictionaries(IDS, BOXES),
    changes=st.lists(st.tuples(IDS, st.one_of(st.none(), BOXES)), max_size=30),
    regions=st.lists(BOXES, min_size=1, max_size=4),
)
def test_a_region_finds_what_a_look_at_every_box_finds(
    first: dict[str, Box], changes: list[tuple[str, Box | None]], regions: list[Box]
) -> None:
    """canvas 5"""
    kept, known = _filled(first), dict(first)
    for id_, box in changes:
        if box is None:
            kept.drop(id_)
            known.pop(id_, None)
        else:
            kept.put(id_, box)
            known[id_] = box
    for region in regions:
        expected = {id_ for id_, box in known.items() if region.intersects(box)}
        found = list(kept.near(region))
        assert set(found) == expected
        assert len(found) == len(expected)
        assert kept.count_near(region) >= len(expected)
    assert {id_: kept.box(id_) for id_ in known} == known
    assert len(kept) == len(known)


@settings(max_examples=100, deadline=None)
@given(
    first=st.dictionaries(IDS, st.builds(lambda x, y: Box(x, y, x + 1, y + 1), st.integers(-9, 9), st.floats(-9, 9))),
    dropped=st.lists(IDS, max_size=12),
)
def test_the_bounds_are_exactly_around_what_is_left(first: dict[str, Box], dropped: list[str]) -> None:
    """canvas 5"""
    kept = _filled(first)
    for id_ in dropped:
        kept.drop(id_)
    left = [box for id_, box in first.items() if id_ not in dropped]
    assert kept.bounds() == (_around(left) if left else None)


def test_thousands_are_packed_step_by_step_and_found_alike() -> None:
    """canvas 5"""
    boxes = {f"e{n}": Box(n * 7 % 1_000, n // 10, n * 7 % 1_000 + 5, n // 10 + 5) for n in range(9_000)}
    made = Boxes()
    steps = sum(1 for _ in made.fill(iter(boxes.items())))
    assert steps > 10
    region = Box(100, 100, 160, 400)
    assert set(made.near(region)) == {id_ for id_, box in boxes.items() if region.intersects(box)}
    assert made.bounds() == _around(list(boxes.values()))


@pytest.mark.parametrize("edge", [math.nan, math.inf, -math.inf])
def test_what_is_not_made_of_numbers_lies_nowhere_and_infinity_at_the_edge(edge: float) -> None:
    kept = Boxes()
    kept.put("odd", Box(edge, 0, edge, 10))
    kept.put("sound", Box(0, 0, 1, 1))
    assert list(kept.near(Box(-5, -5, 5, 5))) == ["sound"]
    assert set(kept.near(Box(-math.inf, -5, math.inf, 5))) == ({"sound"} if math.isnan(edge) else {"sound", "odd"})
    kept.drop("odd")
    assert kept.bounds() == Box(0, 0, 1, 1)
