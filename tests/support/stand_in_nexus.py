"""A NEXUS whose shard hosts and gateway do nothing but report on themselves. A program: `python -I stand_in_nexus.py`.

It is the product's command, supervisor and child set-up around bodies of its own, so that the tests of these do not
need the rest. Children get no environment, so what a body should do wrong stands in `.stand-in.json` in the home:
`{"shard-0": "ends"}` with one of ends, silent (never ready), deaf (does not stop).
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import threading
from pathlib import Path

import uvloop

from nexus.children import Bodies, Ended, GatewaySockets, Ready, run
from nexus.cli import new_app
from nexus.command import run_command
from nexus.config import Home
from nexus.lifecycle_cli import register

COMMAND = (sys.executable, "-I", str(Path(__file__).resolve()))


def run_shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    """Ready at once, unless told otherwise."""
    import actors

    manner = manner_of(home, f"shard-{shard}")
    report(home, f"shard-{shard}", {"actors": str(actors.__file__)})
    if manner == "ends":
        return
    stop = threading.Event()
    if manner != "deaf":
        ended(stop.set)
    if manner != "silent":
        ready()
    stop.wait()


def run_gateway(home: Home, sockets: GatewaySockets, ready: Ready, ended: Ended) -> None:
    """Answers every connection with its process id, on the loop the product uses."""
    report(home, "gateway", {"key_bytes": len(home.key())})
    uvloop.run(serve(sockets, ready, ended))


async def serve(sockets: GatewaySockets, ready: Ready, ended: Ended) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{os.getpid()}\n".encode())
        await writer.drain()
        writer.close()

    for listening in (sockets.mcp_tcp, sockets.mcp_unix, sockets.person):
        if listening.family.name == "AF_UNIX":
            await asyncio.start_unix_server(answer, sock=listening)
        else:
            await asyncio.start_server(answer, sock=listening)

    def stop_soon() -> None:
        loop.call_soon_threadsafe(stop.set)

    ended(stop_soon)
    ready()
    await stop.wait()


def manner_of(home: Home, name: str) -> str:
    file = home.path / ".stand-in.json"
    return str(json.loads(file.read_text()).get(name, "")) if file.exists() else ""


def report(home: Home, name: str, more: dict[str, object]) -> None:
    """Write what this process can see of its surroundings to `logs/<name>.report`, whole or not at all."""
    umask = os.umask(0o077)
    record = {
        "pid": os.getpid(),
        "arguments": sys.argv,
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "import_path": sys.path,
        "umask": umask,
        "core_limit": resource.getrlimit(resource.RLIMIT_CORE),
        "descriptors": open_descriptors(),
        "session": os.getsid(0),
        **more,
    }
    aside = home.logs / f"{name}.report.{os.getpid()}"
    aside.write_text(json.dumps(record))
    aside.replace(home.logs / f"{name}.report")


def open_descriptors() -> list[tuple[int, int]]:
    """Device and inode of every open descriptor."""
    found = []
    for number in range(256):
        try:
            status = os.fstat(number)
        except OSError:
            continue
        found.append((status.st_dev, status.st_ino))
    return found


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in ("supervisor", "shard", "gateway"):
        sys.exit(run(sys.argv[1:], lambda: Bodies(run_shard_host, run_gateway), COMMAND))
    app = new_app()
    register(app, COMMAND)
    sys.exit(run_command(app, "nexus", sys.argv[1:]))


if __name__ == "__main__":
    main()
