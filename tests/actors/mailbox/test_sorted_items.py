"""Orders behave as sorted lists do, whatever is done to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.mailbox.sorted_items import SortedItems

dated = st.tuples(st.integers(0, 20), st.sampled_from("abc"))


@given(st.lists(st.tuples(st.none() | dated, st.none() | dated), max_size=60), dated)
def test_an_order_is_the_sorted_list_of_its_items(moves: list[tuple[object, object]], place: tuple[int, str]) -> None:
    order: SortedItems[tuple[int, str]] = SortedItems()
    items: set[tuple[int, str]] = set()
    for former, now in moves:
        out = former if former in items else None
        come = now if now not in items else None
        order.move(out, come)  # type: ignore[arg-type]
        items = (items - {out}) | ({come} if come is not None else set())  # type: ignore[arg-type]
    listed = sorted(items)
    assert [*order] == listed
    assert [*order.after(place)] == [item for item in listed if item > place]
    assert [*order.before(place)] == [item for item in reversed(listed) if item < place]
    assert order.count_from(place) == len([item for item in listed if item >= place])
    assert (order.first(), order.last()) == ((listed[0], listed[-1]) if listed else (None, None))
    assert order == SortedItems(listed)


def test_taking_out_what_is_not_there_is_an_error() -> None:
    order = SortedItems([(1, "a")])
    with pytest.raises(ValueError, match="not in list"):
        order.remove((2, "a"))
