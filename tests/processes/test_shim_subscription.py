"""A client of the older era over stdio hears of its mailbox after its gateway was killed, and does nothing about it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from nexus.config import open_home
from tests.processes.conftest import PRODUCT, Running
from tests.processes.test_listening import MAILBOX, WAIT_SECONDS, kill, until_sent
from tests.processes.test_shim import ENVIRONMENT, token_file
from tests.support.gateway_bench import in_loop

pytestmark = pytest.mark.processes


@in_loop
async def test_a_subscription_over_stdio_outlives_its_gateway(running: Running) -> None:
    """common 1.9, mesh 5.3"""
    workspace = running.workspace("Subscriptions over stdio")
    _, sender = running.agent("stdio sender", workspace)
    agent_id, token = running.token("stdio listener", workspace)
    task = {"agentId": agent_id, "task": {"title": "Count", "instructions": "Count the beans."}}
    told = asyncio.Condition()
    updates = 0

    async def heard(message: object) -> None:
        nonlocal updates
        if isinstance(message, types.ResourceUpdatedNotification):
            async with told:
                updates += 1
                told.notify_all()

    async def until_told_after(before: int) -> None:
        async with asyncio.timeout(WAIT_SECONDS), told:
            await told.wait_for(lambda: updates > before)

    with token_file(token) as file:
        socket_path: Path = open_home(running.nexus.home).mcp_socket
        arguments = [*PRODUCT[1:], "mcp", "--socket", str(socket_path), "--token-file", str(file)]
        parameters = StdioServerParameters(command=sys.executable, args=arguments, env=ENVIRONMENT)
        async with Client(stdio_client(parameters), mode="legacy", message_handler=heard) as client:
            await client.call_tool("agent_inbox", {})  # it has run now, so that it can be sent work
            await client.session.subscribe_resource(MAILBOX)
            await asyncio.to_thread(sender.ok, "agent_trigger", task)
            await until_told_after(0)
            await asyncio.to_thread(kill, running, "gateway")
            before = updates
            await asyncio.to_thread(until_sent, sender, task, "after the kill")
            await until_told_after(before)
