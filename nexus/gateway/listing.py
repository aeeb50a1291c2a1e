"""What tools/list and nexus://capabilities show of the catalogue, built once: constant program text (common 1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import mcp_types as types
import orjson
from mcp_types import methods
from mcp_types.version import LATEST_MODERN_VERSION

from bus.limits import listings_kept_max
from bus.value import Record
from nexus.gateway.strict_json import RequestId
from nexus.gateway.tool_request import WAITING_KEY
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


class Listing:
    """tools/list of one catalogue, as the SDK is given it and as bytes, for each set of families that is served."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.catalogue = tools
        self.input_schemas = {tool.name: input_schema(tool) for tool in tools}
        self.served = lru_cache(maxsize=listings_kept_max)(self._served)
        self._open_result = lru_cache(maxsize=listings_kept_max)(self._opened)

    def message(
        self, identifier: RequestId, waiting: int, meta: Mapping[str, Any], families: frozenset[str] | None
    ) -> bytes:
        """The message that answers a tools/list. `meta` stands in its `_meta` beside the count of what waits."""
        told = orjson.dumps({WAITING_KEY: waiting, **meta})
        result = self._open_result(families)
        return b"".join((b'{"jsonrpc":"2.0","id":', orjson.dumps(identifier), b',"result":', result, told, b"}}"))

    def _served(self, families: frozenset[str] | None) -> tuple[types.Tool, ...]:
        """What a credential knows that is narrowed to `families`, or to none (common 1.3)."""
        known = (tool for tool in self.catalogue if families is None or tool.family.value in families)
        return tuple(listed_tool(tool) for tool in known)

    def _opened(self, families: frozenset[str] | None) -> bytes:
        whole = types.ListToolsResult(tools=[*self.served(families)], ttl_ms=0, cache_scope="private")
        dumped = whole.model_dump(mode="json", by_alias=True, exclude_none=True)
        result = methods.serialize_server_result("tools/list", LATEST_MODERN_VERSION, dumped)  # in the era's own form
        return orjson.dumps(result).removesuffix(b"}") + b',"_meta":'
