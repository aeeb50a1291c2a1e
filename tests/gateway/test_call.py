"""The journey of a tool call (common 2.3, 3, 4.1, 6)."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from bus import address
from bus.client import DeadlinePassed
from bus.limits import call_deadline_ms_default, result_bytes_max
from bus.value import Record
from tests.support.gateway_bench import (
    AGENT,
    STAMP,
    TOKEN_HASH,
    WORKSPACE,
    GatewayBench,
    error_of,
    in_loop,
)
from tests.support.scripted_caller import Error, Scripted, Sent
from tools.catalogue import TOOLS
from tools.errors import Code, Refusal

CANVAS = {"canvasId": "c1"}
STALE = Error({"code": "stale_stamp", "message": "", "retryable": True})


def admission(**fields: Any) -> Record:
    return {"authenticated": True, "refusal": None, "stamp": dict(STAMP), "waiting": 0, **fields}


def is_unknown_tool(response: httpx2.Response) -> bool:
    return bool(response.json()["error"]["code"] == -32602)


@in_loop
async def test_a_call_is_authenticated_then_admitted_then_sent_to_its_owner_with_the_stamp() -> None:
    async with GatewayBench() as bench:
        result = await bench.call("canvas_write", CANVAS)
        assert result["structuredContent"] == {"title": "Plan"}
        assert result["content"] == [{"type": "text", "text": '{"title":"Plan"}'}]
        assert result["isError"] is False
        authenticate, admit, write = bench.caller.sent
        assert (authenticate.verb, authenticate.to) == ("authenticate", address.agent(AGENT))
        assert (admit.verb, admit.to) == ("admit", address.agent(AGENT))
        assert admit.body == {
            "tokenHash": TOKEN_HASH,
            "tool": "canvas_write",
            "arguments": "valid",
            "capability": None,
            "family": "canvas",
            "kind": "write",
            "scope": "workspace",
        }
        assert (write.verb, write.to) == ("canvas_write", address.canvas(WORKSPACE, "c1"))
        assert (write.body, write.stamp) == (CANVAS, STAMP)


@in_loop
async def test_admission_gets_the_workspace_that_the_caller_claims() -> None:
    """common 3.2"""
    async with GatewayBench() as bench:
        await bench.call("canvas_read", {**CANVAS, "workspaceId": "other"})
        assert bench.caller.sent_of("admit")[0].body["workspaceId"] == "other"
        await bench.call("workspace_get", {"workspaceId": "other"})
        assert "workspaceId" not in bench.caller.sent_of("admit")[1].body


@in_loop
async def test_an_unknown_tool_is_a_protocol_error_that_admission_knows_of() -> None:
    """common 1.5, 6.1"""
    async with GatewayBench() as bench:
        for name in ("canvas_nothing", "workspace_switch", "Canvas_read", ""):
            assert is_unknown_tool(await bench.modern("tools/call", {"name": name, "arguments": {"x": []}}))
        assert {sent.body["arguments"] for sent in bench.caller.sent_of("admit")} == {"unknown_tool"}


@in_loop
async def test_bad_arguments_are_refused_before_anything_that_admission_could_say() -> None:
    """common 4.1"""
    async with GatewayBench() as bench:
        missing = Refusal(Code.CAPABILITY_MISSING, "You lack the mesh capability.")
        bench.caller.on("admit", admission(refusal=missing.to_record(), stamp=None))
        error = error_of(await bench.call("agent_get", {"agentId": 5}))
        assert error["code"] == "invalid_arguments"
        assert error["fields"] == [{"path": "agentId", "problem": "must be text"}]
        assert bench.caller.sent_of("admit")[0].body["arguments"] == "invalid"
        assert bench.caller.sent_of("agent_get") == []


@in_loop
async def test_what_admission_refuses_is_answered_and_not_sent() -> None:
    async with GatewayBench() as bench:
        refusal = Refusal(Code.APPROVAL_REQUIRED, "Ask the person.", details={"approvalId": "agent/-/a/1"})
        bench.caller.on("admit", admission(refusal=refusal.to_record(), stamp=None))
        assert error_of(await bench.call("canvas_remove", CANVAS)) == refusal.to_record()
        assert bench.caller.sent_of("canvas_remove") == []


@in_loop
async def test_a_credential_revoked_between_two_messages_is_401_or_where_it_is_too_late_for_that_a_result() -> None:
    """common 2.3"""
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        bench.caller.on("admit", {"authenticated": False})
        for name in ("canvas_write", "canvas_nothing"):
            params = {"name": name, "arguments": CANVAS}
            assert (await bench.modern("tools/call", params)).status_code == 401
            legacy = await session.request("tools/call", params)
            assert error_of(legacy.json()["result"])["code"] == "unidentified_caller"
        assert bench.caller.sent_of("canvas_write") == []


@in_loop
async def test_a_refusal_of_the_owner_is_answered_as_it_is() -> None:
    async with GatewayBench() as bench:
        refusal = Refusal(Code.ROLE_REQUIRED, "That takes an editor.", details={"limit": 3})
        bench.caller.on("canvas_write", refusal)
        assert error_of(await bench.call("canvas_write", CANVAS)) == refusal.to_record()


@in_loop
async def test_after_a_stale_stamp_the_call_is_admitted_anew_and_keeps_its_id() -> None:
    async with GatewayBench() as bench:
        admitted: list[Record] = [{**STAMP, "version": 2}, {**STAMP, "version": 1}]
        answers: list[Scripted] = [{"title": "Plan"}, STALE]
        bench.caller.on("admit", lambda sent: admission(stamp=admitted.pop()))
        bench.caller.on("canvas_write", lambda sent: answers.pop())
        assert (await bench.call("canvas_write", CANVAS))["isError"] is False
        first, second = bench.caller.sent_of("canvas_write")
        assert first.call_id == second.call_id
        assert (first.stamp, second.stamp) == ({**STAMP, "version": 1}, {**STAMP, "version": 2})
        # Under one id the agent owner's host would repeat the first, stale stamp.
        assert len({sent.call_id for sent in bench.caller.sent_of("admit")}) == 2


@in_loop
async def test_what_makes_something_new_goes_to_the_same_owner_on_every_try() -> None:
    """common 8.1: a host that was killed after its commit came back when the stamp had become stale."""
    async with GatewayBench() as bench:
        answers: list[Scripted] = [{"title": "Plan"}, STALE]
        bench.caller.on("canvas_new", lambda sent: answers.pop())
        assert (await bench.call("canvas_new"))["isError"] is False
        first, second = bench.caller.sent_of("canvas_new")
        assert (first.to, first.call_id) == (second.to, second.call_id)


@in_loop
async def test_stamps_that_stay_stale_end_as_unavailable() -> None:
    async with GatewayBench() as bench:
        bench.caller.on("canvas_write", STALE)
        error = error_of(await bench.call("canvas_write", CANVAS))
        assert (error["code"], error["retryable"]) == ("unavailable", True)
        assert len(bench.caller.sent_of("canvas_write")) == 3


@pytest.mark.parametrize(
    ("name", "was_sent", "code", "retryable"),
    [
        ("canvas_read", True, "unavailable", True),
        ("canvas_read", False, "unavailable", True),
        ("canvas_write", False, "unavailable", True),
        ("canvas_write", True, "outcome_unknown", False),
        ("canvas_remove", True, "outcome_unknown", False),
    ],
)
def test_silence_is_unavailable_unless_something_may_have_happened(
    name: str, was_sent: bool, code: str, retryable: bool
) -> None:
    """common 2.3, 8.3"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            bench.caller.on(name, DeadlinePassed(was_sent))
            error = error_of(await bench.call(name, CANVAS))
            assert (error["code"], error["retryable"]) == (code, retryable)

    scenario()


@in_loop
async def test_silence_of_admission_is_unavailable_whatever_was_asked() -> None:
    async with GatewayBench() as bench:
        bench.caller.on("admit", DeadlinePassed(was_sent=True))
        assert error_of(await bench.call("canvas_remove", CANVAS))["code"] == "unavailable"
        assert error_of(await bench.call("canvas_nothing"))["code"] == "unavailable"


@in_loop
async def test_what_waiting_for_the_agent_owner_took_is_taken_off_the_deadline() -> None:
    """common 6.4"""
    async with GatewayBench() as bench:

        def slow_admission(sent: Sent) -> Scripted:
            bench.clock.advance(12_000)
            return admission()

        bench.caller.on("admit", slow_admission)
        await bench.call("canvas_write", CANVAS)
        assert bench.caller.sent_of("authenticate")[0].within_ms == call_deadline_ms_default
        assert bench.caller.sent_of("canvas_write")[0].within_ms == call_deadline_ms_default - 12_000


@in_loop
async def test_a_call_whose_deadline_has_passed_is_not_sent() -> None:
    async with GatewayBench() as bench:

        def slow_admission(sent: Sent) -> Scripted:
            bench.clock.advance(call_deadline_ms_default)
            return admission()

        bench.caller.on("admit", slow_admission)
        assert error_of(await bench.call("canvas_write", CANVAS))["code"] == "unavailable"
        assert bench.caller.sent_of("canvas_write") == []


@in_loop
async def test_every_result_says_what_waits_by_admissions_count() -> None:
    """common 1.11"""
    async with GatewayBench() as bench:
        bench.caller.on("admit", admission(waiting=9))
        assert (await bench.call("canvas_read", CANVAS))["_meta"]["nexus/waiting"] == 9
        assert (await bench.call("canvas_read", {}))["_meta"]["nexus/waiting"] == 9
        bench.caller.on("admit", DeadlinePassed(was_sent=False))
        assert (await bench.call("canvas_read", CANVAS))["_meta"]["nexus/waiting"] == bench.waiting


@pytest.mark.parametrize("answer", [{"name": "Plan"}, {"title": 5}, {"title": b"bytes"}, {"title": "a", "more": 1}])
def test_a_result_that_does_not_fit_the_output_model_is_internal_with_an_incident_id_only(answer: Record) -> None:
    """common 1.6, 7.4"""

    @in_loop
    async def scenario() -> None:
        async with GatewayBench() as bench:
            bench.caller.on("canvas_read", answer)
            error = error_of(await bench.call("canvas_read", CANVAS))
            assert error["code"] == "internal"
            assert set(error) == {"code", "message", "retryable", "incidentId"}

    scenario()


@in_loop
async def test_a_refusal_outside_the_enumeration_is_internal() -> None:
    async with GatewayBench() as bench:
        bench.caller.on("canvas_read", Error({"code": "odd"}))
        assert error_of(await bench.call("canvas_read", CANVAS))["code"] == "internal"


@in_loop
async def test_a_result_over_the_bound_asks_for_less_if_it_was_read_and_is_a_defect_if_it_was_written() -> None:
    """common 6.4"""
    async with GatewayBench() as bench:
        too_long: Record = {"title": "x" * result_bytes_max}
        bench.caller.on("canvas_read", too_long)
        bench.caller.on("canvas_write", too_long)
        assert error_of(await bench.call("canvas_read", CANVAS))["code"] == "too_large"
        assert error_of(await bench.call("canvas_write", CANVAS))["code"] == "internal"
        bench.caller.on("canvas_read", {"title": "x" * (result_bytes_max - len('{"title":""}'))})
        assert (await bench.call("canvas_read", CANVAS))["isError"] is False


@in_loop
async def test_an_outcome_of_a_canvas_is_a_result_and_no_error() -> None:
    """common 6.1"""
    async with GatewayBench() as bench:
        bench.caller.on("canvas_write", {"title": "conflict"})
        assert (await bench.call("canvas_write", CANVAS))["isError"] is False


@in_loop
async def test_text_content_is_compact_json_in_utf8() -> None:
    """common 1.6"""
    async with GatewayBench() as bench:
        bench.caller.on("canvas_read", {"title": "Ünïcode 😀"})
        result = await bench.call("canvas_read", CANVAS)
        assert result["content"][0]["text"] == '{"title":"Ünïcode 😀"}'


@in_loop
async def test_an_owners_cursor_leaves_sealed_and_comes_back_as_the_owner_made_it() -> None:
    """common 7.3, security 2.11"""
    async with GatewayBench(TOOLS) as bench:
        page: Record = {"revision": 1, "untrusted": True, "source": "canvas", "elements": [], "nextCursor": "place 7"}
        bench.caller.on("canvas_query_region", page)
        query: dict[str, Any] = {**CANVAS, "x": 0, "y": 0, "width": 9, "height": 9}
        cursor = (await bench.call("canvas_query_region", query))["structuredContent"]["nextCursor"]
        assert "place" not in cursor
        await bench.call("canvas_query_region", {**query, "cursor": cursor})
        assert [body.get("cursor") for body in bench.caller.bodies("canvas_query_region")] == [None, "place 7"]
        bench.caller.on("admit", admission(stamp={**STAMP, "agentId": "another"}))
        for more in ({"cursor": cursor}, {"cursor": "place 7"}):
            error = error_of(await bench.call("canvas_query_region", {**query, **more}))
            assert (error["code"], error["fields"][0]["path"]) == ("invalid_arguments", "cursor")
        assert len(bench.caller.bodies("canvas_query_region")) == 2, "the owner was asked about a foreign cursor"
