"""Who is connected now, by what MCP clients call themselves, in both protocol eras (knowledge.md)."""

from __future__ import annotations

import orjson

from bus.limits import client_names_max, client_recent_ms, legacy_session_idle_ms
from nexus.gateway.asgi import Gateway
from nexus.gateway.provider_answers import ProviderSources
from nexus.gateway.provider_clients import Clients, client_name
from tests.support.gateway_bench import LEGACY, PORT, TOOLS, GatewayBench, in_loop, modern_headers
from tools.provider_table import PROVIDERS

CODEX = PROVIDERS["codex"]
CLAUDE = PROVIDERS["claude"]


def test_a_client_of_the_newer_era_is_connected_while_it_asks_and_a_while_after() -> None:
    clients = Clients()
    assert not clients.is_connected(CODEX, 0) and clients.last_seen_ms(CODEX) is None
    with clients.request("codex-mcp-client", 1_000):
        assert clients.is_connected(CODEX, 10 * client_recent_ms), "a stream may be open for hours"
        assert not clients.is_connected(CLAUDE, 1_000)
    assert clients.is_connected(CODEX, 999 + client_recent_ms)
    assert not clients.is_connected(CODEX, 1_000 + client_recent_ms)
    assert clients.last_seen_ms(CODEX) == 1_000


def test_a_client_of_the_older_era_is_connected_as_long_as_its_session_lives() -> None:
    clients = Clients()
    clients.session_used("a1", b"s", "codex-mcp-client", 0)
    clients.session_used("a1", b"s", "", 5_000)
    assert clients.is_connected(CODEX, 4_999 + legacy_session_idle_ms)
    clients.session_ended("a2", b"s")
    assert clients.is_connected(CODEX, 5_000), "another agent ends nothing"
    clients.session_ended("a1", b"s")
    assert not clients.is_connected(CODEX, 5_000)
    clients.session_used("a1", b"t", "codex-mcp-client", 0)
    assert not clients.is_connected(CODEX, legacy_session_idle_ms)
    clients.session_used("a1", b"u", "", 0)
    assert not clients.is_connected(CODEX, 0), "who never said a name is nobody"


def test_names_that_are_remembered_are_bounded_and_open_ones_stay() -> None:
    """security 2.23"""
    clients = Clients()
    with clients.request("codex-mcp-client", 0):
        for number in range(client_names_max * 2):
            with clients.request(f"client {number}", number):
                pass
        assert clients.is_connected(CODEX, 10 * client_recent_ms)
        assert len(clients._seen) <= client_names_max


def test_what_is_no_name_is_none() -> None:
    for message in (None, {}, {"params": 1}, {"params": {"clientInfo": 1}}, {"params": {"clientInfo": {"name": 7}}}):
        assert client_name(message) == ""
    assert client_name({"params": {"clientInfo": {"name": "a\nb\x1b"}}}) == "a b"


class Bench(GatewayBench):
    """With sources that the test looks into."""

    def __init__(self) -> None:
        super().__init__()
        self.sources = ProviderSources()
        self.gateway = Gateway(self.caller, self.clock, TOOLS, PORT, providers=self.sources)

    def connected(self) -> list[str]:
        now_ms = self.clock.now_ms()
        return [one.id for one in PROVIDERS.values() if self.sources.clients.is_connected(one, now_ms)]


async def modern_call(bench: Bench, name: str, method: str = "tools/call") -> None:
    params: dict[str, object] = {"name": "agent_inbox", "arguments": {}} if method == "tools/call" else {}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    response = await bench.post(orjson.dumps(message), modern_headers(method, params))
    assert response.status_code == 200, response.text


@in_loop
async def test_the_newer_era_says_who_it_is_with_each_request_on_either_path() -> None:
    """common 1.9"""
    async with Bench() as bench:
        await modern_call(bench, "codex-mcp-client")
        assert bench.connected() == ["codex"]
        await modern_call(bench, "gemini-cli-mcp-client-nexus", "server/discover")
        assert bench.connected() == ["codex", "gemini"]
        bench.clock.advance(client_recent_ms)
        assert bench.connected() == []


@in_loop
async def test_the_older_era_says_it_once_and_its_session_stands_for_it() -> None:
    """common 1.9"""
    async with Bench() as bench:
        info = {"name": "claude-code", "version": "2.0"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        session = (await bench.post(message)).headers["mcp-session-id"]
        headers = {"mcp-session-id": session, "mcp-protocol-version": LEGACY}
        assert bench.connected() == ["claude"]
        bench.clock.advance(client_recent_ms * 2)
        assert bench.connected() == ["claude"]
        assert (await bench.http.delete("/mcp", headers={**headers, **auth()})).status_code == 200
        assert bench.connected() == []


def auth() -> dict[str, str]:
    from tests.support.gateway_bench import TOKEN

    return {"authorization": f"Bearer {TOKEN}"}
