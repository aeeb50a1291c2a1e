"""Authority from outside: modes, approvals, plans and budgets on real processes, and under kill -9."""

from __future__ import annotations

import http.client
import os
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.processes.conftest import Running
from tests.support.mcp_http import McpHttp, ToolResult
from tests.support.waiting import eventually
from tools.catalogue import TOOLS

pytestmark = pytest.mark.processes

A_TEST = ("shard-0", "shard-0", "shard-0", "shard-0", "gateway", "gateway", "supervisor", "supervisor")
"""Whom a test kills, in the order that its seed says."""
BOX = {"type": "rectangle", "x": 0, "y": 0, "width": 1, "height": 1}


def canvas_of(agent: McpHttp, title: str = "Plan") -> str:
    return str(agent.ok("canvas_create", {"title": title, "reason": "test"})["canvasId"])


def delete(agent: McpHttp, canvas: str, key: str | None = None) -> ToolResult:
    return agent.call("canvas_delete", {"canvasId": canvas, "expectedRevision": 1, "reason": "test"}, key)


def error_of(result: ToolResult) -> dict[str, Any]:
    error: dict[str, Any] = result.content["error"]
    return error


def until_answered(agent: McpHttp, tool: str, arguments: dict[str, Any], key: str) -> ToolResult:
    """The answer of the one call that `key` stands for, over any number of restarts."""

    def once() -> ToolResult | None:
        try:
            result = agent.call(tool, arguments, key=key)
        except (OSError, http.client.HTTPException, AssertionError):
            return None
        unknown_for_now = result.code in ("unavailable", "outcome_unknown")
        return None if unknown_for_now else result

    return eventually(once, seconds=60, what="an answer")


def arguments_for(running: Running, agent_id: str, canvas: str, workspace: str) -> dict[str, dict[str, Any]]:
    """Valid arguments for every tool that writes."""
    write = {"canvasId": canvas, "expectedRevision": 1, "reason": "test"}
    return {
        "canvas_create_elements": {**write, "elements": [BOX]},
        "canvas_update_elements": {**write, "updates": [{"id": "e", "set": {"x": 1}}]},
        "canvas_move_elements": {**write, "moves": [{"id": "e", "dx": 1, "dy": 1}]},
        "canvas_connect_elements": {**write, "connections": [{"fromId": "e", "toId": "e"}]},
        "canvas_lock_elements": {**write, "elementIds": ["e"]},
        "canvas_approve_proposal": {**write, "proposalId": "p"},
        "canvas_reject_proposal": {**write, "proposalId": "p"},
        "canvas_delete_elements": {**write, "elementIds": ["e"]},
        "canvas_restore_elements": {**write, "elementIds": ["e"]},
        "canvas_create": {"title": "t", "reason": "t"},
        "canvas_delete": write,
        "agent_trigger": {"agentId": agent_id, "task": {"title": "t", "instructions": "i"}},
        "agent_reply": {"threadId": "t", "outcome": "completed", "body": "b"},
        "agent_reject": {"threadId": "t", "reason": "r"},
        "agent_update_self": {"persona": "p"},
        "agent_create": {"name": "Newcomer"},
        "agent_invite_to_channel": {"agentId": agent_id, "channelId": "c"},
        "agent_set_provider": {"agentId": agent_id, "providerId": "claude"},
        "team_create": {"name": "Team"},
        "team_add_member": {"teamId": "t", "agentId": agent_id},
        "team_remove_member": {"teamId": "t", "agentId": agent_id},
        "workspace_create": {"name": "Another"},
        "workspace_update": {"workspaceId": workspace, "name": "Changed"},
        "workspace_delete": {"workspaceId": workspace},
        "settings_set": {"name": "workspaces.gridColumns", "value": 3},
        "plan_begin": {"title": "t", "steps": ["s"]},
        "plan_end": {},
        "tool_set_enabled": {"tool": "agent_reject"},
    }


def test_what_tool_list_says_is_word_for_word_what_a_call_is_told(running: Running) -> None:
    """common 4.2, 4.6; work-plan-tool, tool_list"""
    workspace = running.workspace("Listing")
    agent_id, agent = running.agent("lister", workspace)
    canvas = canvas_of(agent)
    arguments = arguments_for(running, agent_id, canvas, workspace)
    assert set(arguments) == {tool.name for tool in TOOLS if not tool.is_read}
    circumstances: list[list[str]] = [
        ["agent", "mode", "lister", "plan"],
        ["agent", "withhold", "lister", "agent_reply"],
        ["agent", "mode", "lister", "auto"],
        ["agent", "budget", "lister", "--lifetime", "1"],
    ]
    for command in circumstances:
        running.person(*command)
        before = running.events()
        listed = {tool["name"]: tool for tool in agent.ok("tool_list")["tools"]}
        assert running.events() == before, "looking has no effect"
        for name, given in arguments.items():
            if listed[name]["enabled"]:
                continue
            told = agent.call(name, given)
            certain = ("not_found", "invalid_arguments", "wrong_state", "last_workspace", "rejected", "conflict")
            if listed[name]["status"] == "requires_approval" and (not told.is_error or told.code in certain):
                continue  # a call that is certain to fail is told so, without a card
            assert error_of(told)["message"] == listed[name]["disabledReason"], (command, name)


@pytest.mark.timeout(300)
def test_an_approved_deletion_happens_once_and_only_with_its_approval_over_kills(running: Running) -> None:
    """common 5.2, 8.1"""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    chance = random.Random(seed)
    _, agent = running.agent("deleter", running.workspace("Deletions"))
    running.person("settings", "set", "creation.surfacesPerHour", "1000")
    for number, victim in enumerate(chance.sample(A_TEST, len(A_TEST))):
        canvas = canvas_of(agent, f"Plan {number}")
        refused = delete(agent, canvas)
        assert refused.code == "approval_required"
        approval = error_of(refused)["approvalId"]
        with ThreadPoolExecutor(1) as pool:
            arguments = {"canvasId": canvas, "expectedRevision": 1, "reason": "test"}
            assert running.nexus.run("approvals", "approve", approval).code == 0
            calling = pool.submit(until_answered, agent, "canvas_delete", arguments, f"delete-{number}")
            _wait_a_random_moment(chance)
            running.kill(victim)
            result = calling.result(100)
        assert result.content.get("outcome") == "applied", result.content
        assert agent.call("canvas_get_state", {"canvasId": canvas}).code == "not_found"
        card = eventually(lambda: _card(running, approval))  # noqa: B023 - called before the next round
        assert card["state"] == "used"
    used = [event for event in running.events() if event["type"] == "approval.used"]
    assert len({event["data"]["approvalId"] for event in used}) == len(used) == len(A_TEST)


def _wait_a_random_moment(chance: random.Random) -> None:
    """Some thousand steps of nothing: the kill falls somewhere between admission and answer."""
    for _ in range(chance.randrange(200_000)):
        pass


def _card(running: Running, approval: str) -> dict[str, Any] | None:
    outcome = running.nexus.run("approvals", "show", approval, "--json")
    return outcome.record if outcome.code == 0 else None


@pytest.mark.timeout(300)
def test_a_plans_record_and_the_budget_are_complete_over_kills(running: Running) -> None:
    """common 8.1; work-plan-tool, plan_*, creation budget"""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    chance = random.Random(seed)
    agent_id, agent = running.agent("planner", running.workspace("Plans"))
    running.person("settings", "set", "creation.surfacesPerHour", "1000")
    plan = agent.ok("plan_begin", {"title": "Draw", "steps": ["Draw boxes"]})["planId"]
    for number, victim in enumerate(chance.sample(A_TEST, len(A_TEST))):
        with ThreadPoolExecutor(1) as pool:
            arguments = {"title": f"Canvas {number}", "reason": "test"}
            calling = pool.submit(until_answered, agent, "canvas_create", arguments, f"create-{number}")
            _wait_a_random_moment(chance)
            running.kill(victim)
            result = calling.result(100)
        assert result.content.get("outcome") == "applied", result.content
    happened = eventually(lambda: agent.ok("plan_get", {"planId": plan}))["happened"]
    assert [step["state"] for step in happened] == ["done"] * len(A_TEST)
    facts = running.person("agent", "show", "planner")
    assert facts["budget"]["usedLifetime"] == len(A_TEST)
    assert len(agent.ok("canvas_list")["canvases"]) == len(A_TEST)
    charged = [event["data"] for event in running.events() if event["type"] == "surface.charged"]
    calls = [told["callId"] for told in charged if told["agentId"] == agent_id]
    assert len(set(calls)) == len(calls) == len(A_TEST)
