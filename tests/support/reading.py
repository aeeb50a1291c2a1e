"""Reads into nested plain values, so that tests say where they look instead of proving types on the way."""

from __future__ import annotations

from typing import Any


def at(value: Any, *path: str | int) -> Any:
    """`at(reply, "deliveries", 0, "task")`. Fails the test with the path if there is nothing."""
    for depth, step in enumerate(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            raise AssertionError(f"nothing at {path[: depth + 1]}") from None
    return value
