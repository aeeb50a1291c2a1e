"""An agent program without a model, started by `nexus agent run`: `python -I FILE`.

It knows its task, its environment, and what NEXUS's tools say of themselves; it draws a box on a new canvas, sends the
agent that its task names a task of its own as part of the same thread, waits for the answer and prints its result.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

SHIM = StdioServerParameters(command=sys.executable, args=["-I", "-m", "nexus", "mcp"], env=dict(os.environ))
ENDS = {"completed", "failed", "rejected", "expired", "cancelled"}
LOOKS = 400


class Tools:
    """The tools as tools/list tells of them; one that is not listed, or wants other arguments, is not called."""

    def __init__(self, client: Client, listed: Any) -> None:
        self._client = client
        self._schemas = {tool.name: tool.input_schema for tool in listed.tools}

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        schema = self._schemas[name]
        assert set(arguments) <= set(schema["properties"]), f"{name} takes {sorted(schema['properties'])}"
        assert set(schema.get("required", [])) <= set(arguments), f"{name} needs {schema['required']}"
        result = await self._client.call_tool(name, arguments)
        assert not result.is_error, result.structured_content
        found: dict[str, Any] = result.structured_content or {}
        return found


async def work(delivery: dict[str, Any]) -> dict[str, Any]:
    task, thread = delivery["task"], delivery["threadId"]
    assert thread == os.environ["NEXUS_THREAD_ID"]
    async with Client(stdio_client(SHIM)) as client:
        tools = Tools(client, await client.list_tools())
        canvas = await tools.call("canvas_create", title=task["title"], reason="The task asks for a drawing.")
        await tools.call(
            "canvas_create_elements",
            canvasId=canvas["canvasId"],
            expectedRevision=canvas["revision"],
            elements=[{"type": "rectangle", "x": 0, "y": 0, "width": 100, "height": 50}],
            reason="A box, as asked.",
        )
        print("the box is drawn", file=sys.stderr, flush=True)
        peers = (await tools.call("agent_list_peers"))["peers"]
        [peer] = [one for one in peers if one["name"] == task["inputs"]["ask"]]
        asked = {"title": "count", "instructions": "Count the boxes.", "parentThreadId": thread}
        part = (await tools.call("agent_trigger", agentId=peer["agentId"], task=asked))["threadId"]
        answer = await answered(tools, part)
    text = f"I drew a box, and {peer['name']} says: {answer}"
    return {"body": text, "artifacts": [f"canvas://{canvas['canvasId']}"], "usage": {"tokens": 0}}


async def answered(tools: Tools, thread: str) -> str:
    for _ in range(LOOKS):
        for notice in (await tools.call("agent_inbox", limit=100))["notifications"]:
            if notice["threadId"] == thread and notice["state"] in ENDS:
                return str(notice["result"]["body"]["text"])
        await asyncio.to_thread(threading.Event().wait, 0.1)
    raise AssertionError("nobody has answered")


if __name__ == "__main__":
    print(json.dumps(asyncio.run(work(json.load(sys.stdin)))))
