"""A full disk: writes are refused, reads go on, nothing acknowledged is lost, and space brings writes back."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from nexus import exit_codes
from nexus.config import open_home
from tests.processes.conftest import Running
from tests.support.ledger import LEDGERS, Books
from tests.support.ledger_callers import Callers, busy, callers_of
from tests.support.loop import until
from tests.support.mcp_http import McpHttp
from tests.support.processes import Nexus, ended_afterwards
from tests.support.small_disk import enlarge, small_disk
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

PROGRAM = (sys.executable, "-I", str(Path(__file__).parents[1] / "support" / "ledger_nexus.py"))
CALLERS = 8
SMALL, LARGE = "20m", "80m"


def test_a_full_disk_refuses_writes_and_serves_reads_until_there_is_space() -> None:
    """common 8.1"""
    with tempfile.TemporaryDirectory(prefix="nx-") as parent:
        nexus = Nexus(Path(parent) / "h", PROGRAM)
        nexus.start()
        assert nexus.run("down").code == exit_codes.OK
        home = open_home(nexus.home)
        folder = home.shard_folder(0)
        with small_disk(folder, SMALL):
            with ended_afterwards(nexus):
                nexus.start()
                callers = asyncio.run(_fill_and_free(nexus, folder))
                assert nexus.run("down").code == exit_codes.OK
            books = Books.read(folder)
        assert callers.refused["storage_full"] > 0
        books.check(callers.acknowledged, callers.out_of_turn)


async def _fill_and_free(nexus: Nexus, folder: Path) -> Callers:
    home = open_home(nexus.home)
    async with callers_of(home, filler=bytes(8 * 1024)) as callers:
        async with busy(callers, CALLERS):
            await until(lambda: callers.refused.get("storage_full", 0) > 100, 60.0)
            stored = 0
            for ledger in LEDGERS:
                call_id = callers.clock.new_id()
                read = await callers.client.call(ledger, "length", {}, call_id=call_id, within_ms=20_000)
                assert read.ok is not None, read.error
                assert isinstance(read.ok["entries"], int)
                stored += read.ok["entries"]
            assert stored >= len(callers.acknowledged) - CALLERS * 2
            enlarge(folder, LARGE)
            await callers.more(100)
        return callers


PRODUCT = (sys.executable, "-I", "-m", "nexus")
LONG = "x" * 30_000


@pytest.mark.timeout(300)
def test_an_agent_fills_the_disk_and_the_person_stops_it_and_goes_on() -> None:
    """common 8.5, security 2.23"""
    with tempfile.TemporaryDirectory(prefix="nx-") as parent:
        nexus = Nexus(Path(parent) / "h", PRODUCT)
        running = Running(nexus, nexus.start()["url"])
        assert nexus.run("down").code == exit_codes.OK
        folder = open_home(nexus.home).shard_folder(0)
        with small_disk(folder, SMALL), ended_afterwards(nexus):
            running.url = nexus.start()["url"]
            workspace = running.workspace("Full")
            worker_id, worker = running.agent("worker", workspace)
            worker.ok("agent_inbox")
            filler_id, filler = running.agent("filler", workspace)
            _, late = running.agent("late", workspace)
            _fill(filler, worker_id)
            assert worker.ok("canvas_list") == {"canvases": []}
            assert late.ok("canvas_list") == {"canvases": []}, "its first call notes that it ran"
            running.workspace("Another")
            running.person("agent", "remove", filler_id, "--yes")
            assert filler.post(b"{}", "tools/list")[0] == 401
            long: dict[str, Any] = {"agentId": worker_id, "task": {**TASK, "instructions": LONG}}
            assert late.call("agent_trigger", long).code == "storage_full"
            assert worker.ok("agent_list_peers")["agents"]
            enlarge(folder, LARGE)
            eventually(lambda: not late.call("agent_trigger", long).is_error)
            found = [check for check in nexus.run("doctor", "--json").record["checks"] if check["name"] == "reserve"]
            assert [check["outcome"] for check in found] == ["good"]


TASK = {"title": "Count", "instructions": "Count the beans."}


def _fill(agent: McpHttp, to: str) -> None:
    """Send long tasks, then short ones, until neither has any room."""
    refused = 0
    for instructions in [LONG] * 500 + ["Count."] * 500:
        code = agent.call("agent_trigger", {"agentId": to, "task": {**TASK, "instructions": instructions}}).code
        assert code in ("", "storage_full"), code
        refused += code == "storage_full"
        if refused >= 20:
            return
    raise AssertionError("the disk was not filled")
