"""A real PersonPort on a real Unix socket, over a scripted caller, in a thread of its own."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bus.clock import ManualClock
from nexus.gateway.person_port import PersonPort
from tests.support.caller import Scripted, ScriptedCaller


@dataclass(frozen=True, slots=True)
class RunningPort:
    run: Path
    caller: ScriptedCaller

    @property
    def socket_path(self) -> Path:
        return self.run / "person.sock"


@contextmanager
def running_port(
    script: Mapping[tuple[str, str], Scripted], *, shards: int = 1, user_id: int | None = None
) -> Iterator[RunningPort]:
    caller = ScriptedCaller(script)
    run = Path(tempfile.mkdtemp(prefix="nexus-test-"))
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(run / "person.sock"))
    listening.listen(16)
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    async def serve() -> None:
        server = await PersonPort(caller, ManualClock(), shards, user_id=user_id).serve(listening)
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
