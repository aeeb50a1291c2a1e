"""team_* over the product's own owners (mesh.md)."""

from __future__ import annotations

from typing import Any

from bus import address
from bus.address import DIRECTORY, TEAMS
from bus.limits import page_items_default
from bus.value import Record
from tests.support.gateway_bench import in_loop
from tests.support.home_bench import HomeBench


async def refused(bench: HomeBench, token: str, tool: str, **arguments: Any) -> str:
    return str((await bench.content(token, tool, arguments))["error"]["code"])


@in_loop
async def test_a_team_of_several_workspaces_is_shown_by_names_and_by_nothing_else_of_others() -> None:
    """mesh 1, common 3.3, 3.4: an app-wide store shows what its file says, no more"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "Mine")
        await bench.workspace("w2", "Other")
        ada = await bench.agent("a1", "Ada", "w1")
        await bench.agent("b1", "Bo", "w2")
        made = await bench.content(ada, "team_create", {"name": "Reviewers", "description": "Read all."})
        team_id = made["teamId"]
        assert await refused(bench, ada, "team_add_member", teamId=team_id, agentId="b1") == "not_found"
        await bench.hosts.ok(TEAMS, "team_add_member", {"teamId": team_id, "agentId": "b1"})
        added = await bench.content(ada, "team_add_member", {"teamId": team_id, "agentId": "a1"})
        assert added == {"teamId": team_id, "agentId": "a1", "memberCount": 2, "changed": True}
        detail = await bench.content(ada, "team_detail", {"teamId": team_id})
        assert detail.pop("createdAt")
        assert detail == {
            "teamId": team_id,
            "name": "Reviewers",
            "memberCount": 2,
            "origin": "local",
            "description": {"untrusted": True, "source": "team description", "text": "Read all."},
            "members": [
                {"agentId": "a1", "name": "Ada", "inYourWorkspace": True},
                {"agentId": "b1", "name": "Bo", "inYourWorkspace": False},
            ],
        }
        await bench.hosts.ok(DIRECTORY, "agent_rename", {"agentId": "b1", "name": "Bea"})
        named = (await bench.content(ada, "team_detail", {"teamId": team_id}))["members"]
        assert [one["name"] for one in named] == ["Ada", "Bea"]
        await bench.hosts.ok(DIRECTORY, "agent_remove", {"agentId": "b1"})
        detail = await bench.content(ada, "team_detail", {"teamId": team_id})
        assert [one["agentId"] for one in detail["members"]] == ["a1"] and detail["memberCount"] == 1
        assert (await bench.content(ada, "team_list"))["teams"][0]["memberCount"] == 1
        assert await refused(bench, ada, "team_detail", teamId="unknown") == "not_found"


@in_loop
async def test_what_is_certain_to_be_refused_is_not_collected_and_what_an_earlier_step_makes_is() -> None:
    """common 4.4, 4.6"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "Mine")
        ada = await bench.agent("a1", "Ada", "w1")
        taken = await bench.content(ada, "team_create", {"name": "Taken"})
        await bench.hosts.ok(address.agent("a1"), "agent_set_mode", {"mode": "plan_collect"})
        made = await bench.content(ada, "team_create", {"name": "Reviewers"})
        assert made["status"] == "collected"
        assert await refused(bench, ada, "team_create", name="Taken") == "invalid_arguments"
        assert await refused(bench, ada, "team_add_member", teamId="unknown", agentId="a1") == "not_found"
        assert await refused(bench, ada, "team_remove_member", teamId=taken["teamId"], agentId="a1") == "not_found"
        for team_id in (made["teamId"], taken["teamId"]):
            added = await bench.content(ada, "team_add_member", {"teamId": team_id, "agentId": "a1"})
            assert added["status"] == "collected"
            left = await bench.content(ada, "team_remove_member", {"teamId": team_id, "agentId": "a1"})
            assert left["status"] == "collected", "an earlier step makes it a member"


@in_loop
async def test_a_page_of_teams_leads_to_the_next_with_a_sealed_cursor() -> None:
    """common 7.3"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "Mine")
        ada, eve = await bench.agent("a1", "Ada", "w1"), await bench.agent("a2", "Eve", "w1")
        for number in range(page_items_default + 1):
            await bench.hosts.ok(TEAMS, "team_create", {"name": f"Team number {number}"})
        first = await bench.content(ada, "team_list")
        assert len(first["teams"]) == page_items_default
        assert len((await bench.content(ada, "team_list", {"cursor": first["nextCursor"]}))["teams"]) == 1
        assert await refused(bench, eve, "team_list", cursor=first["nextCursor"]) == "invalid_arguments"


@in_loop
async def test_a_cloud_team_is_read_and_not_changed() -> None:
    """mesh 1"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "Mine")
        ada = await bench.agent("a1", "Ada", "w1")
        team: Record = {"teamId": "cloud-1", "name": "Design", "description": None, "members": ["a1"]}
        await bench.hosts.ok(TEAMS, "teams_provision", {"teams": [team]})
        assert (await bench.content(ada, "team_list"))["teams"] == [
            {"teamId": "cloud-1", "name": "Design", "memberCount": 1, "origin": "cloud"}
        ]
        for tool in ("team_add_member", "team_remove_member"):
            assert await refused(bench, ada, tool, teamId="cloud-1", agentId="a1") == "cloud_managed"


@in_loop
async def test_whom_an_agent_cannot_name_is_refused_before_a_card() -> None:
    """common 4.6, 3.3"""
    async with HomeBench() as bench:
        await bench.workspace("w1", "Mine")
        await bench.workspace("w2", "Other")
        ada = await bench.agent("a1", "Ada", "w1")
        await bench.agent("b1", "Bo", "w2")
        team_id = (await bench.content(ada, "team_create", {"name": "Reviewers"}))["teamId"]
        await bench.hosts.ok(address.agent("a1"), "agent_set_mode", {"mode": "approval"})
        for agent_id in ("b1", "nobody", "no/id"):
            assert await refused(bench, ada, "team_add_member", teamId=team_id, agentId=agent_id) == "not_found"
        assert await refused(bench, ada, "team_add_member", teamId=team_id, agentId="a1") == "approval_required"
