"""What a credential that is narrowed to families sees of the server (common 1.3)."""

from __future__ import annotations

from typing import Any

import pytest

from bus.value import Record
from tests.support.gateway_bench import AGENT, STAMP, TOOLS, WORKSPACE, GatewayBench, in_loop
from tests.support.scripted_caller import Sent


def narrow(bench: GatewayBench, *families: str) -> None:
    """As the agent owner answers for a credential that is served `families` alone (actors/agent/access.py)."""

    def authenticate(_: Sent) -> Record:
        known: Record = {"authenticated": True, "agentId": AGENT, "workspaceId": WORKSPACE, "waiting": 0}
        return {**known, "families": [*families]}

    def admit(sent: Sent) -> Record:
        if sent.body.get("family") not in families:
            return {"authenticated": True, "waiting": 0, "isUnknownTool": True}
        return {"authenticated": True, "waiting": 0, "stamp": dict(STAMP)}

    bench.caller.on("authenticate", authenticate)
    bench.caller.on("admit", admit)


def names(answer: dict[str, Any], what: str, name: str = "name") -> list[str]:
    return [str(one[name]) for one in answer["result"][what]]


@in_loop
async def test_it_lists_only_its_families_in_both_eras() -> None:
    """common 1.3, 1.9"""
    async with GatewayBench() as bench:
        narrow(bench, "canvas", "workspace")
        session = await bench.legacy_session()
        wanted = [tool.name for tool in TOOLS if tool.family.value in ("canvas", "workspace")]
        for answer in (await bench.modern("tools/list"), await session.request("tools/list")):
            assert names(answer.json(), "tools") == wanted


@in_loop
async def test_a_tool_of_another_family_is_unknown_byte_for_byte_in_both_eras() -> None:
    """common 1.3, 6.1"""
    async with GatewayBench() as bench:
        narrow(bench, "canvas")
        session = await bench.legacy_session()
        for name, arguments in (("agent_get", {"agentId": "b"}), ("agent_get", {}), ("agent_update_self", {})):
            asked = {"name": name, "arguments": arguments}
            unknown = {"name": "nothing", "arguments": arguments}
            for request in (bench.modern, session.request):
                told = (await request("tools/call", asked)).json()["error"]
                assert told == (await request("tools/call", unknown)).json()["error"]
                assert told["code"] == -32602
        assert bench.caller.sent_of("agent_get") == []
        assert (await bench.call("canvas_read", {"canvasId": "c"}))["isError"] is False


@pytest.mark.parametrize(("families", "is_served"), [(("canvas",), False), (("canvas", "agent"), True)])
def test_the_mailbox_is_there_only_with_the_agent_family(families: tuple[str, ...], is_served: bool) -> None:
    """common 1.3"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            narrow(bench, *families)
            session = await bench.legacy_session()
            for request in (bench.modern, session.request):
                listed = names((await request("resources/list")).json(), "resources", "uri")
                assert ("nexus://mailbox" in listed) is is_served
                answer = (await request("resources/read", {"uri": "nexus://mailbox"})).json()
                if is_served:
                    assert "result" in answer
                else:
                    nothing = (await request("resources/read", {"uri": "nexus://nothing"})).json()["error"]
                    assert (answer["error"]["code"], answer["error"]["message"]) == (-32602, nothing["message"])

    scenario()


@in_loop
async def test_what_tools_need_is_told_the_same_to_every_caller() -> None:
    """common 1.8"""
    async with GatewayBench() as bench:
        whole = (await bench.modern("resources/read", {"uri": "nexus://capabilities"})).json()["result"]["contents"]
        narrow(bench, "canvas")
        told = (await bench.modern("resources/read", {"uri": "nexus://capabilities"})).json()["result"]["contents"]
        assert told == whole
