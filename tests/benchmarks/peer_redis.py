"""The peer: Redis Streams that sync before each answer, de-duplicating by a script; raw client on a Unix socket."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from tests.benchmarks.closed_loop import Subject
from tests.benchmarks.serving import await_socket, ended_afterwards

_ADD_ONCE = b"""
if redis.call('SET', KEYS[2], 1, 'NX') then return redis.call('XADD', KEYS[1], '*', 'item', ARGV[1]) end
return redis.call('GET', KEYS[2])
"""
_CRLF = b"\r\n"


def redis_server() -> str | None:
    """Its program: one on PATH, else installed by apt when we are root and there is apt, else None."""
    found = shutil.which("redis-server")
    if found is None and os.geteuid() == 0 and (apt := shutil.which("apt-get")):
        # Run level 1: the package must not start a server of its own.
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        for arguments in (["update"], ["install", "--yes", "--no-install-recommends", "redis-server"]):
            subprocess.run([apt, "-qq", *arguments], env=quiet, capture_output=True, check=False)
        found = shutil.which("redis-server")
    return found


class RedisConnection(asyncio.Protocol):
    """RESP, as much of it as strings, statuses and errors need; commands of one turn leave in one write."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._awaited: deque[asyncio.Future[bytes]] = deque()
        self._rest = b""
        self._gathered: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's is no subclass of it

    def command(self, *words: bytes) -> asyncio.Future[bytes]:
        answer: asyncio.Future[bytes] = self._loop.create_future()
        self._awaited.append(answer)
        if not self._gathered:
            self._loop.call_soon(self._flush)
        self._gathered.append(
            b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)
        )
        return answer

    def _flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._transport.write(b"".join(gathered))

    def data_received(self, data: bytes) -> None:
        lines = (self._rest + data).split(_CRLF)
        at, complete = 0, len(lines) - 1
        while at < complete:
            line = lines[at]
            if line[:1] == b"$":
                if at + 1 >= complete:
                    break
                at += 1
                line = lines[at]
            at += 1
            answer = self._awaited.popleft()
            if line[:1] == b"-":
                answer.set_exception(RuntimeError(line.decode()))
            else:
                answer.set_result(line)
        self._rest = _CRLF.join(lines[at:])


@asynccontextmanager
async def redis_connection(program: str, folder: Path) -> AsyncIterator[tuple[RedisConnection, int]]:
    """A server of our own with its data in `folder` that syncs before each answer: a client of it, and its process."""
    path = folder / "redis.sock"
    folder.mkdir()
    options = {"port": "0", "unixsocket": str(path), "dir": str(folder), "appendonly": "yes", "save": ""}
    options |= {"appendfsync": "always", "auto-aof-rewrite-percentage": "0"}
    command = [program, *(word for name, value in options.items() for word in (f"--{name}", value))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    with ended_afterwards(process):
        await await_socket(path)
        _, client = await asyncio.get_running_loop().create_unix_connection(RedisConnection, str(path))
        yield client, process.pid


@asynccontextmanager
async def redis_calls(program: str, folder: Path, item: bytes, streams: int) -> AsyncIterator[Subject]:
    """Each call adds `item` to one of `streams`, once by its id."""
    async with redis_connection(program, folder) as (client, pid):
        script = await client.command(b"SCRIPT", b"LOAD", _ADD_ONCE)
        made = 0

        def call() -> asyncio.Future[bytes]:
            nonlocal made
            made += 1
            return client.command(b"EVALSHA", script, b"2", b"s%d" % (made % streams), b"id%d" % made, item)

        yield Subject(call, pid)
