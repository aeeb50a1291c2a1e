"""Attack 11: request states, accepted elicitations, idempotency keys and cursors of agent A used by B, and by A again
(contract/security.md 2). Gateway and owners are the product's, in one loop."""

from __future__ import annotations

import base64
from typing import Any, Final

import pytest

from tests.gateway.test_input_requests import ACCEPTED, PERSONA, TOOL, URL, asked, call, code_of, persona
from tests.support.gateway_bench import in_loop
from tests.support.served_home import ServedHome

REFUSED: Final = {
    "code": -32602,
    "message": "Invalid or expired requestState",
    "data": {"reason": "invalid_request_state"},
}


async def as_bob(home: ServedHome, **rest: Any) -> dict[str, Any]:
    params = {"name": TOOL, "arguments": PERSONA, **rest}
    return await home.request(home.tokens["bob"], "tools/call", params, URL)


@in_loop
async def test_a_request_state_of_one_agent_is_of_no_use_to_another() -> None:
    """security 2.11"""
    async with ServedHome() as home:
        for agent in ("ada", "bob"):
            await home.set_mode(agent, "approval")
        state = await asked(home)
        (approval,) = await home.pending("ada")
        await home.decide(approval, "approve")
        assert (await as_bob(home, requestState=state, inputResponses=ACCEPTED))["error"] == REFUSED
        assert await home.pending("bob") == [], "it was not even asked for"
        assert "result" in await call(home, requestState=state, inputResponses=ACCEPTED)
        assert await persona(home) == PERSONA["persona"], "to its own agent it still is"


@in_loop
async def test_an_accepted_elicitation_without_a_state_lets_nothing_run() -> None:
    """security 2.11"""
    async with ServedHome() as home:
        for agent in ("ada", "bob"):
            await home.set_mode(agent, "approval")
        await asked(home)
        (approval,) = await home.pending("ada")
        await home.decide(approval, "approve")
        answer = await as_bob(home, inputResponses=ACCEPTED)
        assert answer["result"]["resultType"] == "input_required", "of bob's own call"
        assert len(await home.pending("bob")) == 1


@in_loop
async def test_an_accepted_elicitation_approves_nothing() -> None:
    """common 5.5, security 2.11"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        assert (await call(home, inputResponses=ACCEPTED))["result"]["resultType"] == "input_required"
        assert await persona(home) is None
        assert len(await home.pending("ada")) == 1


@in_loop
async def test_a_request_state_is_of_use_once() -> None:
    """security 2.11"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        state = await asked(home)
        (approval,) = await home.pending("ada")
        await home.decide(approval, "approve")
        retry: dict[str, Any] = {"requestState": state, "inputResponses": ACCEPTED}
        assert (await call(home, **retry))["result"]["isError"] is False
        assert (await call(home, **retry))["error"] == REFUSED


@in_loop
async def test_a_request_state_that_ran_is_of_no_use_to_a_gateway_that_has_forgotten_it() -> None:
    """security 2.11"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        state, other = await asked(home), await asked(home)
        (approval,) = await home.pending("ada")
        await home.decide(approval, "approve")
        assert (await call(home, requestState=state, inputResponses=ACCEPTED))["result"]["isError"] is False
        await home.stop_gateway()
        await home.start_gateway()
        for each in (state, other):
            assert (await call(home, requestState=each, inputResponses=ACCEPTED))["error"] == REFUSED
        assert await home.pending("ada") == []


@in_loop
async def test_a_request_state_is_of_use_to_the_call_that_it_was_made_for_alone() -> None:
    """security 2.3, 2.11"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        state = await asked(home)
        (approval,) = await home.pending("ada")
        await home.decide(approval, "approve")
        other = {"persona": "Counts stars."}
        assert (await call(home, other, requestState=state, inputResponses=ACCEPTED))["error"] == REFUSED
        params = {"name": "canvas_create", "arguments": PERSONA, "requestState": state}
        assert (await home.request(home.tokens["ada"], "tools/call", params, URL))["error"] == REFUSED
        assert await persona(home) is None


@pytest.mark.parametrize("where", [0, 20, 40, -1])
def test_a_request_state_that_was_changed_is_refused(where: int) -> None:
    """security 2.11"""

    @in_loop
    async def scenario() -> None:
        async with ServedHome() as home:
            await home.set_mode("ada", "approval")
            raw = bytearray(base64.urlsafe_b64decode(await asked(home) + "=="))
            raw[where] ^= 1
            forged = base64.urlsafe_b64encode(raw).decode().rstrip("=")
            for state in (forged, "", "v1.AAAA", "é", "x" * 5_000):
                assert (await call(home, requestState=state, inputResponses=ACCEPTED))["error"] == REFUSED

    scenario()


@in_loop
async def test_an_idempotency_key_of_one_agent_says_nothing_to_another() -> None:
    """common 8.2, security 2.11"""
    async with ServedHome() as home:
        made = [await keyed(home, agent, "same key") for agent in ("ada", "bob", "ada")]
        assert made[0] == made[2] != made[1]


async def keyed(home: ServedHome, agent: str, key: str) -> str:
    meta = {"nexus/idempotencyKey": key}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    arguments = {"title": "Plan", "reason": "test"}
    session = await home.legacy_session(home.tokens[agent])
    params = {"name": "canvas_create", "arguments": arguments, "_meta": meta}
    answer = (await home.post({**message, "params": params}, session.headers, home.tokens[agent])).json()
    return str(answer["result"]["structuredContent"]["canvasId"])


@in_loop
async def test_a_cursor_of_one_agent_is_of_no_use_to_another() -> None:
    """common 7.3, security 2.11"""
    async with ServedHome() as home:
        for _ in range(3):
            await home.trigger("bob", "ada")
            await home.trigger("ada", "bob")
        first = await home.content(home.tokens["ada"], "agent_inbox", {"limit": 1})
        cursor = first["nextCursor"]
        params = {"name": "agent_inbox", "arguments": {"limit": 1, "cursor": cursor}}
        assert code_of(await home.request(home.tokens["bob"], "tools/call", params)) == "invalid_arguments"
        assert (await home.request(home.tokens["ada"], "tools/call", params))["result"]["isError"] is False
