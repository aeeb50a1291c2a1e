"""Every tool that is served, in the order of tools/list: families as common 1.1 has them, then by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tools import agent, agent_provider, canvas, plan, provider, settings, team, tool, workspace
from tools.base import Family, Tool

_FAMILIES: Final[tuple[tuple[Tool, ...], ...]] = (
    canvas.TOOLS,
    agent.TOOLS,
    agent_provider.TOOLS,
    provider.TOOLS,
    team.TOOLS,
    workspace.TOOLS,
    settings.TOOLS,
    plan.TOOLS,
    tool.TOOLS,
)

_ORDER: Final = {family: place for place, family in enumerate(Family)}


def ordered(*families: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """All tools of `families` in the order of the list. Raises ValueError if two have the same name."""
    tools = sorted((one for family in families for one in family), key=lambda one: (_ORDER[one.family], one.name))
    names = [tool.name for tool in tools]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"tools declared twice: {sorted(doubled)}")
    return tuple(tools)


TOOLS: Final = ordered(*_FAMILIES)
BY_NAME: Final[Mapping[str, Tool]] = MappingProxyType({tool.name: tool for tool in TOOLS})
