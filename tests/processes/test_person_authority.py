"""Who is the person, on a real NEXUS: its commands work from a plain terminal and from nothing that NEXUS runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from nexus.lineage import MARKERS
from nexus.notices import SENTENCE
from tests.nexus.test_notices import FakeDesktop
from tests.processes.conftest import PRODUCT, Running
from tests.support.mcp_http import McpHttp
from tests.support.processes import Nexus
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

LIST = ("approvals", "list", "--json")


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Whatever fails: a process that nobody ends would be waited for."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)


def refused(home: Path, *command: str, environment: dict[str, str]) -> dict[str, object]:
    plain = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "NEXUS_HOME": str(home)}
    done = subprocess.run(
        command, env={**plain, **environment}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1, done
    found = json.loads(done.stdout)["error"]
    assert isinstance(found, dict)
    return found


def test_from_a_plain_terminal_the_commands_are_served(running: Running) -> None:
    """common 2.4"""
    assert running.person("approvals", "list") == {"approvals": []}


@pytest.mark.parametrize("marker", MARKERS)
def test_from_inside_a_session_run_or_launch_they_are_refused_even_with_a_clean_environment(
    running: Running, marker: str
) -> None:
    """common 2.4, security 2.2"""
    home = running.nexus.home
    direct = refused(home, *PRODUCT, *LIST, environment={marker: "x"})
    # What `env -i` would do in a shell of a session: the command itself carries no mark any more.
    cleaned = (
        "import os, subprocess, sys\n"
        f"rest = {{name: os.environ[name] for name in os.environ if name not in {MARKERS!r}}}\n"
        "sys.exit(subprocess.run(sys.argv[1:], env=rest).returncode)"
    )
    beneath = refused(home, sys.executable, "-I", "-c", cleaned, *PRODUCT, *LIST, environment={marker: "x"})
    approving = refused(home, *PRODUCT, "approvals", "approve", "a.b", "--json", environment={marker: "x"})
    assert direct == beneath == approving
    assert direct["code"] == "unidentified_caller"


def test_the_supervisor_is_the_gateways_parent_and_so_a_root_of_what_it_refuses(running: Running) -> None:
    """security 2.2: whatever the supervisor starts is refused, marked or not (nexus/gateway_process.py)."""
    supervisor = psutil.Process(running.nexus.processes()["gateway"]).parent()
    assert supervisor is not None and "supervisor" in supervisor.cmdline()


def test_authority_is_changed_by_the_persons_commands_alone(running: Running) -> None:
    """common 2.1, 2.3, 4.2"""
    running.workspace("Authority")
    agent_id, agent = running.agent("Ada", "Authority")
    assert running.person("agent", "mode", "Ada", "plan")["mode"] == "plan"
    assert agent.call("canvas_create", {"title": "No", "reason": "it is asked for"}).code == "blocked_by_autonomy"
    running.person("agent", "mode", "Ada", "approval")
    asked = agent.call("canvas_create", {"title": "Plan", "reason": "it is asked for"})
    approval_id = asked.content["error"]["approvalId"]
    assert [one["approvalId"] for one in running.person("approvals", "list")["approvals"]] == [approval_id]
    outcome = running.nexus.run("approvals", "approve", approval_id)
    assert outcome.code == 0, outcome
    assert '"title": "Plan"' in outcome.out
    assert not agent.call("canvas_create", {"title": "Plan", "reason": "it is asked for"}).is_error
    late = running.nexus.run("approvals", "deny", approval_id)
    assert late.code == 1 and "was approved" in late.err
    assert running.person("agent", "show", "Ada")["agentId"] == agent_id


def test_a_credential_stops_alone_and_a_guest_is_served_while_it_is_on(running: Running) -> None:
    """common 2.1, 2.3"""
    running.workspace("Credentials")
    _, first = running.agent("Bo", "Credentials")
    second = McpHttp(running.url, running.person("agent", "credential", "add", "Bo", "laptop")["token"])
    assert not second.call("canvas_list").is_error
    names = [one["name"] for one in running.person("agent", "credential", "list", "Bo")["credentials"]]
    assert names == ["default", "laptop"]
    running.person("agent", "credential", "revoke", "Bo", "laptop")
    assert second.post(b"{}", "tools/list")[0] == 401
    assert not first.call("canvas_list").is_error
    assert running.person("guest", "status")["isOn"] is False
    former = McpHttp(running.url, running.person("guest", "on")["token"])
    assert former.request("tools/list")["result"]["tools"]
    guest = McpHttp(running.url, running.person("guest", "on")["token"])
    assert guest.request("tools/list")["result"]["tools"]
    assert guest.call("canvas_create", {"title": "No", "reason": "it is asked for"}).code == "unidentified_caller"
    assert running.person("guest", "status")["isOn"] is True
    assert former.post(b"{}", "tools/list")[0] == 401
    running.person("guest", "off")
    assert guest.post(b"{}", "tools/list")[0] == 401


@pytest.mark.timeout(300)
def test_a_watch_prints_each_card_and_the_desktop_is_told_of_it(tmp_path: Path) -> None:
    """common 5.4"""
    desktop = FakeDesktop(tmp_path, "notify-send")
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        nexus = Nexus(Path(folder) / "home", PRODUCT)
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        started = nexus.start(environment={"PATH": path, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"})
        try:
            running = Running(nexus, started["url"])
            running.workspace("Watched")
            _, agent = running.agent("Cy", "Watched")
            running.person("agent", "mode", "Cy", "approval")
            watching = [*PRODUCT, "approvals", "watch", "--json", "--home", str(nexus.home)]
            with subprocess.Popen(watching, stdout=subprocess.PIPE, text=True) as watch, ended(watch):
                assert watch.stdout is not None
                wanted = [
                    agent.call("canvas_create", {"title": name, "reason": "it is asked for"}).content
                    for name in ("One", "Two")
                ]
                shown = [json.loads(watch.stdout.readline()) for _ in wanted]
            assert watch.returncode == 0
            assert [one["approvalId"] for one in shown] == [one["error"]["approvalId"] for one in wanted]
            assert [one["arguments"]["title"] for one in shown] == ["One", "Two"]
            eventually(lambda: desktop.said, what="a notification")
            assert desktop.said[0][-1] == SENTENCE
        finally:
            assert nexus.run("down").code == 0
