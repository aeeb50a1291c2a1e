"""What the gateway brings when admission asks for it (docs/decisions/0009-authority.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bus import address
from bus.client import DeadlinePassed
from bus.value import Record
from nexus.gateway.arguments import canonical_hash
from tests.support.gateway_bench import STAMP, TOOLS, WORKSPACE, GatewayBench, error_of, in_loop
from tests.support.scripted_caller import Error, Scripted, Sent
from tools.errors import Code, Refusal

CANVAS = {"canvasId": "c1"}
LOOK_STAMP: Record = {**STAMP, "look": True}
STALE = Error({"code": "stale_stamp", "message": "", "retryable": True})
REQUIRED = Refusal(Code.APPROVAL_REQUIRED, "Ask.", retryable=True, details={"approvalId": "agent7.1"})


def told(**fields: Any) -> Record:
    return {"authenticated": True, "waiting": 0, **fields}


def wants(*what: str) -> Record:
    return told(needs=[*what], stamp=LOOK_STAMP)


def scripted(bench: GatewayBench, *answers: Record) -> None:
    """Admission answers these, one after the other."""
    left = list(answers)
    bench.caller.on("admit", lambda sent: left.pop(0))


@in_loop
async def test_admission_that_wants_the_call_gets_it_with_the_target_and_what_makes_calls_alike() -> None:
    """common 5.2"""
    async with GatewayBench() as bench:
        scripted(bench, wants("call"), told(stamp={**STAMP, "dispatched": True}, callId="x"))
        await bench.call("canvas_write", {**CANVAS, "limit": 3})
        first, second = bench.caller.sent_of("admit")
        assert "call" not in first.body
        call = second.body["call"]
        assert isinstance(call, dict)
        assert call["arguments"] == {**CANVAS, "limit": 3}
        assert call["target"] == str(address.canvas(WORKSPACE, "c1"))
        assert call["sameCall"] == canonical_hash({**CANVAS, "limit": 3})
        assert call["workspaceId"] == WORKSPACE


@in_loop
async def test_a_dispatched_call_is_joined_under_its_id_and_not_sent_again() -> None:
    """common 8.1"""
    async with GatewayBench() as bench:
        stamp = {**STAMP, "dispatched": True}
        scripted(bench, wants("call"), told(stamp=stamp, callId="earlier"))
        assert (await bench.call("canvas_write", CANVAS))["structuredContent"] == {"title": "Plan"}
        [joined] = bench.caller.sent_of("canvas_write")
        assert (joined.call_id, joined.body, joined.stamp) == ("earlier", {}, stamp)


@in_loop
async def test_a_dispatched_call_that_is_not_answered_in_time_has_an_unknown_outcome_even_if_the_join_never_left() -> (
    None
):
    """common 8.3"""
    async with GatewayBench() as bench:
        scripted(bench, wants("call"), told(stamp={**STAMP, "dispatched": True}, callId="x"))
        bench.caller.on("canvas_write", DeadlinePassed(was_sent=False))
        assert error_of(await bench.call("canvas_write", CANVAS))["code"] == "outcome_unknown"


@in_loop
async def test_a_look_goes_to_the_target_under_an_id_of_its_own_and_comes_back_to_admission() -> None:
    """common 4.6"""
    async with GatewayBench() as bench:
        verdict: Record = {"would": {"ok": {"title": "Plan"}}, "fingerprint": {"title": "Plan"}}
        scripted(bench, wants("call"), wants("call", "look"), told(refusal=REQUIRED.to_record(), isNewCard=True))
        bench.caller.on("canvas_remove", verdict)
        assert error_of(await bench.call("canvas_remove", CANVAS)) == REQUIRED.to_record()
        [look] = bench.caller.sent_of("canvas_remove")
        admissions = bench.caller.sent_of("admit")
        call = admissions[2].body["call"]
        assert isinstance(call, dict)
        assert look.stamp == LOOK_STAMP
        assert look.call_id != call["callId"]
        assert admissions[2].body["look"] == verdict


@in_loop
@pytest.mark.parametrize(
    ("would", "answer"),
    [
        (
            {"error": Refusal(Code.NOT_FOUND, "No.").to_record()},
            {"error": Refusal(Code.NOT_FOUND, "No.").to_record()},
        ),
        ({"ok": {"title": "conflict"}}, {"title": "conflict"}),
    ],
)
async def test_what_is_certain_to_fail_is_answered_as_its_owner_would_say_it(would: Record, answer: Record) -> None:
    """common 4.6"""
    async with GatewayBench() as bench:
        scripted(bench, wants("call", "look"), told(asLooked=True))
        bench.caller.on("canvas_remove", {"would": would, "fingerprint": None})
        assert (await bench.call("canvas_remove", CANVAS))["structuredContent"] == answer


@in_loop
async def test_a_look_under_an_authority_that_changed_meanwhile_begins_admission_anew() -> None:
    """common 2.1"""
    async with GatewayBench() as bench:
        looks: list[Scripted] = [{"would": {"open": True}, "fingerprint": None}, STALE]
        bench.caller.on("canvas_remove", lambda sent: looks.pop())
        scripted(bench, wants("call", "look"), wants("call", "look"), told(refusal=REQUIRED.to_record()))
        await bench.call("canvas_remove", CANVAS)
        assert ["look" in sent.body for sent in bench.caller.sent_of("admit")] == [False, False, True]


@in_loop
async def test_an_owner_that_cannot_be_looked_at_refuses_the_call_before_a_card() -> None:
    """common 4.6"""
    async with GatewayBench() as bench:
        full = Refusal(Code.STORAGE_FULL, "Full.")
        bench.caller.on("canvas_remove", full)
        scripted(bench, wants("call", "look"), told(asLooked=True))
        assert error_of(await bench.call("canvas_remove", CANVAS)) == full.to_record()


@in_loop
async def test_admission_that_never_comes_to_an_end_is_unavailable() -> None:
    async with GatewayBench() as bench:
        bench.caller.on("admit", wants("call"))
        assert error_of(await bench.call("canvas_write", CANVAS))["code"] == "unavailable"
        assert bench.caller.sent_of("canvas_write") == []


@in_loop
async def test_a_collected_call_is_a_success_that_says_that_nothing_was_executed() -> None:
    """common 4.4"""
    async with GatewayBench() as bench:
        form: Record = {"executed": False, "status": "collected", "planId": "p", "stepId": "p.1", "message": "Noted."}
        scripted(bench, wants("call", "look"), told(answer=form))
        bench.caller.on("canvas_write", {"would": {"ok": {}}, "fingerprint": None})
        result = await bench.call("canvas_write", CANVAS)
        assert (result["isError"], result["structuredContent"]) == (False, form)


@in_loop
async def test_each_new_card_is_told_of_once_and_repeats_are_not() -> None:
    """common 5.1"""
    appeared: list[None] = []
    async with GatewayBench(card_appeared=lambda: appeared.append(None)) as bench:
        scripted(bench, told(refusal=REQUIRED.to_record(), isNewCard=True), told(refusal=REQUIRED.to_record()))
        await bench.call("canvas_remove", CANVAS)
        await bench.call("canvas_remove", CANVAS)
        assert len(appeared) == 1


@in_loop
async def test_what_a_tool_declares_volatile_does_not_make_another_call() -> None:
    """common 5.2"""
    remove = next(tool for tool in TOOLS if tool.name == "canvas_remove")
    volatile = replace(remove, volatile=frozenset({"limit"}))
    async with GatewayBench((volatile,)) as bench:
        same: list[Any] = []

        def admit(sent: Sent) -> Record:
            call = sent.body.get("call")
            if not isinstance(call, dict):
                return wants("call")
            same.append(call["sameCall"])
            return told(refusal=REQUIRED.to_record())

        bench.caller.on("admit", admit)
        for arguments in ({**CANVAS, "limit": 3}, {**CANVAS, "limit": 4}, {"canvasId": "c2"}):
            await bench.call("canvas_remove", arguments)
        assert same[0] == same[1] != same[2]


@in_loop
async def test_an_admission_that_had_the_call_and_is_not_answered_has_an_unknown_outcome() -> None:
    """common 8.3: the agent's owner may have sent the call on, or collected it"""
    async with GatewayBench() as bench:
        answers: list[Scripted] = [DeadlinePassed(was_sent=True), wants("call")]
        bench.caller.on("admit", lambda sent: answers.pop())
        assert error_of(await bench.call("canvas_write", CANVAS))["code"] == "outcome_unknown"


@in_loop
async def test_an_admission_without_the_call_that_is_not_answered_changed_nothing() -> None:
    """common 8.3"""
    async with GatewayBench() as bench:
        bench.caller.on("admit", DeadlinePassed(was_sent=True))
        assert error_of(await bench.call("canvas_write", CANVAS))["code"] == "unavailable"


@in_loop
async def test_a_canvas_for_which_its_workspace_has_no_room_is_refused_before_it_is_charged() -> None:
    """common 8.5, 4.6"""
    async with GatewayBench() as bench:
        full = Refusal(Code.WRONG_STATE, "Full.", details={"limit": 3}).to_record()
        scripted(bench, wants("call"))
        bench.caller.on("room_for_canvas", {"would": {"error": full}, "fingerprint": None})
        assert error_of(await bench.call("canvas_new")) == full
        [asked] = bench.caller.sent_of("room_for_canvas")
        assert (asked.to, asked.stamp) == (address.workspace(WORKSPACE), LOOK_STAMP)
        assert len(bench.caller.sent_of("admit")) == 1, "nothing that could be charged was sent"


@in_loop
async def test_a_canvas_for_which_there_is_room_goes_on_and_its_workspace_is_asked_once() -> None:
    """common 8.5"""
    async with GatewayBench() as bench:
        scripted(bench, wants("call"), wants("call", "look"), told(refusal=REQUIRED.to_record()))
        bench.caller.on("room_for_canvas", {"would": {"ok": {}}, "fingerprint": None})
        bench.caller.on("canvas_new", {"would": {"open": True}, "fingerprint": None})
        assert error_of(await bench.call("canvas_new")) == REQUIRED.to_record()
        assert len(bench.caller.sent_of("room_for_canvas")) == 1
