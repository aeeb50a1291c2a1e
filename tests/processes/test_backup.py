"""A backup of a running NEXUS under load, a crash right after it, and what a restored home knows."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nexus.config import create_home
from tests.processes.conftest import PRODUCT, Running
from tests.support.mcp_http import McpHttp
from tests.support.processes import Nexus, await_end
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

WRITERS = 4
BOX = {"type": "rectangle", "x": 0, "y": 0, "width": 10, "height": 10}
barrier_ms_max = 500.0
"""On a quiet machine it is 2 to 4 ms; a bound only against standing still for real."""


@contextlib.contextmanager
def home_in(folder: str, name: str) -> Iterator[Nexus]:
    nexus = Nexus(Path(folder) / name, PRODUCT)
    try:
        yield nexus
    finally:
        nexus.run("down")


class Writer:
    """An agent that draws without pause and notes, for each acknowledged write, when it was acknowledged."""

    def __init__(self, agent: McpHttp, title: str) -> None:
        self.agent = agent
        self.canvas = str(agent.ok("canvas_create", {"title": title, "reason": "test"})["canvasId"])
        self.acknowledged: list[tuple[float, int]] = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        revision = 1
        while not self.stopping.is_set():
            body: dict[str, Any] = {"canvasId": self.canvas, "expectedRevision": revision, "reason": "test"}
            try:
                answer = self.agent.call("canvas_create_elements", {**body, "elements": [BOX]})
            except (OSError, AssertionError):
                return  # NEXUS was killed
            if answer.is_error:
                return
            revision = int(answer.content["revision"])
            self.acknowledged.append((time.monotonic(), revision))

    def last_before(self, moment: float) -> int:
        return max((revision for at, revision in list(self.acknowledged) if at < moment), default=1)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("shards", [1, 2])
def test_every_write_that_was_acknowledged_before_a_backup_is_in_the_restored_home(shards: int) -> None:
    """common 8.1"""
    with tempfile.TemporaryDirectory(prefix="nx-") as folder, home_in(folder, "home") as nexus:
        create_home(nexus.home, cores=1)
        assert nexus.run("reshard", str(shards)).code == 0
        running = Running(nexus, nexus.start()["url"])
        workspace = running.workspace("Load")
        agents = [running.agent(f"writer{number}", workspace) for number in range(WRITERS)]
        writers = [Writer(agent, f"Board {number}") for number, (_, agent) in enumerate(agents)]
        for writer in writers:
            writer.thread.start()
        eventually(lambda: all(len(writer.acknowledged) > 20 for writer in writers), what="the load")
        before = time.monotonic()
        made = running.person("backup", str(Path(folder) / "b.tar"))
        written = sum(len(writer.acknowledged) for writer in writers)
        pids = nexus.processes()
        for pid in pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for writer in writers:
            writer.stopping.set()
            writer.thread.join(60)
        await_end(*pids.values())
        print(f"barrier {made['barrierMs']} ms, held {made['heldMs']}, copies {made['copyMs']} ms, {written=}")
        assert 0 < made["barrierMs"] < barrier_ms_max
        token = str(agents[0][1]._token)
        raw = (Path(folder) / "b.tar").read_bytes()
        assert token.encode() not in raw
        assert token.split("_", 2)[2].encode() not in raw, "no token in a backup (security 2.23)"
        with home_in(folder, "restored") as restored:
            told = restored.run("restore", str(Path(folder) / "b.tar"), "--json").record
            assert sorted(one["agentId"] for one in told["tokens"]) == sorted(agent_id for agent_id, _ in agents)
            _check_restored(Running(restored, restored.start()["url"]), writers, before)


def _check_restored(running: Running, writers: list[Writer], before: float) -> None:
    for writer in writers:
        agent = McpHttp(running.url, writer.agent._token)
        head = agent.ok("canvas_get_state", {"canvasId": writer.canvas})
        assert head["revision"] >= writer.last_before(before)
        drawn = agent.call(
            "canvas_create_elements",
            {"canvasId": writer.canvas, "expectedRevision": head["revision"], "reason": "test", "elements": [BOX]},
        )
        assert not drawn.is_error, "a restored home goes on"
    found = Nexus(running.nexus.home, (PRODUCT[0], "-I", "-m", "nexus.bus_cli")).run("doctor", "--json")
    assert found.code == 0, found
    assert running.nexus.run("status", "--json").record["incarnation"] == 2
