"""canvas_delete and workspace_create, _update, _delete as an agent calls them: the whole way, with a card."""

from __future__ import annotations

from typing import Any

from bus import address
from bus.address import DIRECTORY
from bus.value import Value
from tests.support.gateway_bench import in_loop
from tests.support.home_bench import HomeBench

Arguments = dict[str, Value]


async def _begun(bench: HomeBench) -> str:
    await bench.workspace("w1", "One")
    await bench.workspace("w2", "Two")
    return await bench.agent("a1", "Ada", "w1")


async def _decide(bench: HomeBench, refused: dict[str, Any], decision: str = "approve") -> None:
    assert refused["error"]["code"] == "approval_required", refused
    body: Arguments = {"approvalId": refused["error"]["approvalId"], "decision": decision, "how": "test"}
    await bench.hosts.ok(address.agent("a1"), "approval_decide", body)


async def _approved(bench: HomeBench, token: str, tool: str, arguments: Arguments) -> dict[str, Any]:
    """The call, the person's yes, and the same call again."""
    await _decide(bench, await bench.content(token, tool, arguments))
    return await bench.content(token, tool, arguments)


@in_loop
async def test_a_canvas_is_deleted_once_the_person_has_approved_it() -> None:
    """canvas 1.2, common 4.2"""
    async with HomeBench() as bench:
        token = await _begun(bench)
        made = await bench.content(token, "canvas_create", {"title": "Plan", "reason": "a test"})
        call: Arguments = {"canvasId": made["canvasId"], "expectedRevision": 1, "reason": "done with"}
        assert await _approved(bench, token, "canvas_delete", call) == {
            "outcome": "applied",
            "revision": 1,
            "elementIds": [],
        }
        assert (await bench.content(token, "canvas_list"))["canvases"] == []
        gone = await bench.content(token, "canvas_get_state", {"canvasId": made["canvasId"]})
        assert gone["error"]["code"] == "not_found"


@in_loop
async def test_whoever_may_not_delete_a_canvas_makes_no_card() -> None:
    """common 4.6"""
    async with HomeBench() as bench:
        token = await _begun(bench)
        canvas = address.canvas("w1", "theirs")
        await bench.hosts.ok(canvas, "canvas_create", {"title": "Plan", "reason": "a test"})
        call: Arguments = {"canvasId": "theirs", "expectedRevision": 1, "reason": "tidy up"}
        assert (await bench.content(token, "canvas_delete", call))["error"]["code"] == "not_found"
        await bench.hosts.ok(canvas, "canvas_grant", {"agentId": "a1", "role": "editor"})
        assert (await bench.content(token, "canvas_delete", call))["code"] == "role"
        listed = await bench.hosts.ok(address.agent("a1"), "approvals_list")
        assert listed["approvals"] == []


@in_loop
async def test_a_workspace_is_made_in_the_background_once_the_person_has_approved_it() -> None:
    """workspace.md, workspace_create; common 10"""
    async with HomeBench() as bench:
        token = await _begun(bench)
        made = await _approved(bench, token, "workspace_create", {"name": "New", "color": "#123456"})
        listed = (await bench.content(token, "workspace_list"))["workspaces"]
        assert {one["id"]: (one["isCallerScope"], one["isActive"]) for one in listed} == {
            "w1": (True, True),
            "w2": (False, False),
            made["id"]: (False, False),
        }
        inside = await bench.content(token, "workspace_get", {"workspaceId": made["id"]})
        assert inside["error"]["code"] == "scope_mismatch"


@in_loop
async def test_an_agent_renames_its_own_workspace_unless_the_person_did_meanwhile() -> None:
    """security 2.3, common 5.3"""
    async with HomeBench() as bench:
        token = await _begun(bench)
        call: Arguments = {"workspaceId": "w1", "name": "Renamed"}
        await _decide(bench, await bench.content(token, "workspace_update", call))
        await bench.hosts.ok(DIRECTORY, "workspace_update", {"workspaceId": "w1", "name": "The person's"})
        assert (await bench.content(token, "workspace_update", call))["error"]["code"] == "approval_lapsed"
        assert (await bench.content(token, "workspace_current"))["workspace"]["name"] == "The person's"
        assert (await _approved(bench, token, "workspace_update", call))["updated"] == ["name"]
        assert (await bench.content(token, "workspace_current"))["workspace"]["name"] == "Renamed"


@in_loop
async def test_a_workspace_is_deleted_with_all_in_it_once_the_person_has_approved_it() -> None:
    """workspace.md, workspace_delete"""
    async with HomeBench() as bench:
        token = await _begun(bench)
        for number in range(3):
            canvas = address.canvas("w2", f"c{number}")
            await bench.hosts.ok(canvas, "canvas_create", {"title": "Plan", "reason": "a test"})
        assert await _approved(bench, token, "workspace_delete", {"workspaceId": "w2"}) == {"id": "w2", "name": "Two"}
        assert [one["id"] for one in (await bench.content(token, "workspace_list"))["workspaces"]] == ["w1"]
        for number in range(3):
            reply = await bench.hosts.ask(address.canvas("w2", f"c{number}"), "canvas_summary")
            assert reply.error is not None and reply.error["code"] == "not_found"


@in_loop
async def test_an_agent_that_deletes_its_own_workspace_is_answered_and_then_nowhere() -> None:
    """common 3.1"""
    async with HomeBench() as bench:
        token = await _begun(bench)
        assert await _approved(bench, token, "workspace_delete", {"workspaceId": "w1"}) == {"id": "w1", "name": "One"}
        assert (await bench.content(token, "canvas_list"))["error"]["code"] == "scope_unresolved"
        assert (await bench.hosts.ok(DIRECTORY, "directory_list"))["activeWorkspaceId"] == "w2"


@in_loop
async def test_the_last_workspace_is_refused_before_any_card() -> None:
    """common 4.6"""
    async with HomeBench() as bench:
        token = await _begun(bench)
        await bench.hosts.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w2"})
        refused = await bench.content(token, "workspace_delete", {"workspaceId": "w1"})
        assert refused["error"]["code"] == "last_workspace"
        assert (await bench.hosts.ok(address.agent("a1"), "approvals_list"))["approvals"] == []
