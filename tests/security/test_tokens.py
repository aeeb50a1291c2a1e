"""Where tokens must not be (security 2.9)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.conftest import PRODUCT
from tests.support.mcp_http import McpHttp
from tests.support.processes import Nexus, ended_afterwards

pytestmark = pytest.mark.processes
BOX = {"type": "rectangle", "x": 0, "y": 0, "width": 10, "height": 10}


class Used:
    """A NEXUS that was used in every way that brings a token near it, from inside a git work tree."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.tree.mkdir()
        subprocess.run(["git", "init", "-q", str(self.tree)], check=True)
        self.nexus = Nexus(folder / "home", PRODUCT)
        self.url = str(self.nexus.start(folder=self.tree)["url"])
        self.tokens: list[str] = []

    def person(self, *arguments: str) -> dict[str, object]:
        outcome = self.nexus.run(*arguments, "--json", folder=self.tree)
        assert outcome.code == 0, outcome
        return outcome.record

    def token_of(self, answer: dict[str, object]) -> str:
        token = str(answer["token"])
        self.tokens.append(token)
        return token

    def events(self) -> str:
        bus = Nexus(self.nexus.home, (sys.executable, "-I", "-m", "nexus.bus_cli"))
        return bus.run("tail", "-n", "1000", "--json").out + bus.run("export", "--json").out


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    used = Used(tmp_path_factory.mktemp("tokens"))
    with ended_afterwards(used.nexus):
        use(used)
        yield used


def use(used: Used) -> None:
    used.person("workspace", "add", "W")
    added = used.person("agent", "add", "Ada", "--workspace", "W", "--capability", "mesh")
    first = McpHttp(used.url, used.token_of(added))
    second = McpHttp(used.url, used.token_of(used.person("agent", "add", "Bo", "--workspace", "W")))
    canvas = first.ok("canvas_create", {"title": "Plan", "reason": "test"})["canvasId"]
    write = {"canvasId": canvas, "expectedRevision": 1, "reason": "test", "elements": [BOX]}
    for agent in (first, second):
        agent.ok("settings_list")
        agent.call("canvas_create_elements", write)
        agent.call("canvas_create_elements", {**write, "nonsense": 1})
        agent.call("agent_inbox")
        agent.post(b"no json", "tools/call", "agent_inbox")
        agent.post(b"{}", "tools/call", "no_such_tool")
    for token in list(used.tokens):
        # What a client does wrong with its token is no reason to write it down.
        assert first.call("canvas_create", {"title": token, "reason": "test"}).code == "invalid_arguments"
        assert first.call("canvas_create", {"title": "x", "reason": f"for {token}"}).code == "invalid_arguments"
        assert first.call("canvas_get_state", {"canvasId": token}).code == "not_found"
        assert used.nexus.run("agent", "add", token, "--workspace", "W", folder=used.tree).code != 0
        assert McpHttp(used.url + f"/{token}?token={token}", token).post(b"{}", "tools/list")[0] == 404
        assert McpHttp(used.url, token + "x").post(b"{}", "tools/list")[0] == 401
        headers = {"X-Token": token, "Authorization": f"Basic {token}"}
        assert McpHttp(used.url, None).post(b"{}", "tools/list", None, **headers)[0] == 401
    used.token_of(used.person("agent", "token", "Ada", "--replace"))
    assert first.post(b"{}", "tools/list")[0] == 401
    used.person("agent", "remove", "Bo", "--yes")
    used.person("backup", str(used.tree.parent / "backup"))


def secrets_of(used: Used) -> list[bytes]:
    """The secret part of each token: whoever has it needs no more than the agent's id, which is no secret."""
    return [token.split("_", 2)[2].encode() for token in used.tokens]


def test_no_file_of_the_home_or_of_a_backup_holds_a_token(used: Used) -> None:
    """security 2.9, common 2.1: stored hashed"""
    files = [path for path in used.tree.parent.rglob("*") if path.is_file() and not path.is_socket()]
    assert {"data.mdb", "config.toml"} <= {path.name for path in files}
    assert any(path.is_relative_to(used.nexus.home / "logs") for path in files)
    assert any("backup" in path.name for path in files)
    for path in files:
        content = path.read_bytes()
        assert not [secret for secret in secrets_of(used) if secret in content], path


def test_no_event_holds_a_token(used: Used) -> None:
    """security 2.9"""
    events = used.events()
    assert "agent.created" in events and "canvas.changed" in events
    assert not [token for token in used.tokens if token.split("_", 2)[2] in events]


def test_no_command_line_holds_a_token(used: Used) -> None:
    """security 2.9, common 2.2"""
    processes = used.nexus.processes()
    listed = subprocess.run(["ps", "axww", "-o", "pid=,command="], capture_output=True, text=True, check=True).stdout
    for pid in processes.values():
        assert str(pid) in listed
    assert not [secret for secret in secrets_of(used) if secret.decode() in listed]


def test_nothing_is_written_into_a_git_work_tree(used: Used) -> None:
    """security 2.9, common 2.2"""
    status = subprocess.run(
        ["git", "-C", str(used.tree), "status", "--porcelain", "--ignored"], capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


def test_no_answer_repeats_a_token(used: Used) -> None:
    """common 7.4: but for the one in which it is made"""
    agent = McpHttp(used.url, used.tokens[-1])
    token = used.tokens[-1]
    agent.ok("agent_update_self", {"persona": f"I call with {token}."})
    shown = agent.ok("agent_get", {"agentId": token.split("_", 2)[1]})
    assert shown["persona"]["text"] == "I call with [redacted: nexus-token]."
    refused = agent.call("agent_update_self", {"name": token})
    assert refused.code == "invalid_arguments"
    assert token not in json.dumps(refused.content)
