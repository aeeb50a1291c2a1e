"""What tools/list and nexus://capabilities show of the catalogue, built once: constant program text (common 1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import mcp_types as types

from bus.value import Record
from tools.base import Kind, Tool
from tools.schema import input_schema, output_schema

RECORD_KEY: Final = "nexus/tool"
"""Where a tool's record stands in its `_meta` (common 1.6)."""

_APPROVAL_LEVELS: Final[Mapping[Kind, str]] = {
    Kind.READ: "none",
    Kind.WRITE: "by_autonomy",
    Kind.IRREVERSIBLE: "always",
    Kind.ALWAYS_ASK: "always",
}


def capability_record(tool: Tool) -> Record:
    """The `_meta` record of common 1.6, the same for every caller."""
    return {
        "family": tool.family.value,
        "kind": tool.kind.value,
        "requiredCapability": None if tool.capability is None else tool.capability.value,
        "approvalLevel": _APPROVAL_LEVELS[tool.kind],
        "sideEffects": tool.side_effects,
        "reversibility": tool.reversibility,
    }


def listed_tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=input_schema(tool),
        output_schema=output_schema(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.is_read,
            destructive_hint=tool.kind is Kind.IRREVERSIBLE,
            idempotent_hint=tool.is_read,
            open_world_hint=False,
        ),
        meta={RECORD_KEY: capability_record(tool)},
    )
