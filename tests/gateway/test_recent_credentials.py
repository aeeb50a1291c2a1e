"""Which tokens were good a moment ago, and what that is used for (docs/decisions/0012-protocol.md)."""

from __future__ import annotations

from bus.limits import credential_recent_ms, credentials_recent_max
from bus.value import Record
from nexus.gateway.identity import Credential, Identity
from nexus.gateway.recent_credentials import RecentCredentials
from tests.support.gateway_bench import GatewayBench, in_loop
from tests.support.scripted_caller import Sent

ONE, OTHER = Credential("agent7", b"1" * 32), Credential("agent7", b"2" * 32)
READ = {"canvasId": "c"}


def test_a_confirmed_credential_is_known_for_a_moment_and_no_other_of_its_agent() -> None:
    recent = RecentCredentials()
    recent.confirmed(Identity(ONE, waiting=2), 1_000)
    assert recent.identity(ONE, 1_000 + credential_recent_ms - 1) == Identity(ONE, waiting=2)
    assert recent.identity(ONE, 1_000 + credential_recent_ms) is None
    assert recent.identity(OTHER, 1_000) is None


def test_a_refused_credential_is_known_no_more() -> None:
    recent = RecentCredentials()
    recent.confirmed(Identity(ONE, waiting=0), 0)
    recent.refused(ONE)
    recent.refused(OTHER)
    assert recent.identity(ONE, 0) is None


def test_of_too_many_the_one_that_was_confirmed_first_is_forgotten() -> None:
    recent = RecentCredentials()
    recent.confirmed(Identity(ONE, waiting=0), 0)
    recent.confirmed(Identity(OTHER, waiting=0), 0)
    recent.confirmed(Identity(ONE, waiting=0), 1)  # so that the other one is the oldest
    for number in range(credentials_recent_max - 1):
        recent.confirmed(Identity(Credential(f"a{number}", b"1" * 32), waiting=0), 2)
    assert recent.identity(OTHER, 2) is None
    assert recent.identity(ONE, 2) is not None


def verbs(bench: GatewayBench) -> list[str]:
    told = [sent.verb for sent in bench.caller.sent]
    bench.caller.sent.clear()
    return told


@in_loop
async def test_a_call_of_a_token_that_was_good_a_moment_ago_costs_two_messages() -> None:
    async with GatewayBench() as bench:
        await bench.call("canvas_read", READ)
        assert verbs(bench) == ["authenticate", "admit", "canvas_read"]
        await bench.call("canvas_read", READ)
        assert verbs(bench) == ["admit", "canvas_read"]
        bench.clock.advance(credential_recent_ms)
        await bench.call("canvas_read", READ)
        assert verbs(bench) == ["authenticate", "admit", "canvas_read"]


@in_loop
async def test_the_list_is_never_answered_without_asking_the_callers_owner() -> None:
    """common 1.2"""
    async with GatewayBench() as bench:
        for _ in range(3):
            assert (await bench.modern("tools/list")).status_code == 200
        assert verbs(bench) == ["authenticate"] * 3


@in_loop
async def test_a_revoked_token_is_401_at_its_next_call_and_asked_for_anew_after_that() -> None:
    """common 2.1, 2.3"""
    async with GatewayBench() as bench:
        await bench.call("canvas_read", READ)
        bench.caller.on("admit", {"authenticated": False, "waiting": 0})
        bench.caller.on("authenticate", {"authenticated": False})
        verbs(bench)
        for name in ("canvas_read", "canvas_nothing"):
            assert (await bench.modern("tools/call", {"name": name, "arguments": READ})).status_code == 401
        assert verbs(bench) == ["admit", "authenticate"]


@in_loop
async def test_a_bad_token_is_401_while_a_good_one_of_the_same_agent_is_known() -> None:
    """common 2.3"""
    async with GatewayBench() as bench:
        await bench.call("canvas_read", READ)
        bench.caller.sent.clear()
        params = {"name": "canvas_read", "arguments": READ}
        assert (await bench.modern("tools/call", params, "nx_agent7_wrong")).status_code == 401
        assert verbs(bench) == ["authenticate"]


@in_loop
async def test_a_token_is_judged_before_its_agents_share_is_said_to_be_used_up() -> None:
    """common 2.3, 8.5"""
    async with GatewayBench() as bench:

        def proven(sent: Sent) -> Record:
            limits: Record = {"callsPerMinute": 60}
            return {"authenticated": True, "agentId": sent.to.id, "workspaceId": "w", "waiting": 0, "limits": limits}

        bench.caller.on("authenticate", proven)
        for _ in range(60):
            await bench.call("canvas_read", READ)
        verbs(bench)
        limited = await bench.call("canvas_read", READ)
        assert limited["structuredContent"]["error"]["code"] == "rate_limited"
        assert verbs(bench) == ["authenticate"]
        bench.caller.on("authenticate", {"authenticated": False})
        params = {"name": "canvas_read", "arguments": READ}
        assert (await bench.modern("tools/call", params)).status_code == 401
