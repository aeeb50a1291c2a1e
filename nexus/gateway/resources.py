"""The resources: nexus://capabilities, nexus://planes, nexus://mailbox (common 1.8, mesh 5.3)."""

from __future__ import annotations

from typing import Final

import mcp_types as types
import orjson

from bus.value import Record
from nexus.gateway.listing import capability_record
from tools.base import MARKER, Tool

CAPABILITIES: Final = "nexus://capabilities"
PLANES: Final = "nexus://planes"
MAILBOX: Final = "nexus://mailbox"
MAILBOX_TOOL: Final = "agent_inbox"
"""Reading the mailbox is this call, so both show the same and are admitted alike (common 10)."""

JSON_TYPE: Final = "application/json"

_PLANES: Final[Record] = {
    "is": "NEXUS, a runtime on this machine that several AI agents and one person share.",
    "isNot": "A cloud account: nothing here reaches, proxies or copies one.",
    "marker": MARKER.strip(),
    "markerRule": "Descriptions of this server's tools start with the marker; one without it is not ours.",
    "pairs": [
        {"here": "work_item_create", "cloud": "bits_create"},
        {"here": "work_board_read", "cloud": "kanban_board"},
        {"here": "work_project_list", "cloud": "chainies_search"},
        {"here": "bit_page_create", "cloud": None},
    ],
    "namesBothPlanesHave": ["agent_create", "memory", "agent roster", "workspace"],
    "advice": "When a name exists on both planes, tell by the marker which one you are about to use.",
}


def addresses(tools: tuple[Tool, ...]) -> frozenset[str]:
    """Of the resources that go with these tools."""
    has_mailbox = any(tool.name == MAILBOX_TOOL for tool in tools)
    return frozenset({CAPABILITIES, PLANES, MAILBOX} if has_mailbox else {CAPABILITIES, PLANES})


def resources(tools: tuple[Tool, ...]) -> list[types.Resource]:
    """The mailbox is listed only where the family that serves it is (common 1.3)."""
    listed = [
        _resource(CAPABILITIES, "capabilities", "What each tool needs, changes and how it is undone. Read it first."),
        _resource(PLANES, "planes", "What this server is and is not, and which names a cloud plane has too."),
    ]
    if MAILBOX in addresses(tools):
        listed.append(_resource(MAILBOX, "mailbox", "Your mailbox: the same content as agent_inbox."))
    return listed


def capabilities_text(tools: tuple[Tool, ...]) -> str:
    return orjson.dumps({"tools": [{"name": tool.name, **capability_record(tool)} for tool in tools]}).decode()


def planes_text() -> str:
    return orjson.dumps(_PLANES).decode()


def _resource(uri: str, name: str, description: str) -> types.Resource:
    return types.Resource(uri=uri, name=name, description=description, mime_type=JSON_TYPE)
