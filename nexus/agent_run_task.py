"""One task of `nexus agent run`, from its delivery to its answer, step by step (mesh 5.2).

    lend a token -> start the thread -> write the files -> run the program -> answer

Invariants:
- Nothing of the envelope stands in an argument or a variable; task and token are files of mode 0600 in a folder of mode
  0700, which is gone afterwards.
- A task that was lost (cancelled, answered elsewhere, leased anew) ends its program, and nothing is answered.
- A runtime that is being stopped answers nothing either: what had begun is given up, and offered again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from bus.mailbox_delivery import Delivery, DeliveryLost, RequestRefused
from bus.value import Record
from nexus.agent_presets import prompt
from nexus.agent_run_environment import own_variables, run_environment
from nexus.agent_run_lending import Lends, Lent, token_of
from nexus.agent_run_limits import run_lend_ms_max, run_progress_ms
from nexus.agent_run_program import Ended, Order, Program
from nexus.agent_run_result import Answer, answer_to, failed
from tools.fence import plain_name
from tools.redact import redacted

_GIVEN: Final = ("threadId", "deliveryId", "attempt", "from", "task")

Tell: TypeAlias = Callable[[str, Record], None]
"""(what has happened, its facts), for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What every task of a run has in common."""

    agent: str
    command: Sequence[str]
    environment: Mapping[str, str]
    """The person's."""
    variables: frozenset[str]
    """Of those the ones that are passed on besides the usual."""
    cwd: Path
    home: Path
    seconds_max: float
    is_prompted: bool
    """Whether the program reads a prompt, as presets do, instead of JSON."""


@dataclass(slots=True)
class Stop:
    """That the runtime is to end: first by asking programs to, then at once."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    at_once: asyncio.Event = field(default_factory=asyncio.Event)


class TaskRun:
    """Works on one delivery. `work` answers how it went: the outcome, `lost`, `given back` or `refused`."""

    def __init__(self, plan: RunPlan, delivery: Delivery, lends: Lends, stop: Stop, tell: Tell) -> None:
        self._plan = plan
        self._delivery = delivery
        self._lends = lends
        self._stop = stop
        self._tell = tell
        self._run_id = f"run-{secrets.token_hex(8)}"

    async def work(self) -> str:
        """Raises NoToken when no token will be lent: then nothing has begun. Raises ConnectionError once the mailbox is
        closed."""
        self._say("taken", title=plain_name(self._delivery.task.title), attempt=self._delivery.attempt)
        begun = time.monotonic()
        try:
            async with self._lends.lent() as lent:
                token = await self._token(lent)
                answer = None
                if token is not None:
                    await self._delivery.start()
                    answer = await self._answer(token)
            if answer is None:
                await self._delivery.release()
            else:
                await self._finish(answer)
        except DeliveryLost as lost:
            self._say("lost", why=self._why(lost))
            return "lost"
        except RequestRefused as refused:
            self._say("refused", why=str(refused))
            with contextlib.suppress(RequestRefused):  # then it is not held any more
                await self._delivery.release()
            return "refused"
        how = "given back" if answer is None else answer.outcome
        self._say("ended", outcome=how, seconds=round(time.monotonic() - begun, 1))
        return how

    async def _token(self, lent: Lent) -> str | None:
        """None when NEXUS is away for so long that the task is better given back. Raises NoToken."""
        try:
            return await token_of(lent, waits_for_nexus=True, ms_max=run_lend_ms_max)
        except TimeoutError:
            return None

    async def _answer(self, token: str) -> Answer | None:
        """What to say of it; None when the runtime is being stopped. Raises DeliveryLost."""
        with _folder() as folder:
            try:
                program = await Program.started(self._order(folder, token))
            except OSError as problem:
                return Answer("failed", f"The program could not be started: {problem.strerror}.")
            ended, why = await self._ended(program)
        if self._delivery.cancelled.is_set():
            raise DeliveryLost("thread_closed", "The task is not this runtime's any more.", {})
        if why == "stopped":
            return None
        if why == "time":
            return failed(f"The program took longer than {self._plan.seconds_max:g} s and was ended.", ended)
        return answer_to(ended)

    def _order(self, folder: Path, token: str) -> Order:
        delivery = {name: self._delivery.record[name] for name in _GIVEN}
        envelope = json.dumps(delivery, ensure_ascii=False).encode(errors="replace") + b"\n"
        task_file, token_file = _written(folder / "task.json", envelope), _written(folder / "token", token.encode())
        own = own_variables(self._plan.home, self._run_id, self._delivery.thread_id, token_file, task_file)
        given = envelope
        if self._plan.is_prompted:
            given = prompt(self._plan.agent, delivery, f"task-{secrets.token_hex(8)}").encode(errors="replace")
        environment = run_environment(self._plan.environment, self._plan.variables, own)
        return Order(self._plan.command, environment, self._plan.cwd, folder, given)

    async def _ended(self, program: Program) -> tuple[Ended, str]:
        """How it ended, and why it was made to: `lost`, `stopped`, `time`, or nothing."""
        async with self._progress() as on_line:
            ending = asyncio.ensure_future(program.ended(on_line))
            watched: dict[asyncio.Future[Literal[True]], str] = {
                asyncio.ensure_future(self._delivery.cancelled.wait()): "lost",
                asyncio.ensure_future(self._stop.asked.wait()): "stopped",
            }
            over: set[asyncio.Future[Any]] = {ending, *watched}
            try:
                await asyncio.wait(over, timeout=self._plan.seconds_max, return_when=asyncio.FIRST_COMPLETED)
                if ending.done():
                    return await ending, ""
                why = next((why for one, why in watched.items() if one.done()), "time")
                program.end()
                await self._end_at_once_if_told(program, ending)
                return await ending, why
            finally:
                for one in over:
                    one.cancel()
                await asyncio.gather(*over, return_exceptions=True)

    async def _end_at_once_if_told(self, program: Program, ending: asyncio.Future[Ended]) -> None:
        at_once = asyncio.ensure_future(self._stop.at_once.wait())
        over: set[asyncio.Future[Any]] = {ending, at_once}
        try:
            await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
            if at_once.done():
                program.kill()
        finally:
            at_once.cancel()

    @asynccontextmanager
    async def _progress(self) -> AsyncIterator[Callable[[str], None]]:
        """Takes lines, and sends the latest of them, never more than one within `run_progress_ms`."""
        latest: list[str] = []
        has_one = asyncio.Event()

        def on_line(line: str) -> None:
            if line.strip():
                latest[:] = [line]
                has_one.set()

        async def send() -> None:
            while True:
                await has_one.wait()
                has_one.clear()
                text = plain_name(redacted(latest[0]))  # here, since a program may write thousands of lines a second
                self._say("progress", text=text)
                with contextlib.suppress(RequestRefused):  # a line less; what is lost is told by `cancelled`
                    await self._delivery.progress(text)
                await asyncio.sleep(run_progress_ms / 1_000)

        sending = asyncio.create_task(send())
        try:
            yield on_line
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _finish(self, answer: Answer) -> None:
        try:
            await self._send(answer)
        except DeliveryLost:
            raise
        except RequestRefused as refused:
            await self._delivery.fail(f"The program's result was refused: {refused.code}.")
            self._say("refused", why=str(refused))

    async def _send(self, answer: Answer) -> None:
        says = {
            "completed": self._delivery.complete,
            "partial": self._delivery.partial,
            "failed": self._delivery.fail,
        }[answer.outcome]
        await says(answer.body, artifacts=answer.artifacts, usage=answer.usage)

    def _why(self, lost: DeliveryLost) -> str:
        heard = self._delivery.why
        if heard is not None:
            return heard.state or heard.reason
        return "its lease ran out" if lost.code == "wrong_state" else lost.code

    def _say(self, what: str, **facts: str | int | float) -> None:
        sender = self._delivery.sender
        self._tell(what, {"threadId": self._delivery.thread_id, "from": sender.name or sender.agent_id, **facts})


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder of the run's own, of mode 0700. The keeper removes it too, should this process be killed."""
    folder = Path(tempfile.mkdtemp(prefix="nexus-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _written(file: Path, content: bytes) -> Path:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
    return file
