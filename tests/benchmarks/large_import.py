"""What 8 agents feel while large scenes come, go, are woken and drawn on.

Real processes, real MCP. Each agent moves a box on its own small canvas at a steady pace; its latency counts from the
moment the call was due, so that a stalled server is not let off by callers that wait. The person meanwhile imports a
large scene, exports it, and has it loaded from disk after its shard host was killed; and a ninth agent asks and writes
to it, in turn with a canvas of 500 elements.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
import uvloop

from tests.benchmarks.first_slice import NEXUS, Running, nexus, running_nexus, writers
from tests.benchmarks.load import Client, Endpoint, Step
from tests.support.large_scene import large_scene

AGENTS: Final = 8
CALLS_A_SECOND: Final = 5  # of each agent
QUIET_SECONDS: Final = 8.0
SMALL: Final = 500
LARGE: Final = 50_000
ROUNDS: Final = 60


@dataclass
class Felt:
    """Latencies of all agents in milliseconds while something went on."""

    name: str
    milliseconds: list[float] = field(default_factory=list)
    seconds: float = 0.0
    computing: float = 0.0
    """Seconds of processor time that the processes of NEXUS took, the person's commands not among them."""

    def line(self) -> str:
        ordered = sorted(self.milliseconds)
        if not ordered:
            return f"{self.name:34} took {self.seconds:6.2f} s, too short for any call to be due"
        over = sum(one > 50 for one in ordered)
        p50, p99 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        figures = f"p50 {p50:6.1f}  p99 {p99:6.1f}  worst {ordered[-1]:6.1f} ms  over 50 ms: {over}/{len(ordered)}"
        return f"{self.name:34} took {self.seconds:6.2f} s (computing {self.computing:5.2f})  {figures}"


class Agents:
    """Writers at a steady pace, in the background, whose latencies go to whoever asks at the time."""

    def __init__(self, running: Running, tokens: list[str]) -> None:
        self._endpoints = [Endpoint(running.port, token=token) for token in tokens]
        self._port = running.port
        self._processes = [psutil.Process(one["pid"]) for one in nexus(running.home, "status")["processes"]]
        self._tokens = tokens
        self.felt = Felt("")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        steps = await writers(self._port, self._tokens)
        pairs = enumerate(zip(self._endpoints, steps, strict=True))
        self._tasks = [asyncio.ensure_future(self._write(n, *pair)) for n, pair in pairs]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def during(self, name: str, work: Callable[[], Awaitable[Any]]) -> Felt:
        self.felt = felt = Felt(name)
        started, busy = time.perf_counter(), self._busy()
        await work()
        felt.seconds, felt.computing = time.perf_counter() - started, self._busy() - busy
        self.felt = Felt("")
        print(felt.line(), flush=True)
        for task in self._tasks:
            if task.done():
                task.result()
        return felt

    def _busy(self) -> float:
        return sum(times.user + times.system for times in (process.cpu_times() for process in self._processes))

    async def _write(self, number: int, endpoint: Endpoint, step: Step) -> None:
        client = Client(endpoint)
        await client.open()
        due = time.perf_counter() + number / (AGENTS * CALLS_A_SECOND)
        while True:
            await _until(due)
            felt = self.felt
            await step(client)
            felt.milliseconds.append((time.perf_counter() - due) * 1e3)
            due = max(due + 1 / CALLS_A_SECOND, time.perf_counter() - 1.0)


async def _until(due: float) -> None:
    """The pace itself: nothing here waits for a condition."""
    loop = asyncio.get_running_loop()
    reached = asyncio.Event()
    loop.call_later(max(0.0, due - time.perf_counter()), reached.set)
    await reached.wait()


async def command(home: Path, *arguments: str) -> dict[str, Any]:
    """One of the person's commands as a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *NEXUS, *arguments, "--home", str(home), "--json", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    answer: dict[str, Any] = json.loads(out)
    return answer


async def quiet() -> None:
    await _until(time.perf_counter() + QUIET_SECONDS)


@dataclass
class Drawing:
    """The ninth agent, and the canvases that it asks and writes to in turn: number of elements -> id."""

    port: int
    token: str
    elements: int
    """Of the large one."""
    canvases: dict[int, str] = field(default_factory=dict)
    revisions: dict[int, int] = field(default_factory=dict)

    async def draw(self, what: str) -> None:
        """Says what a region of 100 and a write of one element took on each, in milliseconds, and their ratios."""
        client, chance = Client(Endpoint(self.port, token=self.token)), random.Random(what)
        await client.open()
        regions: dict[int, list[float]] = {size: [] for size in self.canvases}
        writes: dict[int, list[float]] = {size: [] for size in self.canvases}
        for _ in range(ROUNDS):
            for size, canvas in self.canvases.items():
                x, y = chance.randrange(35) * 300, chance.randrange(max(size // 160 - 3, 1)) * 200
                region = {"canvasId": canvas, "x": x, "y": y, "width": 3_300, "height": 599}
                regions[size].append(await _timed(client, "canvas_query_region", region))
                update = {"id": f"box-{chance.randrange(size // 4)}", "set": {"opacity": chance.randrange(1, 99)}}
                base = {"canvasId": canvas, "expectedRevision": self.revisions[size], "reason": "bench"}
                writes[size].append(await _timed(client, "canvas_update_elements", {**base, "updates": [update]}))
                self.revisions[size] += 1
        await client.close()
        for name, took in (("region of 100", regions), ("write of one element", writes)):
            small, large = (sorted(one)[ROUNDS // 2] for one in took.values())
            print(f"  {name:22} p50 {small:5.1f} ms of {SMALL}, {large:5.1f} ms of the large one: {large / small:.2f}")


async def _timed(client: Client, tool: str, arguments: dict[str, Any]) -> float:
    started = time.perf_counter()
    answer = await client.call(tool, arguments)
    assert answer.get("outcome", "applied") == "applied", answer
    return (time.perf_counter() - started) * 1e3


async def import_and_export(running: Running, workspace: str, tokens: list[str], file: Path, drawing: Drawing) -> str:
    agents = Agents(running, tokens)
    await agents.start()
    imported: list[dict[str, Any]] = []

    async def bring_in() -> None:
        imported.append(await command(running.home, "canvas", "import", str(file), "-w", workspace))

    await agents.during("warming up", quiet)
    await agents.during("nothing else", quiet)
    await agents.during("import", bring_in)
    canvas = str(imported[0]["canvasId"])
    await agents.during("export", lambda: command(running.home, "canvas", "export", canvas, str(file) + ".out"))
    pictures = file.with_name("pictures.excalidraw")
    await agents.during(
        "import of 60 MiB of pictures",
        lambda: command(running.home, "canvas", "import", str(pictures), "-w", workspace),
    )
    await agents.during("overview", lambda: command(running.home, "canvas", "show", canvas))
    small = await command(running.home, "canvas", "import", str(file.with_name("small.excalidraw")), "-w", workspace)
    drawing.canvases = {SMALL: str(small["canvasId"]), drawing.elements: canvas}
    drawing.revisions = dict.fromkeys(drawing.canvases, 1)
    for each in drawing.canvases.values():
        await command(running.home, "canvas", "grant", each, f"bench-{AGENTS}", "editor", "-w", workspace)
    await agents.during("regions and writes", lambda: drawing.draw("awake"))
    await agents.stop()
    return canvas


async def wake(running: Running, tokens: list[str], canvas: str, drawing: Drawing) -> None:
    """The canvas's owner is not in memory now: the first question loads it."""
    agents = Agents(running, tokens)
    await agents.start()
    await agents.during("warming up", quiet)
    await agents.during("nothing else, large canvas asleep", quiet)
    await agents.during("overview of the sleeping canvas", lambda: command(running.home, "canvas", "show", canvas))
    await agents.during("nothing else, large canvas awake", quiet)
    await agents.during("regions and writes", lambda: drawing.draw("woken"))
    await agents.stop()


def run(work: Awaitable[Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)  # type: ignore[arg-type]


def main(elements: int = LARGE) -> None:
    with running_nexus() as running:
        file = running.home.parent / "large.excalidraw"
        file.write_text(json.dumps(large_scene(elements)))
        file.with_name("small.excalidraw").write_text(json.dumps(large_scene(SMALL)))
        picture = {
            "mimeType": "image/gif",
            "dataURL": "data:image/gif;base64,R0lGODlhAQAB" + "A" * (20 * 2**20 * 4 // 3),
        }
        pictures = {"type": "excalidraw", "elements": [], "files": {f"p{number}": picture for number in range(3)}}
        (file.with_name("pictures.excalidraw")).write_text(json.dumps(pictures))
        print(f"{os.cpu_count()} cores, {elements} elements, {file.stat().st_size / 2**20:.1f} MiB, {AGENTS} agents")
        workspace = nexus(running.home, "workspace", "add", "Bench")["workspaceId"]
        *tokens, token = [
            nexus(running.home, "agent", "add", f"bench-{n}", "--workspace", workspace)["token"]
            for n in range(AGENTS + 1)
        ]
        drawing = Drawing(running.port, token, elements)
        canvas = run(import_and_export(running, workspace, tokens, file, drawing))
        nexus(running.home, "down")
        up = nexus(running.home, "up", "--detach", "--port", "0")
        port = int(up["url"].split(":")[2].split("/")[0])
        drawing.port = port
        run(wake(Running(running.home, port, 0.0), tokens, canvas, drawing))


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:2]))
