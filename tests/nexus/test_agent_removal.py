"""What the person is shown before an agent is removed."""

from __future__ import annotations

import pytest

from bus.value import Record
from tests.nexus.test_person_cli import commands
from tests.nexus.test_person_port import LISTS
from tools.errors import unavailable


def test_removing_an_agent_shows_first_what_becomes_of_its_canvases(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 1.1, security 2.15"""
    page: Record = {"threads": [], "nextBefore": None}
    with commands(monkeypatch, {**LISTS, ("mailbox/-/b1", "threads_page"): page}) as (run, port):
        assert "canvas" not in run.nexus("agent", "remove", "Bo").stderr
        port.caller.on("roles_of", {"canvases": 4, "ownedAlone": 3}, "workspace/w2/w2")
        port.caller.on("roles_of", {"canvases": 1, "ownedAlone": 0}, "workspace/w1/w1")
        said = run.nexus("agent", "remove", "Bo").stderr
        assert "Its role on 5 canvases ends: its locks go" in said
        assert "only owner of 3 canvases, which only you can delete then" in said
        assert port.caller.bodies("roles_of")[-1] == {"agentId": "b1"}
        port.caller.on("roles_of", unavailable(), "workspace/w2/w2")
        assert "Its canvases cannot be read now (unavailable)" in run.nexus("agent", "remove", "Bo").stderr
