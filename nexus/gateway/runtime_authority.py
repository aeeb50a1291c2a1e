"""As whom a runtime's requests are made: the token that it showed, judged like that of any call (mesh 5.1).

Invariants: whoever may not read the agent's inbox by MCP is no runtime of it - the token must be good, its credential
know the family of agent_inbox, the agent have mesh and a workspace, and the tool not be withheld; every request goes to
the mailbox of the agent that the token names, whatever the request says; a stamp serves for `runtime_stamp_ms`, so
what the person has narrowed is refused by the mailbox's host at once and here that much later at most.
"""

from __future__ import annotations

import asyncio
from typing import Final

from bus import address
from bus.admitted import STALE_STAMP
from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.envelope import Reply
from bus.limits import admissions_per_call_max, call_deadline_ms_default
from bus.runtime_limits import runtime_stamp_ms
from bus.value import Record
from nexus.gateway.admitting import admit_read
from nexus.gateway.identity import Credential, Identity, authenticate
from nexus.gateway.reading import Reading
from tools.agent import AGENT_INBOX
from tools.errors import Code, Refusal, unavailable

BAD_TOKEN: Final = Refusal(
    Code.UNIDENTIFIED_CALLER,
    "The token is not, or not any more, one of an agent's. `nexus agent credential add` makes a new one.",
)
_NARROWED: Final = Refusal(
    Code.CAPABILITY_DISABLED,
    "This credential is narrowed to other families of tools, so it cannot take tasks. Only the person widens it.",
)
_BEING_CHANGED: Final = unavailable("What you may do is being changed. Try again in a moment.")


class RuntimeRefused(Exception):
    """The token lets nobody be a runtime of its agent, or not any more."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__("refused")
        self.refusal = refusal


class RuntimeAuthority:
    """One credential's. Remembers the last stamp and nothing else."""

    def __init__(self, caller: Caller, clock: Clock, credential: Credential) -> None:
        self._caller = caller
        self._clock = clock
        self._credential = credential
        self._stamp: Record | None = None
        self._stamped_ms = 0
        self._one_at_a_time = asyncio.Lock()

    @property
    def credential(self) -> Credential:
        return self._credential

    @property
    def agent_id(self) -> str:
        return self._credential.agent_id

    async def judge(self, within_ms: int) -> Identity:
        """Anew, by the agent's owner, which notes the use. `within_ms` is for all that is asked. Raises RuntimeRefused
        and DeadlinePassed."""
        until_ms = self._clock.now_ms() + within_ms
        identity = await authenticate(self._caller, self._credential, self._clock.new_id(), within_ms)
        if identity is None:
            raise RuntimeRefused(BAD_TOKEN)
        self._stamp = None
        await self._stamp_now(until_ms)
        return identity

    async def call(self, verb: str, body: Record, within_ms: int = call_deadline_ms_default) -> Reply:
        """What the agent's own mailbox answers. Raises RuntimeRefused, DeadlinePassed and Unencodable."""
        call_id, until_ms = self._clock.new_id(), self._clock.now_ms() + within_ms
        for _ in range(admissions_per_call_max):
            stamp = await self._stamp_now(until_ms)
            to, within_ms = address.mailbox(self.agent_id), _left(until_ms, self._clock)
            reply = await self._caller.call(to, verb, body, call_id=call_id, within_ms=within_ms, stamp=stamp)
            if reply.error is None or reply.error.get("code") != STALE_STAMP:
                return reply
            self._stamp = None
        return Reply(call_id, None, _BEING_CHANGED.to_record())

    async def give_back(self, delivery_id: str, runtime_id: str) -> Reply:
        """By the gateway itself, since the token may not be good any more. Raises DeadlinePassed."""
        to, call_id = address.mailbox(self.agent_id), self._clock.new_id()
        body: Record = {"deliveryId": delivery_id, "runtimeId": runtime_id}
        return await self._caller.call(to, "mail_release", body, call_id=call_id, within_ms=call_deadline_ms_default)

    async def reading(self, within_ms: int = call_deadline_ms_default) -> Reading:
        """For reads of other owners as the agent. Raises RuntimeRefused and DeadlinePassed."""
        until_ms = self._clock.now_ms() + within_ms
        return Reading(self._caller, self._clock, await self._stamp_now(until_ms), until_ms)

    async def _stamp_now(self, until_ms: int) -> Record:
        async with self._one_at_a_time:  # what is left is counted from here on: others may have been waited for
            if self._stamp is None or self._clock.now_ms() - self._stamped_ms > runtime_stamp_ms:
                self._stamp = await self._admitted(_left(until_ms, self._clock))
                self._stamped_ms = self._clock.now_ms()
            return self._stamp

    async def _admitted(self, within_ms: int) -> Record:
        admission = await admit_read(self._caller, self._clock, self._credential, AGENT_INBOX, within_ms)
        if not admission.authenticated:
            raise RuntimeRefused(BAD_TOKEN)
        if admission.is_unknown_tool:
            raise RuntimeRefused(_NARROWED)
        if admission.refusal is not None:
            raise RuntimeRefused(Refusal.from_record(admission.refusal))
        assert admission.stamp is not None, "a read is refused or stamped"
        return admission.stamp


def _left(until_ms: int, clock: Clock) -> int:
    left = until_ms - clock.now_ms()
    if left <= 0:
        raise DeadlinePassed(was_sent=False)
    return left
