"""Reads over several owners (ARCHITECTURE, Owners; workspace.md, canvas.md 2, mesh.md 2)."""

from __future__ import annotations

import pytest

from bus import address
from bus.clock import ManualClock
from bus.limits import page_items_default
from bus.value import Record
from nexus.gateway.compose import Composer
from nexus.gateway.reading import OwnerRefused, Reading
from nexus.gateway.route import NEVER_AN_ID
from tests.support.gateway_bench import AGENT, STAMP, WORKSPACE, in_loop, tool
from tests.support.scripted_caller import ScriptedCaller, Sent
from tools.base import Route
from tools.errors import NOT_FOUND, Code, Refusal

SEEN: Record = {
    "workspaces": [{"workspaceId": "other", "name": "Other"}, {"workspaceId": WORKSPACE, "name": "Mine"}],
    "activeWorkspaceId": "other",
}


async def compose(caller: ScriptedCaller, name: str, arguments: Record | None = None) -> Record:
    clock = ManualClock()
    reading = Reading(caller, clock, STAMP, clock.now_ms() + 1_000)
    return await Composer(()).compose(tool(name, Route.COMPOSED), reading, arguments or {})


def test_a_composed_tool_without_a_composition_is_refused_at_start_up() -> None:
    with pytest.raises(ValueError, match="canvas_nothing"):
        Composer((tool("canvas_nothing", Route.COMPOSED),))


@pytest.mark.parametrize(("inherits", "resolution"), [(False, "pinned"), (True, "inherited")])
@in_loop
async def test_workspace_current_tells_the_scope_and_the_persons_active_workspace_apart(
    inherits: bool, resolution: str
) -> None:
    """common 3.1"""
    caller = ScriptedCaller()
    caller.on("workspaces_seen", SEEN)
    caller.on("agent_facts", {"inherits": inherits})
    assert await compose(caller, "workspace_current") == {
        "workspace": {"id": WORKSPACE, "name": "Mine"},
        "resolution": resolution,
        "activeWorkspace": {"id": "other", "name": "Other"},
        "isCallerScopeActiveForUser": False,
    }
    assert (caller.sent[0].to, caller.sent[0].stamp) == (address.DIRECTORY, STAMP)


@in_loop
async def test_a_scope_that_no_longer_exists_is_unresolved_and_not_an_empty_success() -> None:
    """common 3.1"""
    caller = ScriptedCaller()
    caller.on("workspaces_seen", {"workspaces": [], "activeWorkspaceId": None})
    for name in ("workspace_current", "workspace_list"):
        with pytest.raises(OwnerRefused) as refused:
            await compose(caller, name)
        assert refused.value.error["code"] == "scope_unresolved"


@in_loop
async def test_workspace_list_gives_detail_for_the_callers_own_only() -> None:
    caller = ScriptedCaller()
    caller.on("workspaces_seen", SEEN)
    caller.on("workspace_get", {"workspace": {"color": "#aabbcc"}})
    assert await compose(caller, "workspace_list") == {
        "workspaces": [
            {"id": "other", "name": "Other", "isCallerScope": False, "isActive": True, "detail": None},
            {
                "id": WORKSPACE,
                "name": "Mine",
                "isCallerScope": True,
                "isActive": False,
                "detail": {"color": "#aabbcc"},
            },
        ]
    }
    assert [sent.to for sent in caller.sent_of("workspace_get")] == [address.workspace(WORKSPACE)]


def summary(sent: Sent) -> Record | Refusal:
    if sent.to.id == "gone":
        return NOT_FOUND
    return {
        "canvasId": sent.to.id,
        "role": "editor",
        "title": f"Title of {sent.to.id}",
        "revision": 4,
        "counts": {"live": 2, "deleted": 1},
        "updatedAt": "2027-01-15T08:00:00.000Z",
        "createdBy": "person",
    }


@in_loop
async def test_canvas_list_joins_the_index_with_each_canvas_and_leaves_out_what_vanished() -> None:
    caller = ScriptedCaller()
    listed: Record = {
        "canvases": [{"canvasId": each, "title": "old", "role": "viewer"} for each in ("c1", "gone", "c2")],
        "nextAfter": None,
    }
    caller.on("readable_canvases", listed)
    caller.on("canvas_summary", summary)
    content = await compose(caller, "canvas_list")
    assert content == {
        "canvases": [
            {
                "canvasId": each,
                "title": f"Title of {each}",
                "revision": 4,
                "role": "editor",
                "counts": {"live": 2, "deleted": 1},
                "updatedAt": "2027-01-15T08:00:00.000Z",
                "createdBy": "person",
            }
            for each in ("c1", "c2")
        ]
    }
    assert all(sent.stamp == STAMP for sent in caller.sent)


@in_loop
async def test_the_next_page_starts_where_the_last_one_ended() -> None:
    """common 7.3"""
    caller = ScriptedCaller()
    caller.on("readable_canvases", {"canvases": [], "nextAfter": "c50"})
    first = await compose(caller, "canvas_list")
    await compose(caller, "canvas_list", {"cursor": first["nextCursor"]})
    assert [sent.body for sent in caller.sent] == [
        {"limit": page_items_default},
        {"limit": page_items_default, "after": "c50"},
    ]


@in_loop
async def test_peers_are_the_agents_that_can_be_sent_to_and_agents_are_all() -> None:
    """mesh 2.1"""
    facts: dict[str, Record] = {
        AGENT: {"workspaceId": WORKSPACE, "mesh": True, "ran": True, "revoked": False},
        "ready": {"workspaceId": WORKSPACE, "mesh": True, "ran": True, "revoked": False},
        "fresh": {"workspaceId": WORKSPACE, "mesh": True, "ran": False, "revoked": False},
    }
    caller = ScriptedCaller()
    caller.on(
        "agents_in_scope",
        {"agents": [{"agentId": each, "name": each.title()} for each in (*facts, "gone")], "nextAfter": None},
    )
    caller.on("agent_facts", lambda sent: facts.get(sent.to.id, NOT_FOUND))
    content = await compose(caller, "agent_list_peers")
    agents, peers = content["agents"], content["peers"]
    assert isinstance(agents, list) and isinstance(peers, list)
    assert [agent["agentId"] for agent in agents if isinstance(agent, dict)] == [AGENT, "ready", "fresh"]
    assert peers == [{"agentId": "ready", "name": "Ready", "capabilityTier": "deliver", "withheld": []}]


@in_loop
async def test_ones_own_identity_comes_with_ones_channels_and_anothers_without() -> None:
    """mesh 1"""
    caller = ScriptedCaller()
    caller.on("agent_get", lambda sent: {"agentId": sent.to.id, "isSelf": sent.to.id == AGENT})
    channels: Record = {"channels": [{"channelId": "h", "name": "Reviews"}]}
    caller.on("own_channels", channels)
    assert await compose(caller, "agent_get", {"agentId": AGENT}) == {"agentId": AGENT, "isSelf": True, **channels}
    assert await compose(caller, "agent_get", {"agentId": "b"}) == {"agentId": "b", "isSelf": False, "channels": None}
    assert [str(sent.to) for sent in caller.sent_of("own_channels")] == [str(address.workspace(WORKSPACE))]


@in_loop
async def test_an_id_that_no_agent_can_have_is_asked_of_an_owner_that_has_nothing() -> None:
    """common 3.3"""
    caller = ScriptedCaller()
    caller.on("agent_get", NOT_FOUND)
    for named in ("not an id", "-", "nobody"):
        with pytest.raises(OwnerRefused):
            await compose(caller, "agent_get", {"agentId": named})
    assert {sent.to.id for sent in caller.sent} == {NEVER_AN_ID, "nobody"}


@in_loop
async def test_a_refused_read_refuses_the_whole() -> None:
    caller = ScriptedCaller()
    caller.on("readable_canvases", Refusal(Code.STORAGE_FULL, "The disk is full."))
    with pytest.raises(OwnerRefused) as refused:
        await compose(caller, "canvas_list")
    assert refused.value.error["code"] == "storage_full"
