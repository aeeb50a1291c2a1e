"""Start to ready, idle memory, and calls a second through MCP beside FastMCP's empty tool, in a temporary home."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from tests.benchmarks.load import Client, Endpoint, Rate, Step, measure

SECONDS = 4.0
CLIENTS = (1, 16)
ROUNDS = 3
NEXUS = (sys.executable, "-I", "-m", "nexus")


def nexus(home: Path, *arguments: str) -> dict[str, Any]:
    """One command of the person, with its JSON."""
    done = subprocess.run(
        [*NEXUS, *arguments, "--home", str(home), "--json"], check=True, capture_output=True, text=True, timeout=60
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def resident_kib(pid: int) -> int:
    """Proportional share of memory where the system tells it, else resident size."""
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    text = rollup.read_text() if rollup.exists() else Path(f"/proc/{pid}/status").read_text()
    wanted = "Pss:" if rollup.exists() else "VmRSS:"
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(wanted))


@dataclass(frozen=True)
class Running:
    home: Path
    port: int
    start_seconds: float


@contextmanager
def running_nexus() -> Iterator[Running]:
    with tempfile.TemporaryDirectory(prefix="nexus-bench-") as folder:
        home = Path(folder) / "home"
        started = time.perf_counter()
        up = nexus(home, "up", "--detach", "--port", "0")
        seconds = time.perf_counter() - started
        try:
            yield Running(home, int(up["url"].split(":")[2].split("/")[0]), seconds)
        finally:
            nexus(home, "down")


@contextmanager
def running_peer() -> Iterator[Endpoint]:
    command = [sys.executable, "-m", "tests.benchmarks.peer_fastmcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Endpoint(int(process.stdout.readline()))
        finally:
            process.terminate()


async def writers(port: int, tokens: list[str]) -> list[Step]:
    """One canvas an agent with one rectangle, and a step that moves it under the revision it last heard."""
    steps: list[Step] = []
    for token in tokens:
        client = Client(Endpoint(port, token=token))
        await client.open()
        made = await client.call("canvas_create", {"title": "bench", "reason": "bench"})
        canvas, revision = made["canvasId"], made["revision"]
        shape = {"type": "rectangle", "x": 0, "y": 0, "width": 10, "height": 10}
        arguments = {"canvasId": canvas, "expectedRevision": revision, "reason": "bench", "elements": [shape]}
        drawn = await client.call("canvas_create_elements", arguments)
        steps.append(_mover(canvas, drawn["elementIds"][0], drawn["revision"]))
        await client.close()
    return steps


def _mover(canvas: str, element: str, revision: int) -> Step:
    async def step(client: Client) -> None:
        nonlocal revision
        arguments = {
            "canvasId": canvas,
            "expectedRevision": revision,
            "reason": "bench",
            "moves": [{"id": element, "dx": 1, "dy": 1}],
        }
        answer = await client.call("canvas_move_elements", arguments)
        assert answer["outcome"] == "applied", answer
        revision = answer["revision"]

    return step


async def read(client: Client) -> None:
    await client.call("workspace_current", {})


async def empty(client: Client) -> None:
    await client.call("nothing", {})


def median(rates: list[Rate]) -> Rate:
    return sorted(rates, key=lambda rate: rate.per_second)[len(rates) // 2]


async def compare(port: int, tokens: list[str], peer: Endpoint) -> None:
    print(f"\n{'calls a second (p50, p99 ms), median of ' + str(ROUNDS):46} {'1 client':>24} {'16 clients':>24}")
    moves = await writers(port, tokens)
    lines: dict[str, list[Rate]] = {"FastMCP, empty tool": [], "NEXUS, read": [], "NEXUS, durable write": []}
    for clients in CLIENTS:
        endpoints = [Endpoint(port, token=token) for token in tokens[:clients]]
        found: dict[str, list[Rate]] = {name: [] for name in lines}
        for _ in range(ROUNDS):  # interleaved, so that a noisy moment hits all alike
            found["FastMCP, empty tool"].append(await measure([peer] * clients, [empty] * clients, SECONDS))
            found["NEXUS, read"].append(await measure(endpoints, [read] * clients, SECONDS))
            found["NEXUS, durable write"].append(await measure(endpoints, moves[:clients], SECONDS))
        for name in lines:
            lines[name].append(median(found[name]))
    for name, rates in lines.items():
        cells = "".join(f"{r.per_second:9.0f} ({r.p50_ms:5.2f}, {r.p99_ms:5.2f})" for r in rates)
        print(f"{name:46} {cells}")
    base = lines["FastMCP, empty tool"]
    for name in ("NEXUS, read", "NEXUS, durable write"):
        ratios = [rate.per_second / other.per_second for rate, other in zip(lines[name], base, strict=True)]
        print(f"{name + ' / FastMCP':46} " + "".join(f"{ratio:24.2f}" for ratio in ratios))


def main() -> None:
    with running_nexus() as running, running_peer() as peer:
        print(f"start to ready (command and all): {running.start_seconds:.2f} s")
        workspace = nexus(running.home, "workspace", "add", "Bench")["workspaceId"]
        tokens = [
            nexus(running.home, "agent", "add", f"bench-{n}", "--workspace", workspace, "--capability", "mesh")["token"]
            for n in range(max(CLIENTS))
        ]
        processes = nexus(running.home, "status")["processes"]
        sizes = {one["name"]: resident_kib(one["pid"]) for one in processes}
        print("idle memory, MiB: " + ", ".join(f"{name} {kib / 1024:.0f}" for name, kib in sizes.items()))
        print(f"idle memory in all: {sum(sizes.values()) / 1024:.0f} MiB")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(compare(running.port, tokens, peer))
