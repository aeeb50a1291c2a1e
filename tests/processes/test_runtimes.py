"""Runtimes on a real NEXUS: killed, slow, silent and two at a time, and NEXUS killed under them (mesh 4.4, 5.1)."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from bus.mailbox_client import Delivery, DeliveryLost, MailboxClient
from bus.runtime_frames import Credit, Deliver, Lost, Refused, Welcome
from bus.runtime_limits import runtime_credit_bytes_default
from bus.runtime_link import RuntimeLink
from bus.wire_zmq import RUNTIME_BOUNDS, ZmqWire
from nexus.config import Home, open_home
from tests.processes.conftest import PRODUCT, Running
from tests.processes.test_kills import processes
from tests.support.loop import until
from tests.support.mcp_http import McpHttp
from tests.support.processes import Nexus
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

SUPPORT = Path(__file__).parents[1] / "support"
SHORT_LEASES = (sys.executable, "-I", str(SUPPORT / "short_leases_nexus.py"))
DOCUMENT = Path(__file__).parents[2] / "docs" / "runtimes.md"
ENDS = frozenset({"completed", "failed", "rejected", "expired", "cancelled"})


@dataclass
class Place:
    """A NEXUS with short leases, and a pair of agents of each test's own."""

    running: Running
    home: Home

    def pair(self, name: str) -> Pair:
        workspace = self.running.workspace(name)
        _, sender = self.running.agent(f"{name}-sender", workspace)
        added = self.running.person("agent", "add", f"{name}-worker", "--workspace", workspace, "--capability", "mesh")
        worker = McpHttp(self.running.url, added["token"])
        worker.ok("agent_inbox")  # it has run, so it can be sent to
        return Pair(self, sender, added["agentId"], worker, added["token"])


@dataclass
class Pair:
    """One agent that sends, and one whose runtimes are looked at."""

    place: Place
    sender: McpHttp
    worker_id: str
    worker: McpHttp
    token: str

    def send(self, title: str, **task: Any) -> str:
        envelope = {"title": title, "instructions": f"Do {title}.", **task}
        return str(self.sender.ok("agent_trigger", {"agentId": self.worker_id, "task": envelope})["threadId"])

    def client(self, **options: Any) -> MailboxClient:
        return MailboxClient(self.place.home.runtimes_socket, token=self.token, **options)

    def notices(self) -> dict[str, dict[str, Any]]:
        """By thread, what its sender was told last."""
        listed: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.sender.ok("agent_inbox", {"limit": 100, **cursor})
            listed += page["notifications"]
            if not page["nextCursor"]:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert len({one["threadId"] for one in listed}) == len(listed), "one notification a thread"
        return {one["threadId"]: one for one in listed}

    async def ended(self, threads: list[str], seconds: float = 60) -> dict[str, dict[str, Any]]:
        """What the sender was told of these, once all have ended."""

        def look() -> dict[str, dict[str, Any]] | None:
            notices = self.notices()
            return notices if all(notices.get(one, {}).get("state") in ENDS for one in threads) else None

        return await asyncio.to_thread(eventually, look, seconds=seconds, what="the end of all threads")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        nexus = Nexus(Path(folder) / "home", SHORT_LEASES)
        started = nexus.start()
        try:
            yield Place(Running(Nexus(nexus.home, PRODUCT), started["url"]), open_home(nexus.home))
        finally:
            assert nexus.run("down").code == 0


def token_file(folder: Path, token: str) -> Path:
    file = folder / "token"
    file.touch(mode=0o600)
    file.write_text(token)
    return file


def test_the_example_of_the_documentation_runs_as_it_stands(place: Place, tmp_path: Path) -> None:
    """mesh 5.1"""
    [example] = re.findall(r"```python\n(import .*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 15
    program = tmp_path / "counter.py"
    program.write_text(example)
    assert place.home.runtimes_socket.stat().st_mode & 0o077 == 0, "for this user alone"
    pair = place.pair("example")
    thread = pair.send("count", instructions="one two three")
    environment = {**os.environ, "NEXUS_TOKEN_FILE": str(token_file(tmp_path, pair.token))}
    counter = subprocess.Popen([sys.executable, str(program), str(place.home.runtimes_socket)], env=environment)
    try:
        notice = asyncio.run(pair.ended([thread]))[thread]
    finally:
        counter.terminate()
        counter.wait(20)
    assert (notice["state"], notice["result"]["body"]["text"]) == ("completed", "3 words")


def test_the_task_of_a_runtime_that_was_killed_at_work_is_offered_again(place: Place, tmp_path: Path) -> None:
    """mesh 4.4"""
    pair = place.pair("killed")
    thread = pair.send("long work")
    program = [sys.executable, "-I", str(SUPPORT / "runtime_program.py")]
    arguments = [str(place.home.runtimes_socket), str(token_file(tmp_path, pair.token))]
    with subprocess.Popen([*program, *arguments], stdout=subprocess.PIPE, text=True) as runtime:
        assert runtime.stdout is not None
        assert runtime.stdout.readline().split() == ["taken", thread, "1"]
        runtime.kill()

    async def body() -> None:
        async with pair.client() as mailbox:
            delivery = await asyncio.wait_for(anext(mailbox), 30)
            assert (delivery.thread_id, delivery.attempt) == (thread, 2)
            await delivery.complete("by the second")

    asyncio.run(body())
    [notice] = [one for one in asyncio.run(pair.ended([thread])).values() if one["threadId"] == thread]
    assert (notice["state"], notice["result"]["body"]["text"]) == ("completed", "by the second")


@pytest.mark.timeout(240)
def test_each_task_ends_once_although_gateway_and_shard_are_killed_while_delivering(place: Place) -> None:
    """mesh 4.2, 4.4, 5.1; common 8.1"""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    chance = random.Random(seed)
    pair = place.pair("kills")
    threads = [pair.send(f"task {number}") for number in range(60)]
    done: Counter[str] = Counter()

    async def work(mailbox: MailboxClient) -> None:
        async for delivery in mailbox:
            try:
                await delivery.start()
                await delivery.progress("at it")
                await delivery.complete(delivery.task.title)
            except DeliveryLost:
                continue
            done[delivery.thread_id] += 1

    async def body() -> dict[str, dict[str, Any]]:
        async with pair.client(prefetch=4) as mailbox:
            workers = [asyncio.create_task(work(mailbox)) for _ in range(4)]
            for victim in ("gateway", "shard-0", "gateway", "shard-0"):
                goal = len(done) + chance.randrange(1, 8)
                await until(lambda goal=goal: len(done) >= goal, 60)  # type: ignore[misc]
                await until(lambda victim=victim: victim in processes(place.home), 30)  # type: ignore[misc]
                os.kill(processes(place.home)[victim], signal.SIGKILL)
            await until(lambda: len(done) == len(threads), 90)
        await asyncio.gather(*workers)
        return await pair.ended(threads)

    notices = asyncio.run(body())
    assert {*threads} == {*done} and set(done.values()) == {1}
    assert {notices[thread]["state"] for thread in threads} == {"completed"}
    bodies = {notices[thread]["title"]: notices[thread]["result"]["body"]["text"] for thread in threads}
    assert all(title == text for title, text in bodies.items())


def test_two_runtimes_share_one_mailbox(place: Place) -> None:
    """mesh 4.4, 5.1"""
    pair = place.pair("two")

    async def body() -> None:
        taken: dict[str, list[str]] = {"a": [], "b": []}

        async def work(name: str, mailbox: MailboxClient) -> None:
            async for delivery in mailbox:
                taken[name].append(delivery.thread_id)
                await delivery.complete(name)

        async with pair.client() as first, pair.client() as second:
            workers = [asyncio.create_task(work("a", first)), asyncio.create_task(work("b", second))]
            threads = [await asyncio.to_thread(pair.send, f"t{number}") for number in range(20)]
            await pair.ended(threads)
        await asyncio.gather(*workers)
        assert sorted(taken["a"] + taken["b"]) == sorted(threads)
        assert taken["a"] and taken["b"]

    asyncio.run(body())


@asynccontextmanager
async def silent_runtime(pair: Pair) -> AsyncIterator[list[Deliver]]:
    """One that takes what it is given and never says anything of it, nor renews."""
    taken: list[Deliver] = []

    def received(frame: Deliver | Lost) -> None:
        if isinstance(frame, Deliver):
            taken.append(frame)

    def opened(welcome: Welcome) -> None:
        link.send(Credit(1, runtime_credit_bytes_default))

    def refused(frame: Refused) -> None:
        raise AssertionError(frame)

    wire = ZmqWire(asyncio.get_running_loop(), RUNTIME_BOUNDS)
    link = RuntimeLink(
        wire,
        pair.place.home.runtimes_socket,
        token=pair.token,
        runtime_id="silent",
        holding=tuple,
        opened=opened,
        received=received,
        refused=refused,
    )
    try:
        yield taken
    finally:
        await link.close()
        wire.close()


def test_a_task_that_no_runtime_ever_acknowledges_is_given_up_after_five(place: Place) -> None:
    """mesh 4.4"""
    pair = place.pair("silent")
    thread = pair.send("never done")

    async def body() -> dict[str, Any]:
        async with silent_runtime(pair) as taken:
            notice = (await pair.ended([thread]))[thread]
            assert [frame.delivery["attempt"] for frame in taken] == [1, 2, 3, 4, 5]
            assert len({str(frame.delivery["deliveryId"]) for frame in taken}) == 5
            return notice

    notice = asyncio.run(body())
    assert (notice["state"], notice["cause"]) == ("failed", "delivery_exhausted")


def test_a_slow_runtime_is_sent_no_more_than_its_credit_and_costs_the_gateway_no_memory(place: Place) -> None:
    """mesh 5.1; security 2.23"""
    pair = place.pair("slow")
    size, count = 60_000, 250
    for number in range(count):
        pair.send(f"t{number}", instructions="x" * (size // 2), inputs={"more": "y" * (size // 2)})
    gateway = psutil.Process(processes(place.home)["gateway"])
    before = gateway.memory_info().rss

    async def body() -> None:
        async with pair.client(prefetch=2) as mailbox:
            held: list[Delivery] = [await asyncio.wait_for(anext(mailbox), 30) for _ in range(2)]
            assert len(mailbox.held) == 2
            for _ in range(20):
                await held.pop(0).complete("slowly")
                held.append(await asyncio.wait_for(anext(mailbox), 30))
                assert len(mailbox.held) == 2

    asyncio.run(body())
    assert gateway.memory_info().rss - before < count * size // 2


def test_a_runtime_whose_token_is_revoked_loses_what_it_holds_to_the_next(place: Place) -> None:
    """security 2.10; common 2.1"""
    pair = place.pair("revoked")
    thread = pair.send("work")
    name = f"{pair.worker_id}"
    added = place.running.person("agent", "credential", "add", name, "second")

    async def body() -> None:
        async with MailboxClient(place.home.runtimes_socket, token=added["token"]) as mailbox:
            delivery = await asyncio.wait_for(anext(mailbox), 30)
            await asyncio.to_thread(place.running.person, "agent", "credential", "revoke", name, "second")
            await asyncio.wait_for(delivery.cancelled.wait(), 20)
            async with pair.client() as other:
                assert (await asyncio.wait_for(anext(other), 20)).thread_id == thread

    asyncio.run(body())
