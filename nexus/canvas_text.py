"""One canvas as lines for a person: what `nexus canvas show` prints of the answer of canvas_get_state."""

from __future__ import annotations

from typing import Final

from bus.value import Record, Value, records
from nexus.canvas_changes_text import change_lines
from nexus.output import fields, shown

_LABELS_SHOWN: Final = 10
_BESIDE_SHOWN: Final = 10


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
    names = canvas.get("names")
    known = names if isinstance(names, dict) else {}
    lines += _roles(canvas, known)
    lines += _beside(
        canvas, "proposals", "proposalCount", [_proposal(one, known) for one in records(canvas, "proposals")]
    )
    lines += _beside(canvas, "locks", "lockCount", [_lock(one, known) for one in records(canvas, "locks")])
    labels = records(canvas, "labels")
    lines.append(f"labels: {len(labels) or 'none'}{' and more' if canvas.get('labelsTruncated') is True else ''}")
    lines += [f"  {_label(one.get('text'))}" for one in labels[:_LABELS_SHOWN]]
    if len(labels) > _LABELS_SHOWN:
        lines.append(f"  and {len(labels) - _LABELS_SHOWN} more; --json prints them")
    return lines


def proposal_lines(proposal: Record, names: Record) -> list[str]:
    """One proposal, with what approving it now would do if it waits still."""
    would = proposal.get("would")
    told: dict[str, Value] = {
        "id": proposal.get("proposalId"),
        "state": proposal.get("stage"),
        "by": _name(proposal.get("by"), names),
        "at": proposal.get("at"),
        "tool": proposal.get("tool"),
        "made for": f"revision {shown(proposal.get('baseRevision'))}",
        "reason": _text_of(proposal.get("reason")),
        "elements": proposal.get("elementCount"),
        "decided by": _name(proposal.get("decidedBy"), names),
        "decided": proposal.get("decidedAt"),
        "because": _text_of(proposal.get("decidedBecause")),
        "approving": _would(would) if isinstance(would, dict) else None,
    }
    lines = fields({name: value for name, value in told.items() if value is not None})
    listed = proposal.get("elementIds")
    if "elements" in proposal:
        return [*lines, *(f"  {line}" for line in change_lines(proposal))]
    return [*lines, *(f"  {shown(id_)}" for id_ in (listed if isinstance(listed, list) else []))]


def _would(would: Record) -> str:
    match would.get("outcome"):
        case "applied":
            return f"would make revision {shown(would.get('revision'))}"
        case "conflict":
            return "is not possible: what it touches was changed since"
        case _:
            return f"is not possible: {shown(would.get('message'))}"


def _roles(canvas: Record, names: Record) -> list[str]:
    if "roles" not in canvas:
        return []
    held = records(canvas, "roles")
    lines = [f"  {shown(one.get('role')):<9} {shown(_name(one.get('agentId'), names))}" for one in held]
    return [f"roles: {len(held) or 'none'}", *lines]


def _beside(canvas: Record, name: str, counted: str, lines: list[str]) -> list[str]:
    """The first of them. Absent from answers that say nothing of them."""
    count = canvas.get(counted)
    if not isinstance(count, int):
        return []
    first = [f"  {line}" for line in lines[:_BESIDE_SHOWN]]
    more = [f"  and {count - len(first)} more; --json prints them"] if count > len(first) else []
    return [f"{name}: {count or 'none'}", *first, *more]


def _proposal(one: Record, names: Record) -> str:
    why = shown(_text_of(one.get("reason")))
    who, what, count = shown(_name(one.get("by"), names)), shown(one.get("what")), shown(one.get("elementCount"))
    return f"{shown(one.get('proposalId'))}  {who}, {count} {what}: {why}"


def _lock(one: Record, names: Record) -> str:
    return f"{shown(one.get('elementId'))}  {shown(_name(one.get('holder'), names))} until {shown(one.get('until'))}"


def _name(label: Value, names: Record) -> Value:
    """An agent's name for showing; the id of one that has none any more, and `person`, as they are."""
    return names.get(label) or label if isinstance(label, str) else label


def _text_of(fence: Value) -> Value:
    """A text that comes in a fence (common 7.1)."""
    return fence.get("text") if isinstance(fence, dict) else fence


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
    return shown(_text_of(text))
