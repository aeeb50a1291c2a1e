"""The whole catalogue behind the gateway: it starts, lists, and what it composes fits the tools' own models."""

from __future__ import annotations

import orjson
import pytest

from bus.clock import ManualClock
from bus.value import Record
from nexus.gateway.asgi import Gateway
from nexus.gateway.compose import Composer
from nexus.gateway.provider_answers import ProviderAnswers, ProviderSources
from nexus.gateway.route import owner_of
from tests.support.gateway_bench import AGENT, PORT, STAMP, WORKSPACE, GatewayBench, in_loop
from tests.support.scripted_caller import ScriptedCaller
from tools.base import Route, Tool
from tools.catalogue import TOOLS

FACTS: Record = {"workspaceId": WORKSPACE, "mesh": True, "ran": True, "revoked": False}
OWNERS: dict[str, Record] = {
    "workspaces_seen": {
        "workspaces": [{"workspaceId": WORKSPACE, "name": "Mine"}, {"workspaceId": "other", "name": "Other"}],
        "activeWorkspaceId": None,
    },
    "workspace_get": {
        "workspace": {
            "id": WORKSPACE,
            "name": "Mine",
            "color": "#aabbcc",
            "gridColumns": 2,
            "roomMode": "local",
            "createdAt": "2027-01-15T08:00:00.000Z",
        }
    },
    "readable_canvases": {"canvases": [{"canvasId": "c", "title": "Plan", "role": "owner"}], "nextAfter": "c"},
    "canvas_summary": {
        "canvasId": "c",
        "role": "owner",
        "title": "Plan",
        "revision": 1,
        "counts": {"live": 0, "deleted": 0},
        "updatedAt": "2027-01-15T08:00:00.000Z",
        "createdBy": "person",
    },
    "agents_in_scope": {
        "agents": [{"agentId": AGENT, "name": "Ada"}, {"agentId": "b", "name": "Bo"}],
        "nextAfter": "b",
    },
    "agent_facts": FACTS,
    "agent_get": {
        "agentId": AGENT,
        "name": "Ada",
        "persona": None,
        "kind": "agent",
        "color": "#aabbcc",
        "defaultProvider": None,
        "isSelf": True,
    },
    "own_channels": {"channels": [{"channelId": "h", "name": "Reviews"}]},
    "team_show": {
        "teamId": "t",
        "name": "Reviewers",
        "memberCount": 2,
        "origin": "local",
        "description": None,
        "createdAt": "2027-01-15T08:00:00.000Z",
        "members": [AGENT, "b"],
    },
    "agents_named": {"agents": [{"agentId": AGENT, "name": "Ada", "inYourWorkspace": True}]},
    "providers_enabled": {"enabled": [{"providerId": "codex", "path": "/opt/codex", "enabledAt": "-"}]},
    "outlooks": {
        "autonomyMode": "auto",
        "tools": [{"name": tool.name, "status": "available", "reason": None, "isHeld": True} for tool in TOOLS],
    },
}

ARGUMENTS: dict[str, Record] = {
    "agent_get": {"agentId": AGENT},
    "team_detail": {"teamId": "t"},
    "provider_detail": {"providerId": "codex"},
}
"""What a composed tool cannot do without."""


def test_every_composed_tool_has_a_composition_and_every_other_one_an_owner() -> None:
    clock = ManualClock()
    Composer(TOOLS, ProviderAnswers(ScriptedCaller(), clock, ProviderSources()).compositions)
    with pytest.raises(ValueError, match="provider_list"):
        Composer(TOOLS)
    for tool in TOOLS:
        if tool.route is not Route.COMPOSED:
            owner_of(tool, {}, STAMP, clock.new_id())


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.route is Route.COMPOSED], ids=lambda tool: tool.name)
def test_what_is_composed_fits_the_tools_output_model(tool: Tool) -> None:
    """common 1.6"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench(TOOLS) as bench:
            for verb, answer in OWNERS.items():
                bench.caller.on(verb, answer)
            result = await bench.call(tool.name, ARGUMENTS.get(tool.name))
            assert result["isError"] is False, result["structuredContent"]
            cursor = result["structuredContent"].get("nextCursor")
            if cursor is not None:
                assert (await bench.call(tool.name, {"cursor": cursor}))["isError"] is False

    scenario()


@in_loop
async def test_the_list_is_whole_and_the_same_byte_for_byte_each_time() -> None:
    """common 1.2"""
    async with GatewayBench(TOOLS) as bench:
        first, second = [(await bench.modern("tools/list")).content for _ in range(2)]
        assert first == second
        names = [tool["name"] for tool in orjson.loads(first)["result"]["tools"]]
        assert names == [tool.name for tool in TOOLS]


def test_a_second_gateway_lists_the_same() -> None:
    for _ in range(2):
        Gateway(ScriptedCaller(), ManualClock(), TOOLS, PORT)
