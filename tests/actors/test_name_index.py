"""Names that must differ clearly, and what is said of one that does not."""

from __future__ import annotations

import pytest

from actors.name_index import SHOWS_NOTHING, NameIndex, name_problem, name_refusal, taken_by_another
from tests.support.reading import at


@pytest.mark.parametrize(
    ("name", "but", "problem"),
    [
        ("Reviewers", "", taken_by_another("team")),
        ("REVIEWERS", "", taken_by_another("team")),
        ("Revi\u0435wers", "", taken_by_another("team")),  # a Cyrillic letter
        ("Reviewers", "t1", None),
        ("Painters", "", None),
        ("\u200d", "", SHOWS_NOTHING),
    ],
)
def test_a_name_is_refused_that_another_has_or_could_be_taken_for(name: str, but: str, problem: str | None) -> None:
    """ARCHITECTURE, names"""
    names = NameIndex()
    names.add("t1", "Reviewers")
    assert name_problem(names, name, "team", but) == problem
    refusal = name_refusal(names, name, "team", but)
    assert (refusal is None) == (problem is None)
    if refusal is not None:
        assert at(refusal.details, "fields", 0) == {"path": "name", "problem": problem}
