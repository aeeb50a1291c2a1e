"""An HTTP server on a Unix socket that answers /mcp as the test says, and a shim that speaks to it over pipes."""

from __future__ import annotations

import http.server
import json
import os
import queue
import shutil
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nexus.shim.agents_socket import AgentsSocket
from nexus.shim.carrier import Carrier, Starter
from nexus.shim.lines import LineWriter, read_lines
from nexus.shim.session import LegacySession
from nexus.shim.shim import Shim
from nexus.shim.token import TokenFromEnvironment, TokenSource
from tests.support.mcp_http import META

TOKEN = "nx_agent7_secret"
WAIT_SECONDS = 10.0
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as the server got it. Names of headers are in small letters."""

    http_method: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def method(self) -> str:
        return str(self.body.get("method", ""))


@dataclass(frozen=True, slots=True)
class Reply:
    """`events` make it a stream; `breaks` ends the connection where the answer would go on or begin."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    events: Iterable[Any] | None = None
    breaks: bool = False


Script = Callable[[Seen], Reply]


def result(seen: Seen, **content: Any) -> Reply:
    return Reply({"jsonrpc": "2.0", "id": seen.body["id"], "result": content})


@dataclass(slots=True)
class ScriptedMcp:
    """Where it listens and what came. `script` may be exchanged while it runs."""

    path: Path
    script: Script
    seen: list[Seen] = field(default_factory=list)

    def methods(self) -> list[str]:
        return [seen.method or seen.http_method for seen in self.seen]

    def of(self, method: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method]


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, served: ScriptedMcp) -> None:
        self.served = served
        super().__init__(str(served.path), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, headers, json.loads(raw) if raw else {}, raw)
        self.server.served.seen.append(seen)
        try:
            self._answer(self.server.served.script(seen))
        except ConnectionError:
            self.close_connection = True

    do_POST = do_GET = do_DELETE = _serve

    def _answer(self, reply: Reply) -> None:
        if reply.events is not None:
            self._stream(reply)
        elif reply.breaks:
            self.close_connection = True
        else:
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            body = b"" if reply.body is None else body
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _stream(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in reply.events or ():
            text = b"event: message\r\ndata: " + json.dumps(event).encode() + b"\r\n\r\n" if event else b": \r\n\r\n"
            self.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")
        if reply.breaks:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


@contextmanager
def scripted_mcp(script: Script, path: Path | None = None) -> Iterator[ScriptedMcp]:
    folder = Path(tempfile.mkdtemp(prefix="nexus-test-"))
    served = ScriptedMcp(path or folder / "mcp.sock", script)
    with _Server(served) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join(WAIT_SECONDS)
            shutil.rmtree(folder)


@dataclass(slots=True)
class ShimBench:
    """The client's side of a shim that runs in this process."""

    _input: int
    _lines: queue.SimpleQueue[bytes | None]
    told: list[str]
    _thread: threading.Thread
    _code: list[int]

    def send(self, *messages: dict[str, Any]) -> None:
        for message in messages:
            self.send_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_line(self, line: bytes) -> None:
        os.write(self._input, line + b"\n")

    def next(self) -> dict[str, Any]:
        line = self._lines.get(timeout=WAIT_SECONDS)
        assert line is not None, "the shim has ended"
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, method: str, params: dict[str, Any] | None = None, id: int | str = 1) -> dict[str, Any]:
        """A request of the newer era, alone on the line, and what comes next."""
        self.send(modern(method, params, id))
        return self.next()

    def handshake(self) -> dict[str, Any]:
        """The older era's, answered."""
        self.send({"id": 0, "method": "initialize", "params": INITIALIZE})
        answer = self.next()
        self.send({"method": "notifications/initialized"})
        return answer

    def close_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def exit_code(self) -> int:
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive(), "the shim does not end"
        return self._code[0]

    def rest(self) -> list[dict[str, Any]]:
        """What was written and not taken, once the shim has ended."""
        self.exit_code()
        return [json.loads(line) for line in iter(lambda: self._lines.get(timeout=WAIT_SECONDS), None)]


def modern(method: str, params: dict[str, Any] | None = None, id: int | str = 1) -> dict[str, Any]:
    return {"id": id, "method": method, "params": {**(params or {}), "_meta": META}}


@contextmanager
def shim_on(path: Path, tokens: TokenSource | None = None, starter: Starter | None = None) -> Iterator[ShimBench]:
    """A shim over pipes; ended afterwards."""
    reading, writing = os.pipe()
    from_shim, to_client = os.pipe()
    told: list[str] = []
    code: list[int] = []
    write = LineWriter(to_client, lambda: shim.end())  # noqa: PLW0108 - there is no shim yet
    socket = AgentsSocket(lambda: path, os.getuid())
    carrier = Carrier(socket, tokens or TokenFromEnvironment(TOKEN), LegacySession(), write, starter)
    shim = Shim(carrier, write, told.append)

    def run() -> None:
        code.append(shim.run(read_lines(reading)))
        os.close(to_client)

    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def collect() -> None:
        with os.fdopen(from_shim, "rb") as stream:
            for line in stream:
                lines.put(line)
        lines.put(None)

    threads = [threading.Thread(target=each, daemon=True) for each in (run, collect)]
    for thread in threads:
        thread.start()
    bench = ShimBench(writing, lines, told, threads[0], code)
    try:
        yield bench
    finally:
        bench.close_input()
        for thread in threads:
            thread.join(WAIT_SECONDS)
            assert not thread.is_alive(), "the shim does not end"
        os.close(reading)
