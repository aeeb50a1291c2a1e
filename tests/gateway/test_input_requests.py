"""Approvals by multi-round-trip request: the official client over the product's server and owners (common 5.6)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from typing import Any, Final

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from bus.clock import ManualClock
from bus.limits import input_hold_ms_max, input_state_ms
from bus.topics import approval_topic
from nexus.gateway import approvals_page
from nexus.gateway.admitting import ToolRequest
from nexus.gateway.call import Answer, refused
from nexus.gateway.cursor import CursorSeal
from nexus.gateway.identity import Credential, Identity
from nexus.gateway.input_requests import InputRequests, Round
from tests.support.gateway_bench import in_loop
from tests.support.loop import until
from tests.support.scripted_caller import ScriptedCaller, Sent
from tests.support.served_home import WAIT_SECONDS, ServedHome
from tools.errors import approval_required

TOOL: Final = "agent_update_self"
PERSONA: Final = {"persona": "Counts beans."}
URL: Final[dict[str, Any]] = {"elicitation": {"url": {}}}
ACCEPTED: Final = {"approval": {"action": "accept"}}


async def persona(home: ServedHome) -> object:
    told = await home.content(home.tokens["ada"], "agent_get", {"agentId": "ada"})
    return None if told["persona"] is None else told["persona"]["text"]


async def call(
    home: ServedHome, arguments: dict[str, Any] = PERSONA, capabilities: dict[str, Any] = URL, **rest: Any
) -> dict[str, Any]:
    """The JSON-RPC message that answers ada's call; `rest` are further parameters of it."""
    params = {"name": TOOL, "arguments": arguments, **rest}
    return await home.request(home.tokens["ada"], "tools/call", params, capabilities)


async def asked(home: ServedHome) -> str:
    """The request state of a call that needs approval."""
    result = (await call(home))["result"]
    assert result["resultType"] == "input_required"
    return str(result["requestState"])


def code_of(message: dict[str, Any]) -> str:
    return str(message["result"]["structuredContent"]["error"]["code"])


class Person:
    """What the client's elicitation does: it notes what it is shown; the person decides before it answers."""

    def __init__(self, home: ServedHome, decision: str | None, action: str = "accept") -> None:
        self.home = home
        self.decision = decision
        self.action = action
        self.shown: list[types.ElicitRequestURLParams] = []

    async def __call__(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        self.shown.append(params)
        if self.decision is not None:
            (approval,) = await self.home.pending("ada")
            await self.home.decide(approval, self.decision)
        return types.ElicitResult(action=self.action)


@in_loop
async def test_a_call_that_the_person_approves_while_the_client_shows_the_address_runs_once() -> None:
    """common 5.2, 5.6"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        person = Person(home, "approve")
        async with home.client(home.tokens["ada"], "2026-07-28", elicitation_callback=person) as client:
            result = await client.call_tool(TOOL, dict(PERSONA))
        assert result.is_error is False and await persona(home) == "Counts beans."
        (shown,) = person.shown
        assert shown.url == f"{home.url}/approvals"
        assert "ada" not in shown.model_dump_json(), "no id, no name"
        assert await home.pending("ada") == []


@in_loop
async def test_a_retry_is_held_until_the_person_approves_and_then_runs() -> None:
    """common 5.6"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        async with home.client(home.tokens["ada"], "2026-07-28", elicitation_callback=Person(home, None)) as client:
            calling = asyncio.create_task(client.call_tool(TOOL, dict(PERSONA)))
            await held(home)
            (approval,) = await home.pending("ada")
            assert not calling.done() and await persona(home) is None
            await home.decide(approval, "approve")
            result = await asyncio.wait_for(calling, WAIT_SECONDS)
        assert result.is_error is False and await persona(home) == "Counts beans."


@in_loop
async def test_a_retry_that_is_held_is_told_that_the_person_denies() -> None:
    """common 5.2, 5.6"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        async with home.client(home.tokens["ada"], "2026-07-28", elicitation_callback=Person(home, None)) as client:
            calling = asyncio.create_task(client.call_tool(TOOL, dict(PERSONA)))
            await held(home)
            (approval,) = await home.pending("ada")
            await home.decide(approval, "deny")
            result = await asyncio.wait_for(calling, WAIT_SECONDS)
        assert result.is_error and result.structured_content["error"]["code"] == "approval_denied"
        assert await persona(home) is None


async def held(home: ServedHome) -> None:
    """Returns when a retry waits for the person."""
    hosts = [running.host for running in home.hosts.running]
    await until(lambda: sum(host.listening.topics for host in hosts) == 1)


@in_loop
async def test_a_retry_that_is_held_is_told_when_its_credential_is_revoked() -> None:
    """common 2.1, 5.6, security 2.10"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        home.tokens["ada"] = await home.credential("ada", "spare")
        retry = asyncio.create_task(call(home, requestState=await asked(home), inputResponses=ACCEPTED))
        await held(home)
        await home.revoke("ada", "spare")
        assert code_of(await asyncio.wait_for(retry, WAIT_SECONDS)) == "unidentified_caller"


@in_loop
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_client_that_declines_gets_the_plain_refusal_and_nothing_runs(action: str) -> None:
    """common 5.1, 5.6"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        person = Person(home, "approve", action)
        async with home.client(home.tokens["ada"], "2026-07-28", elicitation_callback=person) as client:
            result = await client.call_tool(TOOL, dict(PERSONA))
        assert result.is_error and result.structured_content["error"]["code"] == "approval_required"
        assert await persona(home) is None, "although the person has approved it"


@in_loop
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_cannot_show_an_address_gets_the_plain_refusal(mode: str) -> None:
    """common 5.1"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        async with home.client(home.tokens["ada"], mode) as client:
            result = await client.call_tool(TOOL, dict(PERSONA))
        assert result.is_error and result.structured_content["error"]["code"] == "approval_required"
        kinds: tuple[dict[str, Any], ...] = ({}, {"form": {}})
        for elicitation in kinds:
            declared: dict[str, Any] = {"elicitation": elicitation}
            assert code_of(await call(home, capabilities=declared)) == "approval_required"


@in_loop
async def test_an_older_client_that_can_show_an_address_gets_the_plain_refusal_too() -> None:
    """common 5.6: there are no such rounds in the older era."""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        person = Person(home, "approve")
        async with home.client(home.tokens["ada"], "legacy", elicitation_callback=person) as client:
            result = await client.call_tool(TOOL, dict(PERSONA))
        assert result.is_error and person.shown == []


@in_loop
async def test_a_state_of_a_denied_call_answers_the_denial_and_other_refusals_are_no_requests() -> None:
    """common 5.2"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        state = await asked(home)
        (approval,) = await home.pending("ada")
        await home.decide(approval, "deny")
        assert code_of(await call(home, requestState=state, inputResponses=ACCEPTED)) == "approval_denied"
        assert code_of(await call(home)) == "approval_denied"


# Held alone, over scripted owners, so that time can pass.

IDENTITY: Final = Identity(Credential("ada", b"h" * 32), 2)


class Alone:
    """Input requests whose call is refused `approval_required` until `is_approved`; `state` is the approval's."""

    def __init__(self, hold_ms: int = input_hold_ms_max) -> None:
        self.clock = ManualClock()
        self.bus = ScriptedCaller()
        self.state: str | None = "pending"
        self.is_approved = False
        self.started: list[int] = []
        self.bus.on("approval_state", self._state)
        self.inputs = InputRequests(
            self.bus, self.clock, CursorSeal(bytes(32)), "http://127.0.0.1:1/approvals", hold_ms
        )

    def _state(self, sent: Sent) -> dict[str, Any]:
        assert sent.body == {"tokenHash": b"h" * 32, "approvalId": "ada.1"} and str(sent.to) == "agent/-/ada"
        return {"authenticated": True, "state": self.state}

    async def answer(self, request: ToolRequest) -> Answer:
        self.started.append(request.started_ms)
        if self.is_approved:
            return Answer({"ran": True}, b"{}", False, 0)
        return refused(approval_required("ada.1"), 2)

    def request(self) -> ToolRequest:
        return ToolRequest(IDENTITY, TOOL, PERSONA, {}, self.clock.now_ms())

    async def asked(self) -> str:
        first = await self.inputs.call(self.request(), Round(True), self.answer)
        assert isinstance(first, types.InputRequiredResult) and first.request_state is not None
        return first.request_state

    async def again(self, state: str, action: str | None = "accept") -> Answer | types.InputRequiredResult:
        return await self.inputs.call(self.request(), Round(True, state, action), self.answer)


@in_loop
async def test_what_nobody_decides_in_time_is_asked_for_again() -> None:
    """common 5.6"""
    alone = Alone(hold_ms=1)
    state = await alone.asked()
    second = await alone.again(state)
    assert isinstance(second, types.InputRequiredResult) and second.request_state not in (None, state)
    assert alone.bus.listeners[approval_topic("ada.1")] == [], "nobody listens any more"


@in_loop
async def test_an_approved_call_has_its_whole_deadline_after_it_was_held() -> None:
    """common 5.6, 6.4"""
    alone = Alone()
    state = await alone.asked()
    retry = asyncio.ensure_future(alone.again(state))
    await until(lambda: len(alone.bus.sent_of("approval_state")) == 2)
    alone.clock.advance(20_000)
    alone.state, alone.is_approved = "approved", True
    alone.bus.notice(approval_topic("ada.1"), {"state": "approved"})
    assert await retry == Answer({"ran": True}, b"{}", False, 0)
    assert alone.started[-1] == alone.clock.now_ms()


@in_loop
async def test_a_state_is_good_for_an_hour() -> None:
    """security 2.11"""
    alone = Alone()
    state = await alone.asked()
    alone.clock.advance(input_state_ms)
    with pytest.raises(MCPError, match="Invalid or expired requestState"):
        await alone.again(state)


@in_loop
async def test_a_client_that_went_away_while_it_was_held_may_come_again_with_its_state() -> None:
    alone = Alone()
    state = await alone.asked()
    retry = asyncio.ensure_future(alone.again(state))
    await until(lambda: len(alone.bus.sent_of("approval_state")) == 2)
    retry.cancel()
    await asyncio.wait((retry,))
    alone.state, alone.is_approved = "approved", True
    assert isinstance(await alone.again(state), Answer)


@in_loop
@pytest.mark.parametrize("state", ["in_use", "used", None])
async def test_a_state_of_an_approval_that_has_run_or_is_not_known_is_refused(state: str | None) -> None:
    """security 2.11: also when this gateway has forgotten that it was used."""
    alone = Alone()
    request_state = await alone.asked()
    alone.state = state
    with pytest.raises(MCPError) as failure:
        await alone.again(request_state)
    assert failure.value.code == -32602 and len(alone.started) == 1


# The page.


@in_loop
async def test_the_page_names_the_commands_and_holds_nothing_else() -> None:
    """common 5.6"""
    async with ServedHome() as home:
        await home.set_mode("ada", "approval")
        before = await home.http.get("/approvals?approvalId=ada.1#x")
        await asked(home)
        page = await home.http.get("/approvals")
        assert before.content == page.content, "it is the same whatever waits"
        for command in ("list", "show", "approve", "deny"):
            assert f"nexus approvals {command}" in page.text
        assert re.search(r"<script|<form|<img|<link|href|src=|\bon[a-z]+=", page.text) is None
        policy = page.headers["content-security-policy"]
        (style,) = re.findall(r"<style>(.*)</style>", page.text)
        allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert policy.startswith(f"default-src 'none'; style-src 'sha256-{allowed}'")
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert (page.headers["x-content-type-options"], page.headers["cache-control"]) == ("nosniff", "no-store")


@in_loop
async def test_the_page_is_only_read_and_only_by_who_was_addressed_here() -> None:
    """common 2.5"""
    async with ServedHome() as home:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
            assert (await home.http.request(method, approvals_page.PATH)).status_code == 405
        assert (await home.http.get("/approvals", headers={"host": "evil.example"})).status_code == 421
        assert (await home.http.get("/approvals", headers={"origin": "http://evil.example"})).status_code == 403
