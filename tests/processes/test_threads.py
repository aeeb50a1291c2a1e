"""The person's hand on threads on a real NEXUS: `nexus thread`, `nexus-bus`, `nexus agent pause` and `nexus doctor`."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import pytest

from nexus import exit_codes
from nexus.config import open_home
from tests.processes.conftest import Running
from tests.processes.test_kills import processes
from tests.support.mcp_http import McpHttp
from tests.support.processes import Nexus, Outcome
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes


def bus(running: Running, *arguments: str) -> Outcome:
    return Nexus(running.nexus.home, (sys.executable, "-I", "-m", "nexus.bus_cli")).run(*arguments)


def trigger(agent: McpHttp, recipient: str, title: str = "Count") -> dict[str, Any]:
    task = {"title": title, "instructions": "Count the beans.\n\x1b]52;c;eA==\x07", "priority": "p2"}
    return agent.call("agent_trigger", {"agentId": recipient, "task": task}).content


def listed(running: Running, *options: str) -> dict[str, str]:
    return {one["threadId"]: one["state"] for one in running.person("thread", "list", *options)["threads"]}


def withheld(refused: dict[str, Any]) -> str:
    return str(refused["error"]["withheld"][-1]["reason"])


def test_threads_are_listed_shown_ended_and_withheld_and_a_killed_host_changes_nothing(running: Running) -> None:
    """mesh 2.1, 4.2, 4.3; issue 6"""
    running.workspace("Threads")
    ada_id, ada = running.agent("Ada", "Threads")
    bo_id, bo = running.agent("Bo", "Threads")
    for agent in (ada, bo):
        agent.ok("agent_inbox")
    sent = [str(trigger(ada, bo_id)["threadId"]) for _ in range(5)]
    assert list(listed(running, "--agent", "Bo")) == sent[::-1], "newest first"

    shown = running.nexus.run("thread", "show", sent[0], "--history").out
    assert "    | Count the beans." in shown and "thread.queued" in shown
    assert "\x1b" not in shown
    (first,) = [one for one in running.person("thread", "list")["threads"] if one["threadId"] == sent[0]]
    assert (first["from"], first["to"]) == ({"agentId": ada_id, "name": "Ada"}, {"agentId": bo_id, "name": "Bo"})

    running.person("thread", "cancel", sent[0], "--note", "No longer needed")
    os.kill(processes(open_home(running.nexus.home))["shard-0"], signal.SIGKILL)
    assert eventually(lambda: listed(running, "--agent", "Bo"), seconds=30)[sent[0]] == "cancelled"
    told = {one["threadId"]: one for one in ada.ok("agent_inbox")["notifications"]}[sent[0]]
    assert (told["state"], told["reason"]["text"]) == ("cancelled", "No longer needed")

    running.person("agent", "pause", "Bo")
    assert withheld(trigger(ada, bo_id)) == "callee_paused"
    paused = f"Agent Bo ({bo_id}) is paused and has 4 tasks waiting"
    assert paused in running.nexus.run("doctor").out
    assert paused in bus(running, "ls", "mailbox").out
    assert "auto (paused)" in running.nexus.run("agent", "list").out
    assert bus(running, "resume", "Bo").code == exit_codes.OK
    running.person("agent", "block", "Bo", "--from", "Ada")
    assert withheld(trigger(ada, bo_id)) == "blocked_by_person"
    running.person("agent", "unblock", "Bo", "--from", "Ada")

    operator = json.loads(bus(running, "thread", sent[1], "--json").out)
    assert (operator["owner"], operator["now"]["state"]) == (f"mailbox/-/{bo_id}", "queued")
    assert [event["type"] for event in operator["events"]] == ["thread.offered", "thread.queued"]
    kept = bus(running, "purge", "Bo")
    assert (kept.code, "4 threads that wait" in kept.err) == (exit_codes.USAGE, True)
    assert set(listed(running, "--agent", "Bo", "--state", "open")) == {*sent[1:]}
    assert json.loads(bus(running, "purge", "Bo", "--yes", "--json").out)["cancelled"] == 4
    assert listed(running, "--agent", "Bo", "--state", "open") == {}
    assert "No leased delivery" in bus(running, "pending", "--idle", "0").out
    trigger(ada, bo_id)
