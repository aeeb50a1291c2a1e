"""What a program's output and end say of its task (mesh 5.2)."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from bus.limits import reply_artifacts_max, reply_bytes_max
from nexus.agent_run_limits import run_output_bytes_max
from nexus.agent_run_program import Ended
from nexus.agent_run_result import answer_to, failed
from tools.plain_json import encoded_bytes

TOKEN = "nx_01j00000000000000000000000_" + "q7Zt3XvB1nLk9PwR5sYc2dHf8jMg4aTe6uVoKi0xNyE"


def ended(output: bytes | str = b"", status: int | None = 0, errors: str = "", size: int | None = None) -> Ended:
    said = output.encode() if isinstance(output, str) else output
    return Ended(status, "it was lost", said, len(said) if size is None else size, errors.encode())


def result(**fields: Any) -> str:
    return json.dumps({"body": "b", **fields})


@pytest.mark.parametrize(
    ("output", "outcome", "body"),
    [
        ("", "completed", ""),
        (" 3 beans\n", "completed", "3 beans"),
        ('{"beans": 3}', "completed", '{"beans": 3}'),
        ('["body"]', "completed", '["body"]'),
        ('log\n{"body": "b"}', "completed", 'log\n{"body": "b"}'),
        ('{"body": "b"', "completed", '{"body": "b"'),
        ("{" * 100_000, "partial", None),
        (result(), "completed", "b"),
        (result(outcome="partial"), "partial", "b"),
        (result(outcome="failed"), "failed", "b"),
    ],
)
def test_a_good_end_answers_with_what_was_printed(output: str, outcome: str, body: str | None) -> None:
    """mesh 5.2"""
    answer = answer_to(ended(output))
    assert answer.outcome == outcome
    assert body is None or answer.body == body


def test_artifacts_and_usage_are_passed_on() -> None:
    """mesh 5.2"""
    answer = answer_to(ended(result(artifacts=["canvas://c1", {"n": 1}], usage={"tokens": 7})))
    assert (answer.artifacts, answer.usage) == (("canvas://c1", {"n": 1}), {"tokens": 7})


@pytest.mark.parametrize(
    "printed",
    [
        result(outcome="done"),
        result(usage=[]),
        result(result="x"),
        result(artifacts=[0] * (reply_artifacts_max + 1)),
        '{"body": 3}',
        '{"body": "\\ud800"}',
        '{"body": "b", "usage": {"n": 1e999}}',
        '{"body": "b", "usage": {"n": 99999999999999999999}}',
    ],
)
def test_what_is_meant_as_a_result_and_is_none_fails_and_says_why(printed: str) -> None:
    """mesh 5.2"""
    answer = answer_to(ended(printed))
    assert answer.outcome == "failed"
    assert answer.body.startswith("The program ended well, but what it printed is no result: ")
    encoded_bytes(answer.body)


def test_a_bad_end_fails_unless_the_program_says_more_of_its_failure() -> None:
    """mesh 5.2"""
    assert answer_to(ended(result(), 1)).body == "The program ended with exit status 1."
    assert answer_to(ended(result(outcome="failed"), 1)).body == "b"
    assert answer_to(ended("fine", -signal.SIGSEGV)).body == "The program was ended by SIGSEGV."
    assert "it was lost" in answer_to(ended(result(outcome="failed"), None)).body
    assert {answer_to(ended("x", status)).outcome for status in (1, 255, -9, None)} == {"failed"}


def test_a_failure_shows_the_end_of_standard_error_without_credentials() -> None:
    """mesh 5.2; common 7.2"""
    answer = failed("It failed.", ended(errors=f"using {TOKEN}\n\x00no beans\n"))
    assert answer.body.startswith("It failed.\n\nStandard error ended with:\nusing [redacted")
    assert answer.body.endswith("no beans")
    assert TOKEN not in answer.body


@pytest.mark.parametrize("character", ["x", "ü", '"', "\n", "\U0001f600", "e\u0301"])
def test_a_body_that_is_too_long_is_cut_at_a_character_and_says_so(character: str) -> None:
    """mesh 5.2"""
    output = "<" + character * 70_000 + ">"
    answer = answer_to(ended(output))
    body, _, note = answer.body.rpartition("\n[")
    assert answer.outcome == "partial"
    assert note == f"cut here by nexus agent run: the program wrote {len(output.encode())} bytes]"
    assert body.startswith("<" + character) and body.endswith(character)
    size = encoded_bytes({"body": answer.body, "artifacts": [], "usage": None})
    assert reply_bytes_max - 64 <= size <= reply_bytes_max


def test_a_failed_result_stays_failed_when_it_is_cut() -> None:
    assert answer_to(ended(result(body="x" * 70_000, outcome="failed"))).outcome == "failed"


def test_half_a_credential_does_not_pass_at_the_cut() -> None:
    """common 7.2"""
    for before in range(65_300, 65_420, 7):
        body = answer_to(ended("x" * before + " " + TOKEN + " " + "y" * 70_000)).body
        assert "nx_01j" not in body


def test_output_that_was_not_read_to_its_end_is_text_that_says_so() -> None:
    """mesh 5.2"""
    output = result(body="x" * 10)
    answer = answer_to(ended(output + " " * 100_000 + "x", size=run_output_bytes_max + 5))
    assert answer.outcome == "partial"
    assert answer.body.endswith(f"the program wrote {run_output_bytes_max + 5} bytes]")


def test_artifacts_that_do_not_fit_fail() -> None:
    answer = answer_to(ended(result(artifacts=["x" * 70_000])))
    assert (answer.outcome, answer.artifacts) == ("failed", ())


def test_what_is_no_text_is_shown_as_far_as_it_is() -> None:
    assert answer_to(ended(b"a\xffb\x00c")).body == "a\ufffdb\ufffdc"
