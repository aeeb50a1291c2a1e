"""What one agent may use of the gateway, and that nobody else has less for it (common 8.5)."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.value import Record, Value
from nexus.gateway.shares import DEFAULT_LIMITS, AgentShares, Limits
from tests.support.gateway_bench import AGENT, WORKSPACE, GatewayBench, error_of, in_loop
from tests.support.loop import until
from tests.support.scripted_caller import Sent
from tools.errors import Code

MINUTE_MS = 60_000
LIMITS = Limits(calls_per_minute=60, connections=3)


def called(shares: AgentShares, now_ms: int, agent: str = "a", limits: Limits = LIMITS) -> bool:
    """Whether one request, which ends at once, passes."""
    with shares.request(agent, limits, now_ms) as too_much:
        return too_much is None


def test_a_minutes_calls_pass_at_once_and_then_one_as_often_as_the_limit_says() -> None:
    """common 8.5"""
    shares = AgentShares()
    assert [called(shares, 0) for _ in range(61)] == [True] * 60 + [False]
    assert not called(shares, 999)
    assert called(shares, 1_000)
    assert not called(shares, 1_001)
    assert sum(called(shares, 1_000 + MINUTE_MS) for _ in range(100)) == 60


@given(st.lists(st.integers(0, 5_000), max_size=200))
def test_who_makes_no_more_calls_in_any_minute_than_allowed_is_never_refused(gaps: list[int]) -> None:
    """common 8.5"""
    limits = Limits(calls_per_minute=10, connections=1)
    shares, recent, now_ms = AgentShares(), list[int](), 0
    for gap in gaps:
        now_ms += gap
        recent = [at for at in recent if now_ms - at < MINUTE_MS]
        if len(recent) < limits.calls_per_minute:
            recent.append(now_ms)
            assert called(shares, now_ms, limits=limits)


def test_a_refusal_names_the_limit_and_when_a_call_passes_again() -> None:
    """common 6.1, 8.5"""
    shares = AgentShares()
    for _ in range(60):
        assert called(shares, 0)
    with shares.request("a", LIMITS, 400) as refusal:
        assert refusal is not None
        assert refusal.code is Code.RATE_LIMITED
        assert refusal.details == {"limit": 60, "retryAfterSeconds": 1}
        assert refusal.retryable


def test_requests_under_way_are_counted_until_they_end_however_they_end() -> None:
    """common 8.5"""
    shares = AgentShares()
    with ExitStack() as stack:
        for _ in range(3):
            assert stack.enter_context(shares.request("a", LIMITS, 0)) is None
        with shares.request("a", LIMITS, 0) as refusal:
            assert refusal is not None
            assert refusal.details["limit"] == 3
        assert called(shares, 0, agent="b")
    assert shares.under_way("a") == 0
    with pytest.raises(OSError, match="gone"), shares.request("a", LIMITS, 0):
        raise OSError("gone")
    assert shares.under_way("a") == 0


def test_an_agent_whose_share_is_used_up_takes_nothing_from_another() -> None:
    """security 2.23"""
    shares = AgentShares()
    while called(shares, 0):
        pass
    assert [called(shares, 0, agent="b") for _ in range(60)] == [True] * 60


def test_time_that_runs_backwards_gives_nothing_and_takes_nothing() -> None:
    shares = AgentShares()
    for _ in range(60):
        assert called(shares, 5_000)
    assert not called(shares, 0)


def test_agents_that_are_quiet_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nexus.gateway.shares.gateway_shares_kept_max", 10)
    shares = AgentShares()
    with shares.request("busy", LIMITS, 0):
        for number in range(10):
            called(shares, number, agent=f"a{number}")
        called(shares, MINUTE_MS + 20, agent="next")
        assert shares._uses.keys() == {"busy", "next"}


@pytest.mark.parametrize("told", [None, {}, [], {"callsPerMinute": "9"}, {"callsPerMinute": 0, "connections": True}])
def test_limits_that_are_not_told_or_make_no_sense_are_the_defaults(told: Value) -> None:
    assert Limits.from_reply(told) == DEFAULT_LIMITS


class LimitedBench(GatewayBench):
    """Two agents with the limits that the first's owner tells; every token is good."""

    def __init__(self, limits: Record) -> None:
        super().__init__()
        self.caller.on("authenticate", lambda sent: self._proven(sent, limits))

    def _proven(self, sent: Sent, limits: Record) -> Record:
        reply: Record = {"authenticated": True, "agentId": sent.to.id, "workspaceId": WORKSPACE, "waiting": 0}
        return {**reply, "limits": limits} if sent.to.id == AGENT else reply


OTHER_TOKEN = "nx_agent8_secret"
READ = {"name": "canvas_read", "arguments": {"canvasId": "c"}}


@in_loop
async def test_calls_beyond_the_share_are_tool_results_and_other_agents_go_on() -> None:
    """common 6.1, 8.5, security 2.23"""
    async with LimitedBench({"callsPerMinute": 60}) as bench:
        for _ in range(60):
            assert (await bench.call("canvas_read", {"canvasId": "c"}))["isError"] is False
        error = error_of(await bench.call("canvas_read", {"canvasId": "c"}))
        assert (error["code"], error["limit"], error["retryAfterSeconds"]) == ("rate_limited", 60, 1)
        assert len(bench.caller.sent_of("canvas_read")) == 60
        other = await bench.modern("tools/call", READ, OTHER_TOKEN)
        assert other.json()["result"]["isError"] is False
        bench.clock.advance(1_000)
        assert (await bench.call("canvas_read", {"canvasId": "c"}))["isError"] is False


@in_loop
async def test_other_methods_beyond_the_share_are_told_when_to_come_again() -> None:
    """common 8.5"""
    async with LimitedBench({"callsPerMinute": 60}) as bench:
        session = await bench.legacy_session()
        for _ in range(58):
            await session.request("tools/list")
        response = await session.request("tools/list")
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert response.json()["error"]["data"]["error"]["code"] == "rate_limited"
        notice = await bench.post({"jsonrpc": "2.0", "method": "notifications/cancelled"}, session.headers)
        assert notice.status_code == 429
        refused = (await session.request("tools/call", READ)).json()["result"]
        assert error_of(refused)["code"] == "rate_limited"


@in_loop
async def test_requests_under_way_beyond_the_share_are_refused_and_other_agents_go_on() -> None:
    """common 8.5, security 2.23"""
    async with LimitedBench({"connections": 2}) as bench:
        go_on = asyncio.Event()

        async def slow(sent: Sent) -> Record:
            await go_on.wait()
            return {"title": "Plan"}

        bench.caller.on("canvas_read", slow)
        held = [asyncio.create_task(bench.call("canvas_read", {"canvasId": "c"})) for _ in range(2)]
        await until(lambda: len(bench.caller.sent_of("canvas_read")) == 2)
        error = error_of(await bench.call("canvas_write", {"canvasId": "c"}))
        assert (error["code"], error["limit"]) == ("rate_limited", 2)
        other = await bench.modern("tools/call", {**READ, "name": "canvas_write"}, OTHER_TOKEN)
        assert other.json()["result"]["isError"] is False
        go_on.set()
        assert [(await each)["isError"] for each in held] == [False, False]
        assert (await bench.call("canvas_write", {"canvasId": "c"}))["isError"] is False


@in_loop
async def test_a_bad_token_is_401_whatever_its_agent_has_used() -> None:
    """common 2.3"""
    async with LimitedBench({"callsPerMinute": 60}) as bench:
        for _ in range(61):
            await bench.call("canvas_read", {"canvasId": "c"})
        bench.caller.on("authenticate", {"authenticated": False})
        assert (await bench.modern("tools/call", READ)).status_code == 401
