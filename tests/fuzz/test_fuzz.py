"""Mutated requests against the gateway (security 2.19), cases that once broke a rule, and planted faults."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from nexus.gateway import call
from nexus.gateway.arguments import check_arguments
from nexus.gateway.route import owner_of
from tests.fuzz import driving
from tests.fuzz.driving import ROUND, run_kept, run_round
from tests.fuzz.judging import Answer, problem
from tests.fuzz.request import Request
from tools.base import Tool
from tools.errors import Code, Refusal

ROUNDS = 8  # of 250 requests
KEPT = Path(__file__).with_name("kept.jsonl")
ASKED = Request("POST", "/mcp", ((b"host", b"x"),), (b'{"jsonrpc":"2.0","id":7,"method":"ping"}',))
JSON = ((b"content-type", b"application/json"),)


@pytest.mark.fuzz
@pytest.mark.timeout(300)
def test_no_mutated_request_breaks_a_rule() -> None:
    """common 6.2, 7.4, security 2.19"""
    first = int(os.environ.get("NEXUS_FUZZ_SEED", "1000"))  # `make soak` goes on to others
    print(f"seeds {first} to {first + ROUNDS - 1}, {ROUND} requests each")
    for seed in range(first, first + ROUNDS):
        failure = asyncio.run(run_round(seed))
        assert failure is None, failure.report()


def test_some_mutated_requests_break_no_rule() -> None:
    """A few of always the same, for `make check`."""
    failure = asyncio.run(run_round(1, 60))
    assert failure is None, failure.report()


def test_cases_that_once_broke_a_rule_do_not_any_more() -> None:
    requests = [Request.from_json(line) for line in KEPT.read_text().splitlines() if line]
    assert asyncio.run(run_kept(requests)) == []


def test_the_same_seed_makes_the_same_requests() -> None:
    """Else a failure could not be seen again."""

    async def made() -> list[str]:
        lines: list[str] = []

        class Kept(driving.Driver):
            async def answer(self, request: Request) -> Answer:
                lines.append(request.to_json())
                return await super().answer(request)

        original, driving.Driver = driving.Driver, Kept  # type: ignore[misc]
        try:
            await run_round(5, 40)
        finally:
            driving.Driver = original  # type: ignore[misc]
        return lines

    first, second = asyncio.run(made()), asyncio.run(made())
    assert len(first) == 40 and first == second


def test_a_request_survives_its_line() -> None:
    whole = Request("POST", "/mcp", ((b"a", b"\xff\x00"),), (b"\x00", b"", b"\xff"), True)
    assert Request.from_json(whole.to_json()) == whole


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(500, JSON, b"{}"), "status 500"),
        (Answer(None), "nothing was answered"),
        (Answer(None, is_late=True), "no answer came in time"),
        (Answer(None, failure="KeyError('x')"), "an exception left"),
        (Answer(200, JSON, b'{"jsonrpc":"2.0","id":7,"result":{"a":"KeyError: x"}}'), "tells of the program"),
        (Answer(200, JSON, b'{"jsonrpc":"2.0","id":7,"result":{"a":"/usr/lib/x"}}'), "tells of the program"),
        (Answer(200, JSON, b'{"jsonrpc":"2.0","id":8,"result":{}}'), "an id that was not asked with"),
        (Answer(200, JSON, b'{"jsonrpc":"2.0","id":7}'), "neither or both"),
        (Answer(200, JSON, b'{"jsonrpc":"2.0","id":7,"result":NaN}'), "not strict JSON"),
        (Answer(200, JSON, b'{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"x"}}'), "an internal error"),
        (Answer(200, ((b"content-type", b"text/html"),), b""), "content type"),
    ],
)
def test_the_rules_find(answer: Answer, why: str) -> None:
    found = problem(ASKED, answer)
    assert found is not None and why in found


def test_the_rules_pass_a_good_answer() -> None:
    assert problem(ASKED, Answer(200, JSON, b'{"jsonrpc":"2.0","id":7,"result":{}}')) is None


def caught(rounds: int = 4) -> str:
    for seed in range(rounds):
        failure = asyncio.run(run_round(seed))
        if failure is not None:
            return failure.why
    pytest.fail(f"not caught by {rounds} seeds")


def test_a_refusal_that_quotes_what_went_wrong_inside_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def quoting(*given: Any) -> Any:
        found = check_arguments(*given)
        if isinstance(found, Refusal):
            return Refusal(Code.INVALID_ARGUMENTS, f"1 validation error for {type(found).__name__}")
        return found

    monkeypatch.setattr(call, "check_arguments", quoting)
    assert "tells of the program" in caught()


def test_a_defect_in_a_tool_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(tool: Tool, *given: Any) -> Any:
        if tool.name != "canvas_create":  # which the driver itself calls before it begins
            raise ZeroDivisionError
        return owner_of(tool, *given)

    monkeypatch.setattr(call, "owner_of", broken)
    assert "a defect" in caught()


def test_a_call_that_is_never_answered_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = call.Journey.call

    async def never(journey: call.Journey, request: Any) -> Any:
        if request.name == "canvas_list":
            await asyncio.Event().wait()
        return await whole(journey, request)

    monkeypatch.setattr(driving, "_ANSWER_SECONDS_MAX", 1.0)
    monkeypatch.setattr(call.Journey, "call", never)
    # When the client goes away at last, one path gives the call up and answers nothing, the other is still at it.
    assert caught() in ("no answer came in time", "nothing was answered")
