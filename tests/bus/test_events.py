"""The event log has one vocabulary: what product code writes is in the catalogue, and the other way round."""

from __future__ import annotations

import ast
from pathlib import Path

from bus.events import CATALOGUE
from tests.support.source import syntax_of

ROOT = Path(__file__).parent.parent.parent


def _strings(folder: str) -> set[str]:
    return {
        node.value
        for path in (ROOT / folder).rglob("*.py")
        if path != ROOT / "bus" / "events.py"
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _written() -> set[str]:
    """First arguments of `Event(...)` that are plain text."""
    return {
        node.args[0].value
        for path in (ROOT / "actors").rglob("*.py")
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Event" and node.args
        if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    }


def test_every_event_that_is_written_is_in_the_catalogue() -> None:
    assert _written() - CATALOGUE.keys() == set()


def test_every_event_of_the_catalogue_can_happen() -> None:
    built = {f"thread.{word}" for word in _strings("actors/mailbox")}
    assert CATALOGUE.keys() - _strings("actors") - _strings("bus") - _strings("nexus") - built == set()
