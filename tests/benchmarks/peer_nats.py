"""The peer: NATS JetStream that syncs before each answer, de-duplicating by Nats-Msg-Id. Raw pipelined client."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from tests.benchmarks.closed_loop import Subject
from tests.benchmarks.serving import await_file, ended_afterwards

_CRLF = b"\r\n"
_INBOX_SID = b"1"
_HELLO = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\nSUB _I.* 1\r\n'
_CONFIGURATION = """
listen: "127.0.0.1:-1"
ports_file_dir: "{folder}"
jetstream {{ store_dir: "{folder}/js", sync_interval: always }}
"""


def nats_server() -> str | None:
    """Its program: the bench extra's beside this Python, else one on PATH, else None."""
    return shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")


class NatsConnection(asyncio.Protocol):
    """As much of the client protocol as requests need; requests of one turn leave in one write."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._awaited: dict[bytes, asyncio.Future[bytes]] = {}
        self._rest = b""
        self._gathered: list[bytes] = []
        self._made = 0
        self._pulled: dict[bytes, deque[asyncio.Future[bytes]]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's is no subclass of it
        self._transport.write(_HELLO)

    def request(self, subject: bytes, payload: bytes, message_id: bytes | None = None) -> asyncio.Future[bytes]:
        self._made += 1
        inbox = b"_I.%d" % self._made
        answer: asyncio.Future[bytes] = self._loop.create_future()
        self._awaited[inbox] = answer
        if not self._gathered:
            self._loop.call_soon(self._flush)
        if message_id is None:
            head = b"PUB %b %b %d\r\n" % (subject, inbox, len(payload))
        else:
            headers = b"NATS/1.0\r\nNats-Msg-Id: %b\r\n\r\n" % message_id
            head = b"HPUB %b %b %d %d\r\n%b" % (subject, inbox, len(headers), len(headers) + len(payload), headers)
        self._gathered.append(head + payload + _CRLF)
        return answer

    def pull(self, number: int, consumer: bytes) -> asyncio.Future[bytes]:
        """The next message of a consumer, which is `number` among them: where its acknowledgement goes."""
        sid = b"%d" % (number + 2)
        if sid not in self._pulled:
            self._pulled[sid] = deque()
            self._gathered.append(b"SUB _P.%b %b\r\n" % (sid, sid))
            self._loop.call_soon(self._flush)
        pulled: asyncio.Future[bytes] = self._loop.create_future()
        self._pulled[sid].append(pulled)
        if not self._gathered:
            self._loop.call_soon(self._flush)
        self._gathered.append(b"PUB $JS.API.CONSUMER.MSG.NEXT.%b _P.%b 1\r\n1\r\n" % (consumer, sid))
        return pulled

    def _flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._transport.write(b"".join(gathered))

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        at = 0
        while (end := data.find(_CRLF, at)) >= 0:
            line = data[at:end]
            if line[:4] in (b"MSG ", b"HMSG"):
                words = line.split(b" ")
                length = int(words[-1])
                if len(data) < end + length + 4:
                    break
                if words[2] == _INBOX_SID:
                    self._answered(words[1], data[end + 2 : end + 2 + length])
                else:
                    self._pulled[words[2]].popleft().set_result(words[3])
                at = end + length + 4
            else:
                at = end + 2
                if line == b"PING":
                    self._transport.write(b"PONG\r\n")
        self._rest = data[at:]

    def _answered(self, inbox: bytes, payload: bytes) -> None:
        answer = self._awaited.pop(inbox)
        if b'"error"' in payload:
            answer.set_exception(RuntimeError(payload.decode()))
        else:
            answer.set_result(payload)


@asynccontextmanager
async def nats_connection(program: str, folder: Path) -> AsyncIterator[tuple[NatsConnection, int]]:
    """A server of our own with its data in `folder` that syncs before each answer, with a stream of subjects `bench.*`:
    a client of it, and its process."""
    folder.mkdir()
    configuration = folder / "nats.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder))
    process = subprocess.Popen([program, "-c", str(configuration)], stderr=subprocess.DEVNULL)
    with ended_afterwards(process):
        ports = json.loads(await await_file(folder, f"*_{process.pid}.ports"))
        port = int(ports["nats"][0].rpartition(":")[2])
        _, client = await asyncio.get_running_loop().create_connection(NatsConnection, "127.0.0.1", port)
        stream = {"name": "bench", "subjects": ["bench.*"], "storage": "file", "duplicate_window": 120 * 10**9}
        await client.request(b"$JS.API.STREAM.CREATE.bench", json.dumps(stream).encode())
        yield client, process.pid


@asynccontextmanager
async def nats_calls(program: str, folder: Path, item: bytes, subjects: int) -> AsyncIterator[Subject]:
    """Each call adds `item` to one of `subjects`, once by its id."""
    async with nats_connection(program, folder) as (client, pid):
        made = 0

        def call() -> asyncio.Future[bytes]:
            nonlocal made
            made += 1
            return client.request(b"bench.s%d" % (made % subjects), item, b"id%d" % made)

        yield Subject(call, pid)
