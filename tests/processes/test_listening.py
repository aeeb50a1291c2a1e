"""Agents are told of changes by a NEXUS that is killed piece by piece, and a retry waits for the person's command.

The official client in both protocol eras. After the gateway is killed a client opens its stream again, as clients do.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from nexus.config import open_home
from tests.processes.conftest import Running
from tests.processes.test_kills import processes
from tests.support.gateway_bench import in_loop
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

MAILBOX = "nexus://mailbox"
WAIT_SECONDS = 60


def kill(running: Running, name: str) -> None:
    """kill -9, and wait for the next one of that name."""
    home = open_home(running.nexus.home)
    pid = eventually(lambda: processes(home).get(name))
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: processes(home).get(name) not in (None, pid), seconds=30)


@asynccontextmanager
async def connected(running: Running, token: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=60)) as http,
        Client(streamable_http_client(running.url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


class Listener:
    """A client that listens for its mailbox, again and again for as long as it takes."""

    def __init__(self, running: Running, token: str, era: str) -> None:
        self.running = running
        self.token = token
        self.era = era
        self.updates = 0
        self.connections = 0
        self._heard = asyncio.Condition()
        self._never = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        while True:
            try:
                await (self._legacy() if self.era == "legacy" else self._modern())
            except* (MCPError, OSError, httpx2.TransportError, RuntimeError):
                pass  # the gateway is not there, or has gone: what an agent's program does then is to try again
            await asyncio.sleep(0)

    async def _modern(self) -> None:
        async with (
            connected(self.running, self.token, "2026-07-28") as client,
            client.listen(resource_subscriptions=[MAILBOX]) as subscription,
        ):
            await self._note(connections=1)
            async for event in subscription:
                assert event == ResourceUpdated(MAILBOX)
                await self._note(updates=1)

    async def _legacy(self) -> None:
        async def heard(message: object) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                await self._note(updates=1)

        async with connected(self.running, self.token, "legacy", message_handler=heard) as client:
            await client.session.subscribe_resource(MAILBOX)
            await self._note(connections=1)
            while True:  # a session dies with its gateway, and only a request tells
                await client.session.send_ping()
                await asyncio.wait((self._never,), timeout=0.2)

    async def _note(self, updates: int = 0, connections: int = 0) -> None:
        async with self._heard:
            self.updates += updates
            self.connections += connections
            self._heard.notify_all()

    async def until(self, updates: int = 0, connections: int = 0) -> None:
        async with asyncio.timeout(WAIT_SECONDS), self._heard:
            await self._heard.wait_for(lambda: self.updates >= updates and self.connections >= connections)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@in_loop
async def test_a_listener_is_told_of_tasks_also_after_the_host_and_the_gateway_were_killed(
    running: Running, era: str
) -> None:
    """mesh 5.3, common 8.1"""
    workspace = running.workspace(f"Listening {era}")
    _, sender = running.agent(f"sender {era}", workspace)
    agent_id, token = running.token(f"listener {era}", workspace)
    sender_task = {"agentId": agent_id, "task": {"title": "Count", "instructions": "Count the beans."}}
    running_once = McpOnce(running, token)
    await running_once.read()
    listener = Listener(running, token, era)
    listening = asyncio.create_task(listener.run())
    try:
        await listener.until(connections=1)
        await asyncio.to_thread(sender.ok, "agent_trigger", sender_task)
        await listener.until(updates=1)

        await asyncio.to_thread(kill, running, "shard-0")
        before = listener.updates
        await asyncio.to_thread(until_sent, sender, sender_task, f"host {era}")
        await listener.until(updates=before + 1)

        connections = listener.connections
        await asyncio.to_thread(kill, running, "gateway")
        await listener.until(connections=connections + 1, updates=listener.updates)
        before = listener.updates
        await asyncio.to_thread(until_sent, sender, sender_task, f"gateway {era}")
        await listener.until(updates=before + 1)
    finally:
        listening.cancel()
        await asyncio.wait((listening,))


class McpOnce:
    """Reads the mailbox, so that the agent has run and tasks can be sent to it."""

    def __init__(self, running: Running, token: str) -> None:
        self.running = running
        self.token = token

    async def read(self) -> None:
        async with connected(self.running, self.token, "2026-07-28") as client:
            assert (await client.call_tool("agent_inbox", {})).is_error is False


def until_sent(sender: Any, task: dict[str, Any], key: str) -> None:
    def once() -> bool:
        try:
            return not sender.call("agent_trigger", task, key=key).is_error
        except OSError:
            return False

    eventually(once, seconds=WAIT_SECONDS)


@in_loop
async def test_a_stream_ends_when_the_person_revokes_its_credential(running: Running) -> None:
    """common 2.1, security 2.10"""
    workspace = running.workspace("Revoking")
    agent_id, token = running.token("revoked", workspace)
    async with (
        connected(running, token, "2026-07-28") as client,
        client.listen(resource_subscriptions=[MAILBOX]) as subscription,
    ):

        async def to_the_end() -> None:
            async for _ in subscription:
                raise AssertionError("nothing was to be told")

        ending = asyncio.create_task(to_the_end())
        await asyncio.to_thread(running.person, "agent", "token", agent_id, "--replace")
        async with asyncio.timeout(10):
            await ending


@in_loop
async def test_a_call_waits_for_the_persons_command_and_then_runs(running: Running) -> None:
    """common 5.2, 5.6"""
    workspace = running.workspace("Approving")
    agent_id, token = running.token("asking", workspace)
    running.person("agent", "mode", agent_id, "approval")
    shown: list[str] = []

    async def show(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        shown.append(params.url)
        return types.ElicitResult(action="accept")

    async with connected(running, token, "2026-07-28", elicitation_callback=show) as client:
        calling = asyncio.create_task(client.call_tool("canvas_create", {"title": "Plan", "reason": "test"}))
        waiting = await asyncio.to_thread(
            eventually, lambda: running.person("approvals", "list", "--agent", agent_id)["approvals"]
        )
        decided = await asyncio.to_thread(running.nexus.run, "approvals", "approve", waiting[0]["approvalId"])
        assert decided.code == 0, decided
        async with asyncio.timeout(30):
            result = await calling
    assert result.is_error is False and result.structured_content["canvasId"]
    assert shown == [running.url.replace("/mcp", "/approvals")]
