"""kill -9, a stopped process and a second supervisor under 64 callers: acknowledged is there, once, in order."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bus.client import DeadlinePassed
from nexus import exit_codes
from nexus.config import Home, open_home
from nexus.control import NotRunning, ask
from tests.support.ledger import LEDGERS, Books
from tests.support.ledger_callers import Callers, busy, callers_of
from tests.support.loop import until
from tests.support.processes import Nexus, await_end, ended_afterwards, is_alive

pytestmark = pytest.mark.processes

PROGRAM = (sys.executable, "-I", str(Path(__file__).parents[1] / "support" / "ledger_nexus.py"))
SLOW_PROGRAM = (sys.executable, "-I", str(Path(__file__).parents[1] / "support" / "slow_disk_nexus.py"))
CALLERS = 64
SLOW_SECONDS_MAX = 15.0
"""For 192 calls: one commit each would take 24 s."""
ROUNDS = 5
A_ROUND = ("shard-0", "shard-0", "shard-0", "gateway")
"""Shuffled, then the supervisor: a new one starts its children without the back-off of those that died before."""


@pytest.fixture
def nexus() -> Iterator[Nexus]:
    with (
        tempfile.TemporaryDirectory(prefix="nx-") as folder,
        ended_afterwards(Nexus(Path(folder) / "h", PROGRAM)) as it,
    ):
        yield it


def processes(home: Home) -> dict[str, int]:
    """As the supervisor tells it now; empty while there is none."""
    try:
        listed = ask(home, "status")["processes"]
    except NotRunning:
        return {}
    assert isinstance(listed, list)
    return {entry["name"]: entry["pid"] for entry in listed}


def books_after_stop(nexus: Nexus, home: Home) -> Books:
    assert nexus.run("down").code == exit_codes.OK
    return Books.read(home.shard_folder(0))


async def kill(nexus: Nexus, home: Home, name: str) -> None:
    """kill -9, and for the supervisor the next `up`."""
    await until(lambda: name in processes(home))
    os.kill(processes(home)[name], signal.SIGKILL)
    if name == "supervisor":
        await asyncio.to_thread(nexus.start)


@pytest.mark.timeout(300)
def test_twenty_five_kills_at_random_moments_lose_double_and_turn_nothing(nexus: Nexus) -> None:
    """common 8.1, 8.4"""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    chance = random.Random(seed)
    victims = [name for _ in range(ROUNDS) for name in (*chance.sample(A_ROUND, len(A_ROUND)), "supervisor")]
    assert len(victims) == 25
    nexus.start()
    home = open_home(nexus.home)

    async def body() -> Callers:
        async with callers_of(home) as callers:
            async with busy(callers, CALLERS):
                for victim in victims:
                    await callers.more(chance.randrange(20, 400))
                    await kill(nexus, home, victim)
                await callers.more(200)
            return callers

    callers = asyncio.run(body())
    books_after_stop(nexus, home).check(callers.acknowledged, callers.out_of_turn)


def test_a_shard_host_that_stands_still_for_seconds_doubles_nothing_when_it_goes_on(nexus: Nexus) -> None:
    """common 8.1"""
    nexus.start()
    home = open_home(nexus.home)

    async def body() -> Callers:
        async with callers_of(home, within_ms=1_500) as callers:
            async with busy(callers, CALLERS):
                await callers.more(300)
                shard = processes(home)["shard-0"]
                os.kill(shard, signal.SIGSTOP)
                try:
                    for _ in range(2):
                        with pytest.raises(DeadlinePassed):
                            await callers.client.call(
                                LEDGERS[0], "length", {}, call_id=callers.clock.new_id(), within_ms=2_000
                            )
                finally:
                    os.kill(shard, signal.SIGCONT)
                await callers.more(300)
                assert processes(home)["shard-0"] == shard
            assert callers.out_of_turn, "callers heard nothing while the host stood still"
            return callers

    callers = asyncio.run(body())
    books_after_stop(nexus, home).check(callers.acknowledged, callers.out_of_turn)


@pytest.mark.timeout(240)
def test_on_a_slow_disk_64_callers_are_answered_and_kills_lose_and_double_nothing() -> None:
    """common 8.1: each commit takes 50 to 200 ms, so many calls stand between decision and disk at any moment."""
    with (
        tempfile.TemporaryDirectory(prefix="nx-") as folder,
        ended_afterwards(Nexus(Path(folder) / "h", SLOW_PROGRAM)) as nexus,
    ):
        nexus.start()
        home = open_home(nexus.home)

        async def body() -> Callers:
            async with callers_of(home) as callers:
                async with busy(callers, CALLERS):
                    for victim in ("shard-0", "gateway", "shard-0"):
                        await callers.more(3 * CALLERS)
                        await kill(nexus, home, victim)
                    started = time.monotonic()
                    await callers.more(3 * CALLERS)
                    assert time.monotonic() - started < SLOW_SECONDS_MAX, "commits are shared, not made one a call"
                return callers

        callers = asyncio.run(body())
        books_after_stop(nexus, home).check(callers.acknowledged, callers.out_of_turn)


def test_a_second_supervisor_is_refused_and_the_first_serves_on(nexus: Nexus) -> None:
    nexus.start()
    home = open_home(nexus.home)
    before = processes(home)

    async def body() -> Callers:
        async with callers_of(home) as callers:
            async with busy(callers, CALLERS):
                await callers.more(50)
                second = await asyncio.to_thread(nexus.run, "up", "--detach", "--port", "0")
                assert second.code == exit_codes.ALREADY_RUNNING
                await callers.more(50)
            return callers

    callers = asyncio.run(body())
    assert processes(home) == before
    books_after_stop(nexus, home).check(callers.acknowledged, callers.out_of_turn)


def test_after_a_killed_supervisor_children_end_and_the_next_up_takes_over(nexus: Nexus) -> None:
    """`up` waits for the old locks, bounded by `takeover_wait_ms`, and is refused if they do not come free."""
    nexus.start()
    home = open_home(nexus.home)
    before = processes(home)
    os.kill(before["supervisor"], signal.SIGKILL)
    nexus.start()
    await_end(*before.values())
    assert all(is_alive(pid) for pid in processes(home).values())
