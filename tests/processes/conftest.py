"""One real NEXUS for the tests of a module, in a home of its own, ended afterwards with everything it started."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bus.value import Record, Value
from nexus.config import open_home
from nexus.control import NotRunning, ask
from nexus.person_client import PersonClient
from tests.support.mcp_http import McpHttp
from tests.support.outside import WHY_SKIPPED, are_outside
from tests.support.processes import Nexus, started
from tests.support.waiting import eventually

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
        return str(self._ask("workspace.add", {"name": name})["workspaceId"])

    def agent(self, name: str, workspace: str) -> tuple[str, McpHttp]:
        agent_id, token = self.token(name, workspace)
        return agent_id, McpHttp(self.url, token)

    def token(self, name: str, workspace: str) -> tuple[str, str]:
        """A new agent's id and token."""
        added = self._ask("agent.add", {"name": name, "workspace": workspace, "capabilities": ["mesh"]})
        return str(added["agentId"]), str(added["token"])

    def kill(self, name: str) -> None:
        """kill -9 of one process, when it is there; for the supervisor with the next `up`, on the port of before."""
        os.kill(eventually(lambda: self._processes().get(name), what=name), signal.SIGKILL)
        if name == "supervisor":
            outcome = self.nexus.run("up", "--detach", "--json", "--port", str(urlsplit(self.url).port))
            assert outcome.code == 0, outcome
            assert outcome.record["url"] == self.url

    def _processes(self) -> dict[str, int]:
        try:
            listed = ask(open_home(self.nexus.home), "status")["processes"]
        except NotRunning:
            return {}
        assert isinstance(listed, list)
        return {entry["name"]: entry["pid"] for entry in listed}

    def _ask(self, verb: str, arguments: dict[str, Value]) -> Record:
        """What a test only sets up is asked for at the person's socket: a command takes half a second to begin."""
        return PersonClient(open_home(self.nexus.home).run).ask(verb, arguments)

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
        with started(nexus) as record:
            yield Running(nexus, record["url"])
