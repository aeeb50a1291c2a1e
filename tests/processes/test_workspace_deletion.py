"""A workspace is deleted while the shard host that destroys it is killed: all of it goes; the person is answered."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bus.limits import owners_listed_max
from bus.store import owners, row_of, state_prefix
from bus.store_lmdb import LmdbStore
from bus.value import Record, records
from nexus.config import Home, open_home
from nexus.person_client import NotRunning, PersonClient, Refused
from nexus.scene_file import lines_of
from tests.processes.conftest import PRODUCT, Running
from tests.processes.test_kills import processes
from tests.support.processes import Nexus, ended_afterwards
from tests.support.waiting import eventually
from tools.canvas.scene_parts import announcement_of

pytestmark = pytest.mark.processes

ROUNDS = 3
CANVASES = 48
"""More than are told at once, so that a part is still untold when the host is killed."""
SCENE: Record = {
    "type": "excalidraw",
    "elements": [
        {"id": f"e{n}", "type": "rectangle", "x": n, "y": 0, "width": 9, "height": 9, "isDeleted": False}
        for n in range(300)
    ],
}


@pytest.fixture
def nexus() -> Iterator[Nexus]:
    with (
        tempfile.TemporaryDirectory(prefix="nx-") as folder,
        ended_afterwards(Nexus(Path(folder) / "h", PRODUCT)) as it,
    ):
        yield it


def _import(person: PersonClient, workspace: str, number: int) -> None:
    asked: Record = {"workspace": workspace, "title": f"Plan {number}", **announcement_of(SCENE)}
    assert person.ask("canvas.import", asked, lines_of(SCENE))["canvasId"]


def _being_deleted(person: PersonClient) -> list[str]:
    """The ids of workspaces that are; none while nobody answers."""
    try:
        return [str(one["workspaceId"]) for one in records(person.ask("workspace.list", {}), "deleting")]
    except (NotRunning, Refused):
        return []


def _is_quiet(person: PersonClient) -> bool:
    """Whether no owner has a message on its way: deleted canvases clear their rows by such."""
    return all(host["undeliveredMessages"] == 0 for host in records(person.ask("status", {}), "shards"))


def _left(home: Home, workspace: str) -> dict[str, list[str]]:
    """The rows on disk of the owners of a workspace, but for what tells that they are gone."""
    store = LmdbStore(home.shard_folder(0))
    try:
        every = [owner for owner in owners(store, None, None, owners_listed_max) if owner.workspace == workspace]
        rows = {str(owner): [row_of(key) for key, _ in store.scan(state_prefix(owner))] for owner in every}
    finally:
        store.close()
    assert len(rows) == CANVASES + 1, "a tombstone stays of each canvas and of the workspace"
    return {owner: names for owner, names in rows.items() if names != ["gone"]}


@pytest.mark.timeout(300)
def test_a_host_that_is_killed_in_the_middle_of_a_deletion_finishes_it(nexus: Nexus) -> None:
    """common 8.1; ARCHITECTURE, Owners: the saga"""
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    chance = random.Random(seed)
    with ThreadPoolExecutor(8) as pool:
        running = Running(nexus, nexus.start()["url"])
        home = open_home(nexus.home)
        person = PersonClient(home.run)
        running.workspace("Stays")
        deleted = []
        for number in range(ROUNDS):
            workspace = running.workspace(f"Goes {number}")
            running.agent(f"Painter {number}", workspace)
            list(pool.map(lambda one, workspace=workspace: _import(person, workspace, one), range(CANVASES)))
            call = pool.submit(person.ask, "workspace.delete", {"workspace": workspace})
            eventually(lambda workspace=workspace: workspace in _being_deleted(person), seconds=30)  # type: ignore[misc]
            for _ in range(chance.randrange(1, 3)):
                os.kill(eventually(lambda: processes(home).get("shard-0")), signal.SIGKILL)
            assert call.result(100)["workspaceId"] == workspace
            deleted.append(workspace)
            agents = records(person.ask("agent.list", {}), "agents")
            assert [one["workspaceId"] for one in agents] == [""] * (number + 1)
        listed = person.ask("workspace.list", {})
        assert [one["name"] for one in records(listed, "workspaces")] == ["Stays"]
        assert listed["deleting"] == []
        eventually(lambda: _is_quiet(person), seconds=30, what="the end of clearing")
    assert nexus.run("down").code == 0
    assert {workspace: _left(home, workspace) for workspace in deleted} == {workspace: {} for workspace in deleted}


@pytest.mark.parametrize("victim", ["gateway", "supervisor"])
@pytest.mark.timeout(300)
def test_a_deletion_goes_on_without_whoever_asked_for_it(nexus: Nexus, victim: str) -> None:
    """common 8.1; ARCHITECTURE, Owners: the saga. The person may hear nothing of it any more; it ends all the same."""
    with ThreadPoolExecutor(8) as pool:
        running = Running(nexus, nexus.start()["url"])
        home = open_home(nexus.home)
        person = PersonClient(home.run)
        running.workspace("Stays")
        workspace = running.workspace("Goes")
        list(pool.map(lambda number: _import(person, workspace, number), range(CANVASES)))
        call = pool.submit(person.ask, "workspace.delete", {"workspace": workspace})
        eventually(lambda: workspace in _being_deleted(person) or call.done(), seconds=30)
        running.kill(victim)
        problem = call.exception(100)
        assert problem is None or isinstance(problem, NotRunning | Refused), problem
        eventually(lambda: _names(person) == ["Stays"] and not _being_deleted(person), seconds=60, what="its end")
        eventually(lambda: _is_quiet(person), seconds=30, what="the end of clearing")
    assert nexus.run("down").code == 0
    assert _left(home, workspace) == {}


def _names(person: PersonClient) -> list[str]:
    """Of every workspace that is not being deleted; none while nobody answers."""
    try:
        return [str(one["name"]) for one in records(person.ask("workspace.list", {}), "workspaces")]
    except (NotRunning, Refused):
        return []
