"""A credential lent to a process of the person's for as long as its connection lasts: `nexus mcp --agent NAME`.

Invariants: the token is made here, told to that connection alone and kept nowhere; it counts only through this gateway,
and only until the peer leaves, however it ended. A gateway that ends gives nothing back: what it lent counts no longer,
and whoever still has the token is lent the same credential again by the next one, which after a grace ends what is
left of the former (actors/agent/lending.py). What the person revoked is not made anew under its former name.

Event loop thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field

from bus import address
from bus.address import Address
from bus.limits import lease_retry_ms, lease_retry_ms_max
from bus.value import Record
from nexus.gateway.identity import parse_token
from nexus.gateway.person_authority import AgentNamed, CredentialName, new_token
from nexus.gateway.person_owners import Owners, VerbRefused, checked_arguments, text
from nexus.gateway.person_scenes import Converse, Talk
from tools.errors import Code, Refusal

VERB: Final = "agent.credential_lease"

_NAME_BYTES: Final = 5
_TOKEN_CHARACTERS_MAX: Final = 400

_LENT_BEFORE_AND_GONE: Final = Refusal(
    Code.NOT_FOUND,
    "The credential that this client had borrowed was revoked, or it was away for so long that it is forgotten. Start "
    "it again.",
)
_HALF_A_LEASE: Final = Refusal(
    Code.INVALID_ARGUMENTS,
    "To be lent a credential again, name it and show the token that it had, which is its agent's.",
)
_NOT_NOW: Final = frozenset({Code.UNAVAILABLE.value, Code.OUTCOME_UNKNOWN.value})
_NOT_NOW_AGAIN: Final = _NOT_NOW | {Code.STORAGE_FULL.value}
"""Of what was lent before: its process lives, and waits."""


class CredentialLease(AgentNamed):
    credential: CredentialName | None = None
    token: Annotated[str, Field(max_length=_TOKEN_CHARACTERS_MAX)] | None = None
    """With `credential`: what the former gateway lent."""


@dataclass(frozen=True, slots=True)
class _Loan:
    """A credential that is to be lent."""

    agent_id: str
    credential: str
    token: str = field(repr=False)
    token_hash: bytes
    is_again: bool


class Leases:
    """Of one gateway: what it lends, and what it ends of its forerunners'."""

    def __init__(self) -> None:
        self._asked_again: list[_Loan] = []
        """What somebody is being lent again, or holds already: that does not end as a forerunner's."""

    @property
    def conversations(self) -> Mapping[str, Converse]:
        return {VERB: self.lend}

    async def lend(self, owners: Owners, raw: Record, talk: Talk) -> Record:
        """Tells the token and holds the credential until the peer leaves. Raises VerbRefused."""
        asked = checked_arguments(CredentialLease, raw)
        former = _former(asked)
        with self._spared(former):
            meant = (await owners.directory()).agent(asked.agent, asked.workspace)
            loan = _new(meant.id) if former is None else former
            if loan.agent_id != meant.id:
                raise VerbRefused.by(_HALF_A_LEASE)
            await _hold(owners, loan, meant.name, talk)
        return {"agentId": loan.agent_id, "credential": loan.credential}

    async def end_former(self, owners: Owners) -> None:
        """End what former gateways lent to whoever has not asked again, until nothing is left of it. Raises
        VerbRefused when the directory refuses for more than now."""
        pause_ms = lease_retry_ms
        directory = None
        while directory is None:
            try:
                directory = await owners.directory()
            except VerbRefused as refused:
                if refused.error.get("code") not in _NOT_NOW:
                    raise
                pause_ms = await _paused(pause_ms)
        left = [text(one, "agentId") for one in directory.agents]
        pause_ms = lease_retry_ms
        while left:  # one by one: nobody waits, and others do; who does not answer is asked again when all others were
            for agent_id in [*left]:
                if await self._is_ended(owners, agent_id):
                    left.remove(agent_id)
            if left:
                pause_ms = await _paused(pause_ms)

    async def _is_ended(self, owners: Owners, agent_id: str) -> bool:
        """Ends an agent's, one with each message; whether nothing is left."""
        while True:
            spared = sorted({loan.credential for loan in self._asked_again if loan.agent_id == agent_id})
            body: Record = {"gateway": owners.gateway, "spared": [*spared]}
            try:
                answer = await owners.ask(address.agent(agent_id), "leases_end", body)
            except VerbRefused as refused:
                return refused.error.get("code") == Code.NOT_FOUND.value
            if answer.get("left") == 0:
                return True
            if answer.get("ended") != 1:
                return False

    @contextmanager
    def _spared(self, loan: _Loan | None) -> Iterator[None]:
        if loan is None:
            yield
            return
        self._asked_again.append(loan)
        try:
            yield
        finally:
            self._asked_again.remove(loan)


def _former(asked: CredentialLease) -> _Loan | None:
    """What is to be lent again; None for a new one. Raises VerbRefused for half of it."""
    if asked.credential is None and asked.token is None:
        return None
    shown = parse_token(asked.token or "")
    if asked.credential is None or asked.token is None or shown is None:
        raise VerbRefused.by(_HALF_A_LEASE)
    return _Loan(shown.agent_id, asked.credential, asked.token, shown.token_hash, is_again=True)


def _new(agent_id: str) -> _Loan:
    token, token_hash = new_token(agent_id)
    return _Loan(agent_id, f"mcp-{secrets.token_hex(_NAME_BYTES)}", token, token_hash, is_again=False)


async def _hold(owners: Owners, loan: _Loan, agent: str, talk: Talk) -> None:
    """Lend it, tell it, and end it when the peer has left. Raises VerbRefused for a no."""
    to = address.agent(loan.agent_id)
    holder: Record = {"name": loan.credential, "gateway": owners.gateway, "connection": owners.clock.new_id()}
    leaving = asyncio.ensure_future(talk.left())
    lending = asyncio.ensure_future(_lent(owners, to, loan, holder))
    try:
        await asyncio.wait((lending, leaving), return_when=asyncio.FIRST_COMPLETED)
        if lending.done():
            lending.result()
            told: Record = {"agentId": loan.agent_id, "name": agent, "credential": loan.credential, "token": loan.token}
            with contextlib.suppress(ConnectionError):
                await talk.emit(told)
            await leaving
    finally:
        for one in (lending, leaving):
            one.cancel()
        await asyncio.gather(lending, leaving, return_exceptions=True)
    await _end(owners, to, holder)


async def _lent(owners: Owners, to: Address, loan: _Loan, holder: Record) -> None:
    """Until the owner has answered: asking again is the same. Raises VerbRefused for a no."""
    body: Record = {**holder, "tokenHash": loan.token_hash, "again": loan.is_again}
    while True:
        try:
            await owners.ask(to, "credential_lend", body)
            return
        except VerbRefused as refused:
            code = refused.error.get("code")
            if code == Code.NOT_FOUND.value and loan.is_again:
                raise VerbRefused.by(_LENT_BEFORE_AND_GONE) from None
            if code not in (_NOT_NOW_AGAIN if loan.is_again else _NOT_NOW):
                raise
        await asyncio.sleep(lease_retry_ms / 1_000)


async def _end(owners: Owners, to: Address, holder: Record) -> None:
    """Until it is done, or there is no such agent any more."""
    while True:
        try:
            await owners.ask(to, "lease_end", holder)
            return
        except VerbRefused as refused:
            if refused.error.get("code") == Code.NOT_FOUND.value:
                return
        await asyncio.sleep(lease_retry_ms / 1_000)


async def _paused(pause_ms: int) -> int:
    """Waits so long; answers how long to wait the next time."""
    await asyncio.sleep(pause_ms / 1_000)
    return min(2 * pause_ms, lease_retry_ms_max)
