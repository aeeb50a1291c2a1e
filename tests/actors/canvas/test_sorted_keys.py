"""Sorted in steps, then kept sorted (canvas 5)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.canvas.sorted_keys import SortedKeys

KEYS = st.tuples(st.integers(0, 5), st.sampled_from("abcdefgh"))


@given(first=st.sets(KEYS), changes=st.lists(st.tuples(KEYS, KEYS), max_size=20))
def test_keys_stay_sorted_through_every_replacement(
    first: set[tuple[int, str]], changes: list[tuple[tuple[int, str], tuple[int, str]]]
) -> None:
    """canvas 5"""
    kept, known = SortedKeys[int](), set(first)
    for _ in kept.fill(iter(first)):
        pass
    for was, now in changes:
        before = was if was in known else None
        after = None if now in known and now != before else now
        kept.replace(before, after)
        known -= {before}
        known |= {after} if after is not None else set()
        assert kept.keys == sorted(known)


def test_many_keys_are_sorted_in_several_steps() -> None:
    """canvas 5: nothing holds a shard for long"""
    keys = [(number * 7_919 % 20_011, f"e{number}") for number in range(20_000)]
    kept = SortedKeys[int]()
    steps = sum(1 for _ in kept.fill(iter(keys)))
    assert steps == 40 + 39  # runs of 500, then merges of two
    assert kept.keys == sorted(keys)
