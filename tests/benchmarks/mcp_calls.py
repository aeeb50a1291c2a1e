"""MCP of the newer era beside FastMCP and the SDK itself: authenticated, admitted, with 110 tools listed.

Rounds are interleaved, so that a noisy moment of the machine hits all alike; ratios are taken within a round.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import uvloop

from tests.benchmarks.closed_loop import cpu_seconds
from tests.benchmarks.first_slice import nexus, running_nexus, writers
from tests.benchmarks.load import Client, Endpoint, Rate, Step, measure

SECONDS = 2.0
CLIENTS = (1, 16)
ROUNDS = 5
GOALS = (
    # ours, peer, clients, at least this many times its calls a second
    ("read", "FastMCP, empty tool", 16, 4.0),
    ("durable write", "FastMCP, empty tool", 16, 2.5),
    ("tools/list", "SDK, tools/list", 16, 20.0),
)
P50_GOAL = ("durable write", "FastMCP, empty tool", 1, 1.5)
"""At most so many times its p50."""


@dataclass(frozen=True)
class Served:
    endpoint: Endpoint
    pids: tuple[int, ...]


@dataclass(frozen=True)
class Subject:
    endpoints: list[Endpoint]
    steps: list[Step]
    pids: tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    rate: Rate
    cpu_us: float
    """Of all the processes that serve it, a call."""


@contextmanager
def served(module: str, *arguments: str) -> Iterator[Served]:
    """A server that prints its port."""
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(Endpoint(int(process.stdout.readline())), (process.pid,))
        finally:
            process.terminate()


async def empty(client: Client) -> None:
    await client.call("nothing", {})


async def read(client: Client) -> None:
    await client.call("agent_inbox", {})


async def listed(client: Client) -> None:
    await client.list()


async def _measured(subject: Subject, clients: int) -> Measured:
    before = sum(map(cpu_seconds, subject.pids))
    rate = await measure(subject.endpoints[:clients], subject.steps[:clients], SECONDS)
    return Measured(rate, (sum(map(cpu_seconds, subject.pids)) - before) / rate.calls * 1e6)


async def compare(gateway: Served, host_pid: int, tokens: list[str], fastmcp: Served, sdk: Served) -> None:
    most = max(CLIENTS)
    ours = [Endpoint(gateway.endpoint.port, token=token) for token in tokens]
    pids = (*gateway.pids, host_pid)
    subjects = {
        "FastMCP, empty tool": Subject([fastmcp.endpoint] * most, [empty] * most, fastmcp.pids),
        "SDK, empty tool": Subject([sdk.endpoint] * most, [empty] * most, sdk.pids),
        "read": Subject(ours, [read] * most, pids),
        "durable write": Subject(ours, await writers(gateway.endpoint.port, tokens), pids),
        "SDK, tools/list": Subject([sdk.endpoint] * most, [listed] * most, sdk.pids),
        "tools/list": Subject(ours, [listed] * most, pids),
    }
    found: dict[tuple[str, int], list[Measured]] = {(name, level): [] for name in subjects for level in CLIENTS}
    for level in CLIENTS:
        for _ in range(ROUNDS):
            for name, subject in subjects.items():
                found[name, level].append(await _measured(subject, level))
    _print(subjects, found)


def _print(subjects: Mapping[str, Subject], found: Mapping[tuple[str, int], list[Measured]]) -> None:
    print(f"\nmedian of {ROUNDS} rounds: calls/s [range] (p50, p99 ms) CPU of its processes a call")
    for name in subjects:
        cells = []
        for level in CLIENTS:
            each = sorted(found[name, level], key=lambda one: one.rate.per_second)
            middle, rate = each[len(each) // 2], each[len(each) // 2].rate
            spread = f"[{each[0].rate.per_second:.0f}-{each[-1].rate.per_second:.0f}]"
            latency = f"({rate.p50_ms:.2f}, {rate.p99_ms:.2f}) {middle.cpu_us:.0f} us"
            cells.append(f"{level:>3} clients {rate.per_second:7.0f} {spread:13} {latency:26}")
        print(f"{name:20}" + "".join(cells))
    print("\nratios within a round: median [range]")
    for name, peer, level, goal in GOALS:
        pairs = zip(found[name, level], found[peer, level], strict=True)
        _print_ratio(
            f"{name} / {peer}, {level} clients, calls/s",
            goal,
            "at least",
            [one.rate.per_second / other.rate.per_second for one, other in pairs],
        )
    name, peer, level, goal = P50_GOAL
    both = zip(found[name, level], found[peer, level], strict=True)
    _print_ratio(
        f"{name} / {peer}, {level} client, p50",
        goal,
        "at most",
        [one.rate.p50_ms / other.rate.p50_ms for one, other in both],
    )


def _print_ratio(what: str, goal: float, bound: str, ratios: list[float]) -> None:
    ratios.sort()
    print(f"{what:56} {ratios[len(ratios) // 2]:6.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}] goal {bound} {goal}")


def main() -> None:
    with running_nexus() as running, served("padded_gateway", str(running.home)) as gateway:
        workspace = nexus(running.home, "workspace", "add", "Bench")["workspaceId"]
        tokens = [
            nexus(running.home, "agent", "add", f"bench-{n}", "--workspace", workspace, "--capability", "mesh")["token"]
            for n in range(max(CLIENTS))
        ]
        [host] = [one["pid"] for one in nexus(running.home, "status")["processes"] if one["name"] == "shard-0"]
        with (
            served("peer_fastmcp") as fastmcp,
            served("peer_sdk") as sdk,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(compare(gateway, host, tokens, fastmcp, sdk))
