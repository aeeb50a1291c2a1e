"""`nexus demo`: the main job on real input in a temporary home, told step by step. Every line stands for a check.

A is the official MCP client in this process; B is a program of its own (nexus/demo_agent.py). The person's part is
done with the same commands a person types. A step that does not hold ends the demo with exit code 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Final

from bus.value import Record, Value, records
from nexus import exit_codes
from nexus.demo_mcp import ToolRefused, Tools, box, connected
from nexus.demo_runtime import DemoAgentProcess, DemoRuntime, StepFailed
from nexus.output import escape, print_line, shown
from nexus.scene_file import SceneFileProblem, read_scene

return_seconds_max: Final = 30.0
look_every_seconds: Final = 0.2
told_events: Final = 200
_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_SHAPES: Final[list[Value]] = ["rectangle", "ellipse", "diamond"]
_EXPECTED_EVENTS: Final = ("canvas.imported", "agent.created", "canvas.changed", "thread.completed")


def run(file: Path | None, *, keep: bool) -> int:
    """Tell the demo on `file`, or on the scene that comes with NEXUS; answers the exit code."""
    if file is not None:
        try:
            read_scene(file)  # before anything is started: a story that ends at its second step helps nobody
        except SceneFileProblem as problem:
            print_line(escape(str(problem)), to_stderr=True)
            return exit_codes.REFUSED
    runtime = DemoRuntime()
    try:
        asyncio.run(_until_told_to_stop(_Demo(runtime, file)))
    except asyncio.CancelledError:
        print_line("    interrupted", to_stderr=True)
        return exit_codes.INTERRUPTED
    except Exception as failed:  # noqa: BLE001 - whatever stops the story is a step that did not hold
        print_line(f"    FAILED: {_reason(failed)}", to_stderr=True)
        return exit_codes.REFUSED
    finally:
        _end(runtime, keep)
    return exit_codes.OK


class _Demo:
    """What the steps hand on to each other."""

    def __init__(self, runtime: DemoRuntime, file: Path | None) -> None:
        self.runtime = runtime
        self.file = file
        self.tokens: dict[str, str] = {}
        self.agent_ids: dict[str, str] = {}
        self.canvas_id = ""
        self.revision = 0
        self.extent: Record = {}
        self.thread_id = ""
        self.drawn_by_b: list[Value] = []
        self._suffix = secrets.token_hex(3)
        """Makes ids new on any canvas, also on one that an earlier demo drew on."""
        self._step = 0

    async def tell(self) -> None:
        await self._told("Start NEXUS in a temporary home", self.start)
        await self._told("The person imports an .excalidraw file as a canvas", self.import_file)
        await self._told("The person adds two agents with a token each and makes both editors", self.add_agents)
        self._announce("B starts as a program of its own, with its own token, and looks into its inbox")
        program = await DemoAgentProcess.started(
            self.runtime.url, self.runtime.write_private("b.token", self.tokens["B"])
        )
        try:
            await program.step("ready")
            self._say(f"B is process {program.process.pid}; its inbox is empty and it waits")
            async with connected(self.runtime.url, self.tokens["A"]) as tools:
                await self._as_a(tools, program)
        finally:
            await program.kill()
        await self._told("`nexus-bus tail` tells the story", self.show_events)

    async def _as_a(self, tools: Tools, program: DemoAgentProcess) -> None:
        async def told(title: str, step: Callable[[Tools], Awaitable[None]]) -> None:
            self._announce(title)
            await step(tools)

        await told("A, the official MCP client over Streamable HTTP, reads a region", self.read_region)
        await told("A moves an element under the revision it read", self.move_element)
        await told("A adds elements under the next revision", self.add_elements)
        await told("A delegates a task to B with agent_trigger", self.delegate)
        self._announce("B finds the task with agent_inbox, draws on the same canvas, answers with agent_reply")
        await self.follow_program(program)
        await told("A sees the result in its own inbox and on the canvas", self.see_result)
        await told("A writes under a revision that is no longer current", self.write_stale)
        await told("Every shard host is killed with -9 right after an acknowledged write", self.kill_hosts)

    async def start(self) -> None:
        await self.runtime.start()
        self._say(f"it listens on {escape(self.runtime.url)}")

    async def import_file(self) -> None:
        await self.runtime.command("workspace", "add", "Demo")
        file = self.file
        if file is None:
            scene = files("nexus").joinpath("demo_scene.excalidraw").read_text(encoding="utf-8")
            file = self.runtime.write_private("demo_scene.excalidraw", scene)
        imported = await self.runtime.command("canvas", "import", str(file), "--workspace", "Demo")
        self.canvas_id = str(imported.get("canvasId", ""))
        self._check(bool(self.canvas_id), "the import answers a canvasId")
        listed = records(await self.runtime.command("canvas", "list"), "canvases")
        self._check([one.get("canvasId") for one in listed] == [self.canvas_id], "the canvas is in the list")
        kept = len(records(await self._exported(), "elements"))
        self._check(kept > 0, "the canvas has elements")
        self._say(f"{escape(file.name)} is a canvas of {kept} elements")

    async def add_agents(self) -> None:
        for name in ("A", "B"):
            added = await self.runtime.command("agent", "add", name, "--workspace", "Demo", "--capability", "mesh")
            self.tokens[name], self.agent_ids[name] = str(added.get("token", "")), str(added.get("agentId", ""))
            is_whole = self.tokens[name].startswith(f"nx_{self.agent_ids[name]}_")
            self._check(is_whole, "the token has the form nx_<agentId>_<secret>")
            await self.runtime.command("canvas", "grant", self.canvas_id, name, "editor")
            self._say(f"agent {name} has a token, shown once, and the role editor")

    async def read_region(self, tools: Tools) -> None:
        state = await tools.call("canvas_get_state", {"canvasId": self.canvas_id})
        self.revision = _integer(state, "revision")
        extent = state.get("extent")
        self._check(isinstance(extent, dict), "the canvas has an extent")
        self.extent = extent if isinstance(extent, dict) else {}
        region = {**self.extent, "width": _number(self.extent, "width") / 2}
        found = await tools.call("canvas_query_region", {"canvasId": self.canvas_id, **region})
        elements = records(found, "elements")
        self._check(bool(elements), "the left half of the canvas holds elements")
        self._say(f"revision {self.revision}; {len(elements)} elements lie in the left half")

    async def move_element(self, tools: Tools) -> None:
        before = await self._elements(tools, _SHAPES) or await self._elements(tools, None)
        moved = before[0]
        move: Record = {"id": moved["id"], "dx": 40, "dy": 20}
        await self._write(tools, "canvas_move_elements", {"moves": [move], "reason": "Make room for the review"})
        now = {one["id"]: one for one in await self._elements(tools, [moved["type"]])}
        after = now.get(moved["id"], {})
        is_there = abs(_number(after, "x") - _number(moved, "x") - 40) < 1e-6
        self._check(is_there, "the element lies 40 further right than it did")
        self._say(f"the {shown(moved['type'])} moved by 40, 20; the canvas is at revision {self.revision}")

    async def add_elements(self, tools: Tools) -> None:
        elements = box(f"plan-{self._suffix}", *self._beside(0), "Planned by A", "#a5d8ff")
        await self._write(tools, "canvas_create_elements", {"elements": elements, "reason": "Say what comes next"})
        there = {one["id"] for one in await self._elements(tools, ["rectangle"])}
        self._check(f"plan-{self._suffix}" in there, "the new box is found in its region")
        self._say(f"a labelled box stands beside the drawing; revision {self.revision}")

    async def delegate(self, tools: Tools) -> None:
        x, y = self._beside(1)
        task: Record = {
            "title": "Add a review box",
            "instructions": "Draw one labelled box at the place given in inputs, and answer with its id.",
            "inputs": {"canvasId": self.canvas_id, "x": x, "y": y},
            "expectedOutput": "The ids of the elements that you drew.",
            "priority": "p2",
        }
        answer = await tools.call("agent_trigger", {"agentId": self.agent_ids["B"], "task": task})
        self._check(answer.get("state") == "queued", "the task is durably queued")
        self.thread_id = str(answer.get("threadId"))
        self._say(f"thread {escape(self.thread_id)} is queued for B")

    async def follow_program(self, program: DemoAgentProcess) -> None:
        took = await program.step("took")
        self._check(took.get("threadId") == self.thread_id, "B took the task that A sent")
        self._say(f"B took {shown(took.get('title'))!r}")
        drew = await program.step("drew")
        ids = drew.get("elementIds")
        self.drawn_by_b = ids if isinstance(ids, list) else []
        self._say(f"B drew {len(self.drawn_by_b)} elements; the canvas is at revision {shown(drew.get('revision'))}")
        replied = await program.step("replied")
        self._check(replied.get("state") == "completed", "B's reply closed the thread")
        await program.end()
        self._say(f"B answered and ended with exit code {program.process.returncode}")

    async def see_result(self, tools: Tools) -> None:
        result = await self._ended_thread(tools)
        self._check(result.get("state") == "completed", "A's inbox says completed")
        answer = result.get("result")
        body = answer.get("body") if isinstance(answer, dict) else None
        said = body.get("text") if isinstance(body, dict) else None
        self._say(f"A was told: {shown(said)!r}")
        there = {one["id"] for one in await self._elements(tools, ["rectangle", "text"])}
        self._check(bool(self.drawn_by_b) and set(map(str, self.drawn_by_b)) <= there, "A reads what B drew")
        state = await tools.call("canvas_get_state", {"canvasId": self.canvas_id})
        self._check(_integer(state, "revision") > self.revision, "B's drawing is a later revision than A's")

    async def write_stale(self, tools: Tools) -> None:
        stale: Record = {
            "canvasId": self.canvas_id,
            "expectedRevision": self.revision,
            "reason": "Written without having seen what B drew",
            "elements": box(f"stale-{self._suffix}", *self._beside(2), "Too late", "#ffc9c9"),
        }
        outcome = await tools.call("canvas_create_elements", stale)
        self._check(outcome.get("outcome") == "conflict", "the outcome is conflict")
        changed = len(records(outcome, "changedSince"))
        current = _integer(outcome, "currentRevision")
        self._say(
            f"conflict: A wrote under {self.revision}, the canvas is at {current}, {changed} elements changed since"
        )
        there = {one["id"] for one in await self._elements(tools, ["rectangle"])}
        self._check(f"stale-{self._suffix}" not in there, "nothing of the stale write is on the canvas")
        self.revision = current

    async def kill_hosts(self, tools: Tools) -> None:
        hosts = await self.runtime.shard_pids()
        self._check(bool(hosts), "`nexus status` names the shard hosts")
        before = await self._exported()
        elements = box(f"last-{self._suffix}", *self._beside(2), "Acknowledged, then killed", "#ffec99")
        await self._write(
            tools, "canvas_create_elements", {"elements": elements, "reason": "The last word before the kill"}
        )
        for name, pid in hosts.items():
            os.kill(pid, signal.SIGKILL)
            self._say(f"kill -9 {pid} ({escape(name)})")
        killed = time.monotonic()
        state = await self._answered_again(tools)
        self._say(f"the first answer came {time.monotonic() - killed:.1f} s later")
        self._check(
            not set((await self.runtime.shard_pids()).values()) & set(hosts.values()), "the hosts are new processes"
        )
        self._check(_integer(state, "revision") == self.revision, "the canvas is at the acknowledged revision")
        after = await self._exported()
        ids = {one.get("id") for one in elements if isinstance(one, dict)}
        kept = [one for one in records(after, "elements") if one.get("id") not in ids]
        self._check(kept == records(before, "elements"), "every element is exactly as it was")
        self._check(len(records(after, "elements")) == len(kept) + len(ids), "the last acknowledged write is there")
        self._check((await self._ended_thread(tools)).get("state") == "completed", "the thread is still completed")
        self._say(f"revision {self.revision}, {len(kept) + len(ids)} elements and the thread are all still there")

    async def show_events(self) -> None:
        names = {**self.agent_ids, "the canvas": self.canvas_id}
        self._say("; ".join(f"{name} is {escape(known)}" for name, known in names.items()))
        lines = await self.runtime.bus("tail", "-n", str(told_events))
        for line in lines:
            self._say(escape(line))
        for expected in _EXPECTED_EVENTS:
            self._check(any(f"  {expected}  " in line for line in lines), f"{expected} is in the log")

    async def _write(self, tools: Tools, tool: str, arguments: Record) -> None:
        """A write that must be applied: it is the next revision."""
        target: Record = {"canvasId": self.canvas_id, "expectedRevision": self.revision}
        outcome = await tools.call(tool, {**target, **arguments})
        is_next = outcome.get("outcome") == "applied" and outcome.get("revision") == self.revision + 1
        self._check(is_next, f"{tool} is applied as revision {self.revision + 1} ({shown(outcome.get('message'))})")
        self.revision += 1

    async def _elements(self, tools: Tools, types: list[Value] | None) -> list[Record]:
        """Elements in the drawing and the strip of new boxes beside it, over all pages."""
        region = {
            **self.extent,
            "width": _number(self.extent, "width") + 600,
            "height": _number(self.extent, "height") + 600,
        }
        asked: Record = {"canvasId": self.canvas_id, **region, "limit": 500}
        if types is not None:
            asked["types"] = types
        found: list[Record] = []
        while True:
            page = await tools.call("canvas_query_region", asked)
            found += records(page, "elements")
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                return found
            asked["cursor"] = cursor

    async def _ended_thread(self, tools: Tools) -> Record:
        """What A's inbox says about the thread once it has ended; it arrives by itself, within a moment."""
        deadline = time.monotonic() + return_seconds_max
        while time.monotonic() < deadline:
            for notification in records(await tools.call("agent_inbox", {}), "notifications"):
                if notification.get("threadId") == self.thread_id and notification.get("state") == "completed":
                    return notification
            await asyncio.sleep(look_every_seconds)
        raise StepFailed("A was not notified of the thread's end.")

    async def _answered_again(self, tools: Tools) -> Record:
        deadline = time.monotonic() + return_seconds_max
        while True:
            try:
                return await tools.call("canvas_get_state", {"canvasId": self.canvas_id})
            except ToolRefused as refused:
                if refused.error.get("retryable") is not True or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(look_every_seconds)

    async def _exported(self) -> Record:
        file = self.runtime.folder / "export.excalidraw"
        await self.runtime.command("canvas", "export", self.canvas_id, str(file))
        scene = json.loads(file.read_text(encoding="utf-8"))
        return scene if isinstance(scene, dict) else {}

    def _beside(self, place: int) -> tuple[float, float]:
        """A free place to the right of the drawing."""
        left = _number(self.extent, "x") + _number(self.extent, "width") + 120
        return left, _number(self.extent, "y") + place * 140

    async def _told(self, title: str, step: Callable[[], Awaitable[None]]) -> None:
        self._announce(title)
        await step()

    def _announce(self, title: str) -> None:
        self._step += 1
        print_line(f"{self._step:>2}. {title}")

    def _say(self, sentence: str) -> None:
        print_line(f"    {sentence}")

    def _check(self, holds: bool, what: str) -> None:
        if not holds:
            raise StepFailed(f"this does not hold: {what}")


def _number(record: Record, field: str) -> float:
    value = record.get(field)
    return float(value) if isinstance(value, int | float) else 0.0


def _integer(record: Record, field: str) -> int:
    value = record.get(field)
    return value if isinstance(value, int) else -1


def _reason(failed: Exception) -> str:
    """In words; the MCP client runs in task groups, which wrap what ends them."""
    while isinstance(failed, ExceptionGroup):
        failed = failed.exceptions[0]
    kind = "" if isinstance(failed, StepFailed | ToolRefused) else f"{type(failed).__name__}: "
    return escape(f"{kind}{failed}")


async def _until_told_to_stop(demo: _Demo) -> None:
    """Tell the story; Ctrl-C and SIGTERM cancel it, so that NEXUS is stopped and the home removed."""
    story = asyncio.ensure_future(demo.tell())
    for number in _STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, story.cancel)
    await story


def _end(runtime: DemoRuntime, keep: bool) -> None:
    """Stop NEXUS and clean up, not to be broken off by another Ctrl-C half-way."""
    previous = {number: signal.signal(number, signal.SIG_IGN) for number in _STOPPING}
    try:
        print_line("Stopping NEXUS.")
        runtime.stop(keep=keep)
        print_line(f"The home is kept: {escape(str(runtime.home))}" if keep else "The temporary home is removed.")
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
