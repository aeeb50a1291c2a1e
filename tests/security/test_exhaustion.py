"""Attack 23: one agent fills its share of something; another agent and the person go on (contract/security.md 2).

The gateway, the hosts and all owners are the product's, in one loop. What would take minutes to fill, or a setting that
only the person may lower, is brought about where it is kept: the count of calls in the gateway, a stored row on disk.
A whole disk is filled in tests/processes/test_full_disk.py.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

import httpx2

from actors.roster import roster
from bus import address
from bus.address import DIRECTORY
from bus.codec import pack_row
from bus.limits import approvals_pending_max, open_threads_per_recipient_max, open_threads_sender_divisor
from bus.store import state_key
from bus.value import Record
from nexus.gateway.asgi import Gateway
from nexus.gateway.shares import DEFAULT_LIMITS
from tests.support.gateway_bench import MODERN, PORT, error_of, in_loop
from tests.support.hosts import Hosts
from tools.catalogue import TOOLS

GREEDY, OTHER, THIRD = "greedy", "other", "third"
TASK: Final = {"title": "Count", "instructions": "Count the beans."}


class WholeHome:
    """Hosts, a gateway over them, the person's link, and three agents that have called before. `async with` it."""

    def __init__(self) -> None:
        self.hosts = Hosts(roster=roster())
        self.gateway = Gateway(self.hosts.agents, self.hosts.clock, TOOLS, PORT)
        self._stack = ExitStack()

    async def __aenter__(self) -> WholeHome:
        await self.hosts.ok(DIRECTORY, "workspace_add", {"workspaceId": "w1", "name": "Workspace"})
        for agent_id in (GREEDY, OTHER, THIRD):
            await self.add_agent(agent_id)
        app = self.gateway.asgi_app
        self._lifespan = app.router.lifespan_context(app)
        await self._lifespan.__aenter__()
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=True)
        self.http = httpx2.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}")
        for agent_id in (GREEDY, OTHER, THIRD):
            assert "agents" in await self.call(agent_id, "agent_list_peers")
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.http.aclose()
        await self._lifespan.__aexit__(None, None, None)

    async def add_agent(self, agent_id: str) -> None:
        """A command of the person's."""
        token_hash = hashlib.sha256(agent_id.encode()).digest()
        body: Record = {"agentId": agent_id, "name": agent_id, "workspaceId": "w1", "mode": "auto"}
        body |= {"capabilities": ["mesh"], "tokenHash": token_hash}
        await self.hosts.ok(DIRECTORY, "agent_add", body)

    async def call(self, agent_id: str, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What a tools/call answers: its content, or the refusal under `error`."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments or {}, "_meta": meta}
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": tool}
        headers["accept"] = "application/json, text/event-stream"
        headers["authorization"] = f"Bearer nx_{agent_id}_{agent_id}"
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        response = await self.http.post("/mcp", json=message, headers=headers)
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()["result"]
        if result["isError"]:
            return {"error": error_of(result)}
        content: dict[str, Any] = result["structuredContent"]
        return content

    async def refused(self, agent_id: str, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        answer = await self.call(agent_id, tool, arguments)
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    async def others_and_the_person_go_on(self, number: int = 0) -> None:
        """Another agent reads and writes, and so does the person."""
        assert "agents" in await self.call(OTHER, "agent_list_peers")
        assert "error" not in await self.call(OTHER, "agent_update_self", {"persona": f"Persona {number}"})
        assert "threadId" in await self.call(OTHER, "agent_trigger", {"agentId": THIRD, "task": TASK})
        await self.add_agent(f"more{number}")


@in_loop
async def test_one_agent_that_has_made_all_its_calls_keeps_nobody_else_from_calling() -> None:
    """common 8.5, security 2.23"""
    async with WholeHome() as home:
        uses, now_ms = home.gateway.uses, home.hosts.clock.now_ms()
        for _ in range(DEFAULT_LIMITS.calls_per_minute):
            with uses.request(GREEDY, DEFAULT_LIMITS, now_ms):
                pass
        error = await home.refused(GREEDY, "agent_list_peers")
        assert (error["code"], error["limit"]) == ("rate_limited", 30_000)
        await home.others_and_the_person_go_on()


@in_loop
async def test_one_agent_that_has_all_its_requests_under_way_keeps_nobody_else_from_calling() -> None:
    """common 8.5, security 2.23"""
    async with WholeHome() as home:
        with ExitStack() as open_requests:
            for _ in range(DEFAULT_LIMITS.connections):
                open_requests.enter_context(
                    home.gateway.uses.request(GREEDY, DEFAULT_LIMITS, home.hosts.clock.now_ms())
                )
            error = await home.refused(GREEDY, "agent_list_peers")
            assert (error["code"], error["limit"]) == ("rate_limited", DEFAULT_LIMITS.connections)
            await home.others_and_the_person_go_on()
        assert "agents" in await home.call(GREEDY, "agent_list_peers")


@in_loop
async def test_one_agent_that_has_filled_its_share_of_the_disk_keeps_nobody_else_from_writing() -> None:
    """common 8.5, security 2.23"""
    async with WholeHome() as home:
        row = state_key(address.agent(GREEDY), "stored/canvas/w1/large")
        home.hosts.stores[0].commit([(row, pack_row(1 << 30))])
        home.hosts.restart(0)
        error = await home.refused(GREEDY, "agent_update_self", {"persona": "More."})
        assert (error["code"], error["limitName"]) == ("storage_full", "storedMebibytes")
        assert "agents" in await home.call(GREEDY, "agent_list_peers"), "it reads on"
        await home.others_and_the_person_go_on()


@in_loop
async def test_one_sender_that_has_filled_its_part_of_a_mailbox_keeps_nobody_else_from_sending() -> None:
    """mesh 3.4, security 2.23"""
    async with WholeHome() as home:
        for _ in range(open_threads_per_recipient_max // open_threads_sender_divisor):
            assert "threadId" in await home.call(GREEDY, "agent_trigger", {"agentId": THIRD, "task": TASK})
        error = await home.refused(GREEDY, "agent_trigger", {"agentId": THIRD, "task": TASK})
        assert error["code"] == "rate_limited"
        await home.others_and_the_person_go_on()


@in_loop
async def test_a_flood_of_bad_tokens_keeps_an_agents_own_calls_waiting_no_longer_than_its_turn() -> None:
    """security 2.23: its owner answers each in its turn, none uses up anything, and every good call is answered."""
    async with WholeHome() as home:
        flood = [asyncio.ensure_future(_with_a_bad_token(home)) for _ in range(500)]
        assert "agents" in await home.call(GREEDY, "agent_list_peers")
        await home.others_and_the_person_go_on()
        assert {await each for each in flood} == {401}
        assert home.gateway.uses.under_way(GREEDY) == 0


@in_loop
async def test_one_agent_whose_cards_are_full_keeps_nobody_else_from_getting_one() -> None:
    """common 5.1, security 2.5, 2.23"""
    async with WholeHome() as home:
        for agent_id in (GREEDY, OTHER):
            await home.hosts.ok(address.agent(agent_id), "agent_set_mode", {"mode": "approval"})
        for number in range(approvals_pending_max):
            error = await home.refused(GREEDY, "agent_update_self", {"persona": f"Persona {number}"})
            assert error["code"] == "approval_required"
        error = await home.refused(GREEDY, "agent_update_self", {"persona": "One more"})
        assert (error["code"], error["limit"]) == ("rate_limited", approvals_pending_max)
        error = await home.refused(OTHER, "agent_update_self", {"persona": "Mine"})
        approval = {"approvalId": error["approvalId"], "decision": "approve", "how": "command"}
        await home.hosts.ok(address.agent(OTHER), "approval_decide", approval)
        assert "error" not in await home.call(OTHER, "agent_update_self", {"persona": "Mine"})


async def _with_a_bad_token(home: WholeHome) -> int:
    headers = {"authorization": f"Bearer nx_{GREEDY}_wrong", "mcp-protocol-version": MODERN}
    return (await home.http.post("/mcp", json={}, headers=headers)).status_code
