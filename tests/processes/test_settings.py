"""Settings and cursors from outside: what the person and agents see of them over ended processes."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.processes.conftest import Running
from tests.processes.test_first_slice import BOX, canvas_of, wait_for_another
from tools.setting_catalogue import GRID_COLUMNS, SURFACES_PER_HOUR

pytestmark = pytest.mark.processes


def end(running: Running, name: str) -> None:
    """Kill a process and wait for the next of its name."""
    gone = running.nexus.processes()[name]
    os.kill(gone, signal.SIGKILL)
    wait_for_another(running, name, gone)


def test_what_an_agent_may_set_holds_for_everyone_and_over_a_kill(running: Running) -> None:
    """common 8.1, 8.4"""
    agent_id, agent = running.agent("setter", running.workspace("Settings"))
    changed = agent.ok("settings_set", {"name": GRID_COLUMNS.name, "value": 5})
    assert changed == {"name": GRID_COLUMNS.name, "value": 5, "oldValue": GRID_COLUMNS.default, "changed": True}
    end(running, "shard-0")
    assert running.person("settings", "get", GRID_COLUMNS.name)["setting"]["value"] == 5
    happened = [event for event in running.events() if event["type"] == "settings.changed"]
    assert [(event["by"], event["data"]) for event in happened] == [(agent_id, {"name": GRID_COLUMNS.name})]
    assert running.person("settings", "reset", GRID_COLUMNS.name)["changed"] is True
    assert agent.ok("settings_get", {"name": GRID_COLUMNS.name})["setting"]["value"] == GRID_COLUMNS.default


def test_what_the_person_sets_is_in_force_with_the_next_call(running: Running) -> None:
    """work-plan-tool: the creation budget is a setting, and the person's"""
    _, agent = running.agent("spender", running.workspace("Budget"))
    refused = agent.call("settings_set", {"name": SURFACES_PER_HOUR.name, "value": 1_000})
    assert refused.code == "wrong_state"
    canvas_of(agent)
    running.person("settings", "set", SURFACES_PER_HOUR.name, "1")
    try:
        assert agent.call("canvas_create", {"title": "Another", "reason": "test"}).code == "budget_exhausted"
        end(running, "shard-0")
        assert agent.call("canvas_create", {"title": "Another", "reason": "test"}).code == "budget_exhausted"
    finally:
        running.person("settings", "reset", SURFACES_PER_HOUR.name)
    canvas_of(agent, "Another")


def test_a_cursor_outlives_writes_and_the_gateway_and_is_of_no_use_to_another(running: Running) -> None:
    """common 7.3, security 2.11"""
    workspace = running.workspace("Cursors")
    _, agent = running.agent("reader", workspace)
    other_id, other = running.agent("other", workspace)
    canvas = canvas_of(agent, "Pages")
    running.person("canvas", "grant", canvas, other_id, "viewer")
    boxes = [{**BOX, "id": f"box{number}"} for number in range(5)]
    write: dict[str, Any] = {"canvasId": canvas, "expectedRevision": 1, "reason": "test", "elements": boxes}
    agent.ok("canvas_create_elements", write)
    query = {"canvasId": canvas, "x": -99, "y": -99, "width": 999, "height": 999, "limit": 2}
    page = agent.ok("canvas_query_region", query)
    seen = [element["id"] for element in page["elements"]]
    agent.ok("canvas_create_elements", {**write, "expectedRevision": 2, "elements": [{**BOX, "id": "box5"}]})
    end(running, "gateway")
    following = {**query, "cursor": page["nextCursor"]}
    answers = {
        other.call("canvas_query_region", following).raw,
        agent.call("canvas_query_region", {**following, "x": -98}).raw,
        agent.call("canvas_list", {"cursor": page["nextCursor"]}).raw,
        agent.call("canvas_query_region", {**query, "cursor": page["nextCursor"][:-2] + "AA"}).raw,
    }
    assert len(answers) == 1
    assert b'"invalid_arguments"' in answers.pop()
    while page.get("nextCursor"):
        page = agent.ok("canvas_query_region", {**query, "cursor": page["nextCursor"]})
        seen += [element["id"] for element in page["elements"]]
    assert seen == [f"box{number}" for number in range(6)]
