"""A lent token over HTTP: it counts through the gateway that holds it, as the hosts know that gateway (0012)."""

from __future__ import annotations

import hashlib

from bus import address
from bus.value import Record
from tests.support.gateway_bench import in_loop
from tests.support.mcp_http import META
from tests.support.served_home import ServedHome

SECRET = "lent"
TOKEN = f"nx_ada_{SECRET}"
THIS_GATEWAY = "i1"
"""The incarnation that the bench's gateway proves on its link (tests/support/hosts.py)."""


async def status_of(home: ServedHome) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    headers = {
        "authorization": f"Bearer {TOKEN}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": str(META["io.modelcontextprotocol/protocolVersion"]),
        "mcp-method": "tools/list",
    }
    return (await home.http.post("/mcp", json=body, headers=headers)).status_code


@in_loop
async def test_what_a_former_gateway_lent_admits_nothing_until_this_one_lends_it() -> None:
    """common 2.1, security 2.10"""
    async with ServedHome() as home:
        to = address.agent("ada")
        holder: Record = {"name": "mcp-1", "gateway": "the one before", "connection": "c1"}
        lend: Record = {"tokenHash": hashlib.sha256(SECRET.encode()).digest(), "again": False}
        await home.hosts.ok(to, "credential_lend", {**holder, **lend})
        assert await status_of(home) == 401
        holder["gateway"] = THIS_GATEWAY
        await home.hosts.ok(to, "credential_lend", {**holder, **lend, "again": True})
        assert await status_of(home) == 200
        await home.hosts.ok(to, "lease_end", holder)
        assert await status_of(home) == 401
