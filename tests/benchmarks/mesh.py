"""The mesh: a delivery beside Redis Streams and NATS JetStream; from trigger to receipt; leasing from a large inbox.

Everything is on disk before it is answered, ours and theirs. A delivery is three round trips for each: add, hand out,
acknowledge. Ours besides checks who may send to whom, tells the originator what becomes of it and leaves events.
`BENCH_ROUNDS` takes another number of rounds.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import uvloop

from actors.mailbox.rows import Received, received_row, task_row
from bus import address
from bus.codec import pack_row
from bus.mailbox_client import MailboxClient
from bus.store import Write, state_key
from bus.store_lmdb import LmdbStore
from bus.value import Record, records
from nexus.config import open_home
from tests.benchmarks.bus_calls import flush_ms
from tests.benchmarks.closed_loop import Subject, interleaved, print_table
from tests.benchmarks.first_slice import nexus, running_nexus
from tests.benchmarks.load import Client, Endpoint
from tests.benchmarks.mesh_calls import WORKSPACE, MeshCalls, add_agents, mesh_host, nexus_deliveries
from tests.benchmarks.mesh_peers import nats_deliveries, redis_deliveries
from tests.benchmarks.peer_nats import nats_server
from tests.benchmarks.peer_redis import redis_server

MAILBOXES = 64
IN_FLIGHT = (1, 64)
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = 2.0
TASK = os.urandom(512).hex()
SAMPLES = 300
SMALL, LARGE = 100, 100_000
GOALS = (
    "goals: 0.5 times Redis, 4 times NATS, p50 under 10 ms from trigger to receipt, a large inbox as fast as a small"
)
_ROWS_A_COMMIT = 20_000


async def _deliveries(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        subjects: dict[str, Subject] = {}
        subjects["NEXUS"] = await stack.enter_async_context(nexus_deliveries(folder / "nexus", TASK, MAILBOXES))
        if program := redis_server():
            peer = redis_deliveries(program, folder / "redis", TASK.encode(), MAILBOXES)
            subjects["Redis"] = await stack.enter_async_context(peer)
        else:
            print("redis-server is missing: not on PATH, and only root can install it by apt")
        if program := nats_server():
            peer = nats_deliveries(program, folder / "nats", TASK.encode(), MAILBOXES)
            subjects["NATS"] = await stack.enter_async_context(peer)
        else:
            print("nats-server is missing: install the bench extra")
        print_table(await interleaved(subjects, IN_FLIGHT, ROUNDS, SECONDS), ["NEXUS"])


async def _receipts(home: Path, port: int, sender: str, recipient: tuple[str, str]) -> None:
    """One at a time: from before the sender's HTTP request to when the runtime's program has the task."""
    client = Client(Endpoint(port, token=sender))
    await client.open()
    took: list[float] = []
    async with MailboxClient(open_home(home).runtimes_socket, token=recipient[1]) as mailbox:
        tasks = aiter(mailbox)
        for number in range(SAMPLES + SAMPLES // 10):
            task = {"title": f"Bench {number}", "instructions": TASK}
            before = time.perf_counter()
            asked = asyncio.create_task(client.call("agent_trigger", {"agentId": recipient[0], "task": task}))
            delivered = await anext(tasks)
            took.append(time.perf_counter() - before)
            await asked
            await delivered.complete("Done.")
    await client.close()
    took = sorted(took[SAMPLES // 10 :])
    print(
        f"trigger to receipt: p50 {took[len(took) // 2] * 1e3:.2f} ms, p99 {took[int(len(took) * 0.99)] * 1e3:.2f} ms"
    )


def _receipts_of_a_whole_nexus() -> None:
    with running_nexus() as running:
        workspace = nexus(running.home, "workspace", "add", "Bench")["workspaceId"]
        one, other = (
            nexus(running.home, "agent", "add", name, "--workspace", workspace, "--capability", "mesh")
            for name in ("sender", "recipient")
        )
        pair = (other["agentId"], other["token"])
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_receipts(Path(running.home), running.port, one["token"], pair))


async def _leasing(folder: Path) -> None:
    """The time of a lease alone; what was leased is given back, so that an inbox stays as large."""
    inboxes = {"small": SMALL, "large": LARGE}
    async with mesh_host(folder) as (calls, _):
        await add_agents(calls, ["sender", *inboxes])
        for name in inboxes:  # whatever its mailbox was sent before has arrived when this is answered
            await calls.person(address.agent(name), "agent_pause", {"paused": True})
            await calls.person(address.agent(name), "agent_pause", {"paused": False})
    _fill(folder, inboxes)
    async with mesh_host(folder) as (calls, _):
        for name, size in inboxes.items():
            before = time.perf_counter()
            await _lease(calls, name)
            print(f"first lease from {size} open tasks, loading them: {(time.perf_counter() - before) * 1e3:.0f} ms")
        took: dict[str, list[float]] = {name: [] for name in inboxes}
        for _ in range(SAMPLES):
            for name in inboxes:
                took[name].append(await _lease(calls, name))
        for name, size in inboxes.items():
            ordered = sorted(took[name])
            print(f"leasing one of {size}: p50 {ordered[len(ordered) // 2] * 1e3:.2f} ms")
        ratios = sorted(large / small for small, large in zip(took["small"], took["large"], strict=True))
        print(f"large / small, median of pairs: {ratios[len(ratios) // 2]:.2f}")


async def _lease(calls: MeshCalls, agent_id: str) -> float:
    before = time.perf_counter()
    answer = await calls.agent(agent_id, "mail_lease", {"runtimeId": "bench", "count": 1})
    took = time.perf_counter() - before
    [one] = records(answer, "deliveries")
    await calls.agent(agent_id, "mail_release", {"deliveryId": str(one["deliveryId"])})
    return took


def _fill(folder: Path, inboxes: dict[str, int]) -> None:
    """As if so many tasks had been sent: by the rows that a mailbox keeps of them."""
    store = LmdbStore(folder / "store")
    writes: list[Write] = []
    now_ms = time.time_ns() // 1_000_000
    for agent_id, size in inboxes.items():
        mailbox = address.mailbox(agent_id)
        task: Record = {"title": "Bench", "instructions": TASK}
        for number in range(size):
            row = Received(
                senderId="sender",
                senderName="Agent sender",
                workspaceId=WORKSPACE,
                title="Bench",
                rank=1 + number % 4,
                arrival=now_ms - size + number,
                depth=1,
                state="queued",
                queuedAt=now_ms,
                changedAt=now_ms,
            )
            thread_id = f"bench{number:08d}"
            writes.append((state_key(mailbox, received_row(thread_id)), pack_row(row.model_dump())))
            writes.append((state_key(mailbox, task_row(thread_id)), pack_row(task)))
            if len(writes) >= _ROWS_A_COMMIT:
                store.commit(writes)
                writes = []
    store.commit(writes)
    store.close()


def main() -> None:
    print(GOALS)
    with tempfile.TemporaryDirectory(prefix="nexus-bench-") as place:
        folder = Path(place)
        print(f"fdatasync of 1 KiB appended: {flush_ms(folder):.2f} ms")
        uvloop.run(_deliveries(folder))
        uvloop.run(_leasing(folder / "inbox"))
        print(f"fdatasync of 1 KiB appended, afterwards: {flush_ms(folder):.2f} ms")
    _receipts_of_a_whole_nexus()
