"""An agent's share of sessions (security 2.23)."""

from __future__ import annotations

from nexus.gateway.sessions import SessionShares
from tests.support.gateway_bench import TOKEN, GatewayBench, in_loop

IDLE_MS = 1_000


def full(agent_id: str = "a") -> SessionShares:
    shares = SessionShares(per_agent_max=2, idle_ms=IDLE_MS)
    shares.used(agent_id, b"one", 0)
    shares.used(agent_id, b"two", 500)
    return shares


def test_an_agent_has_room_up_to_its_share_and_others_have_theirs() -> None:
    shares = full()
    assert not shares.has_room("a", 600)
    assert shares.has_room("b", 600)


def test_using_a_session_again_takes_no_more_room() -> None:
    shares = SessionShares(per_agent_max=2, idle_ms=IDLE_MS)
    for now_ms in range(5):
        shares.used("a", b"one", now_ms)
    assert shares.has_room("a", 5)


def test_an_ended_session_makes_room_but_not_by_another_agents_word() -> None:
    shares = full()
    shares.ended("b", b"one")
    assert not shares.has_room("a", 600)
    shares.ended("a", b"one")
    assert shares.has_room("a", 600)


def test_a_session_that_was_idle_for_long_counts_no_more() -> None:
    shares = full()
    assert not shares.has_room("a", IDLE_MS - 1)
    assert shares.has_room("a", IDLE_MS)
    shares.ended("a", b"two")
    assert shares.held == {}


@in_loop
async def test_one_agent_cannot_open_sessions_without_end_and_another_goes_on() -> None:
    async with GatewayBench() as bench:
        sessions = [await bench.legacy_session() for _ in range(64)]
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        refused = await bench.post({**initialize, "id": "mine"})
        assert (refused.status_code, refused.json()["id"]) == (503, "mine")
        assert "result" in (await sessions[0].request("tools/list")).json()

        headers = {**sessions[0].headers, "authorization": f"Bearer {TOKEN}"}
        assert (await bench.http.delete("/mcp", headers=headers)).status_code == 200
        assert (await bench.post(initialize)).status_code == 200
        assert (await bench.post(initialize)).status_code == 503

        bench.caller.on("authenticate", {"authenticated": True, "agentId": "other", "workspaceId": "w", "waiting": 0})
        assert (await bench.post(initialize, token="nx_other_secret")).status_code == 200
