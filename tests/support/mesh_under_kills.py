"""Agents that send each other tasks over MCP, and runtimes that work them off, while NEXUS is killed under them."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from bus import address
from bus.client import BusClient
from bus.clock import SystemClock
from bus.mailbox_client import Delivery, DeliveryLost, MailboxClient
from bus.value import Record
from nexus.config import Home
from tests.support.mcp_http import McpHttp

_PRIORITIES = ("p1", "p2", "p3", "p3", "p4")
_SENDERS_AT_ONCE = 8
_GIVES_UP = 0.05
"""How often a runtime begins and gives up; the task is then offered again, before those that came later."""


@dataclass(frozen=True, slots=True)
class Agent:
    id: str
    token: str
    mcp: McpHttp


async def agents_of(client: BusClient, clock: SystemClock, url: str, count: int) -> list[Agent]:
    """Added as the person would add them, all in one workspace, and each has called once."""

    async def person(verb: str, body: Record) -> None:
        reply = await client.call(address.DIRECTORY, verb, body, call_id=clock.new_id(), within_ms=20_000)
        assert reply.ok is not None, reply.error

    await person("workspace_add", {"workspaceId": "w1", "name": "Mesh"})
    agents = []
    for number in range(count):
        id_, secret = f"mesh{number:03d}", f"secret-of-{number}"
        added: Record = {"agentId": id_, "name": f"Agent {number}", "workspaceId": "w1", "mode": "auto"}
        added |= {"capabilities": ["mesh"], "tokenHash": hashlib.sha256(secret.encode()).digest()}
        await person("agent_add", added)
        agents.append(Agent(id_, f"nx_{id_}_{secret}", McpHttp(url, f"nx_{id_}_{secret}")))
        await asyncio.to_thread(agents[-1].mcp.ok, "agent_inbox")
    return agents


@dataclass(slots=True)
class Mesh:
    """What was asked for, and what became of it as senders and runtimes were told."""

    home: Home
    agents: Sequence[Agent]
    chance: random.Random
    queued: dict[str, str] = field(default_factory=dict)
    """Thread -> the title that its sender gave the task: each title stands for one task."""
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Thread -> how a runtime ended it, once NEXUS had said that it did."""
    again: list[str] = field(default_factory=list)
    """Threads that were offered after their end was acknowledged: none may be."""
    is_over: bool = False

    async def send(self, tasks: int) -> None:
        """Each from a random agent to another, repeated under one key until it is answered."""
        with ThreadPoolExecutor(_SENDERS_AT_ONCE) as pool:
            loop = asyncio.get_running_loop()
            plans = [self._plan(number) for number in range(tasks)]
            await asyncio.gather(*(loop.run_in_executor(pool, self._until_queued, *plan) for plan in plans))

    def _plan(self, number: int) -> tuple[Agent, dict[str, object]]:
        sender, recipient = self.chance.sample(self.agents, 2)
        task = {"title": f"Task {number}", "instructions": "Count.", "priority": self.chance.choice(_PRIORITIES)}
        return sender, {"agentId": recipient.id, "task": task, "idempotencyKey": f"key-{number}"}

    def _until_queued(self, sender: Agent, arguments: dict[str, object]) -> None:
        while not self.is_over:
            try:
                result = sender.mcp.call("agent_trigger", arguments)
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                continue  # a gateway that is just being restarted
            if not result.is_error:
                task = arguments["task"]
                assert isinstance(task, dict)
                self.queued[str(result.content["threadId"])] = str(task["title"])
                return
            assert result.content["error"]["retryable"], result.content

    async def work(self, agent: Agent) -> None:
        """One runtime of an agent, until it is cancelled."""
        async with MailboxClient(self.home.runtimes_socket, token=agent.token) as mailbox:
            async for delivery in mailbox:
                if delivery.thread_id in self.acknowledged:
                    self.again.append(delivery.thread_id)
                try:
                    ended = await self._turn(delivery)
                except DeliveryLost:
                    continue  # it was away for longer than its lease
                if ended is not None:
                    self.acknowledged[delivery.thread_id] = ended

    async def _turn(self, delivery: Delivery) -> str | None:
        kind = self.chance.random()
        if kind < _GIVES_UP and delivery.attempt < 3:
            await delivery.start()
            await delivery.release()
            return None
        if kind > 0.95 and delivery.attempt == 1:
            await delivery.reject("No time.")
            return "rejected"
        if kind < 0.7:
            await delivery.start()
        if kind > 0.9:
            await delivery.fail("No beans.")
            return "failed"
        await delivery.complete("There are seven.")
        return "completed"
