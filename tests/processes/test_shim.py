"""`nexus mcp` on a real NEXUS: other people's clients, kill -9 around it, and credentials that it borrows."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from nexus.config import open_home
from tests.processes.conftest import PRODUCT, Running
from tests.processes.test_kills import processes
from tests.support.mcp_http import META, McpHttp
from tests.support.processes import Nexus, await_end, ended_afterwards
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

MODES = ("auto", "legacy", "2026-07-28")
NOWHERE = "/nonexistent"
NOBODY = 65_534
WRITES = 12
BOX = {"type": "rectangle", "x": 0, "y": 0, "width": 1, "height": 1}
# The interpreter itself may lie where only root reads, so it becomes another user when it has read all that it needs.
AS_NOBODY = (
    sys.executable,
    "-I",
    "-c",
    "import os, sys; from nexus.shim.command import run\n"
    f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); os.chdir('/'); sys.exit(run(sys.argv[2:]))",
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("NEXUS")}


@contextmanager
def token_file(token: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        file = Path(folder) / "token"
        file.touch(mode=0o600)
        file.write_text(token)
        yield file


@pytest.fixture
def by_file(running: Running) -> Iterator[list[str]]:
    """An agent's two paths, which are all that the shim needs."""
    workspace = running.workspace(f"Shim {os.urandom(4).hex()}")
    _, token = running.token("Ada", workspace)
    with token_file(token) as file:
        yield ["--socket", str(open_home(running.nexus.home).mcp_socket), "--token-file", str(file)]


@asynccontextmanager
async def client_of(arguments: Sequence[str], mode: str) -> AsyncIterator[Client]:
    """The official client over a shim that cannot see any home."""
    program, *before = PRODUCT
    where = {**ENVIRONMENT, "HOME": NOWHERE, "NEXUS_HOME": NOWHERE}
    parameters = StdioServerParameters(command=program, args=[*before, "mcp", *arguments], env=where)
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


@contextmanager
def shim(arguments: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    environment = options.pop("env", ENVIRONMENT)
    program = [*options.pop("program", PRODUCT), "mcp", *arguments]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, **options
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ask(process: subprocess.Popen[bytes], method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": META}}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def content(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_lists_calls_and_reads_with_nothing_but_a_socket_and_a_token(
    by_file: list[str], mode: str
) -> None:
    """common 1.9, decision 0012: also with the home unreadable (contract/security.md, section 1)"""

    async def through() -> None:
        async with client_of(by_file, mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"canvas_list", "workspace_current"} <= names
            assert content(await client.call_tool("workspace_current", {}))["workspace"]
            assert content(await client.call_tool("canvas_create", {"title": "Plan", "reason": "test"}))["canvasId"]
            read = await client.read_resource("nexus://capabilities")
            assert "canvas_create" in read.contents[0].text  # type: ignore[union-attr]

    asyncio.run(through())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_who_was_given_a_socket_and_a_token_is_served(running: Running, by_file: list[str]) -> None:
    """contract/security.md, section 1: the real border is another user."""
    _, socket, _, original = by_file
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        Path(folder).chmod(0o755)
        given, token = Path(folder) / "mcp.sock", Path(folder) / "token"
        os.link(socket, given)
        token.touch(mode=0o600)
        token.write_text(Path(original).read_text())
        os.chown(token, NOBODY, NOBODY)
        mode = Path(socket).stat().st_mode
        Path(socket).chmod(0o666)
        try:
            arguments = ["--socket", str(given), "--token-file", str(token)]
            with shim([*arguments, "--user", "0"], program=AS_NOBODY) as process:
                assert "result" in ask(process, "server/discover")
            with shim(arguments, program=AS_NOBODY) as process:
                assert "--user" in ask(process, "server/discover")["error"]["message"]
        finally:
            Path(socket).chmod(mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_cancelled_call_leaves_the_client_at_work(running: Running, by_file: list[str], mode: str) -> None:
    host = processes(open_home(running.nexus.home))["shard-0"]

    async def through() -> None:
        async with client_of(by_file, mode) as client:
            await client.call_tool("workspace_current", {})
            os.kill(host, signal.SIGSTOP)
            try:
                with anyio.move_on_after(0.5) as bound:
                    await client.call_tool("workspace_current", {})
            finally:
                os.kill(host, signal.SIGCONT)
            assert bound.cancelled_caught, "a host that stands still answered"
            assert content(await client.call_tool("workspace_current", {}))["workspace"]

    asyncio.run(through())


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("victim", ["gateway", "shard-0"])
def test_every_write_is_there_once_over_kills(running: Running, by_file: list[str], mode: str, victim: str) -> None:
    """common 8.1, 8.2: neither the client nor its user does anything about them"""
    home = open_home(running.nexus.home)

    async def through() -> None:
        async with client_of(by_file, mode) as client:
            created = content(await client.call_tool("canvas_create", {"title": "Kills", "reason": "test"}))
            for number in range(WRITES):
                if number % 4 == 1:
                    victim_id = eventually(lambda: processes(home).get(victim), what=victim)
                    os.kill(victim_id, signal.SIGKILL)
                write = {"canvasId": created["canvasId"], "expectedRevision": number + 1, "reason": "test"}
                answer = content(await client.call_tool("canvas_create_elements", {**write, "elements": [BOX]}))
                assert (answer["outcome"], answer["revision"]) == ("applied", number + 2)
            state = content(await client.call_tool("canvas_get_state", {"canvasId": created["canvasId"]}))
            assert state["types"] == {"rectangle": WRITES}

    asyncio.run(through())


def test_a_revoked_token_is_told_and_ends_the_shim(running: Running) -> None:
    """common 2.1, 2.3"""
    workspace = running.workspace("Revoked")
    agent = running.person("agent", "add", "Bea", "--workspace", workspace)["agentId"]
    added = running.person("agent", "credential", "add", agent, "laptop")
    with token_file(added["token"]) as file:
        socket = str(open_home(running.nexus.home).mcp_socket)
        with shim(["--socket", socket, "--token-file", str(file)], stderr=subprocess.PIPE) as process:
            assert "result" in ask(process, "server/discover")
            running.person("agent", "credential", "revoke", agent, "laptop")
            error = ask(process, "tools/list")["error"]
            assert "nexus agent credential add" in error["message"]
            assert process.wait(10) == 1
            assert process.stderr is not None
            assert added["token"].encode() not in process.stderr.read()


@pytest.mark.parametrize("ends_by", ["its input", "SIGTERM"])
def test_it_ends_with_its_input_or_when_told(by_file: list[str], ends_by: str) -> None:
    with shim(by_file) as process:
        ask(process, "server/discover")
        if ends_by == "SIGTERM":
            process.terminate()
        else:
            assert process.stdin is not None
            process.stdin.close()
        assert process.wait(10) == 0


def borrowed(running: Running, agent: str) -> list[str]:
    listed = running.person("agent", "credential", "list", agent)["credentials"]
    return [one["name"] for one in listed if one.get("isLent")]


HOLDER = """
import sys, threading
from pathlib import Path
from nexus.shim.lease import LeasedToken
held = LeasedToken(lambda: Path(sys.argv[1]), sys.argv[2], None)
while True:
    try:
        print(held.current(), flush=True)
        break
    except Exception:
        pass
threading.Event().wait()
"""


@contextmanager
def holder(running: Running, agent: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """What holds a credential as the shim does, and tells its token."""
    socket = open_home(running.nexus.home).person_socket
    command = [sys.executable, "-I", "-c", HOLDER, str(socket), agent]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().decode().strip()
        finally:
            process.kill()


def status(running: Running, token: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
    return McpHttp(running.url, token).post(json.dumps(body).encode(), "server/discover")[0]


def test_a_borrowed_credential_is_dead_with_its_process(running: Running) -> None:
    """decision 0012, common 2.1: also by kill -9"""
    workspace = running.workspace("Borrowed")
    agent = running.person("agent", "add", "Cleo", "--workspace", workspace)["agentId"]
    with holder(running, agent) as (process, token):
        assert status(running, token) == 200 and len(borrowed(running, agent)) == 1
        process.kill()
        eventually(lambda: status(running, token) == 401, what="the end of the credential")
    with shim(["--home", str(running.nexus.home), "--agent", agent]) as second:
        assert "result" in ask(second, "server/discover")
        assert len(borrowed(running, agent)) == 1
        second.kill()
        eventually(lambda: borrowed(running, agent) == [])


@pytest.mark.timeout(180)
def test_a_borrowed_credential_outlives_its_gateway_only_where_its_process_does(running: Running) -> None:
    """decision 0012: what nobody holds admits nothing from the first answer on; whoever is there notices nothing of the
    restart, and neither does one that cannot ask for long."""
    home = open_home(running.nexus.home)
    workspace = running.workspace("Restarted")
    agent = running.person("agent", "add", "Dora", "--workspace", workspace)["agentId"]
    borrowing = ["--home", str(running.nexus.home), "--agent", agent]
    with shim(borrowing) as stays, shim(borrowing) as sleeps, holder(running, agent) as (goes, token):
        assert "result" in ask(stays, "server/discover") and "result" in ask(sleeps, "server/discover")
        before = set(borrowed(running, agent))
        assert len(before) == 3 and status(running, token) == 200
        gateway = processes(home)["gateway"]
        sleeps.send_signal(signal.SIGSTOP)
        os.kill(gateway, signal.SIGKILL)
        goes.kill()
        assert "result" in ask(stays, "server/discover")
        await_end(gateway)
        assert status(running, token) == 401
        [left] = eventually(lambda: _only(borrowed(running, agent)), seconds=60, what="the end of what nobody holds")
        assert left in before, "the same credential as before"
        assert "result" in ask(stays, "tools/list")
        sleeps.send_signal(signal.SIGCONT)
        assert "result" in ask(sleeps, "tools/list")
        assert len(borrowed(running, agent)) == 2 and before > set(borrowed(running, agent))
        assert status(running, token) == 401


def _only(names: list[str]) -> list[str]:
    return names if len(names) == 1 else []


def test_a_borrowed_credential_admits_nothing_after_everything_was_killed() -> None:
    """decision 0012: supervisor and holder killed at once, and NEXUS started anew"""
    with (
        tempfile.TemporaryDirectory(prefix="nx-") as folder,
        ended_afterwards(Nexus(Path(folder) / "h", PRODUCT)) as nexus,
    ):
        first = Running(nexus, nexus.start()["url"])
        agent = first.person("agent", "add", "Finn", "--workspace", first.workspace("W"))["agentId"]
        with holder(first, agent) as (process, token):
            assert status(first, token) == 200
            ran = nexus.processes()
            os.kill(ran["supervisor"], signal.SIGKILL)
            process.kill()
            await_end(*ran.values())
        second = Running(nexus, nexus.start()["url"])
        assert status(second, token) == 401, "long before the grace is over"


def test_what_runs_inside_of_nexus_borrows_nothing(running: Running) -> None:
    """common 2.4, security 2.2"""
    workspace = running.workspace("Inside")
    agent = running.person("agent", "add", "Eve", "--workspace", workspace)["agentId"]
    inside = {**ENVIRONMENT, "NEXUS_SESSION_ID": "S"}
    with shim(["--home", str(running.nexus.home), "--agent", agent], env=inside) as process:
        error = ask(process, "server/discover")["error"]["data"]["error"]
        assert error["code"] == "unidentified_caller"
        assert process.wait(10) == 1
    assert borrowed(running, agent) == []


def test_nexus_is_started_when_that_is_asked_for() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="nx-") as folder,
        ended_afterwards(Nexus(Path(folder) / "h", PRODUCT)) as nexus,
    ):
        nexus.start()
        assert nexus.run("workspace", "add", "W").code == 0
        assert nexus.run("agent", "add", "Ada", "--workspace", "W").code == 0
        assert nexus.run("down").code == 0
        config = nexus.home / "config.toml"
        config.write_text(config.read_text().replace("port = 4470", "port = 0"))
        arguments = ["--home", str(nexus.home), "--agent", "Ada"]
        with shim(arguments) as process:
            assert "nexus up" in ask(process, "server/discover")["error"]["message"]
        with shim([*arguments, "--start"], stderr=subprocess.DEVNULL) as process:
            assert "result" in ask(process, "server/discover")
        assert "gateway" in nexus.processes(), "it goes on without the client"
