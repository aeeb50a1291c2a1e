"""References of tasks, read as the recipient (mesh 3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from bus.admitted import STALE_STAMP
from bus.client import DeadlinePassed
from bus.clock import ManualClock
from bus.value import Record
from nexus.gateway.context_refs import deliveries_with_references, inbox_with_references, without_references
from nexus.gateway.identity import Credential
from nexus.gateway.reading import OwnerRefused, Reading
from tests.support.gateway_bench import in_loop
from tests.support.scripted_caller import Error, Scripted, ScriptedCaller
from tools.errors import NOT_FOUND, Code, Refusal

STAMP: Record = {"agentId": "ada", "workspaceId": "w1"}
CREDENTIAL = Credential("ada", b"hash")
ADMITTED: Record = {"authenticated": True, "stamp": STAMP}


def reading(caller: ScriptedCaller) -> Reading:
    clock = ManualClock()
    return Reading(caller, clock, STAMP, clock.now_ms() + 1_000)


def delivery(*refs: str) -> Record:
    return {"threadId": "t", "task": {"title": "T", "contextRefs": [*refs]}}


async def read(answer: Scripted, *refs: str) -> list[Any]:
    caller = ScriptedCaller({("agent", "admit"): ADMITTED, ("canvas", "canvas_summary"): answer})
    [one] = await deliveries_with_references(reading(caller), CREDENTIAL, [delivery(*refs)])
    task: Any = one["task"]
    found: list[Any] = task["contextRefs"]
    return found


@in_loop
async def test_what_the_recipient_may_read_comes_with_its_title_and_revision() -> None:
    """mesh 3.2"""
    [found] = await read({"title": "Plan", "revision": 3, "role": "viewer"}, "canvas://c1")
    assert found == {"ref": "canvas://c1", "kind": "canvas", "title": "Plan", "revision": 3}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (NOT_FOUND, "not_found"),
        (Refusal(Code.ROLE_REQUIRED, "No."), "role_required"),
        (Refusal(Code.UNAVAILABLE, "Damaged.", retryable=True), "unavailable"),
        (DeadlinePassed(was_sent=True), "unavailable"),
    ],
)
def test_what_it_may_not_arrives_as_withheld_with_one_of_the_reasons(answer: Scripted, reason: str) -> None:
    """mesh 3.2; common 3.3"""

    @in_loop
    async def attempt() -> None:
        [found] = await read(answer, "canvas://c1")
        assert sorted(found) == ["ref", "withheld"] and found["withheld"]["reason"] == reason

    attempt()


@in_loop
async def test_an_id_that_cannot_exist_reads_like_one_that_does_not() -> None:
    """common 3.3"""
    refs = ["canvas://no/such", "canvas://" + "x" * 65, "canvas://-", "window://w1", "c1"]
    found = await read(NOT_FOUND, "canvas://c1", *refs)
    assert [one["ref"] for one in found] == ["canvas://c1", *refs]
    assert len({str(one["withheld"]) for one in found}) == 1


@in_loop
async def test_a_reference_that_several_tasks_share_is_read_once() -> None:
    caller = ScriptedCaller(
        {("agent", "admit"): ADMITTED, ("canvas", "canvas_summary"): {"title": "Plan", "revision": 1}}
    )
    inbox: Record = {"deliveries": [delivery("canvas://c1"), delivery(), delivery("canvas://c1")], "waiting": 3}
    answered: Any = await inbox_with_references(reading(caller), CREDENTIAL, inbox)
    assert [len(one["task"]["contextRefs"]) for one in answered["deliveries"]] == [1, 0, 1]
    [read] = caller.sent_of("canvas_summary")
    assert answered["waiting"] == 3 and read.stamp == STAMP, "as the recipient"
    assert len(caller.sent_of("admit")) == 1


@in_loop
async def test_an_inbox_without_references_asks_nobody() -> None:
    inbox: Record = {"deliveries": [delivery(), {"threadId": "t", "task": {"title": "from an older release"}}]}
    assert await inbox_with_references(reading(ScriptedCaller()), CREDENTIAL, inbox) == inbox


@in_loop
async def test_a_stale_stamp_is_left_to_whoever_admits_anew() -> None:
    """common 2.1: nothing is read under an authority that was narrowed."""
    caller = ScriptedCaller(
        {("agent", "admit"): ADMITTED, ("canvas", "canvas_summary"): Error({"code": STALE_STAMP, "retryable": True})}
    )
    with pytest.raises(OwnerRefused):
        await deliveries_with_references(reading(caller), CREDENTIAL, [delivery("canvas://c1")])


def test_references_that_nothing_can_be_read_of_keep_no_task_back() -> None:
    """mesh 3.2"""
    [one] = without_references([delivery("canvas://c1")])
    task: Any = one["task"]
    assert task["contextRefs"][0]["withheld"]["reason"] == "unavailable"


@pytest.mark.parametrize(
    ("admission", "reason"),
    [
        ({"authenticated": True, "isUnknownTool": True}, "capability_disabled"),
        (
            {"authenticated": True, "refusal": Refusal(Code.CAPABILITY_DISABLED, "Off.").to_record()},
            "capability_disabled",
        ),
        ({"authenticated": True, "refusal": Refusal(Code.SCOPE_UNRESOLVED, "None.").to_record()}, "unavailable"),
        ({"authenticated": False}, "unavailable"),
        (DeadlinePassed(was_sent=True), "unavailable"),
        (Refusal(Code.STORAGE_FULL, "Full."), "unavailable"),
    ],
    ids=["narrowed", "withheld", "no workspace", "revoked", "deadline", "owner's trouble"],
)
def test_a_credential_that_may_not_call_canvas_get_state_is_told_of_no_canvas(admission: Scripted, reason: str) -> None:
    """mesh 3.2; common 1.3, 4.1: nothing is asked of the canvas, though its agent may read it."""

    @in_loop
    async def attempt() -> None:
        caller = ScriptedCaller({("agent", "admit"): admission})
        [one] = await deliveries_with_references(reading(caller), CREDENTIAL, [delivery("canvas://c1")])
        task: Any = one["task"]
        assert [found["withheld"]["reason"] for found in task["contextRefs"]] == [reason]
        [asked] = caller.bodies("admit")
        assert (asked["tool"], asked["family"], asked["tokenHash"]) == ("canvas_get_state", "canvas", b"hash")

    attempt()
