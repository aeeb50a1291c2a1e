"""The bounds below the application, over real sockets: nobody needs a token to be held to them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import uvicorn

from bus.limits import http_connections_max, keep_alive_seconds
from nexus.gateway.http_border import Bounds, connections_possible, server_config
from tests.support.gateway_bench import in_loop
from tests.support.waiting import eventually

ENOUGH: Final = 30.0
SMALL: Final = Bounds(unread_bytes_max=2_000, headers_max=10)
SLOW: Final = Bounds(head_seconds=0.05, body_seconds=0.05, write_seconds=0.05)


class Application:
    """Answers with the length of the body, once `may_read` is set."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.answer_bytes = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        self.requests.append(scope)
        await self.may_read.wait()
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            size += len(message["body"])
            more = message.get("more_body", False)
        answer = str(size).encode() + b" " * self.answer_bytes
        headers = [(b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


class Server:
    def __init__(self, port: int, path: str, application: Application, running: uvicorn.Server) -> None:
        self.port = port
        self.path = path
        self.application = application
        self.running = running

    async def connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def answers(self, *pieces: bytes) -> bytes:
        """All that is answered until the server closes."""
        reader, writer = await self.connected()
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        return await rest(reader)


async def rest(reader: asyncio.StreamReader) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionError):
        while piece := await asyncio.wait_for(reader.read(65_536), ENOUGH):
            found += piece
    return found


@asynccontextmanager
async def serving(bounds: Bounds, folder: Path | None = None) -> AsyncIterator[Server]:
    application = Application()
    server = uvicorn.Server(server_config(application, bounds))
    path = "" if folder is None else str(folder / "mcp.sock")
    with socket.create_server(("127.0.0.1", 0)) as tcp, contextlib.ExitStack() as stack:
        sockets = [tcp]
        if path:
            unix = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            unix.bind(path)
            unix.listen()
            sockets.append(unix)
        config = server.config
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets)
        try:
            yield Server(tcp.getsockname()[1], path, application, server)
        finally:
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            await server.shutdown(sockets)


def head(*lines: str, method: str = "POST") -> bytes:
    return "\r\n".join([f"{method} / HTTP/1.1", "host: x", *lines, "", ""]).encode()


def status_of(answer: bytes) -> int:
    return int(answer.split()[1])


@in_loop
async def test_requests_within_the_bounds_are_served_one_after_the_other_on_one_connection() -> None:
    async with serving(SMALL) as server:
        reader, writer = await server.connected()
        for size in (0, 5, 100_000):
            writer.write(head(f"content-length: {size}") + b"b" * size)
            assert status_of(await reader.readuntil(b"\r\n\r\n")) == 200
            assert await reader.readexactly(len(str(size))) == str(size).encode()
        chunks = b"".join(b"%x\r\n%s\r\n" % (size, b"c" * size) for size in (1, 1_500, 4_000)) + b"0\r\n\r\n"
        writer.write(head("transfer-encoding: chunked") + chunks)
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(4) == b"5501"
        writer.close()


@pytest.mark.parametrize("cut", [1_000_000, 700, 1])
def test_a_head_is_refused_as_soon_as_it_is_too_large_and_not_gathered_first(cut: int) -> None:
    """security 2.23"""
    large = b"POST / HTTP/1.1\r\nhost: x\r\nx-large: " + b"a" * (4_000 if cut == 1 else 500_000)

    @in_loop
    async def scenario() -> None:
        async with serving(SMALL) as server:
            answer = await server.answers(*(large[at : at + cut] for at in range(0, len(large), cut)))
            assert status_of(answer) == 431
            assert b"connection: close" in answer
            assert server.application.requests == []

    scenario()


@pytest.mark.parametrize(
    "large",
    [b"POST /" + b"a" * 5_000, b"POST / HTTP/1.1\r\n" + b"a" * 5_000, b"\r\n" * 5_000],
    ids=["address", "header name", "empty lines"],
)
def test_every_part_of_a_head_counts(large: bytes) -> None:
    """security 2.23"""

    @in_loop
    async def scenario() -> None:
        async with serving(SMALL) as server:
            assert status_of(await server.answers(large)) in (400, 431)
            assert server.application.requests == []

    scenario()


@in_loop
async def test_the_headers_are_counted() -> None:
    """security 2.23"""
    async with serving(SMALL) as server:
        lines = [f"x{n}: 1" for n in range(9)]
        assert status_of(await server.answers(head("connection: close", *lines[:8], method="GET"))) == 200
        assert status_of(await server.answers(head("connection: close", *lines, method="GET"))) == 431
        assert len(server.application.requests) == 1


@pytest.mark.parametrize(
    "tail", [b"0\r\nx-large: " + b"a" * 9_000, b"5;" + b"a" * 9_000, b"0\r\n" + b"x: 1\r\n" * 20 + b"\r\n"]
)
def test_trailers_and_extensions_of_chunks_are_held_to_the_same_bounds(tail: bytes) -> None:
    """security 2.23"""

    @in_loop
    async def scenario() -> None:
        async with serving(SMALL) as server:
            assert status_of(await server.answers(head("transfer-encoding: chunked"), tail)) == 431

    scenario()


@in_loop
async def test_a_trailer_is_no_header() -> None:
    async with serving(SMALL) as server:
        body = b"1\r\na\r\n0\r\nauthorization: Bearer x\r\n\r\n"
        answer = await server.answers(head("transfer-encoding: chunked", "connection: close") + body)
        assert status_of(answer) == 200
        assert [name for name, _ in server.application.requests[0]["headers"]] == [
            b"host",
            b"transfer-encoding",
            b"connection",
        ]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", b""),
        (b"\r\n", b""),
        (b"POST", b"HTTP/1.1 408"),
        (head("content-length: 9")[:-2], b"HTTP/1.1 408"),
        (head("content-length: 9") + b"12345678", b"HTTP/1.1 408"),
        (head("transfer-encoding: chunked") + b"1\r\na\r\n", b"HTTP/1.1 408"),
    ],
)
def test_a_request_that_is_not_finished_in_time_ends_its_connection(sent: bytes, expected: bytes) -> None:
    """security 2.23"""

    @in_loop
    async def scenario() -> None:
        async with serving(SLOW) as server:
            answer = await server.answers(sent)
            assert answer[:12] == expected
            assert server.running.server_state.connections == set()

    scenario()


@in_loop
async def test_a_second_request_has_the_same_time_and_its_end_does_not_fall_into_the_first_ones_answer() -> None:
    async with serving(SLOW) as server:
        answer = await server.answers(head(method="GET"), b"GET / HT")
        assert answer.count(b"HTTP/1.1 200") == answer.count(b"HTTP/1.1 408") == 1
        server.application.may_read.clear()
        reader, writer = await server.connected()
        writer.write(head(method="GET") + b"GET / HT")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 4 * SLOW.head_seconds)
        server.application.may_read.set()
        assert (await rest(reader)).startswith(b"HTTP/1.1 200")


@in_loop
async def test_the_time_that_the_application_does_not_read_is_not_the_clients() -> None:
    """common 2.3"""
    bounds = Bounds(body_seconds=0.5)
    async with serving(bounds) as server:
        server.application.may_read.clear()
        reader, writer = await server.connected()
        writer.write(head("content-length: 400000", "connection: close") + b"b" * 400_000)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 2 * bounds.body_seconds)
        server.application.may_read.set()
        assert (await rest(reader)).endswith(b"400000")


@in_loop
async def test_a_client_that_leaves_its_answer_unread_is_dropped() -> None:
    """security 2.23"""
    async with serving(SLOW) as server:
        server.application.answer_bytes = 30_000_000
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(head(method="GET"))
            connections = server.running.server_state.connections
            await asyncio.to_thread(eventually, lambda: bool(server.application.requests) and not connections)


@in_loop
async def test_connections_beyond_the_most_are_closed_and_the_socket_of_this_user_still_answers(tmp_path: Path) -> None:
    """security 2.23"""
    async with serving(Bounds(connections_max=3), tmp_path) as server:
        first = await server.connected()
        others = [await server.connected() for _ in range(8)]
        connections = server.running.server_state.connections
        await asyncio.to_thread(eventually, lambda: len(connections) == 3)
        ended = [reader for reader, _ in others if await _has_ended(reader)]
        assert len(ended) == 6
        reader, writer = await asyncio.open_unix_connection(server.path)
        for side_reader, side_writer in ((reader, writer), first):
            side_writer.write(head(method="GET"))
            assert status_of(await side_reader.readuntil(b"\r\n\r\n")) == 200


async def _has_ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(1), 0.5) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_the_bounds_fit_each_other_and_the_descriptors_that_there_are() -> None:
    assert Bounds().head_seconds < Bounds().body_seconds < keep_alive_seconds
    assert 0 < connections_possible() <= http_connections_max
