"""Sealed cursors (common 7.3, security 2.11)."""

from __future__ import annotations

import pytest

from nexus.gateway.cursor import CursorSeal

SEAL = CursorSeal(b"k" * 32)


@pytest.mark.parametrize("after", ["", "01hzy", "ünï-cödé"])
def test_a_cursor_opens_to_the_place_it_was_sealed_at(after: str) -> None:
    assert SEAL.opened(SEAL.sealed(after, "canvas_list", "a", "w"), "canvas_list", "a", "w") == after


@pytest.mark.parametrize(
    "bound_to",
    [("canvas_list", "b", "w"), ("canvas_list", "a", "v"), ("agent_list_peers", "a", "w"), ("canvas_lista", "w")],
)
def test_a_cursor_of_another_agent_scope_or_tool_is_refused(bound_to: tuple[str, ...]) -> None:
    assert SEAL.opened(SEAL.sealed("x", "canvas_list", "a", "w"), *bound_to) is None


def test_a_changed_or_invented_cursor_is_refused() -> None:
    cursor = SEAL.sealed("x", "canvas_list", "a", "w")
    for wrong in ("", "x", "äö", "!!!!", cursor[:-1], cursor[1:], cursor + "A", cursor.swapcase()):
        assert SEAL.opened(wrong, "canvas_list", "a", "w") is None


def test_a_cursor_of_another_home_is_refused() -> None:
    cursor = CursorSeal(b"other" * 8).sealed("x", "canvas_list", "a", "w")
    assert SEAL.opened(cursor, "canvas_list", "a", "w") is None
