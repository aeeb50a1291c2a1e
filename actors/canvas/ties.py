"""What one element says of its own ties. Both sides, and what follows from a change of one, are in bindings.py."""

from __future__ import annotations

from typing import Final

from actors.canvas.element import CONTAINERS
from bus.value import Record

SIDES: Final = ("startBinding", "endBinding")
BINDABLE: Final = frozenset(
    {"rectangle", "diamond", "ellipse", "text", "image", "frame", "magicframe", "embeddable", "iframe"}
)


def bound_list(element: Record) -> list[Record]:
    listed = element.get("boundElements")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def bound_count(element: Record) -> int:
    """About how many it lists, without looking at them."""
    listed = element.get("boundElements")
    return len(listed) if isinstance(listed, list) else 0


def can_be_tied_to(element: Record) -> bool:
    """Whether an arrow's end may be tied to it. A label is not: its container is."""
    return element.get("type") in BINDABLE and not element.get("containerId")


def target_id(arrow: Record, side: str) -> str | None:
    binding = arrow.get(side)
    id_ = binding.get("elementId") if isinstance(binding, dict) else None
    return id_ if isinstance(id_, str) else None


def is_container(element: Record) -> bool:
    return element.get("type") in CONTAINERS
