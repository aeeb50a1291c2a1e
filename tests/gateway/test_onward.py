"""The call that rides on its admission, as the gateway sends it and hears of it (docs/decisions/0007)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bus import address
from bus.client import DeadlinePassed
from bus.envelope import Onward
from bus.value import Record
from tests.support.gateway_bench import STAMP, WORKSPACE, GatewayBench, TitleOutput, error_of, in_loop, tool
from tests.support.scripted_caller import Error, Scripted, Sent, WentOn
from tools.base import PageCursor, Route, ScopedInput
from tools.errors import Code, Refusal

CANVAS: Record = {"canvasId": "c1"}
STALE = Error({"code": "stale_stamp", "message": "", "retryable": True})


class PagesInput(ScopedInput):
    cursor: PageCursor = None


class PageOutput(TitleOutput):
    nextCursor: str | None = None


PAGES = replace(tool("canvas_list", Route.WORKSPACE, arguments=PagesInput), output=PageOutput)


def told(**fields: Any) -> Record:
    return {"authenticated": True, "waiting": 5, "stamp": dict(STAMP), **fields}


@in_loop
async def test_a_call_rides_on_its_admission_addressed_under_the_scope_that_the_caller_had_a_moment_ago() -> None:
    async with GatewayBench() as bench:
        bench.caller.on("admit", lambda sent: WentOn(told(), {"title": "Plan"}))
        result = await bench.call("canvas_write", CANVAS)
        assert result["structuredContent"] == {"title": "Plan"}
        assert result["_meta"]["nexus/waiting"] == 5
        [admit] = bench.caller.sent_of("admit")
        assert admit.onward is not None
        to = address.canvas(WORKSPACE, "c1")
        assert admit.onward == Onward(admit.onward.call_id, to, "canvas_write", CANVAS, WORKSPACE)
        assert admit.onward.call_id != admit.call_id
        assert bench.caller.sent_of("canvas_write") == [], "its host has sent it on"


@in_loop
async def test_what_did_not_go_on_is_sent_under_the_same_id() -> None:
    async with GatewayBench() as bench:
        await bench.call("canvas_write", CANVAS)
        [admit], [write] = bench.caller.sent_of("admit"), bench.caller.sent_of("canvas_write")
        assert admit.onward is not None
        assert admit.onward.call_id == write.call_id


@in_loop
async def test_a_refusal_of_the_owner_comes_back_like_any_other() -> None:
    async with GatewayBench() as bench:
        refusal = Refusal(Code.ROLE_REQUIRED, "That takes an editor.", details={"limit": 3})
        bench.caller.on("admit", WentOn(told(), Error(refusal.to_record())))
        assert error_of(await bench.call("canvas_write", CANVAS)) == refusal.to_record()


@in_loop
async def test_a_call_whose_stamp_was_stale_when_it_went_on_is_admitted_again_under_its_id() -> None:
    """common 2.1"""
    async with GatewayBench() as bench:
        answers: list[Scripted] = [WentOn(told(), {"title": "Plan"}), WentOn(told(), STALE)]
        bench.caller.on("admit", lambda sent: answers.pop())
        assert (await bench.call("canvas_new"))["structuredContent"] == {"title": "Plan"}
        first, second = bench.caller.sent_of("admit")
        assert first.onward == second.onward
        assert first.call_id != second.call_id


@in_loop
@pytest.mark.parametrize(
    ("name", "passed", "code"),
    [
        ("canvas_write", DeadlinePassed(was_sent=True, went_on=True), "outcome_unknown"),
        ("canvas_read", DeadlinePassed(was_sent=True, went_on=True), "unavailable"),
        ("canvas_write", DeadlinePassed(was_sent=True, went_on=False), "unavailable"),
        ("canvas_write", DeadlinePassed(was_sent=False), "unavailable"),
    ],
)
async def test_a_write_that_may_have_gone_on_and_is_not_answered_has_an_unknown_outcome(
    name: str, passed: DeadlinePassed, code: str
) -> None:
    """common 8.3"""
    async with GatewayBench() as bench:
        bench.caller.on("admit", passed)
        assert error_of(await bench.call(name, CANVAS))["code"] == code


@in_loop
async def test_what_has_no_single_owner_or_does_not_fit_does_not_ride_along() -> None:
    tools = (tool("tool_list", Route.COMPOSED), tool("agent_get", Route.NAMED_AGENT))
    async with GatewayBench(tools) as bench:
        refusal = Refusal(Code.CAPABILITY_MISSING, "You lack it.").to_record()
        bench.caller.on("admit", {"authenticated": True, "waiting": 0, "refusal": refusal})
        await bench.call("tool_list")
        await bench.call("agent_get", {"nothing": 1})
        assert [sent.onward for sent in bench.caller.sent_of("admit")] == [None, None]


@in_loop
async def test_an_admission_that_brings_what_was_asked_for_carries_the_call_once() -> None:
    """docs/decisions/0009: the arguments are in it already, and its host decides it like any other message."""
    async with GatewayBench() as bench:
        look: Record = {**STAMP, "look": True}
        left = [told(stamp={**STAMP, "dispatched": True}, callId="x"), told(needs=["call"], stamp=look)]
        bench.caller.on("admit", lambda sent: left.pop())
        await bench.call("canvas_write", CANVAS)
        first, second = bench.caller.sent_of("admit")
        assert first.onward is not None
        assert "call" in second.body
        assert second.onward is None


@in_loop
async def test_what_goes_on_and_comes_back_has_its_cursor_opened_and_sealed_like_what_is_sent() -> None:
    """common 7.3"""
    async with GatewayBench((PAGES,)) as bench:
        seen: list[Record] = []

        def page(sent: Sent) -> Scripted:
            assert sent.onward is not None
            seen.append(sent.onward.body)
            return WentOn(told(), {"title": "Plan", "nextCursor": "row 7"})

        bench.caller.on("admit", page)
        first = (await bench.call("canvas_list"))["structuredContent"]["nextCursor"]
        assert first != "row 7"
        second = (await bench.call("canvas_list", {"cursor": first}))["structuredContent"]["nextCursor"]
        assert seen == [{}, {"cursor": "row 7"}]
        assert second == first, "sealed to agent, scope, tool and query"
        bench.caller.on("admit", lambda sent: told())
        assert error_of(await bench.call("canvas_list", {"cursor": "forged"}))["code"] == "invalid_arguments"
        assert bench.caller.sent_of("admit")[-1].onward is None
