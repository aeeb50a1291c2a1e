"""One real NEXUS for all judges, with the conformance suite's fixture tools in its catalogue."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop import serving
from tests.interop.node_judges import JUDGES
from tests.processes.conftest import PRODUCT, Running
from tests.support.outside import WHY_SKIPPED, are_outside
from tests.support.processes import Nexus, started


@dataclass(frozen=True)
class Agent:
    """Somebody who calls: what a person would put into a client's settings."""

    agent_id: str
    token: str


@dataclass(frozen=True)
class Judged:
    """A NEXUS that runs, and the person's commands on it."""

    running: Running
    workspace_id: str

    @property
    def url(self) -> str:
        return self.running.url

    @property
    def home(self) -> Path:
        return self.running.nexus.home

    def agent(self, name: str) -> Agent:
        return Agent(*self.running.token(name, self.workspace_id))


@pytest.fixture(scope="session", autouse=True)
def _outside() -> None:
    """common 2.4: the product refuses the commands that these tests type, so they say why they cannot run."""
    if not are_outside():
        pytest.skip(WHY_SKIPPED)


@pytest.fixture(scope="session")
def judged() -> Iterator[Judged]:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        home = Path(folder) / "home"
        with started(Nexus(home, serving.COMMAND)) as record:
            running = Running(Nexus(home, PRODUCT), record["url"])
            yield Judged(running, running.workspace("Judged"))


@pytest.fixture(scope="session")
def node() -> Path:
    """The folder in which the judges from npm are installed."""
    why = JUDGES.why_missing()
    if why is not None:
        pytest.skip(why)
    return JUDGES.folder
