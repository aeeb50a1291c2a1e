"""One real NEXUS for the tests of a module, in a home of its own, ended afterwards with everything it started."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_http import McpHttp
from tests.support.outside import WHY_SKIPPED, are_outside
from tests.support.processes import Nexus

PRODUCT = (sys.executable, "-I", "-m", "nexus")


@dataclass
class Running:
    """The person's commands on a NEXUS that runs, and agents that call it."""

    nexus: Nexus
    url: str

    def person(self, *arguments: str) -> dict[str, Any]:
        """One command that must succeed; its JSON."""
        outcome = self.nexus.run(*arguments, "--json")
        assert outcome.code == 0, outcome
        return outcome.record

    def workspace(self, name: str) -> str:
        return str(self.person("workspace", "add", name)["workspaceId"])

    def agent(self, name: str, workspace: str) -> tuple[str, McpHttp]:
        added = self.person("agent", "add", name, "--workspace", workspace, "--capability", "mesh")
        return added["agentId"], McpHttp(self.url, added["token"])

    def events(self) -> list[dict[str, Any]]:
        outcome = Nexus(self.nexus.home, (sys.executable, "-I", "-m", "nexus.bus_cli")).run(
            "tail", "-n", "200", "--json"
        )
        assert outcome.code == 0, outcome
        return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.fixture(scope="session", autouse=True)
def _outside() -> None:
    """common 2.4: the product refuses the commands that these tests type, so they say why they cannot run."""
    if not are_outside():
        pytest.skip(WHY_SKIPPED)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        nexus = Nexus(Path(folder) / "home", PRODUCT)
        started = nexus.start()
        try:
            yield Running(nexus, started["url"])
        finally:
            assert nexus.run("down").code == 0
