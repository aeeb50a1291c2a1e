"""The methods of the MCP server, in both protocol eras (common 1)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from bus.client import DeadlinePassed
from tests.support.gateway_bench import AGENT, TOOLS, GatewayBench, error_of, in_loop
from tools.errors import Code, Refusal


def without_era(result: dict[str, Any]) -> dict[str, Any]:
    """What both eras must agree on: the newer one adds its envelope."""
    kept = {key: value for key, value in result.items() if key not in ("resultType", "ttlMs", "cacheScope")}
    kept["_meta"] = {key: value for key, value in result["_meta"].items() if key.startswith("nexus/")}
    return kept


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}),
        ("tools/call", {"name": "canvas_read", "arguments": {"canvasId": "c"}}),
        ("tools/call", {"name": "canvas_read", "arguments": {}}),
        ("tools/call", {"name": "canvas_read"}),
        ("tools/call", {"name": "agent_get", "arguments": {"agentId": "nobody"}}),
        ("resources/list", {}),
        ("resources/read", {"uri": "nexus://capabilities"}),
        ("resources/read", {"uri": "nexus://planes"}),
        ("resources/read", {"uri": "nexus://mailbox"}),
    ],
)
def test_both_eras_mean_the_same(method: str, params: dict[str, Any]) -> None:
    """common 1.9"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            bench.caller.on("agent_get", Refusal(Code.NOT_FOUND, "Nothing is here."))
            session = await bench.legacy_session()
            modern, legacy = await bench.modern(method, params), await session.request(method, params)
            assert without_era(modern.json()["result"]) == without_era(legacy.json()["result"])

    scenario()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "nothing", "arguments": {}}),
        ("tools/list", {"cursor": "x"}),
        ("resources/list", {"cursor": "x"}),
        ("resources/read", {"uri": "nexus://nothing"}),
        ("tools/call", {"name": "canvas_read", "arguments": []}),
    ],
)
def test_unknown_tools_resources_and_cursors_are_32602_in_both_eras(method: str, params: dict[str, Any]) -> None:
    """common 6.1"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            session = await bench.legacy_session()
            for response in (await bench.modern(method, params), await session.request(method, params)):
                assert response.json()["error"]["code"] == -32602

    scenario()


@in_loop
async def test_discover_and_initialize_announce_the_same() -> None:
    """common 1.1"""
    async with GatewayBench() as bench:
        discovered = (await bench.modern("server/discover")).json()["result"]
        session = await bench.legacy_session()
        initialized = (await session.request("initialize", INITIALIZE)).json()["result"]
        assert discovered["capabilities"] == initialized["capabilities"]
        assert discovered["instructions"] == initialized["instructions"]
        assert discovered["_meta"]["nexus/waiting"] == initialized["_meta"]["nexus/waiting"] == bench.waiting


INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@in_loop
async def test_the_list_is_whole_in_the_order_of_the_catalogue_and_never_cached() -> None:
    """common 1.1, 1.2"""
    async with GatewayBench() as bench:
        result = (await bench.modern("tools/list")).json()["result"]
        assert [tool["name"] for tool in result["tools"]] == [tool.name for tool in TOOLS]
        assert "nextCursor" not in result
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


@in_loop
async def test_the_list_fails_while_the_callers_agent_owner_does_not_answer() -> None:
    """common 1.2"""
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        bench.caller.on("authenticate", DeadlinePassed(was_sent=True))
        for response in (await bench.modern("tools/list"), await session.request("tools/list")):
            assert response.json()["error"]["data"]["error"]["code"] == "unavailable"


@in_loop
async def test_the_mailbox_is_agent_inbox_admitted_alike_and_private() -> None:
    """common 10, mesh 5.3"""
    async with GatewayBench() as bench:
        result = (await bench.modern("resources/read", {"uri": "nexus://mailbox"})).json()["result"]
        called = await bench.call("agent_inbox")
        assert result["contents"][0]["text"] == called["content"][0]["text"]
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
        assert [sent.body for sent in bench.caller.sent_of("admit")] == [bench.caller.sent_of("admit")[0].body] * 2
        assert [sent.to.id for sent in bench.caller.sent_of("agent_inbox")] == [AGENT, AGENT]


@in_loop
async def test_a_mailbox_that_is_refused_is_an_error_with_the_refusal_as_its_data() -> None:
    async with GatewayBench() as bench:
        refusal = Refusal(Code.CAPABILITY_MISSING, "You lack the mesh capability.")
        bench.caller.on("agent_inbox", refusal)
        response = await bench.modern("resources/read", {"uri": "nexus://mailbox"})
        assert response.json()["error"]["data"] == {"error": refusal.to_record()}


@in_loop
async def test_resources_are_listed_and_the_mailbox_only_where_its_family_is_served() -> None:
    """common 1.3, 1.8"""
    async with GatewayBench() as bench:
        listed = (await bench.modern("resources/list")).json()["result"]["resources"]
        assert [each["uri"] for each in listed] == ["nexus://capabilities", "nexus://planes", "nexus://mailbox"]
    async with GatewayBench(tuple(tool for tool in TOOLS if tool.family != "agent")) as bench:
        listed = (await bench.modern("resources/list")).json()["result"]["resources"]
        assert [each["uri"] for each in listed] == ["nexus://capabilities", "nexus://planes"]
        response = await bench.modern("resources/read", {"uri": "nexus://mailbox"})
        assert response.json()["error"]["code"] == -32602


@in_loop
async def test_templates_and_prompts_are_empty_lists_that_are_never_cached() -> None:
    async with GatewayBench() as bench:
        for method, field in (("resources/templates/list", "resourceTemplates"), ("prompts/list", "prompts")):
            result = (await bench.modern(method)).json()["result"]
            assert (result[field], result["ttlMs"], result["cacheScope"]) == ([], 0, "private")


@in_loop
async def test_planes_names_the_pairs_that_both_planes_have() -> None:
    """common 1.8"""
    async with GatewayBench() as bench:
        response = await bench.modern("resources/read", {"uri": "nexus://planes"})
        planes = orjson.loads(response.json()["result"]["contents"][0]["text"])
        assert {pair["here"]: pair["cloud"] for pair in planes["pairs"]} == {
            "work_item_create": "bits_create",
            "work_board_read": "kanban_board",
            "work_project_list": "chainies_search",
            "bit_page_create": None,
        }
        assert planes["namesBothPlanesHave"] == ["agent_create", "memory", "agent roster", "workspace"]


@in_loop
async def test_a_ping_of_the_older_era_is_answered_by_nothing_but_braces() -> None:
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        assert (await session.request("ping")).json()["result"] == {}


@in_loop
async def test_a_tool_that_fails_by_a_defect_is_internal_by_its_incident_id() -> None:
    """common 6.3, 7.4"""
    async with GatewayBench() as bench:
        bench.caller.on("canvas_read", RuntimeError("the secret of the house"))
        session = await bench.legacy_session()
        params = {"name": "canvas_read", "arguments": {"canvasId": "c"}}
        for response in (await bench.modern("tools/call", params), await session.request("tools/call", params)):
            assert "secret" not in response.text
            error = error_of(response.json()["result"])
            assert error["code"] == "internal" and error["incidentId"]
