"""Large imports on real processes: all or nothing, whoever is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bus.value import Record
from nexus.config import resolve_home
from nexus.scene_file import lines_of
from tests.processes.conftest import Running
from tests.support.large_scene import large_scene
from tests.support.processes import Nexus
from tests.support.waiting import eventually
from tools.canvas.scene_parts import announcement_of

pytestmark = pytest.mark.processes
ELEMENTS = 2_000
SCENE = large_scene(ELEMENTS)


@contextmanager
def half_sent(running: Running, workspace: str, lines: int) -> Iterator[socket.socket]:
    """A conversation that has sent the announcement and so many parts, all taken in."""
    before = canvas_rows(running)
    arguments: Record = {"workspace": workspace, "title": "Half", **announcement_of(SCENE)}
    said: list[Record] = [{"verb": "canvas.import", "arguments": arguments}, *islice(lines_of(SCENE), lines)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(30)
        connection.connect(str(resolve_home(running.nexus.home).run / "person.sock"))
        connection.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in said))
        eventually(lambda: canvas_rows(running) - before >= lines * 125)
        yield connection


def owners(running: Running) -> list[dict[str, Any]]:
    outcome = Nexus(running.nexus.home, (*running.nexus.program[:-1], "nexus.bus_cli")).run("ls", "canvas", "--json")
    assert outcome.code == 0, outcome
    listed: list[dict[str, Any]] = outcome.record["owners"]
    return listed


def canvas_rows(running: Running) -> int:
    return sum(int(one["rows"]) for one in owners(running))


def listed(running: Running, workspace: str) -> list[str]:
    return [one["title"] for one in running.person("canvas", "list", "--workspace", workspace)["canvases"]]


def kill(running: Running, name: str) -> None:
    gone = running.nexus.processes()[name]
    os.kill(gone, signal.SIGKILL)
    eventually(lambda: running.nexus.processes().get(name) not in (None, gone))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "large.excalidraw"
    path.write_text(json.dumps(SCENE))
    return path


def imported(running: Running, workspace: str, file: Path, title: str) -> None:
    answer = running.person("canvas", "import", str(file), "--workspace", workspace, "--title", title)
    assert (answer["outcome"], answer["elementCount"]) == ("applied", ELEMENTS)
    out = file.with_suffix(".out")
    exported = running.person("canvas", "export", str(answer["canvasId"]), str(out))
    assert exported["elements"] == ELEMENTS
    back = {element["id"] for element in json.loads(out.read_text())["elements"]}
    assert back == {element["id"] for element in SCENE["elements"]}  # type: ignore[union-attr,index,call-overload]


def test_a_shard_host_killed_in_the_middle_shows_nothing_and_the_import_may_go_on(running: Running, file: Path) -> None:
    """canvas 3.5, 4.5, common 8.1"""
    workspace = running.workspace("Killed host")
    with half_sent(running, workspace, 5) as connection:
        assert listed(running, workspace) == []
        kill(running, "shard-0")
        assert listed(running, workspace) == []
        for line in islice(lines_of(SCENE), 5, None):
            connection.sendall(json.dumps(line).encode() + b"\n")
        with connection.makefile("rb") as answers:
            answer = json.loads(answers.readline())
        assert answer["ok"]["elementCount"] == ELEMENTS
    assert listed(running, workspace) == ["Half"]
    imported(running, workspace, file, "Second")


def test_a_sender_that_is_gone_leaves_nothing_behind(running: Running, file: Path) -> None:
    """canvas 3.5"""
    workspace = running.workspace("Gone sender")
    before = canvas_rows(running)
    with half_sent(running, workspace, 3):
        kill(running, "shard-0")
    eventually(lambda: canvas_rows(running) == before)
    assert listed(running, workspace) == []
    imported(running, workspace, file, "After")
    assert listed(running, workspace) == ["After"]


def test_a_gateway_killed_in_the_middle_shows_nothing_and_a_new_import_works(running: Running, file: Path) -> None:
    """canvas 3.5"""
    workspace = running.workspace("Killed gateway")
    with half_sent(running, workspace, 3):
        kill(running, "gateway")
    eventually(lambda: listed(running, workspace) == [])
    imported(running, workspace, file, "After")
    assert listed(running, workspace) == ["After"]


def test_an_agents_large_scene_is_there_when_its_call_is_answered(running: Running) -> None:
    """canvas 2"""
    _, agent = running.agent("drawer", running.workspace("Large scene"))
    made = agent.ok("canvas_create", {"title": "Large", "reason": "test", "fromScene": large_scene(1_000)})
    assert (made["outcome"], made["elementCount"]) == ("applied", 1_000)
    assert [one["counts"]["live"] for one in agent.ok("canvas_list")["canvases"]] == [1_000]
