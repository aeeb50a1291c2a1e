"""Sealed cursors (common 7.3, security 2.11)."""

from __future__ import annotations

import pytest

from bus.value import Record
from nexus.gateway.cursor import BAD_CURSOR, CursorSeal, opened_arguments, sealed_content
from tools.catalogue import BY_NAME, TOOLS

SEAL = CursorSeal(b"k" * 32)
REGION = BY_NAME["canvas_query_region"]
QUERY: Record = {"canvasId": "c", "x": 0, "y": 0, "width": 100, "height": 100}
PLACES = ["", "01hzy", "ünï-cödé", '["a1","r7"]', "1.7~9.x"]


def given_out(arguments: Record = QUERY, tool: str = "canvas_query_region", place: str = "p") -> str:
    """The cursor of a page that was answered to agent a in scope w."""
    content = sealed_content(SEAL, BY_NAME[tool], arguments, {"nextCursor": place, "elements": []}, "a", "w")
    assert content["elements"] == []
    return str(content["nextCursor"])


@pytest.mark.parametrize("place", PLACES)
def test_a_cursor_opens_to_the_place_it_was_sealed_at(place: str) -> None:
    assert SEAL.opened(SEAL.sealed(place, b"canvas_list", b"a"), b"canvas_list", b"a") == place


def test_parts_that_run_together_are_told_apart() -> None:
    assert SEAL.opened(SEAL.sealed("x", b"ab", b"c"), b"a", b"bc") is None


def test_a_changed_or_invented_cursor_is_refused() -> None:
    cursor = SEAL.sealed("x", b"a")
    for wrong in ("", "x", "äö", "!!!!", cursor[:-1], cursor[1:], cursor + "A", cursor.swapcase()):
        assert SEAL.opened(wrong, b"a") is None


def test_a_cursor_of_another_home_is_refused() -> None:
    assert SEAL.opened(CursorSeal(b"other" * 8).sealed("x", b"a"), b"a") is None


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS if "cursor" in tool.input.model_fields])
@pytest.mark.parametrize("place", PLACES)
def test_owners_are_given_back_the_cursor_they_made(name: str, place: str) -> None:
    """common 7.3"""
    arguments = QUERY if name == "canvas_query_region" else {}
    sealed = given_out(arguments, name, place)
    opened = opened_arguments(SEAL, BY_NAME[name], {**arguments, "cursor": sealed}, "a", "w")
    assert opened == {**arguments, "cursor": place}


def test_a_page_may_be_larger_than_the_one_before_and_name_its_workspace_and_defaults() -> None:
    """common 7.3"""
    same: list[Record] = [{"limit": 7}, {"workspaceId": "w"}, {"match": "intersects"}, {"width": 100.0}]
    for more in same:
        arguments: Record = {**QUERY, **more, "cursor": given_out()}
        assert opened_arguments(SEAL, REGION, arguments, "a", "w") == {**arguments, "cursor": "p"}, more


@pytest.mark.parametrize("more", [{"x": 1}, {"types": ["text"]}, {"includeDeleted": True}, {"canvasId": "d"}])
def test_a_cursor_of_another_query_is_refused(more: Record) -> None:
    """common 7.3, security 2.11"""
    arguments: Record = {**QUERY, **more, "cursor": given_out()}
    assert opened_arguments(SEAL, REGION, arguments, "a", "w") is BAD_CURSOR


@pytest.mark.parametrize(("agent", "scope"), [("b", "w"), ("a", "v"), ("aw", ""), ("", "aw")])
def test_a_cursor_of_another_agent_or_scope_is_refused(agent: str, scope: str) -> None:
    """common 7.3, security 2.11"""
    assert opened_arguments(SEAL, REGION, {**QUERY, "cursor": given_out()}, agent, scope) is BAD_CURSOR


def test_a_cursor_of_another_tool_is_refused() -> None:
    """common 7.3, security 2.11"""
    cursor = given_out({}, "canvas_list")
    assert opened_arguments(SEAL, BY_NAME["agent_list_peers"], {"cursor": cursor}, "a", "w") is BAD_CURSOR


def test_an_owners_own_cursor_is_refused_from_a_client() -> None:
    """security 2.11"""
    for place in PLACES:
        assert opened_arguments(SEAL, REGION, {**QUERY, "cursor": place}, "a", "w") is BAD_CURSOR


def test_a_page_without_a_next_one_and_a_tool_without_pages_are_left_as_they_are() -> None:
    last: Record = {"elements": [], "nextCursor": None}
    assert sealed_content(SEAL, REGION, QUERY, last, "a", "w") is last
    assert opened_arguments(SEAL, REGION, QUERY, "a", "w") is QUERY
    assert opened_arguments(SEAL, REGION, {**QUERY, "cursor": None}, "a", "w") == {**QUERY, "cursor": None}
