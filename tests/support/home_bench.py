"""A gateway in this process over the product's own owners, on two shards in memory: whole calls, without processes."""

from __future__ import annotations

import hashlib
from contextlib import AsyncExitStack
from typing import Any

from actors.roster import roster
from bus.address import DIRECTORY
from bus.clock import ManualClock
from bus.value import Record, Value
from nexus.gateway.asgi import Gateway
from nexus.gateway.provider_answers import ProviderSources
from tests.support.gateway_bench import PORT, GatewayBench
from tests.support.hosts import Hosts
from tools.catalogue import TOOLS


class HomeBench(GatewayBench):
    """`async with` it, inside a running loop. Agents call with the token that `agent` answers."""

    def __init__(self, providers: ProviderSources | None = None) -> None:
        self.clock = ManualClock()
        self.hosts = Hosts(2, roster=roster(), clock=self.clock)
        self.gateway = Gateway(self.hosts.agents, self.clock, TOOLS, PORT, seal_key=bytes(32), providers=providers)
        self._stack = AsyncExitStack()

    async def workspace(self, workspace_id: str, name: str) -> None:
        await self.hosts.ok(DIRECTORY, "workspace_add", {"workspaceId": workspace_id, "name": name})

    async def agent(self, agent_id: str, name: str, workspace_id: str) -> str:
        """Added with mesh, in mode auto; its token."""
        secret = f"secret-of-{agent_id}"
        body: Record = {"agentId": agent_id, "name": name, "workspaceId": workspace_id, "mode": "auto"}
        body |= {"capabilities": ["mesh"], "tokenHash": hashlib.sha256(secret.encode()).digest()}
        await self.hosts.ok(DIRECTORY, "agent_add", body)
        return f"nx_{agent_id}_{secret}"

    async def answer(self, token: str, tool: str, arguments: dict[str, Value] | None = None) -> bytes:
        """The whole response to a tools/call, as it leaves."""
        response = await self.modern("tools/call", {"name": tool, "arguments": arguments or {}}, token)
        assert response.status_code == 200, response.text
        return response.content

    async def content(self, token: str, tool: str, arguments: dict[str, Value] | None = None) -> dict[str, Any]:
        response = await self.modern("tools/call", {"name": tool, "arguments": arguments or {}}, token)
        found: dict[str, Any] = response.json()["result"]["structuredContent"]
        return found
