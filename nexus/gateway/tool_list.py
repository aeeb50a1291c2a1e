"""tool_list: every served tool as it stands for the caller (work-plan-tool, tool_*)."""

from __future__ import annotations

from typing import Any

from bus import address
from bus.value import Record, Value
from nexus.gateway.admitting import call_facts
from nexus.gateway.listing import capability_record
from nexus.gateway.reading import Reading
from tools.base import Tool


async def tool_list(tools: tuple[Tool, ...], reading: Reading, arguments: Record) -> Record:
    """The caller's own owner says how each tool stands that the credential is served, by the function that admits;
    nothing is changed."""
    facts: list[Value] = [call_facts(tool) for tool in tools]
    told: dict[str, Any] = await reading.ask(address.agent(reading.agent_id), "outlooks", {"tools": facts})
    standing: dict[str, dict[str, Any]] = {one["name"]: one for one in told["tools"]}
    listed: list[Value] = [
        {
            "name": tool.name,
            "description": tool.description,
            "capabilities": capability_record(tool),
            "requiredCapability": None if tool.capability is None else tool.capability.value,
            "isCapabilityHeld": standing[tool.name]["isHeld"],
            "status": standing[tool.name]["status"],
            "enabled": standing[tool.name]["status"] == "available",
            "disabledReason": standing[tool.name]["reason"],
        }
        for tool in tools
        if tool.name in standing
    ]
    enabled = sum(one["status"] == "available" for one in standing.values())
    return {"tools": listed, "autonomyMode": told["autonomyMode"], "enabledCount": enabled}
