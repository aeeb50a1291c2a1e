"""Tasks among many agents while shard hosts and the gateway are killed: each ends once, in order, told once (issue 6).

`NEXUS_SOAK=1`, as `make soak` sets it, takes 10,000 tasks over 50 agents; else a small part of that.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from actors.mailbox.rows import Received, Sent
from actors.mailbox.thread import ENDS
from bus import address
from bus.codec import unpack_row
from bus.store import row_of, state_prefix
from bus.store_lmdb import LmdbStore
from nexus import exit_codes
from nexus.config import Home, open_home
from tests.processes.test_kills import kill
from tests.simulation.mesh_threads import Lives, thread_events
from tests.support.homes import made_home
from tests.support.ledger_callers import callers_of
from tests.support.loop import until
from tests.support.mesh_under_kills import Mesh, agents_of
from tests.support.processes import Nexus, ended_afterwards
from tests.support.short_leases_nexus import COMMAND

pytestmark = pytest.mark.processes

SHARDS = 2
VICTIMS = ("shard-0", "shard-1", "gateway")


@dataclass(frozen=True)
class Size:
    tasks: int
    agents: int
    kills: int
    seconds: float


SIZE = Size(10_000, 50, 40, 1_500) if os.environ.get("NEXUS_SOAK") else Size(600, 12, 4, 150)


@dataclass
class Kept:
    """What the shards hold after NEXUS has ended."""

    received: dict[str, Received]
    sent: dict[str, Sent]
    lives: dict[str, Lives]
    """By agent."""
    told: Counter[tuple[str, str]]
    """(record of the journal, what it tells) of messages to originators."""

    @classmethod
    def read(cls, home: Home, agents: list[str]) -> Kept:
        kept = cls({}, {}, {}, Counter())
        stores = [LmdbStore(home.shard_folder(shard)) for shard in range(SHARDS)]
        try:
            for agent_id in agents:
                kept._read_mailbox(stores, agent_id)
            for store in stores:
                kept._read_journal([value for _, value in store.scan(b"j")])
        finally:
            for store in stores:
                store.close()
        return kept

    def _read_mailbox(self, stores: list[LmdbStore], agent_id: str) -> None:
        mailbox = address.mailbox(agent_id)
        rows: dict[str, Received] = {}
        for key, value in stores[mailbox.shard(SHARDS)].scan(state_prefix(mailbox)):
            kind, _, thread_id = row_of(key).partition("/")
            if kind == "received":
                rows[thread_id] = Received.model_validate(unpack_row(value))
            elif kind == "sent":
                self.sent[thread_id] = Sent.model_validate(unpack_row(value))
            assert kind not in ("lease", "task", "offer"), f"{agent_id} is not done: {row_of(key)}"
        self.received |= rows
        self.lives[agent_id] = Lives(rows, None, {})

    def _read_journal(self, journal: list[bytes]) -> None:
        messages: Counter[tuple[object, ...]] = Counter()
        for stored in journal:
            record = unpack_row(stored)
            assert isinstance(record, dict)
            message = record.get("message")
            if isinstance(message, list):
                messages[tuple(message)] += 1
            sent = record.get("sent")
            for out in sent if isinstance(sent, list) else ():
                assert isinstance(out, list)
                if out[1] == "thread_changed":
                    self.told[str(record["owner"]), str(out[0])] += 1
        twice = [message for message, count in messages.items() if count > 1]
        assert not twice, f"messages that took effect twice: {twice[:5]}"
        for agent_id, kind, data, call, at_ms in thread_events(journal):
            self.lives[agent_id].read(kind, data, call, at_ms)

    def check(self, mesh: Mesh) -> None:
        assert not mesh.again, "acknowledged work was offered again"
        titles = Counter(row.title for row in self.received.values())
        assert titles == Counter(mesh.queued.values()), "each task has one thread"
        assert self.received.keys() == mesh.queued.keys() == self.sent.keys()
        for thread_id, row in self.received.items():
            mirror = self.sent[thread_id]
            assert row.state in ENDS, (thread_id, row)
            assert row.cause is not None
            assert (mirror.state, mirror.cause, mirror.unseen) == (row.state, row.cause, True), (row, mirror)
        for thread_id, ended in mesh.acknowledged.items():
            assert self.received[thread_id].state == ended
        self._check_told()

    def _check_told(self) -> None:
        """As many messages as there is news: shown or leased, begun if it was, and ended."""
        news: Counter[tuple[str, str]] = Counter()
        for agent_id, lives in self.lives.items():
            for thread_id, life in lives.lives.items():
                assert life.end is not None
                to = address.mailbox(self.received[thread_id].senderId)
                news[str(address.mailbox(agent_id)), str(to)] += 2 + life.is_begun
        assert self.told == news


@pytest.fixture
def nexus() -> Iterator[Nexus]:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        made_home(Path(folder) / "h", SHARDS)
        with ended_afterwards(Nexus(Path(folder) / "h", COMMAND)) as it:
            yield it


@pytest.mark.timeout(SIZE.seconds + 100)
def test_every_task_ends_once_in_order_and_is_told_once_over_kills(nexus: Nexus) -> None:
    """mesh 4.2, 4.3, 4.4, 4.6; common 8.1, 8.2"""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    url = nexus.start()["url"]
    home = open_home(nexus.home)
    mesh = asyncio.run(_live(nexus, home, url, random.Random(seed)))
    assert nexus.run("down").code == exit_codes.OK
    Kept.read(home, [agent.id for agent in mesh.agents]).check(mesh)


async def _live(nexus: Nexus, home: Home, url: str, chance: random.Random) -> Mesh:
    async with callers_of(home) as callers:
        agents = await agents_of(callers.client, callers.clock, url, SIZE.agents)
    mesh = Mesh(home, agents, random.Random(chance.random()))
    # Every fourth agent has two runtimes.
    working = [asyncio.create_task(mesh.work(agent)) for agent in (*agents, *agents[::4])]
    sending = asyncio.create_task(mesh.send(SIZE.tasks))
    everyone = [*working, sending]
    try:
        async with asyncio.timeout(SIZE.seconds):
            for number in range(SIZE.kills):
                goal = (number + chance.random()) / SIZE.kills * SIZE.tasks * 0.9
                await until(lambda goal=goal: _reached(mesh, goal, everyone), SIZE.seconds)  # type: ignore[misc]
                await kill(nexus, home, chance.choice(VICTIMS))
            await sending
            await until(lambda: _reached(mesh, SIZE.tasks, working), SIZE.seconds)
    finally:
        mesh.is_over = True
        for task in everyone:
            task.cancel()
        await asyncio.gather(*everyone, return_exceptions=True)
    return mesh


def _reached(mesh: Mesh, acknowledged: float, tasks: list[asyncio.Task[None]]) -> bool:
    """Raises what ended a runtime or a sender: neither ends by itself before its work is done."""
    for task in tasks:
        if task.done():
            task.result()
    return len(mesh.acknowledged) >= acknowledged
