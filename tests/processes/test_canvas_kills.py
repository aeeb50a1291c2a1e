"""Eight agents draw on one canvas while shard host and gateway are killed: no revision is lost, doubled or made up."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from actors.canvas.invariants import problems
from actors.canvas.revision import is_piece
from actors.canvas.state import CanvasState
from actors.decision import Put
from bus import address
from bus.codec import unpack_row
from bus.store import row_of, state_prefix
from bus.store_lmdb import LmdbStore
from bus.value import Value
from nexus import exit_codes
from nexus.config import open_home
from tests.processes.conftest import PRODUCT, Running
from tests.processes.test_kills import processes
from tests.support.canvas_under_kills import Drawing, draw, lasting, replayed
from tests.support.processes import Nexus, ended_afterwards
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

AGENTS = 8
WRITES = 2_000
VICTIMS = ("shard-0", "gateway", "shard-0", "shard-0", "gateway", "shard-0")


@pytest.fixture
def running() -> Iterator[Running]:
    """One that the test itself ends, to read what is left on the disk."""
    with (
        tempfile.TemporaryDirectory(prefix="nx-") as folder,
        ended_afterwards(Nexus(Path(folder) / "h", PRODUCT)) as nexus,
    ):
        yield Running(nexus, nexus.start()["url"])


@pytest.mark.timeout(400)
def test_what_eight_agents_drew_at_once_is_what_their_calls_say_over_kills(running: Running) -> None:
    """canvas 3.1, 3.2, 3.3, 4.1, 4.2, 4.6; common 8.1, 8.2: revisions are 1..n, each applied call is in the history
    once, and the scene is what a replay of the history makes."""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    chance = random.Random(seed)
    home = open_home(running.nexus.home)
    workspace = running.workspace("Drawing")
    agents = [running.agent(f"painter-{number}", workspace) for number in range(AGENTS)]
    created = agents[0][1].ok("canvas_create", {"title": "Together", "reason": "t"})
    drawing = Drawing(str(created["canvasId"]))
    for agent_id, _ in agents[1:]:
        running.person("canvas", "grant", drawing.canvas_id, agent_id, "editor")
    with ThreadPoolExecutor(AGENTS) as pool:
        writing = [
            pool.submit(draw, drawing, agent_id, caller, WRITES // AGENTS, random.Random(chance.random()))
            for agent_id, caller in agents
        ]
        try:
            for number, victim in enumerate(VICTIMS):
                goal = (number + chance.random()) / len(VICTIMS) * WRITES * 0.9
                _await_revisions(drawing, goal, writing)
                os.kill(eventually(lambda victim=victim: processes(home).get(victim)), signal.SIGKILL)  # type: ignore[misc]
            for one in writing:
                one.result(300)
        finally:
            drawing.is_over = True
    print(f"{drawing.outcomes}")
    assert min(drawing.outcomes[what] for what in ("applied", "conflict", "rebased")) > 0, drawing.outcomes
    assert running.nexus.run("down").code == exit_codes.OK
    _check(drawing, [agent_id for agent_id, _ in agents], _rows(running, workspace, drawing))


def _await_revisions(drawing: Drawing, goal: float, writing: list[Future[None]]) -> None:
    """Or the end of an agent, which never comes before its writes are done unless something went wrong."""
    eventually(lambda: len(drawing.applied) >= goal or any(one.done() for one in writing), seconds=300)


def _rows(running: Running, workspace: str, drawing: Drawing) -> dict[str, Value]:
    """What the shard holds of the canvas after NEXUS has ended."""
    home = open_home(running.nexus.home)
    canvas = address.canvas(workspace, drawing.canvas_id)
    store = LmdbStore(home.shard_folder(canvas.shard(home.settings.shards)))
    try:
        return {row_of(key): unpack_row(value) for key, value in store.scan(state_prefix(canvas))}
    finally:
        store.close()


def _check(drawing: Drawing, agents: list[str], rows: dict[str, Value]) -> None:
    history = {row: value for row, value in rows.items() if row.startswith("history/") and isinstance(value, dict)}
    whole = [value for row, value in history.items() if not is_piece(row)]
    revisions = sorted(int(str(value["revision"])) for value in whole)
    assert revisions == list(range(1, len(drawing.applied) + 2)), "revisions have no gap, each applied call has one"
    head = rows["head"]
    assert isinstance(head, dict)
    assert head["revision"] == revisions[-1]
    for value in history.values():
        write = drawing.applied.get(int(str(value["revision"])))
        if write is not None:
            assert (value["by"], value["reason"]) == (write.agent_id, write.body["reason"])
    assert len({str(value["callId"]) for value in whole}) == len(whole)
    board = replayed(drawing, agents)
    expected = {row: lasting(value) for row, value in board.bench.rows.items()}
    for row in rows:
        if row.startswith("element/"):
            assert lasting(rows[row]) == expected[row], row
    assert {row for row in rows if row.startswith("element/")} == {
        row for row in expected if row.startswith("element/")
    }
    for row, kept in history.items():
        there = expected[row]
        assert isinstance(there, dict)
        assert lasting(kept["elements"]) == there["elements"], f"{row} keeps what was there before"
    state = CanvasState()
    for row, stored in rows.items():
        if not row.startswith("~"):
            state.apply(Put(row, stored))
    assert problems(state) == []
