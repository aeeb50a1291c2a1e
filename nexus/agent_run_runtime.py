"""The runtime behind `nexus agent run`: it borrows a credential and works on what the mailbox delivers (mesh 5.2).

Invariants:
- At most `concurrency` tasks are here at a time, and each is being worked on: what nobody works on stays with NEXUS.
- Told to stop, it takes nothing more, gives back what has not begun, and ends the programs; told again, it kills them.
- A NEXUS that is restarted, or is away for a while, is waited for; a credential that was revoked ends the runtime.

Event loop of the main thread only: a program's keeper notices the end of the process, not of a thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from bus.mailbox_client import MailboxClient, MailboxRefused
from bus.mailbox_delivery import Delivery
from nexus.agent_run_lending import Lends, Lent, token_of
from nexus.agent_run_limits import run_again_ms, run_grace_ms, run_kill_ms_max, run_lend_ms_max
from nexus.agent_run_task import RunPlan, Stop, TaskRun, Tell
from nexus.shim.agents_socket import NotListening
from nexus.shim.token import NoToken

Found = TypeVar("Found")

_NOT_KNOWN: Final = "unidentified_caller"
_STOP_SECONDS: Final = (run_grace_ms + 2 * run_kill_ms_max) / 1_000
"""For programs to end, and for what they were at to be given back."""


class RunFailed(Exception):
    """The runtime cannot go on. The text is for the person; `is_absent`: because NEXUS does not run."""

    def __init__(self, message: str, *, is_absent: bool = False) -> None:
        super().__init__(message)
        self.is_absent = is_absent


@dataclass(slots=True)
class AgentRuntime:
    """`await run()` on it once. `how` holds how each task went (agent_run_task.TaskRun.work)."""

    plan: RunPlan
    runtimes_socket: Path
    lends: Lends
    concurrency: int
    is_once: bool
    tell: Tell
    stop: Stop = field(default_factory=Stop)
    how: list[str] = field(default_factory=list)
    _at_work: int = 0

    def asked_to_stop(self) -> None:
        """Ctrl-C: the first time programs are asked to end, then they are killed."""
        (self.stop.at_once if self.stop.asked.is_set() else self.stop.asked).set()
        self.tell("killing" if self.stop.at_once.is_set() else "stopping", {"atWork": self._at_work})

    async def run(self) -> None:
        """Until it is told to stop, or has done the one task that it was to do. Raises RunFailed."""
        async with self.lends.lent() as lent:
            was_connected = False
            while not self.stop.asked.is_set():
                ms_max = None if was_connected else run_lend_ms_max
                try:
                    getting = token_of(lent, waits_for_nexus=was_connected, ms_max=ms_max)
                    token = await self._unless_stopped(getting)
                except NotListening:
                    raise RunFailed(
                        "NEXUS is not running on this home; start it with `nexus up`.", is_absent=True
                    ) from None
                except (NoToken, TimeoutError) as problem:
                    raise RunFailed(str(problem) or "NEXUS lent no credential in time. Try again.") from None
                if token is None or await self._connected(lent, token):
                    return
                was_connected = True
                await self._unless_stopped(asyncio.sleep(run_again_ms / 1_000))

    async def _connected(self, lent: Lent, token: str) -> bool:
        """One connection to its end; whether all is done. Raises RunFailed."""
        shown_ns = time.monotonic_ns()
        try:
            client = MailboxClient(self.runtimes_socket, token=token, prefetch=self.concurrency)
            entering = await self._unless_stopped(client.__aenter__())
            if entering is None:
                return True
            async with _closing(client):
                self.tell("ready", {"agentId": client.agent_id})
                await self._work(client)
        except MailboxRefused as refused:
            if refused.code == _NOT_KNOWN and lent.has_other_than(token, shown_ns):
                return False  # it was away with NEXUS, and is lent again
            raise RunFailed(str(refused)) from None
        return True

    async def _work(self, mailbox: MailboxClient) -> None:
        workers = [asyncio.create_task(self._take(mailbox)) for _ in range(self.concurrency)]
        ending = asyncio.ensure_future(asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION))
        stopping = asyncio.create_task(self.stop.asked.wait())
        try:
            await asyncio.wait({ending, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if stopping.done():
                await self._give_time_to(ending)
        finally:
            stopping.cancel()
            ending.cancel()
            for one in workers:
                one.cancel()
            failures = await asyncio.gather(*workers, return_exceptions=True)
        for failure in failures:
            if isinstance(failure, Exception):
                raise failure

    async def _give_time_to(self, ending: asyncio.Future[Any]) -> None:
        """For programs to end and tasks to be given back; less when told to stop at once. Should NEXUS be away, closing
        the mailbox or the end of the leases gives back what is left."""
        at_once = asyncio.create_task(self.stop.at_once.wait())
        over: set[asyncio.Future[Any]] = {ending, at_once}
        await asyncio.wait(over, timeout=_STOP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if at_once.done():
            await asyncio.wait({ending}, timeout=run_kill_ms_max / 1_000)
        at_once.cancel()

    async def _take(self, mailbox: MailboxClient) -> None:
        """Tasks one after the other, until told to stop. Raises MailboxRefused and RunFailed."""
        while not self.stop.asked.is_set():
            delivery = await self._unless_stopped(anext(mailbox, None))
            if delivery is None or self.stop.asked.is_set():
                return  # closing the mailbox gives it back
            self._at_work += 1
            try:
                await self._work_on(delivery)
            finally:
                self._at_work -= 1
            if self.is_once:
                return

    async def _work_on(self, delivery: Delivery) -> None:
        try:
            self.how.append(await TaskRun(self.plan, delivery, self.lends, self.stop, self.tell).work())
        except ConnectionError:
            self.how.append("given back")  # the mailbox was closed, which gave it back
        except NoToken as problem:
            raise RunFailed(f"No credential is lent for a task, which is given back: {problem}") from None

    async def _unless_stopped(self, doing: Awaitable[Found]) -> Found | None:
        """What `doing` answers; None when told to stop before."""
        done, stopping = asyncio.ensure_future(doing), asyncio.ensure_future(self.stop.asked.wait())
        try:
            await asyncio.wait({done, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return await done if done.done() else None
        finally:
            for one in (done, stopping):
                one.cancel()
            await asyncio.gather(done, stopping, return_exceptions=True)


@asynccontextmanager
async def _closing(client: MailboxClient) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await client.close()
