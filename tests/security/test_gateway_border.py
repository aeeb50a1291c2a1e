"""What reaches the gateway at all: tokens, Host, Origin, bodies (common 2.3, 2.5; security 2.7, 2.11)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import orjson
import pytest

from bus.limits import request_body_bytes_max
from tests.support.gateway_bench import AGENT, PORT, SECRET, TOKEN, GatewayBench, in_loop

PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize(
    "token",
    [None, "", "nx_", "guess", f"nx_{AGENT}_wrong", f"nx_someone_{SECRET}", f"nx_{AGENT}_{SECRET}x", TOKEN.upper()],
)
@pytest.mark.parametrize("body", [orjson.dumps(PING), b"{", b"[" * 100_000, b'{"jsonrpc":"2.0","id":1,"method":"no"}'])
def test_without_a_good_token_every_body_gets_the_same_401(token: str | None, body: bytes) -> None:
    """common 2.3"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            response = await bench.post(body, {"content-encoding": "gzip"}, token)
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith("Bearer")
            assert response.content == b'{"error":"invalid_token"}'
            assert {sent.verb for sent in bench.caller.sent} <= {"authenticate"}

    scenario()


@in_loop
async def test_a_token_in_the_address_or_the_body_is_no_token() -> None:
    """common 2.2"""
    async with GatewayBench() as bench:
        headers = {"content-type": "application/json"}
        response = await bench.http.post(f"/mcp?token={TOKEN}&access_token={TOKEN}", json=PING, headers=headers)
        assert response.status_code == 401


@in_loop
async def test_a_session_of_one_agent_does_not_exist_for_another() -> None:
    """security 2.11"""
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        bench.caller.on("authenticate", {"authenticated": True, "agentId": "other", "workspaceId": "w", "waiting": 0})
        response = await session.request("tools/list", token="nx_other_secret")
        assert response.status_code == 404


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "localhost",
        f"localhost.:{PORT}",
        f"LOCALHOST:{PORT}",
        f"x.localhost:{PORT}",
        f"0.0.0.0:{PORT}",
        f"[::1]:{PORT}",
        f"127.1:{PORT}",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1:{PORT}.evil.example",
        f"evil.example@127.0.0.1:{PORT}",
        "",
    ],
)
def test_a_host_that_is_not_exactly_the_listeners_is_misdirected(host: str) -> None:
    """common 2.5, security 2.7"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            for path in ("/mcp", "/", "/anything"):
                response = await bench.http.post(path, headers={"host": host, "authorization": f"Bearer {TOKEN}"})
                assert response.status_code == 421
            assert bench.caller.sent == []

    scenario()


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        f"http://evil.example:{PORT}",
        "http://localhost",
        "http://localhost:5173",
        f"https://127.0.0.1:{PORT}",
        f"http://127.0.0.1:{PORT}/",
        f"http://127.0.0.1:{PORT}, http://evil.example",
        "vscode-webview://x",
    ],
)
def test_an_origin_that_is_not_the_listeners_own_is_forbidden(origin: str) -> None:
    """common 2.5, security 2.7"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            response = await bench.post(PING, {"origin": origin})
            assert response.status_code == 403
            assert bench.caller.sent == []
            assert not [name for name in response.headers if name.startswith("access-control")]

    scenario()


@in_loop
async def test_the_listeners_own_names_and_origins_pass() -> None:
    async with GatewayBench() as bench:
        for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}"):
            for origin in ({}, {"origin": f"http://{host}"}):
                response = await bench.post(b"{}", {"host": host, **origin})
                assert response.status_code == 400  # past the border: it is no message


@pytest.mark.parametrize(
    ("server", "host", "expected"),
    [
        (("/run/mcp.sock", None), "localhost", 401),
        (None, "localhost", 401),
        (("/run/mcp.sock", None), f"localhost:{PORT}", 421),
        (("/run/mcp.sock", None), f"127.0.0.1:{PORT}", 421),
        (("127.0.0.1", PORT), "localhost", 421),
    ],
)
def test_the_socket_is_addressed_as_localhost_and_only_the_socket_is(
    server: tuple[str, int | None] | None, host: str, expected: int
) -> None:
    """common 2.5"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            assert await raw_status(bench, {"server": server}, [(b"host", host.encode())]) == expected

    scenario()


@in_loop
async def test_doubled_hosts_and_origins_do_not_slip_through() -> None:
    own = f"127.0.0.1:{PORT}".encode()
    async with GatewayBench() as bench:
        assert await raw_status(bench, {}, [(b"host", own), (b"host", own)]) == 421
        assert await raw_status(bench, {}, []) == 421
        origins = [(b"origin", b"http://" + own), (b"origin", b"http://evil.example")]
        assert await raw_status(bench, {}, [(b"host", own), *origins]) == 403


@in_loop
async def test_a_web_socket_from_elsewhere_is_closed() -> None:
    """common 2.5"""
    async with GatewayBench() as bench:
        sent: list[Mapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "websocket",
            "path": "/mcp",
            "headers": [(b"host", b"evil.example")],
            "server": ("127.0.0.1", PORT),
        }
        await bench.gateway.asgi_app(scope, receive, send)
        assert [message["type"] for message in sent] == ["websocket.close"]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, gzip", "x"])
def test_encoded_bodies_are_refused(encoding: str) -> None:
    """common 2.5"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            assert (await bench.post(PING, {"content-encoding": encoding})).status_code == 415

    scenario()


def padded(size: int) -> bytes:
    body = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/x"})
    return body + b" " * (size - len(body))


@in_loop
async def test_a_body_at_the_limit_passes_and_one_byte_more_is_too_large() -> None:
    """common 2.5"""
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        assert (await bench.post(padded(request_body_bytes_max), session.headers)).status_code == 202
        assert (await bench.post(padded(request_body_bytes_max + 1), session.headers)).status_code == 413


@in_loop
async def test_a_body_of_unknown_length_is_cut_off_at_the_limit() -> None:
    """common 2.5"""
    async with GatewayBench() as bench:
        taken = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal taken
            while taken < 4 * request_body_bytes_max:
                taken += 65_536
                yield b" " * 65_536

        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        response = await bench.http.post("/mcp", content=endless(), headers=headers)
        assert response.status_code == 413
        assert response.headers["connection"] == "close"


@pytest.mark.parametrize("length", ["99999999999999999999999999", "8388609", "-1", "1e9", "x"])
def test_a_declared_length_is_judged_before_a_byte_is_read(length: str) -> None:
    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            headers = [
                (b"host", f"127.0.0.1:{PORT}".encode()),
                (b"authorization", f"Bearer {TOKEN}".encode()),
                (b"content-length", length.encode()),
            ]
            assert await raw_status(bench, {}, headers) == 413

    scenario()


async def raw_status(bench: GatewayBench, scope: Mapping[str, Any], headers: list[tuple[bytes, bytes]]) -> int:
    """The status for headers that no HTTP client would send. Its body must not be read."""

    async def receive() -> dict[str, Any]:
        raise AssertionError("the body was read")

    statuses: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    whole = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 1),
        "headers": headers,
        **scope,
    }
    await bench.gateway.asgi_app(whole, receive, send)
    return statuses[0]


def test_the_client_of_these_tests_sends_its_host_itself() -> None:
    assert httpx2.Request("POST", f"http://127.0.0.1:{PORT}/mcp").headers["host"] == f"127.0.0.1:{PORT}"
