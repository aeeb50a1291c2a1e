"""When two names are the same name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.names import name_key


@pytest.mark.parametrize(("one", "other"), [("Ada", "ADA"), ("ﬁn", "FIN"), ("Å", "å"), ("a  b", " a b")])
def test_names_that_look_alike_under_folding_are_one_name(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


def test_different_words_stay_different_names() -> None:
    assert name_key("Ada") != name_key("Eve")


@given(st.text(max_size=40))
def test_the_key_of_a_key_is_itself(name: str) -> None:
    assert name_key(name_key(name)) == name_key(name)
