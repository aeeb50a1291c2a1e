"""What is in another workspace is nowhere to be seen: every answer is the same bytes whether it is full or empty."""

from __future__ import annotations

from bus import address
from bus.address import DIRECTORY, PROVIDERS, TEAMS
from bus.clock import ManualClock
from bus.identifier import derived_id, made_id
from bus.value import Record, Value
from tests.support.gateway_bench import in_loop
from tests.support.home_bench import HomeBench
from tools.catalogue import BY_NAME, TOOLS

CHANNEL_CALL = "01mcc5rm00000000000000000c"
CHANNEL = made_id(CHANNEL_CALL, "channel")
"""The channel that the other workspace has once it is full, made by this call."""

TEAM_CALL = ManualClock().new_id()
TEAM = made_id(TEAM_CALL, "team")
"""A team that is there in both worlds: teams are app-wide."""

PROPOSAL_CALL = derived_id(ManualClock().now_ms(), "existence", "a call that proposes")
"""The call by which an agent of the other workspace proposes a change of its canvas."""
PROPOSAL = made_id(PROPOSAL_CALL, "proposal")

OTHER: dict[str, dict[str, Value]] = {
    "canvas_get_state": {"canvasId": "canvas-of-w2"},
    "canvas_query_region": {"canvasId": "canvas-of-w2", "x": 0, "y": 0, "width": 9, "height": 9},
    "agent_get": {"agentId": "agent-of-w2"},
    "workspace_get": {"workspaceId": "w2"},
}
"""For tools that name a target: one that the other workspace has once it is full."""

WRITES: dict[str, dict[str, Value]] = {
    "canvas_create_elements": {"elements": [{"type": "rectangle", "x": 0, "y": 0, "width": 1, "height": 1}]},
    "canvas_update_elements": {"updates": [{"id": "e", "set": {"x": 1}}]},
    "canvas_move_elements": {"moves": [{"id": "e", "dx": 1, "dy": 1}]},
    "canvas_connect_elements": {"connections": [{"fromId": "e", "toId": "e"}]},
    "canvas_delete_elements": {"elementIds": ["e"]},
    "canvas_restore_elements": {"elementIds": ["e"]},
    "canvas_lock_elements": {"elementIds": ["e"]},
    "canvas_approve_proposal": {"proposalId": PROPOSAL},
    "canvas_reject_proposal": {"proposalId": PROPOSAL},
    "canvas_delete": {},
    "agent_trigger": {"agentId": "agent-of-w2", "task": {"title": "Count", "instructions": "Count the beans."}},
    "agent_reply": {"threadId": "thread-of-w2", "outcome": "completed", "body": "There are 7."},
    "agent_reject": {"threadId": "thread-of-w2", "reason": "No time."},
    "agent_create": {"name": "Helper", "channelId": CHANNEL},
    "agent_invite_to_channel": {"agentId": "peer-of-w1", "channelId": CHANNEL},
    "workspace_update": {"workspaceId": "w2", "name": "Mine now"},
    "team_add_member": {"teamId": TEAM, "agentId": "agent-of-w2"},
    "team_remove_member": {"teamId": TEAM, "agentId": "agent-of-w2"},
    "agent_set_provider": {"agentId": "agent-of-w2", "providerId": "codex"},
}
"""Writes that are aimed at what the other workspace has; of canvases target, revision and reason come as well."""


async def _reads(bench: HomeBench, token: str) -> dict[str, bytes]:
    """Every read tool that is served, with a target of the other workspace where it takes one."""
    reads = [tool.name for tool in TOOLS if tool.is_read]
    return {name: await bench.answer(token, name, OTHER.get(name)) for name in reads}


async def _writes(bench: HomeBench, token: str) -> dict[str, bytes]:
    aimed: dict[str, Value] = {"canvasId": "canvas-of-w2", "expectedRevision": 1, "reason": "x"}
    return {
        name: await bench.answer(token, name, {**(aimed if name.startswith("canvas") else {}), **arguments})
        for name, arguments in WRITES.items()
    }


async def _fill(bench: HomeBench) -> None:
    token = await bench.agent("agent-of-w2", "Bo", "w2")
    await bench.agent("peer-of-w2", "Cyd", "w2")
    await bench.hosts.ok(DIRECTORY, "agent_inherit", {"agentId": "peer-of-w2", "inherits": False})
    workspace = address.workspace("w2")
    made = await bench.hosts.ok(workspace, "channel_create", {"name": "Secret"}, CHANNEL_CALL)
    assert made["channelId"] == CHANNEL
    await bench.hosts.ok(workspace, "channel_add", {"channelId": CHANNEL, "agentId": "agent-of-w2"})
    canvas = address.canvas("w2", "canvas-of-w2")
    await bench.hosts.ok(canvas, "canvas_create", {"title": "Secret", "reason": "a test"})
    await bench.hosts.ok(canvas, "canvas_grant", {"agentId": "agent-of-w2", "role": "owner"})
    await bench.hosts.ok(canvas, "canvas_grant", {"agentId": "agent-of-w1", "role": "owner"})  # of no use elsewhere
    drawn: list[Record] = [{"type": "rectangle", "id": "e", "x": 0, "y": 0, "width": 1, "height": 1}]
    write: dict[str, Value] = {"canvasId": "canvas-of-w2", "expectedRevision": 1, "reason": "x", "elements": [*drawn]}
    assert (await bench.content(token, "canvas_create_elements", write))["outcome"] == "applied"
    await bench.hosts.ok(canvas, "canvas_grant", {"agentId": "peer-of-w2", "role": "commenter"})
    stamp: Record = {"agentId": "peer-of-w2", "workspaceId": "w2", "credential": "default", "version": 1}
    stamp["issuedMs"] = bench.clock.now_ms()
    proposal: Record = {**write, "expectedRevision": 2, "elements": [{**drawn[0], "id": "f"}]}
    proposed = await bench.hosts.as_agent(canvas, "canvas_create_elements", proposal, stamp, PROPOSAL_CALL)
    assert proposed.ok is not None and proposed.ok["proposalId"] == PROPOSAL
    task: dict[str, Value] = {"title": "Count", "instructions": "Count the beans."}
    assert "error" in await bench.content(token, "agent_trigger", {"agentId": "peer-of-w2", "task": task})


@in_loop
async def test_every_answer_is_the_same_whether_the_other_workspace_is_full_or_empty() -> None:
    """security 2.12, common 3.3"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "Mine")
        await bench.workspace("w2", "Other")
        token = await bench.agent("agent-of-w1", "Ada", "w1")
        await bench.agent("peer-of-w1", "Eve", "w1")
        canvas = address.canvas("w1", "own")
        await bench.hosts.ok(canvas, "canvas_create", {"title": "Plan", "reason": "a test"})
        await bench.hosts.ok(canvas, "canvas_grant", {"agentId": "agent-of-w1", "role": "editor"})
        assert (await bench.hosts.ok(TEAMS, "team_create", {"name": "All"}, TEAM_CALL))["teamId"] == TEAM
        await bench.hosts.ok(
            PROVIDERS, "provider_enable", {"providerId": "codex", "name": "Codex", "path": "/opt/codex"}
        )
        empty = {**await _reads(bench, token), **await _writes(bench, token)}
        await _fill(bench)
        full = {**await _reads(bench, token), **await _writes(bench, token)}
        assert full == empty
        assert b"Plan" in full["canvas_list"] and b"Eve" in full["agent_list_peers"], "it is no empty comparison"
        aimed = {name: full[name] for name in (*OTHER, *WRITES)}
        assert [name for name, answer in aimed.items() if b'"isError":true' not in answer.replace(b" ", b"")] == []


def test_a_tool_that_takes_a_target_is_asked_about_one_of_the_other_workspace() -> None:
    """security 2.12"""
    targets = {"canvasId", "agentId", "threadId", "channelId"}
    for name, tool in BY_NAME.items():
        if targets & tool.input.model_fields.keys() or name in ("workspace_get", "workspace_update"):
            assert name in OTHER or name in WRITES, f"{name} is not asked about the other workspace"


@in_loop
async def test_a_workspace_that_is_deleted_answers_like_one_that_never_was() -> None:
    """common 3.1, 3.3"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "Mine")
        await bench.workspace("w2", "Other")
        token = await bench.agent("agent-of-w1", "Ada", "w1")
        left = await bench.agent("agent-of-w2", "Bo", "w2")
        canvas = address.canvas("w2", "canvas-of-w2")
        await bench.hosts.ok(canvas, "canvas_create", {"title": "Secret", "reason": "a test"})
        before = {name: await bench.answer(token, name, OTHER[name]) for name in OTHER}
        assert (await bench.content(left, "workspace_current"))["workspace"] == {"id": "w2", "name": "Other"}
        assert await bench.hosts.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w2"}) == {
            "id": "w2",
            "name": "Other",
        }
        assert {name: await bench.answer(token, name, OTHER[name]) for name in OTHER} == before
        listed = await bench.content(token, "workspace_list")
        assert [one["id"] for one in listed["workspaces"]] == ["w1"]
        for name in ("workspace_current", "workspace_list", "canvas_list", "agent_inbox", "agent_list_peers"):
            assert (await bench.content(left, name))["error"]["code"] == "scope_unresolved", name
        await bench.hosts.ok(DIRECTORY, "agent_pin", {"agentId": "agent-of-w2", "workspaceId": "w1"})
        assert (await bench.content(left, "workspace_current"))["workspace"] == {"id": "w1", "name": "Mine"}


@in_loop
async def test_an_agent_that_inherits_acts_where_the_person_is_and_says_so() -> None:
    """common 3.1"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "One")
        await bench.workspace("w2", "Two")
        token = await bench.agent("a1", "Ada", "w2")
        await bench.hosts.ok(DIRECTORY, "agent_inherit", {"agentId": "a1", "inherits": True})
        for workspace_id, name in (("w2", "Two"), ("w1", "One")):
            await bench.hosts.ok(DIRECTORY, "workspace_use", {"workspaceId": workspace_id})
            assert await bench.content(token, "workspace_current") == {
                "workspace": {"id": workspace_id, "name": name},
                "resolution": "inherited",
                "activeWorkspace": {"id": workspace_id, "name": name},
                "isCallerScopeActiveForUser": True,
            }
        await bench.hosts.ok(DIRECTORY, "agent_pin", {"agentId": "a1", "workspaceId": "w2"})
        current = await bench.content(token, "workspace_current")
        assert (current["resolution"], current["isCallerScopeActiveForUser"]) == ("pinned", False)
