"""A canvas's past over real processes and commands: read, written to a file, brought back, after a kill too."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.processes.conftest import Running
from tests.support.mcp_http import McpHttp

pytestmark = pytest.mark.processes
BOX = {"id": "box", "type": "rectangle", "x": 0, "y": 0, "width": 100, "height": 50, "label": "Login"}


def write(agent: McpHttp, canvas: str, revision: int, verb: str, **arguments: Any) -> int:
    body = {"canvasId": canvas, "expectedRevision": revision, "reason": f"to {verb}", **arguments}
    outcome = agent.ok(f"canvas_{verb}_elements", body)
    assert outcome["outcome"] == "applied", outcome
    return int(outcome["revision"])


def test_the_person_reads_the_past_of_a_canvas_and_brings_it_back(running: Running, tmp_path: Path) -> None:
    """canvas 4.6, common 8.1"""
    agent_id, agent = running.agent("Ada", running.workspace("Past"))
    canvas = str(agent.ok("canvas_create", {"title": "Past plan", "reason": "to begin"})["canvasId"])
    revision = write(agent, canvas, 1, "create", elements=[BOX, {**BOX, "id": "other", "x": 300, "label": "Pay"}])
    revision = write(agent, canvas, revision, "move", moves=[{"id": "box", "dx": 40, "dy": 0}])
    revision = write(agent, canvas, revision, "delete", elementIds=["other"])
    listed = running.person("canvas", "history", canvas)["revisions"]
    assert [(one["revision"], one["by"], one["reason"]) for one in listed] == [
        (4, agent_id, "to delete"),
        (3, agent_id, "to move"),
        (2, agent_id, "to create"),
        (1, agent_id, "to begin"),
    ]
    then = tmp_path / "then.excalidraw"
    assert running.person("canvas", "at", canvas, "2", str(then))["elements"] == 4
    scene = json.loads(then.read_text(encoding="utf-8"))
    assert {one["id"]: one["x"] for one in scene["elements"] if one["type"] == "rectangle"} == {"box": 0, "other": 300}
    os.kill(running.nexus.processes()["shard-0"], signal.SIGKILL)
    reverted = running.person("canvas", "revert", canvas, "2", "--reason", "the other way")
    assert (reverted["revision"], reverted["to"]) == (5, 2)
    again = tmp_path / "again.excalidraw"
    running.person("canvas", "at", canvas, "5", str(again))
    own = ("version", "versionNonce", "updated")

    def bare(file: Path) -> list[dict[str, Any]]:
        elements = json.loads(file.read_text(encoding="utf-8"))["elements"]
        return [{name: value for name, value in one.items() if name not in own} for one in elements]

    assert bare(again) == bare(then)
    newest = running.person("canvas", "history", canvas, "--limit", "1")["revisions"]
    assert [(one["revision"], one["by"], one["reason"]) for one in newest] == [(5, "person", "the other way")]
