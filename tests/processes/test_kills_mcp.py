"""kill -9 of shard host and gateway as agents see it: they repeat under one idempotency key until they are answered."""

from __future__ import annotations

import http.client
import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nexus.config import open_home
from tests.processes.conftest import Running
from tests.processes.test_kills import processes
from tests.support.mcp_http import McpHttp
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

AGENTS = 6
WRITES = 10
VICTIMS = ("shard-0", "gateway", "shard-0")


class Acknowledged:
    """How many writes were, counted by several threads."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def one_more(self) -> None:
        with self._lock:
            self.count += 1


def until_answered(agent: McpHttp, tool: str, arguments: dict[str, Any], key: str) -> dict[str, Any]:
    """The answer of the one call that `key` stands for."""

    def once() -> dict[str, Any] | None:
        try:
            result = agent.call(tool, arguments, key=key)
        except (OSError, http.client.HTTPException):
            return None
        if result.is_error:
            assert result.content["error"]["retryable"], result.content
            return None
        return result.content

    return eventually(once, seconds=60, what="an answer")


def write(agent: McpHttp, canvas: str, name: str, acknowledged: Acknowledged) -> None:
    revision = 1
    for number in range(WRITES):
        box = {"type": "rectangle", "id": f"{name}-{number}", "x": number, "y": 0, "width": 1, "height": 1}
        arguments = {"canvasId": canvas, "expectedRevision": revision, "reason": "test", "elements": [box]}
        answer = until_answered(agent, "canvas_create_elements", arguments, f"{name}-{number}")
        assert answer["outcome"] == "applied", answer
        assert answer["revision"] == revision + 1
        revision += 1
        acknowledged.one_more()


def test_agents_who_repeat_under_a_key_have_every_write_once_over_kills(running: Running) -> None:
    """common 8.1, 8.2, 8.4"""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    chance = random.Random(seed)
    home = open_home(running.nexus.home)
    workspace = running.workspace("Kills by key")
    agents = [running.agent(f"repeater-{number}", workspace) for number in range(AGENTS)]
    canvases = [str(agent.ok("canvas_create", {"title": "t", "reason": "t"})["canvasId"]) for _, agent in agents]
    acknowledged = Acknowledged()
    with ThreadPoolExecutor(AGENTS) as pool:
        writing = [
            pool.submit(write, agent, canvas, f"box-{number}", acknowledged)
            for number, ((_, agent), canvas) in enumerate(zip(agents, canvases, strict=True))
        ]
        for victim in VICTIMS:
            goal = acknowledged.count + chance.randrange(1, AGENTS * WRITES // (len(VICTIMS) + 1))
            eventually(lambda goal=goal: acknowledged.count >= goal, seconds=60)  # type: ignore[misc]
            os.kill(eventually(lambda victim=victim: processes(home).get(victim)), signal.SIGKILL)  # type: ignore[misc]
        for one in writing:
            one.result(100)
    events = running.events()
    for (agent_id, agent), canvas in zip(agents, canvases, strict=True):
        state = agent.ok("canvas_get_state", {"canvasId": canvas})
        assert (state["revision"], sum(state["types"].values())) == (WRITES + 1, WRITES)
        changes = [event for event in events if event["owner"].endswith(canvas) and event["type"] == "canvas.changed"]
        assert {event["by"] for event in changes} == {agent_id}
        assert len({event["callId"] for event in changes}) == len(changes) == WRITES
