"""One canvas as lines for a person: what `nexus canvas show` prints of the answer of canvas_get_state."""

from __future__ import annotations

from typing import Final

from bus.value import Record, Value, records
from nexus.output import fields, shown

_labels_shown_max: Final = 10


def canvas_lines(canvas: Record) -> list[str]:
    """Every part on a line of its own. Texts that agents wrote are escaped, and only the first ones are shown."""
    told: dict[str, Value] = {
        "title": canvas.get("title"),
        "id": canvas.get("canvasId"),
        "workspace": canvas.get("workspaceId"),
        "revision": canvas.get("revision"),
        "created": canvas.get("createdAt"),
        "updated": canvas.get("updatedAt"),
        "elements": _counts(canvas.get("counts")),
        "types": _types(canvas.get("types")),
        "extent": _extent(canvas.get("extent")),
    }
    lines = fields({name: value for name, value in told.items() if value is not None})
    labels = records(canvas, "labels")
    lines.append(f"labels: {len(labels) or 'none'}{' and more' if canvas.get('labelsTruncated') is True else ''}")
    lines += [f"  {_label(one.get('text'))}" for one in labels[:_labels_shown_max]]
    if len(labels) > _labels_shown_max:
        lines.append(f"  and {len(labels) - _labels_shown_max} more; --json prints them")
    return lines


def _counts(counts: Value) -> str | None:
    if not isinstance(counts, dict):
        return None
    return f"{shown(counts.get('live'))}, {shown(counts.get('deleted'))} deleted"


def _types(types: Value) -> str | None:
    if not isinstance(types, dict):
        return None
    counted = [(name, count) for name, count in types.items() if isinstance(count, int)]
    return ", ".join(f"{count} {name}" for name, count in sorted(counted, key=lambda one: (-one[1], one[0]))) or None


def _extent(extent: Value) -> str | None:
    if not isinstance(extent, dict):
        return None
    x, y, width, height = (_number(extent.get(name)) for name in ("x", "y", "width", "height"))
    return f"{width} wide, {height} high, from x {x}, y {y}"


def _number(value: Value) -> str:
    return f"{round(value, 2):.15g}" if isinstance(value, int | float) else shown(value)


def _label(text: Value) -> str:
    """A label's text, which comes in a fence (common 7.1)."""
    return shown(text.get("text") if isinstance(text, dict) else text)
