"""Plans on real processes: watched, run and undone over the person's commands, and under kill -9."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.processes.conftest import Running
from tests.support.mcp_http import McpHttp
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

CANVASES = 6
VICTIMS = ("shard-0", "gateway", "supervisor")


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("NEXUS_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"NEXUS_TEST_SEED={seed}")
    return random.Random(seed)


def kill_soon(running: Running, chance: random.Random, victim: str) -> None:
    """Some thousand steps of nothing, then its end."""
    for _ in range(chance.randrange(400_000)):
        pass
    running.kill(victim)


def create(agent: McpHttp, title: str) -> dict[str, Any]:
    return agent.ok("canvas_create", {"title": title, "reason": "test"})


def exists(agent: McpHttp, canvas_id: str) -> bool:
    return agent.call("canvas_get_state", {"canvasId": canvas_id}).code != "not_found"


def shown(running: Running, plan_id: str) -> dict[str, Any] | None:
    outcome = running.nexus.run("plan", "show", plan_id, "--json")
    return outcome.record if outcome.code == 0 else None


def test_a_plan_is_announced_watched_stopped_and_ended(running: Running) -> None:
    """common 4.3; work-plan-tool, plan_*"""
    _, agent = running.agent("begins", running.workspace("Begun"))
    plan_id = agent.ok("plan_begin", {"title": "Draw", "steps": ["Make a board"]})["planId"]
    made = create(agent, "Board")
    assert running.person("plan", "stop", plan_id)["phase"] == "stopped"
    refused = agent.call("canvas_create", {"title": "Another", "reason": "test"})
    assert refused.code == "plan_stopped"
    assert exists(agent, made["canvasId"])
    assert agent.ok("plan_end", {"note": "Stopped."})["wasStopped"] is True
    create(agent, "Afterwards")
    watched = running.nexus.run("plan", "watch", plan_id)
    assert "  1. Make a board" in watched.out
    assert f"1. canvas_create  done  (applied, revision 1, made {made['canvasId']})" in watched.out
    assert agent.ok("plan_get", {"planId": plan_id})["stepCount"] == 1


@pytest.mark.parametrize("victim", VICTIMS)
def test_an_undo_that_is_interrupted_and_repeated_closes_each_surface_and_keeps_the_record(
    running: Running, chance: random.Random, victim: str
) -> None:
    """common 8.1; work-plan-tool, plan_*: undo"""
    _, agent = running.agent(f"undone {victim}", running.workspace(f"Undone {victim}"))
    kept = create(agent, "Before")["canvasId"]
    plan_id = agent.ok("plan_begin", {"title": "Draw"})["planId"]
    made = [create(agent, f"Board {number}")["canvasId"] for number in range(CANVASES)]
    agent.ok("plan_end")
    with ThreadPoolExecutor(1) as pool:
        undoing = pool.submit(running.nexus.run, "plan", "undo", plan_id, "--yes", "--json")
        kill_soon(running, chance, victim)
        undoing.result(100)
    undone = eventually(lambda: _undone(running, plan_id), seconds=60, what="an undo that is through")
    assert [one["id"] for one in undone] == made[::-1]
    assert all(one["state"] in ("closed", "absent") for one in undone)
    assert not any(exists(agent, canvas_id) for canvas_id in made)
    assert exists(agent, kept)
    events = [event for event in running.events() if event["type"] == "plan.surface_gone"]
    gone = [event for event in events if event["data"]["planId"] == plan_id]
    assert len(gone) == CANVASES


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_collected_plan_is_run_to_its_end_once_over_a_kill(
    running: Running, chance: random.Random, victim: str
) -> None:
    """common 4.4, 8.1; work-plan-tool, plan_*: run"""
    _, agent = running.agent(f"collects {victim}", running.workspace(f"Collected {victim}"))
    running.person("agent", "mode", f"collects {victim}", "plan_collect")
    forms = [create(agent, f"Board {number}") for number in range(CANVASES)]
    plan_id = forms[0]["planId"]
    assert [form["executed"] for form in forms] == [False] * CANVASES
    assert not any(exists(agent, form["canvasId"]) for form in forms)
    with ThreadPoolExecutor(1) as pool:
        ordered = pool.submit(running.nexus.run, "plan", "run", plan_id, "--json")
        kill_soon(running, chance, victim)
        ordered.result(100)
    eventually(lambda: _ran(running, plan_id), seconds=60, what="a run that is through")
    assert all(exists(agent, form["canvasId"]) for form in forms)
    assert len(agent.ok("canvas_list")["canvases"]) == CANVASES


def _undone(running: Running, plan_id: str) -> list[dict[str, Any]] | None:
    """Undo as often as it takes: what became of each surface once all are known to be gone."""
    outcome = running.nexus.run("plan", "undo", plan_id, "--yes", "--json")
    surfaces: list[dict[str, Any]] = outcome.record["surfaces"] if outcome.code == 0 else []
    return surfaces if surfaces and all(one["state"] != "closing" for one in surfaces) else None


def _ran(running: Running, plan_id: str) -> bool:
    """A run that was never ordered, or that a kill has stopped, is ordered again."""
    plan = shown(running, plan_id)
    if plan is not None and plan["phase"] == "collecting":
        running.nexus.run("plan", "run", plan_id, "--json")
    return plan is not None and plan["phase"] == "ended"
