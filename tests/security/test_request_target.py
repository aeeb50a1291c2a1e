"""A request target that names a host is held to the same list as Host (common 2.5, security 2.7)."""

from __future__ import annotations

import asyncio

import pytest

from nexus.gateway.headers import REQUEST_TARGET_KEY
from tests.security.test_gateway_border import raw_status
from tests.support.gateway_bench import PORT, GatewayBench, in_loop
from tests.support.served_home import WAIT_SECONDS, ServedHome


async def status_of(home: ServedHome, target: str) -> int:
    """What a request is answered that has a good Host and a good token."""
    own = home.url.removeprefix("http://")
    lines = (
        f"POST {target.replace('OWN', own)} HTTP/1.1",
        f"host: {own}",
        f"authorization: Bearer {home.tokens['ada']}",
        *("content-type: application/json", "content-length: 2", "", "{}"),
    )
    host, _, port = own.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write("\r\n".join(lines).encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_SECONDS)
        return int(head.split()[1])
    finally:
        writer.close()


@pytest.mark.parametrize(
    "target",
    [
        "http://evil.example/mcp",
        "http://evil.example:4470/mcp",
        "HTTP://evil.example/mcp",
        "https://OWN/mcp",
        "ftp://OWN/mcp",
        "http://evil.example@OWN/mcp",
        "http://OWN@evil.example/mcp",
        "http://OWN.evil.example/mcp",
        "http://localhost/mcp",
        "http://127.0.0.1/mcp",
        "http://evil.example/",
        "http://evil.example/approvals",
        "http://evil.example?/mcp",
    ],
)
def test_a_target_of_another_host_gets_no_further_whatever_host_says(target: str) -> None:
    """common 2.5"""

    @in_loop
    async def scenario() -> None:
        async with ServedHome() as home:
            assert await status_of(home, target) in (400, 421)

    scenario()


@in_loop
async def test_a_target_of_another_host_is_misdirected() -> None:
    async with ServedHome() as home:
        for path in ("/mcp", "/", "/approvals", "/anything"):
            assert await status_of(home, f"http://evil.example{path}") == 421


@in_loop
async def test_the_listeners_own_name_passes_in_a_target_too() -> None:
    """RFC 9112, 3.2.2: a server takes the absolute form."""
    async with ServedHome() as home:
        assert await status_of(home, "/mcp") == 400, "past the border: it is no message"
        assert await status_of(home, "http://OWN/mcp") == 400
        assert await status_of(home, "HTTP://OWN/mcp?x=1") == 400
        assert await status_of(home, "http://OWN/other") == 404
        assert await status_of(home, "//evil.example/mcp") == 404, "a path, whatever it looks like"


@pytest.mark.parametrize(
    ("target", "expected"),
    [(b"http://localhost/mcp", 401), (b"http://localhost:80/mcp", 421), (f"http://127.0.0.1:{PORT}/mcp".encode(), 421)],
)
def test_the_sockets_own_name_is_localhost_in_a_target_too(target: bytes, expected: int) -> None:
    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            scope = {"server": ("/run/mcp.sock", None), REQUEST_TARGET_KEY: target}
            assert await raw_status(bench, scope, [(b"host", b"localhost")]) == expected

    scenario()
