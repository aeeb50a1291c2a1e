"""One task of `nexus agent run` with a scripted mailbox and lender, and real programs (mesh 5.2)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bus.mailbox_delivery import Delivery, DeliveryLost, RequestRefused
from bus.runtime_frames import Lost
from bus.value import Record
from nexus.agent_run_lending import Lends, Lent
from nexus.agent_run_task import RunPlan, Stop, TaskRun
from nexus.shim.token import NoToken

RECORD: Record = {
    "threadId": "t1",
    "deliveryId": "t1.1",
    "attempt": 1,
    "from": {"agentId": "a2", "name": "Bob"},
    "workspaceId": "w1",
    "task": {"title": "Count", "instructions": "Count."},
}


class Mailbox:
    """What was said of the delivery. `answers` says what a verb is refused with, the first time."""

    def __init__(self, **answers: Exception) -> None:
        self.said: list[tuple[str, Record]] = []
        self.answers = dict(answers)
        self.delivery = Delivery(RECORD, self.ask)

    async def ask(self, verb: str, body: Record) -> Record:
        self.said.append((verb, body))
        if verb in self.answers:
            raise self.answers.pop(verb)
        return {}

    def lose(self) -> None:
        self.delivery.lost(Lost("t1.1", "t1", "thread_closed", "cancelled"))

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.said]

    @property
    def finished(self) -> Record:
        return next(body for verb, body in self.said if verb == "finish")


class Token:
    def __init__(self, answer: str | Exception) -> None:
        self._answer = answer
        self.is_closed = False

    def current(self) -> str:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def has_other_than(self, refused: str, shown_ns: int) -> bool:
        return False

    def close(self) -> None:
        self.is_closed = True


class Lender(Lends):
    """Lends `token`."""

    def __init__(self, answer: str | Exception = "nx_a1_secret") -> None:
        super().__init__(Path("none"), "Ada", None)
        self.token = Token(answer)

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Lent]:
        try:
            yield self.token
        finally:
            self.token.close()


def plan(folder: Path, script: str, seconds: float = 60) -> RunPlan:
    command = (sys.executable, "-I", "-c", script)
    return RunPlan("Ada", command, os.environ.copy(), frozenset(), folder, folder, seconds, False)


def worked(
    mailbox: Mailbox, folder: Path, script: str, *, lender: Lender | None = None, stop: Stop | None = None
) -> tuple[str, list[tuple[str, Record]]]:
    told: list[tuple[str, Record]] = []

    async def body() -> str:
        run = TaskRun(
            plan(folder, script),
            mailbox.delivery,
            lender or Lender(),
            stop or Stop(),
            lambda what, facts: told.append((what, facts)),
        )
        return await asyncio.wait_for(run.work(), 30)

    return asyncio.run(body()), told


def test_a_task_is_started_worked_on_and_answered_and_its_token_given_back_before_the_answer(tmp_path: Path) -> None:
    mailbox, lender = Mailbox(), Lender()
    script = "import os; print(open(os.environ['NEXUS_TOKEN_FILE']).read(), os.environ['NEXUS_THREAD_ID'])"
    how, told = worked(mailbox, tmp_path, script, lender=lender)
    assert how == "completed"
    assert mailbox.verbs == ["start", "finish"]
    assert mailbox.finished["body"] == "nx_a1_secret t1"
    assert lender.token.is_closed
    assert [what for what, _ in told] == ["taken", "ended"]


def test_without_a_token_nothing_begins(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with pytest.raises(NoToken, match="revoked"):
        worked(mailbox, tmp_path, "", lender=Lender(NoToken("revoked")))
    assert mailbox.verbs == []


def test_a_task_that_is_lost_at_its_start_starts_no_program(tmp_path: Path) -> None:
    mailbox = Mailbox(start=DeliveryLost("thread_closed", "It has ended.", {}))
    how, _ = worked(mailbox, tmp_path, f"open({str(tmp_path / 'trace')!r}, 'w')")
    assert (how, mailbox.verbs) == ("lost", ["start"])
    assert not (tmp_path / "trace").exists()


def test_a_task_that_is_refused_for_another_reason_is_not_kept(tmp_path: Path) -> None:
    mailbox = Mailbox(start=RequestRefused("capability_missing", "No mesh.", {}))
    how, told = worked(mailbox, tmp_path, "")
    assert (how, mailbox.verbs) == ("refused", ["start", "release"])
    assert ("refused", "capability_missing: No mesh.") in [(what, facts.get("why")) for what, facts in told]


def test_a_result_that_is_refused_fails_the_task_and_says_so(tmp_path: Path) -> None:
    mailbox = Mailbox(finish=RequestRefused("too_large", "Shorten it.", {}))
    worked(mailbox, tmp_path, "print(1)")
    outcomes: list[Any] = [(body["outcome"], body["body"]) for verb, body in mailbox.said if verb == "finish"]
    assert outcomes == [("completed", "1"), ("failed", "The program's result was refused: too_large.")]


@pytest.mark.parametrize(("way", "how", "verbs"), [("lost", "lost", []), ("stopped", "given back", ["release"])])
def test_a_program_is_ended_and_nothing_answered_when_its_task_is_lost_or_the_runtime_stops(
    tmp_path: Path, way: str, how: str, verbs: list[str]
) -> None:
    mailbox, stop = Mailbox(), Stop()

    async def body() -> str:
        loop = asyncio.get_running_loop()
        end = mailbox.lose if way == "lost" else stop.asked.set
        script = "import sys, threading; print('at it', file=sys.stderr, flush=True); threading.Event().wait()"

        def tell(what: str, facts: Record) -> None:
            if what == "progress":
                loop.call_soon(end)

        return await TaskRun(plan(tmp_path, script), mailbox.delivery, Lender(), stop, tell).work()

    assert asyncio.run(asyncio.wait_for(body(), 30)) == how
    assert [verb for verb in mailbox.verbs if verb != "progress"] == ["start", *verbs]


def test_a_folder_that_is_gone_fails_the_task(tmp_path: Path) -> None:
    mailbox = Mailbox()
    how, _ = worked(mailbox, tmp_path / "gone", "")
    assert how == "failed"
    assert mailbox.finished["body"] == "The program could not be started: No such file or directory."
