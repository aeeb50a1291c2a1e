"""Names that the person types: resolved, refused when ambiguous, ids listed."""

from __future__ import annotations

from nexus.gateway.naming import Named, resolve
from tools.errors import Code, Refusal

ADA = Named("01a", "Ada", "w1")
BO = Named("01b", "Bo", "w1")
OTHER_ADA = Named("01c", "Ada", "w2")
NAMED_LIKE_AN_ID = Named("01d", "01b", "w1")


def test_an_id_is_found() -> None:
    assert resolve("agent", "01b", [ADA, BO]) == BO


def test_a_name_is_found() -> None:
    assert resolve("agent", "Ada", [ADA, BO]) == ADA


def test_an_id_wins_over_a_name_that_reads_the_same() -> None:
    assert resolve("agent", "01b", [NAMED_LIKE_AN_ID, BO]) == BO


def test_case_and_compatibility_forms_do_not_matter_when_no_name_is_exact() -> None:
    assert resolve("agent", "ada", [ADA, BO]) == ADA
    assert resolve("agent", "\uff22\uff4f", [ADA, BO]) == BO
    spaced = Named("01f", "Ada  Lovelace", "w1")
    assert resolve("agent", " ada lovelace", [ADA, spaced]) == spaced


def test_an_exact_name_wins_over_one_that_differs_in_case() -> None:
    lower = Named("01e", "ada", "w1")
    assert resolve("agent", "ada", [ADA, lower]) == lower


def test_an_unknown_name_is_refused_with_what_to_do() -> None:
    refused = resolve("agent", "Cy", [ADA, BO])
    assert isinstance(refused, Refusal)
    assert refused.code is Code.NOT_FOUND
    assert "nexus agent list" in refused.message


def test_an_ambiguous_name_is_refused_with_every_id_and_the_way_out() -> None:
    refused = resolve("agent", "Ada", [ADA, BO, OTHER_ADA])
    assert isinstance(refused, Refusal)
    assert refused.details["candidates"] == [
        {"id": "01a", "name": "Ada", "workspaceId": "w1"},
        {"id": "01c", "name": "Ada", "workspaceId": "w2"},
    ]
    assert "--workspace" in refused.message


def test_a_workspace_is_no_way_out_when_both_are_in_the_same() -> None:
    twin = Named("01f", "Plan", "w1")
    refused = resolve("canvas", "Plan", [Named("01g", "Plan", "w1"), twin])
    assert isinstance(refused, Refusal)
    assert "--workspace" not in refused.message


def test_what_was_typed_stands_in_no_message() -> None:
    """common 6.2"""
    for among in ([ADA], [Named("1", "evil", "w1"), Named("2", "evil", "w2")]):
        refused = resolve("agent", "evil", among)
        assert isinstance(refused, Refusal)
        assert "evil" not in refused.message
