"""From what a person typed, an id or a name, to the one thing that is meant. Pure.

An id always wins; then the exact name; then whatever counts as the same name (tools/names.py). Two things under one
name are refused with both ids, never guessed at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bus.value import Value
from tools.errors import Code, Refusal
from tools.names import folded


@dataclass(frozen=True, slots=True)
class Named:
    """One thing that can be meant. `workspace_id` is empty for workspaces themselves."""

    id: str
    name: str
    workspace_id: str = ""


def resolve(kind: str, typed: str, among: Sequence[Named]) -> Named | Refusal:
    """The thing of `among` that `typed` names. `kind` is our own word for it (`agent`), used in refusals."""
    for one in among:
        if one.id == typed:
            return one
    matches = [one for one in among if one.name == typed] or [one for one in among if folded(one.name) == folded(typed)]
    match matches:
        case [single]:
            return single
        case []:
            return not_found(kind, typed)
        case _:
            return _ambiguous(kind, matches)


def not_found(kind: str, typed: str) -> Refusal:
    return Refusal(
        Code.NOT_FOUND,
        f"No {kind} has that id or name. `nexus {kind} list` shows what there is.",
        details={"given": typed},
    )


def _ambiguous(kind: str, matches: Sequence[Named]) -> Refusal:
    candidates: list[Value] = [
        {"id": one.id, "name": one.name, **({"workspaceId": one.workspace_id} if one.workspace_id else {})}
        for one in matches
    ]
    several_places = len({one.workspace_id for one in matches}) > 1
    way_out = "Use one of these ids, or say which with --workspace." if several_places else "Use one of these ids."
    return Refusal(
        Code.INVALID_ARGUMENTS,
        f"More than one {kind} has that name. {way_out}",
        details={"candidates": candidates},
    )
