"""A real PersonPort on a real Unix socket, over a scripted caller, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.clock import ManualClock
from nexus.gateway.person_port import LineageOf, PersonPort
from nexus.gateway.provider_answers import ProviderSources
from nexus.lineage import Lineage
from tests.support.scripted_caller import Script, ScriptedCaller

GATEWAY = "gateway-2"


@dataclass(frozen=True, slots=True)
class RunningPort:
    """Where it listens, and what it asked of owners."""

    run: Path
    caller: ScriptedCaller

    @property
    def socket_path(self) -> Path:
        return self.run / "person.sock"


def outside(process_id: int) -> Lineage:
    """For tests that are about something else: they may themselves run inside a session of NEXUS."""
    return Lineage.OUTSIDE


@contextmanager
def running_port(
    script: Script,
    *,
    shards: int = 1,
    user_id: int | None = None,
    lineage: LineageOf = outside,
    providers: ProviderSources | None = None,
) -> Iterator[RunningPort]:
    caller = ScriptedCaller({("agent", "authority_tell"): {}, **script})
    run = Path(tempfile.mkdtemp(prefix="nexus-test-"))
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(run / "person.sock"))
    listening.listen(16)
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    async def serve() -> None:
        port = PersonPort(
            caller, ManualClock(), shards, gateway=GATEWAY, lineage=lineage, user_id=user_id, providers=providers
        )
        server = await port.serve(listening)
        await stopping.wait()
        server.close()
        await server.wait_closed()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield RunningPort(run, caller)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(10)
        assert not thread.is_alive(), "the port did not stop"
        loop.close()
        assert (run / "person.sock").exists(), "the port removed the supervisor's socket"
        listening.close()
        shutil.rmtree(run)


def exchange(port: RunningPort, raw: bytes) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(str(port.socket_path))
        with contextlib.suppress(BrokenPipeError):  # a port that refuses unread may have closed already
            connection.sendall(raw)
        with connection.makefile("rb") as lines:
            answer = json.loads(lines.readline())
            assert lines.read() == b"", "one request has one answer"
    assert isinstance(answer, dict)
    return answer


def ask(port: RunningPort, verb: str, arguments: Mapping[str, object] | None = None) -> dict[str, Any]:
    return exchange(port, json.dumps({"verb": verb, "arguments": arguments or {}}).encode() + b"\n")


def refused_code(answer: dict[str, Any]) -> str:
    return str(answer["error"]["code"])
