"""The gateway over the product's own owners, served by the product's HTTP server on a loopback port."""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bus import address
from bus.value import Record
from nexus.gateway.asgi import Gateway
from nexus.gateway.http_border import Bounds, server_config
from tests.support.home_bench import HomeBench
from tests.support.mcp_http import META
from tools.catalogue import TOOLS

WAIT_SECONDS = 10
WORKSPACE_ID = "w1"


class ServedHome(HomeBench):
    """`async with` it, inside a running loop. It begins with one workspace and two agents who have called: ada, bob."""

    async def __aenter__(self) -> Self:
        await self.start_gateway()
        await self.workspace(WORKSPACE_ID, "Workspace")
        self.tokens = {name: await self.agent(name, name, WORKSPACE_ID) for name in ("ada", "bob")}
        for token in self.tokens.values():
            await self.content(token, "agent_inbox")
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.stop_gateway()

    async def start_gateway(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        self.gateway = Gateway(self.hosts.agents, self.clock, TOOLS, port, seal_key=bytes(32))
        self._server = uvicorn.Server(server_config(self.gateway.asgi_app, Bounds()))
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        self._listener = listener
        self.url = f"http://127.0.0.1:{port}"
        self.http = httpx2.AsyncClient(base_url=self.url, timeout=WAIT_SECONDS)

    async def stop_gateway(self) -> None:
        await self.http.aclose()
        self.gateway.listeners.end_all()
        self._server.should_exit = True
        await asyncio.wait_for(self._serving, WAIT_SECONDS)
        self._listener.close()

    async def trigger(self, caller: str, callee: str) -> str:
        """The thread of a task that was queued."""
        task: Record = {"title": "Count", "instructions": "Count the beans."}
        answer = await self.content(self.tokens[caller], "agent_trigger", {"agentId": callee, "task": task})
        return str(answer["threadId"])

    async def credential(self, agent_id: str, name: str) -> str:
        """One more token of an agent."""
        secret = f"{name}-of-{agent_id}"
        body: Record = {"name": name, "tokenHash": hashlib.sha256(secret.encode()).digest()}
        await self.hosts.ok(address.agent(agent_id), "credential_add", body)
        return f"nx_{agent_id}_{secret}"

    async def revoke(self, agent_id: str, name: str) -> None:
        await self.hosts.ok(address.agent(agent_id), "credential_revoke", {"name": name})

    async def set_mode(self, agent_id: str, mode: str) -> None:
        await self.hosts.ok(address.agent(agent_id), "agent_set_mode", {"mode": mode})

    async def pending(self, agent_id: str) -> list[str]:
        """Ids of the approvals that wait for the person."""
        listed: Any = (await self.hosts.ok(address.agent(agent_id), "approvals_list", {}))["approvals"]
        return [str(one["approvalId"]) for one in listed if one["state"] == "pending"]

    async def decide(self, approval_id: str, decision: str) -> None:
        """As the person's command does."""
        to = address.agent(approval_id.partition(".")[0])
        body: Record = {"approvalId": approval_id, "decision": decision, "how": "command"}
        await self.hosts.ok(to, "approval_decide", body)

    @asynccontextmanager
    async def client(self, token: str, mode: str, **options: Any) -> AsyncIterator[Client]:
        """The official client, connected as whoever has the token."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(WAIT_SECONDS, read=60)) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http), mode=mode, **options) as client,
        ):
            yield client

    async def request(
        self, token: str, method: str, params: dict[str, Any], capabilities: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The JSON-RPC message that answers a request of the newer era."""
        meta = {**META, "io.modelcontextprotocol/clientCapabilities": capabilities or {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        if "name" in params:
            headers["mcp-name"] = params["name"]
        found: dict[str, Any] = (await self.post(message, headers, token)).json()
        return found
