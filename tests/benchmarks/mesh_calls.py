"""Raw pipelined calls to the mailboxes of a shard host, as a gateway makes them once a call is admitted."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bus import address
from bus.address import Address
from bus.clock import SystemClock
from bus.envelope import Call, Envelope, LinkClass, Reply
from bus.link import Identity, LinkClient
from bus.value import Record, records
from bus.wire_zmq import ZmqWire
from nexus.event_loop import nonce
from tests.benchmarks.closed_loop import Subject
from tests.benchmarks.queue_host import KEY_BYTES, socket_of
from tests.benchmarks.serving import ended_afterwards, first_line

WORKSPACE = "bench"
_DEADLINE_MS = 120_000
_OPEN_THREADS = 200_000
_TRIGGERS = 1_000_000


class MeshCalls:
    """Two links to one host: the person's, and a gateway's, which speaks for any agent."""

    def __init__(self, wire: ZmqWire, socket: Path, key: bytes) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = SystemClock()
        self._awaited: dict[str, asyncio.Future[Reply]] = {}
        self._opened = {kind: asyncio.Event() for kind in (LinkClass.PERSON, LinkClass.GATEWAY)}
        self._links = {kind: self._link(kind, wire, socket, key) for kind in self._opened}

    def _link(self, kind: LinkClass, wire: ZmqWire, socket: Path, key: bytes) -> LinkClient:
        return LinkClient(
            wire,
            socket,
            Identity(kind, f"bench-{kind.value}", self._clock.new_id(), key),
            clock=self._clock,
            scheduler=self._loop,
            nonce=nonce,
            received=self._received,
            welcomed=lambda _welcome: self._opened[kind].set(),
        )

    async def open(self) -> None:
        for opened in self._opened.values():
            await opened.wait()

    async def person(self, to: Address, verb: str, body: Record) -> Record:
        return await self._call(LinkClass.PERSON, to, verb, body, None)

    async def gateway(self, to: Address, verb: str, body: Record) -> Record:
        return await self._call(LinkClass.GATEWAY, to, verb, body, None)

    async def agent(self, agent_id: str, verb: str, body: Record) -> Record:
        """At the agent's own mailbox."""
        stamp: Record = {"agentId": agent_id, "workspaceId": WORKSPACE, "credential": "default", "version": 1}
        stamp["issuedMs"] = self._clock.now_ms()
        return await self._call(LinkClass.GATEWAY, address.mailbox(agent_id), verb, body, stamp)

    async def _call(self, kind: LinkClass, to: Address, verb: str, body: Record, stamp: Record | None) -> Record:
        call_id = self._clock.new_id()
        answer: asyncio.Future[Reply] = self._loop.create_future()
        self._awaited[call_id] = answer
        self._links[kind].send(Call(call_id, to, verb, body, stamp, self._clock.now_ms() + _DEADLINE_MS))
        reply = await answer
        if reply.ok is None:
            raise RuntimeError(f"{verb} at {to}: {reply.error}")
        return reply.ok

    def _received(self, envelope: Envelope) -> None:
        assert isinstance(envelope, Reply)
        self._awaited.pop(envelope.call_id).set_result(envelope)

    def close(self) -> None:
        for link in self._links.values():
            link.close()


@asynccontextmanager
async def mesh_host(folder: Path) -> AsyncIterator[tuple[MeshCalls, int]]:
    """A host with the product's owners and its data in `folder`, and its process."""
    folder.mkdir(exist_ok=True)
    key = os.urandom(KEY_BYTES)
    command = [sys.executable, "-m", "tests.benchmarks.mesh_host", str(folder)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process,
        ended_afterwards(process),
    ):
        assert process.stdin is not None
        process.stdin.write(key)
        assert await first_line(process) == b"ready\n"
        wire = ZmqWire(asyncio.get_running_loop())
        calls = MeshCalls(wire, socket_of(folder), key)
        try:
            await calls.open()
            yield calls, process.pid
        finally:
            calls.close()
            wire.close()


async def add_agents(calls: MeshCalls, agent_ids: list[str]) -> None:
    """In one workspace, with limits that no benchmark meets; each has called, so that it can be sent to."""
    await calls.person(address.DIRECTORY, "workspace_add", {"workspaceId": WORKSPACE, "name": "Bench"})
    for name, value in (("limits.triggersPerMinute", _TRIGGERS), ("limits.openThreads", _OPEN_THREADS)):
        await calls.person(address.SETTINGS, "settings_set", {"name": name, "value": value})
    for agent_id in agent_ids:
        digest = agent_id.encode().ljust(32, b".")
        added: Record = {"agentId": agent_id, "name": f"Agent {agent_id}", "workspaceId": WORKSPACE, "mode": "auto"}
        await calls.person(address.DIRECTORY, "agent_add", {**added, "capabilities": ["mesh"], "tokenHash": digest})
        await calls.gateway(address.agent(agent_id), "authenticate", {"tokenHash": digest})


async def delivery(calls: MeshCalls, sender: str, recipient: str, instructions: str) -> None:
    """A task is queued, leased by a runtime of its recipient, and its end acknowledged."""
    task: Record = {"title": "Bench", "instructions": instructions}
    await calls.agent(sender, "agent_trigger", {"agentId": recipient, "task": task})
    leased = await calls.agent(recipient, "mail_lease", {"runtimeId": "bench", "count": 1})
    [one] = records(leased, "deliveries")
    await calls.agent(
        recipient, "mail_finish", {"deliveryId": str(one["deliveryId"]), "outcome": "completed", "body": "Done."}
    )


@asynccontextmanager
async def nexus_deliveries(folder: Path, instructions: str, mailboxes: int) -> AsyncIterator[Subject]:
    """Each call is one delivery, from the next of as many senders as there are mailboxes."""
    async with mesh_host(folder) as (calls, pid):
        await add_agents(calls, [f"{kind}{number}" for number in range(mailboxes) for kind in ("s", "r")])
        numbers = itertools.count()

        async def deliver() -> None:
            number = next(numbers) % mailboxes
            await delivery(calls, f"s{number}", f"r{number}", instructions)

        yield Subject(deliver, pid)
