"""An agent's runtime in Python: take tasks from the agent's mailbox, work on them, say what became of them (mesh 5.1).

    async with MailboxClient(socket) as mailbox:
        async for delivery in mailbox:
            await delivery.start()
            await delivery.complete("Done.")

Invariants:
- At most `prefetch` tasks are here at a time; NEXUS sends no more. Each is renewed until it has ended or is lost.
- The client connects anew by itself, whatever is restarted, keeps what it holds, and repeats what was not answered:
  repeats are by delivery id, so they change nothing, but for a line of progress, which may be written twice.
- When the client is closed, ends that were said are still answered, for 2 s at most; whatever it then holds is given
  back. A process that is killed gives nothing back: its tasks are offered again when their leases have run out.

Runs on one event loop. A runtime that blocks the loop for longer than its lease loses what it holds.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bus.codec import Unencodable
from bus.mailbox_delivery import Delivery, DeliveryLost, RequestRefused
from bus.runtime_frames import Credit, Deliver, Lost, Refused, Welcome, is_runtime_id
from bus.runtime_limits import (
    runtime_bye_ms_max,
    runtime_credit_bytes_default,
    runtime_credit_deliveries_max,
    runtime_retry_ms_first,
    runtime_retry_ms_max,
)
from bus.runtime_link import RuntimeLink
from bus.token_file import NoToken, token_from, token_in
from bus.value import Record, records
from bus.wire import Wire
from bus.wire_zmq import RUNTIME_BOUNDS, ZmqWire

__all__ = ["Delivery", "DeliveryLost", "MailboxClient", "MailboxRefused", "NoToken", "RequestRefused"]

_LOST_CODES: Final = frozenset({"thread_closed", "not_found"})
_RELEASED_CODES: Final = frozenset({"thread_closed", "wrong_state"})
_AGAIN_CODES: Final = frozenset({"unavailable", "rate_limited"})
_ENDS: Final = frozenset({"finish", "release"})
_RENEWALS_A_LEASE: Final = 3


class MailboxRefused(Exception):
    """NEXUS does not let this token be a runtime, or not any more. `code` is one of common 6.3."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class MailboxClient:
    """`async with` it, then iterate over it, from any number of tasks: each delivery is given out once."""

    def __init__(
        self,
        socket: Path | str,
        *,
        token: str | None = None,
        token_file: Path | str | None = None,
        runtime_id: str | None = None,
        prefetch: int = 1,
        wire: Wire | None = None,
    ) -> None:
        """`socket` is the home's `run/runtimes.sock`. Without `token` it is read from `token_file`, else as
        NEXUS_TOKEN_FILE or NEXUS_TOKEN say; a file must be readable by its owner alone. `runtime_id` names this runtime
        to NEXUS, by default one of its own; two at a time must not have the same. `prefetch`, 1 to 128, is how many
        tasks may be here at a time. `wire`, which stays the caller's, is for tests.

        Raises NoToken; ValueError for arguments out of their bounds.
        """
        if not 1 <= prefetch <= runtime_credit_deliveries_max:
            raise ValueError(f"prefetch is from 1 to {runtime_credit_deliveries_max}")
        self.runtime_id: Final = runtime_id or f"python-{secrets.token_hex(8)}"
        if not is_runtime_id(self.runtime_id):
            raise ValueError("a runtime id has 1 to 64 letters, digits, hyphens and underscores")
        if token is None:
            token = token_from(os.environ) if token_file is None else token_in(Path(token_file))
        self._token = token
        self._socket = Path(socket)
        self._prefetch = prefetch
        self._given_wire = wire
        self._own_wire: ZmqWire | None = None
        self._link: RuntimeLink | None = None
        self._held: dict[str, Delivery] = {}
        self._renew_at: dict[str, float] = {}
        """By delivery id, seconds of the loop."""
        self._ready: deque[Delivery] = deque()
        self._ending: dict[str, Lost | None] = {}
        """Deliveries of which an end was said and not answered yet, and what was heard of them meanwhile."""
        self._refused: MailboxRefused | None = None
        self._is_closed = False
        self._connected = asyncio.Event()
        self._news = asyncio.Event()
        self._has_new_lease = asyncio.Event()
        self._end_answered = asyncio.Event()
        self._renewing: asyncio.Task[None] | None = None
        self.agent_id = ""
        """Of the agent whose mailbox it is, once connected."""

    async def __aenter__(self) -> Self:
        """Connects; returns when NEXUS has let it in, however long that takes. Raises MailboxRefused."""
        wire = self._given_wire
        if wire is None:
            wire = self._own_wire = ZmqWire(asyncio.get_running_loop(), RUNTIME_BOUNDS)
        self._link = RuntimeLink(
            wire,
            self._socket,
            token=self._token,
            runtime_id=self.runtime_id,
            holding=lambda: (*self._held,),
            opened=self._opened,
            received=self._received,
            refused=self._was_refused,
        )
        self._renewing = asyncio.create_task(self._renew_in_time())
        try:
            await self._connected.wait()
            if self._refused is not None:
                raise self._refused
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let ends that were said be answered, give back whatever is held then, and end: within two times 2 s, however
        slow NEXUS is. Iterations end at once; whatever else is asked and not answered raises ConnectionError."""
        self._is_closed = True
        self._news.set()
        try:
            await self._ends_answered()
        finally:
            if self._renewing is not None:
                self._renewing.cancel()
            try:
                if self._link is not None:
                    await self._link.close()
            finally:
                if self._own_wire is not None:
                    self._own_wire.close()
                    self._own_wire = None

    async def _ends_answered(self) -> None:
        """So that no work that was finished is given back instead."""
        try:
            async with asyncio.timeout(runtime_bye_ms_max / 1_000):
                while self._ending:
                    self._end_answered.clear()
                    await self._end_answered.wait()
        except TimeoutError:
            pass  # the gateway has them, if it is there: it gives back what they have not ended

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        """The next task, whenever one comes; the end when the client is closed. Raises MailboxRefused."""
        while True:
            if self._refused is not None:
                raise self._refused
            if self._is_closed:
                raise StopAsyncIteration
            if self._ready:
                return self._ready.popleft()
            self._news.clear()
            await self._news.wait()

    @property
    def held(self) -> tuple[Delivery, ...]:
        """What is here and has not ended."""
        return (*self._held.values(),)

    def _opened(self, welcome: Welcome) -> None:
        self.agent_id = welcome.agent_id
        assert self._link is not None, "it is the link that has opened"
        self._link.send(Credit(self._prefetch, runtime_credit_bytes_default))
        self._connected.set()

    def _received(self, frame: Deliver | Lost) -> None:
        if isinstance(frame, Lost):
            if frame.delivery_id in self._ending:
                self._ending[frame.delivery_id] = frame  # most likely the end that this runtime has said itself
            else:
                self._lose(frame)
            return
        delivery = Delivery(frame.delivery, self._ask)
        if delivery.delivery_id not in self._held:
            self._held[delivery.delivery_id] = delivery
            self._note_lease(delivery.delivery_id, frame.lease_ms)
            self._ready.append(delivery)
            self._has_new_lease.set()
            self._news.set()

    def _was_refused(self, refused: Refused) -> None:
        self._refused = MailboxRefused(refused.code, refused.message)
        for delivery in self.held:
            self._lose(Lost(delivery.delivery_id, delivery.thread_id, refused.code, ""))
        self._connected.set()
        self._news.set()

    def _lose(self, lost: Lost) -> None:
        delivery = self._held.get(lost.delivery_id)
        if delivery is None:
            return
        self._over(lost.delivery_id)
        if delivery in self._ready:
            self._ready.remove(delivery)
        delivery.lost(lost)

    def _over(self, delivery_id: str) -> None:
        self._held.pop(delivery_id, None)
        self._renew_at.pop(delivery_id, None)

    def _note_lease(self, delivery_id: str, lease_ms: int) -> None:
        now = asyncio.get_running_loop().time()
        self._renew_at[delivery_id] = now + lease_ms / 1_000 / _RENEWALS_A_LEASE

    async def _renew_in_time(self) -> None:
        """Each lease when a third of it has passed, and with it all others."""
        while True:
            try:
                async with asyncio.timeout_at(min(self._renew_at.values(), default=None)):
                    await self._has_new_lease.wait()
                    self._has_new_lease.clear()
            except TimeoutError:
                try:
                    await self._renew()
                except ConnectionError:
                    return

    async def _renew(self) -> frozenset[str]:
        """What was renewed. What is lost comes as such, by itself."""
        asked = [*self._held]
        try:
            answer = await self._ask("renew", {"deliveryIds": [*asked]})
        except RequestRefused:
            answer = {}
        for delivery_id in asked:
            if delivery_id in self._renew_at:  # not answered for: asked again soon
                self._note_lease(delivery_id, _RENEWALS_A_LEASE * runtime_retry_ms_max)
        renewed: set[str] = set()
        for one in records(answer, "renewed"):
            named, lease_ms = one.get("deliveryId"), one.get("leaseMs")
            if isinstance(named, str) and isinstance(lease_ms, int):
                renewed.add(named)
                if named in self._renew_at:
                    self._note_lease(named, lease_ms)
        return frozenset(renewed)

    async def _ask(self, verb: str, body: Record) -> Record:
        """The answer to what is said of a delivery. Raises RequestRefused and ConnectionError."""
        if verb not in _ENDS:
            return await self._asked(verb, body)
        delivery_id = str(body.get("deliveryId"))
        self._ending[delivery_id] = None
        try:
            answer = await self._asked(verb, body)
        except BaseException:
            heard = self._ending.get(delivery_id)
            if heard is not None:
                self._lose(heard)
            raise
        finally:
            self._ending.pop(delivery_id, None)
            self._end_answered.set()
        self._over(delivery_id)
        return answer

    async def _asked(self, verb: str, body: Record) -> Record:
        """Again for as long as NEXUS says that it is worth it. Raises RequestRefused and ConnectionError."""
        assert self._link is not None, "deliveries come by the link"
        wait_ms = runtime_retry_ms_first
        while True:
            try:
                answered = await self._link.ask(verb, body)
            except Unencodable:
                raise RequestRefused(
                    "too_large", "What you said of the delivery is too large, or no JSON.", {}
                ) from None
            if answered.error is None:
                return answered.ok or {}
            code, message = str(answered.error.get("code")), str(answered.error.get("message"))
            if verb == "release" and code in _RELEASED_CODES:
                return {}  # most likely by a try whose answer was lost; it is not held any more, whatever ended that
            delivery_id = body.get("deliveryId")
            if isinstance(delivery_id, str) and await self._is_lost(delivery_id, code):
                raise DeliveryLost(code, message, answered.error)
            if code not in _AGAIN_CODES:
                raise RequestRefused(code, message, answered.error)
            after = answered.error.get("retryAfterSeconds")
            await asyncio.sleep(after if isinstance(after, int) else wait_ms / 1_000)
            wait_ms = min(2 * wait_ms, runtime_retry_ms_max)

    async def _is_lost(self, delivery_id: str, code: str) -> bool:
        """What a refusal by `code` says of the delivery. `wrong_state` is also said of one that is held, such as to
        reject it after its start."""
        if code not in _LOST_CODES and (code != "wrong_state" or delivery_id in await self._renew()):
            return False
        known = self._held.get(delivery_id)
        told = self._ending.get(delivery_id)  # says more than the code does
        self._lose(told or Lost(delivery_id, "" if known is None else known.thread_id, code, ""))
        return True
