"""Connecting clients to a real NEXUS: the credential works while the client is connected, and no longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes.conftest import Running
from tests.support.connecting import BEFORE
from tests.support.mcp_http import McpHttp

pytestmark = pytest.mark.processes

USER_FILES = {"claude-code": ".claude.json", "codex": ".codex/config.toml", "zed": ".config/zed/settings.json"}


class User:
    """Someone whose home folder is the test's."""

    def __init__(self, running: Running, folder: Path) -> None:
        self._running = running
        self.folder = folder
        self.environment = {"HOME": str(folder), "XDG_CONFIG_HOME": "", "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}

    def type(self, *words: str) -> dict[str, object]:
        outcome = self._running.nexus.run(*words, "--json", environment=self.environment)
        assert outcome.code == 0, outcome
        return outcome.record

    def holding(self, text: str) -> list[Path]:
        """Files of this user, and of NEXUS's home, with that text in them."""
        places = (self.folder, self._running.nexus.home)
        files = [path for place in places for path in place.rglob("*") if path.is_file() and not path.is_socket()]
        return [path for path in files if text.encode() in path.read_bytes()]


@pytest.fixture
def user(running: Running, tmp_path: Path) -> User:
    user = User(running, tmp_path)
    for name, place in USER_FILES.items():
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(BEFORE[name])
    return user


@pytest.mark.parametrize("client", [*USER_FILES])
def test_a_connected_client_is_served_its_families_and_a_disconnected_one_is_not(
    running: Running, user: User, client: str
) -> None:
    """common 1.3, 2.1, 2.2, security 2.9"""
    running.workspace(f"W {client}")
    agent_id, _ = running.agent(f"Ada {client}", f"W {client}")
    done = user.type("connect", client, "--agent", agent_id, "--families", "canvas")
    token_file = Path(str(done["tokenFile"]))
    token = token_file.read_text().strip()
    agent = McpHttp(running.url, token)
    tools = agent.request("tools/list")["result"]["tools"]
    assert tools and all(tool["name"].startswith("canvas_") for tool in tools)
    assert not agent.call("canvas_list").is_error
    assert user.holding(token) == [token_file], "no configuration, log or store holds the token"
    assert [one["name"] for one in running.person("agent", "credential", "list", agent_id)["credentials"]] == [
        f"connect-{client}",
        "default",
    ]
    running.person("agent", "credential", "families", agent_id, f"connect-{client}", "agent")
    tools = agent.request("tools/list")["result"]["tools"]
    assert tools and all(tool["name"].startswith("agent_") for tool in tools), "narrowing acts at once"
    assert user.type("connect", client, "--agent", agent_id)["changed"] is False
    user.type("disconnect", client, "--agent", agent_id)
    assert agent.post(b"{}", "tools/list")[0] == 401
    assert not token_file.exists() and user.holding(token) == []
    assert user.type("disconnect", client, "--agent", agent_id)["changed"] is False
