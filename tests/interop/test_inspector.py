"""The Inspector's command line: lists checked strictly, calls and reads, in both eras, by both ways (common 1.9)."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clients import Way
from tests.interop.conftest import Judged
from tests.interop.fixture_tools import FIXTURES
from tests.interop.node_judges import JUDGES
from tests.support.npm_folder import NODE, environment
from tools.catalogue import TOOLS, ordered

pytestmark = pytest.mark.processes

_SECONDS_MAX = 60
_NOTHING_OF_THE_PERSON = {"MCP_INSPECTOR_SECRET_STORE": "memory"}


@dataclass(frozen=True)
class Inspector:
    """Its settings name the server, since they may hold a token and a command line may not (common 2.2)."""

    settings: Path
    era: str

    @classmethod
    def of(cls, way: Way, era: str, folder: Path) -> Inspector:
        record = way.record()
        server = (
            {"type": "streamable-http", "url": record["url"], "headers": record["headers"]}
            if way.url is not None
            else {"type": "stdio", "command": record["command"], "args": record["arguments"]}
        )
        settings = folder / f"inspector-{era}.json"
        settings.touch(mode=0o600)
        settings.write_text(json.dumps({"mcpServers": {"nexus": server}}))
        return cls(settings, era)

    def __call__(self, *arguments: str) -> dict[str, Any]:
        """The result of one method; fails unless the Inspector is content."""
        program = JUDGES.folder / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        which = ("--config", str(self.settings), "--server", "nexus", "--protocol-era", self.era, "--format", "json")
        done = subprocess.run(
            [str(NODE), str(program), "--cli", *which, *arguments],
            env={**environment(), **_NOTHING_OF_THE_PERSON, "HOME": str(self.settings.parent)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS_MAX,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.returncode, done.stdout[-500:], done.stderr[-3000:])
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result


@pytest.mark.parametrize("era", ("legacy", "modern", "auto"))
@pytest.mark.parametrize("transport", ("http", "shim"))
def test_the_inspector_is_content(transport: str, era: str, judged: Judged, node: Path, tmp_path: Path) -> None:
    """common 1.9, 1.6: schemas that every kind of client can take"""
    token = judged.agent(f"Inspector {era} {transport}").token
    way = Way.http(judged.url, token) if transport == "http" else Way.shim(judged.home, token, tmp_path)
    inspect = Inspector.of(way, era, tmp_path)
    methods = (
        ("--method", "tools/list", "--strict"),
        ("--method", "tools/call", "--tool-name", "workspace_current"),
        ("--method", "resources/list"),
        ("--method", "resources/read", "--uri", "nexus://planes"),
    )
    with ThreadPoolExecutor(2) as two_at_a_time:
        listed, called, resources, read = two_at_a_time.map(lambda arguments: inspect(*arguments), methods)
    assert [tool["name"] for tool in listed["tools"]] == [tool.name for tool in ordered(TOOLS, FIXTURES)]
    assert called["structuredContent"]["workspace"]["name"] == "Judged"
    assert "nexus://mailbox" in [resource["uri"] for resource in resources["resources"]]
    assert json.loads(read["contents"][0]["text"])["marker"] == "[Local NEXUS app]"
