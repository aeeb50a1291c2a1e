"""Program B of the demo: an agent in a process of its own that waits at its inbox, draws what it is asked and answers.

    NEXUS_TOKEN_FILE=token python -I -m nexus.demo_agent URL

It knows an address and, from a file of mode 0600, a token; the canvas and the place come in the task. What it does it
says on standard output, one JSON line a step: `ready`, `took`, `drew`, `replied`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bus.value import Record, Value, records
from nexus.demo_mcp import ToolRefused, Tools, box, connected
from nexus.output import escape, print_json, shown

TOKEN_VARIABLE: Final = "NEXUS_TOKEN_FILE"
wait_seconds_max: Final = 120.0
look_every_seconds: Final = 0.2
drawing_attempts_max: Final = 5


class CannotWork(Exception):
    """The program ends; the text says why."""


def read_token(file: Path) -> str:
    """The token in `file`, which nobody else may read (common 2.2). Raises CannotWork."""
    try:
        status = file.stat()
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise CannotWork("The token file must be yours and of mode 0600.")
        return file.read_text(encoding="ascii").strip()
    except OSError as missing:
        raise CannotWork(f"The token file cannot be read: {missing.strerror}.") from missing


async def work_once(url: str, token: str) -> None:
    """Wait for one task, do it, answer it. Raises CannotWork or ToolRefused."""
    async with connected(url, token) as tools:
        await tools.call("agent_inbox", {})
        _say("ready", {})
        delivery = await _next_delivery(tools)
        task = _record(delivery, "task")
        thread_id = delivery.get("threadId")
        _say("took", {"threadId": thread_id, "title": task.get("title")})
        try:
            drawn = await _draw(tools, _data(task, "inputs"))
        except (ToolRefused, CannotWork) as reason:
            await tools.call("agent_reply", {"threadId": thread_id, "outcome": "failed", "body": str(reason)})
            raise
        _say("drew", drawn)
        body = f"The review box is on the canvas at revision {shown(drawn['revision'])}."
        reply: Record = {"threadId": thread_id, "outcome": "completed", "body": body, "artifacts": [drawn]}
        answer = await tools.call("agent_reply", reply)
        _say("replied", {"threadId": thread_id, "state": answer.get("state")})


async def _next_delivery(tools: Tools) -> Record:
    deadline = time.monotonic() + wait_seconds_max
    while time.monotonic() < deadline:
        waiting = records(await tools.call("agent_inbox", {}), "deliveries")
        if waiting:
            return waiting[0]
        await asyncio.sleep(look_every_seconds)
    raise CannotWork(f"No task came within {wait_seconds_max:.0f} s.")


async def _draw(tools: Tools, asked: Record) -> Record:
    """Draw on the canvas that the task names, under its present revision; on a conflict look again and retry."""
    canvas_id, x, y = asked.get("canvasId"), asked.get("x"), asked.get("y")
    if not isinstance(canvas_id, str) or not isinstance(x, int | float) or not isinstance(y, int | float):
        raise CannotWork("The task does not say on which canvas and where to draw.")
    for attempt in range(drawing_attempts_max):
        state = await tools.call("canvas_get_state", {"canvasId": canvas_id})
        drawing: Record = {
            "canvasId": canvas_id,
            "expectedRevision": state.get("revision"),
            "reason": "Add the review box that was asked for",
            "elements": box(f"review-{os.getpid()}-{attempt}", x, y, "Reviewed by B", "#b2f2bb"),
        }
        outcome = await tools.call("canvas_create_elements", drawing)
        if outcome.get("outcome") == "applied":
            return {
                "canvasId": canvas_id,
                "revision": outcome.get("revision"),
                "elementIds": outcome.get("elementIds"),
            }
        if outcome.get("outcome") != "conflict":
            raise CannotWork(f"The canvas answered {shown(outcome.get('outcome'))}: {shown(outcome.get('message'))}")
    raise CannotWork("Others kept changing the canvas; the drawing was never applied.")


def _record(record: Record, field: str) -> Record:
    value = record.get(field)
    return value if isinstance(value, dict) else {}


def _data(task: Record, field: str) -> Record:
    """The JSON that another agent wrote, out of its fence: used as data, never as instructions."""
    return _record(_record(task, field), "data")


def _say(step: str, facts: Mapping[str, Value]) -> None:
    print_json({"step": step, **facts})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m nexus.demo_agent", description="Program B of `nexus demo`.")
    parser.add_argument("url", help="where NEXUS is, as `nexus up --json` prints it")
    arguments = parser.parse_args()
    try:
        named = os.environ.get(TOKEN_VARIABLE)
        if not named:
            raise CannotWork(f"{TOKEN_VARIABLE} must name the file with the token.")
        asyncio.run(work_once(arguments.url, read_token(Path(named))))
    except (CannotWork, ToolRefused) as reason:
        sys.exit(escape(str(reason)))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
