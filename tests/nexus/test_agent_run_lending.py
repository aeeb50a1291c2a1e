"""Waiting for a token that is lent (decision 0012)."""

from __future__ import annotations

import asyncio

import pytest

from nexus import agent_run_lending
from nexus.agent_run_lending import token_of
from nexus.shim.agents_socket import NotListening
from nexus.shim.token import NoToken, NotYet


class Scripted:
    """Answers in turn; the last answer for ever."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = [*answers]

    def current(self) -> str:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def has_other_than(self, refused: str, shown_ns: int) -> bool:
        return False

    def close(self) -> None:
        raise AssertionError("it is the caller's")


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_run_lending, "run_again_ms", 0)


def test_a_nexus_that_is_being_restarted_is_waited_for() -> None:
    lent = Scripted(NotListening(), NotYet(), NotListening(), "nx_a_b")
    assert asyncio.run(token_of(lent, waits_for_nexus=True, ms_max=None)) == "nx_a_b"


def test_one_that_does_not_run_is_not_unless_it_did_before() -> None:
    with pytest.raises(NotListening):
        asyncio.run(token_of(Scripted(NotYet(), NotListening()), waits_for_nexus=False, ms_max=None))


def test_waiting_has_an_end() -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(token_of(Scripted(NotYet()), waits_for_nexus=True, ms_max=50))


def test_a_refusal_for_good_is_one() -> None:
    with pytest.raises(NoToken, match="revoked"):
        asyncio.run(token_of(Scripted(NotYet(), NoToken("revoked")), waits_for_nexus=True, ms_max=None))
