"""Teams and providers from outside: real processes, real programs, real files (mesh.md, knowledge.md)."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from nexus.provider_file import FILE_NAME
from tests.processes.conftest import Running
from tests.processes.test_first_slice import wait_for_another

pytestmark = pytest.mark.processes


def test_teams_outlive_a_killed_host_and_a_file_brings_those_of_the_cloud(running: Running, tmp_path: Path) -> None:
    """common 8.1, mesh 1"""
    agent_id, agent = running.agent("reviewer", running.workspace("Teams"))
    team_id = agent.ok("team_create", {"name": "Those who review"})["teamId"]
    assert agent.ok("team_add_member", {"teamId": team_id, "agentId": agent_id})["memberCount"] == 1
    file = tmp_path / "teams.json"
    file.write_text(json.dumps({"teams": [{"id": "cloud-1", "name": "From afar", "members": [agent_id]}]}))
    assert running.person("team", "provision", str(file)) == {"teams": 1, "removed": 0}
    gone = running.nexus.processes()["shard-0"]
    os.kill(gone, signal.SIGKILL)
    wait_for_another(running, "shard-0", gone)
    assert {one["origin"]: one["memberCount"] for one in agent.ok("team_list")["teams"]} == {"local": 1, "cloud": 1}
    refused = agent.call("team_add_member", {"teamId": "cloud-1", "agentId": agent_id})
    assert refused.code == "cloud_managed"
    shown = running.person("team", "show", "Those who review")
    assert [(one["agentId"], one["workspace"]) for one in shown["members"]] == [(agent_id, "Teams")]
    file.write_text('{"teams": []}')
    assert running.person("team", "provision", str(file)) == {"teams": 0, "removed": 1}


def test_a_program_of_this_machine_is_found_asked_enabled_and_given(running: Running) -> None:
    """knowledge.md, security 2.16: with the login shell of whoever runs this test"""
    declared = running.nexus.home / FILE_NAME
    declared.write_text('[provider.interpreter]\nname = "The shell"\nprograms = ["env"]\n')
    declared.chmod(0o600)
    try:
        workspace = running.workspace("Providers")
        (_, agent), (other_id, _) = running.agent("chooser", workspace), running.agent("given", workspace)
        before = {one["id"]: one for one in agent.ok("provider_list")["providers"]}["interpreter"]
        assert (before["installed"], before["enabled"]) == (True, False)
        assert running.person("provider", "enable", "interpreter")["path"].startswith("/")
        assert running.person("provider", "show", "interpreter")["enabled"] is True
        after = {one["id"]: one for one in agent.ok("provider_list", {"installedOnly": True})["providers"]}
        assert after["interpreter"] == {**before, "enabled": True}
        refused = agent.call("agent_set_provider", {"agentId": other_id, "providerId": "interpreter"})
        assert refused.code == "approval_required"
        assert running.person("agent", "provider", other_id, "interpreter")["changed"] is True
        assert agent.ok("agent_get", {"agentId": other_id})["defaultProvider"] == "interpreter"
        status = agent.ok("provider_runtime_status")
        assert status["listener"]["port"] > 0 and status["knowledge"] == {"enabled": None}
        assert running.person("provider", "disable", "interpreter")["changed"] is True
    finally:
        declared.unlink()
