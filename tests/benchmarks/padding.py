"""Tools that do nothing, which bring the catalogue to the size that it will have (common 1.1)."""

from __future__ import annotations

from tools.base import Family, Kind, Model, Route, Scope, ScopedInput, Tool
from tools.catalogue import TOOLS

LISTED = 110


class PaddingInput(ScopedInput):
    title: str | None = None
    limit: int | None = None
    cursor: str | None = None


class PaddingRow(Model):
    id: str
    title: str
    count: int
    detail: str | None = None


class PaddingOutput(Model):
    rows: list[PaddingRow]
    nextCursor: str | None = None


def padded_catalogue() -> tuple[Tool, ...]:
    """The catalogue with as many more as are missing."""
    return (*TOOLS, *(_tool(number) for number in range(LISTED - len(TOOLS))))


def _tool(number: int) -> Tool:
    return Tool(
        name=f"tool_padding_{number}",
        family=Family.TOOL,
        kind=Kind.READ,
        scope=Scope.WORKSPACE,
        capability=None,
        route=Route.WORKSPACE,
        summary="Stands for a tool that is not written yet, with a description about as long as they usually are.",
        input=PaddingInput,
        output=PaddingOutput,
        side_effects="None.",
        reversibility="Nothing to undo.",
    )
