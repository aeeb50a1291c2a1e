"""A credential lent to a process of the person's for as long as its connection lasts: `nexus mcp --agent NAME`.

Invariants: the token is made here, told to that connection alone and kept nowhere; when the peer leaves, however it
ended, the credential is revoked. A gateway that ends revokes nothing: whoever still has the token is lent the same
credential again by the next one, which after a grace revokes what former gateways lent (actors/agent/lending.py). One
that is gone by then is not made anew under the former name: the person may have revoked it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from bus import address
from bus.address import Address
from bus.limits import lease_grace_ms, lease_retry_ms
from bus.value import Record
from nexus.gateway.identity import parse_token
from nexus.gateway.person_authority import AgentNamed, CredentialName, new_token
from nexus.gateway.person_owners import Owners, VerbRefused, checked_arguments, text
from nexus.gateway.person_scenes import Converse, Talk
from tools.errors import Code, Refusal

_NAME_BYTES: Final = 5
_TOKEN_CHARACTERS_MAX: Final = 400

_LENT_BEFORE_AND_GONE: Final = Refusal(
    Code.NOT_FOUND,
    "The credential that this client had borrowed was revoked, or the client was away for too long. Start it again.",
)
_HALF_A_LEASE: Final = Refusal(
    Code.INVALID_ARGUMENTS,
    "To be lent a credential again, name it and show the token that it had, which is its agent's.",
)
_NOT_NOW: Final = frozenset({Code.UNAVAILABLE.value, Code.OUTCOME_UNKNOWN.value})


class CredentialLease(AgentNamed):
    credential: CredentialName | None = None
    token: Annotated[str, Field(max_length=_TOKEN_CHARACTERS_MAX)] | None = None
    """With `credential`: what the former gateway lent."""


async def credential_lease(owners: Owners, raw: Record, talk: Talk) -> Record:
    """Tells the token and holds the credential until the peer leaves. Raises VerbRefused."""
    asked = checked_arguments(CredentialLease, raw)
    meant = (await owners.directory()).agent(asked.agent, asked.workspace)
    again = asked.credential is not None
    name = asked.credential or f"mcp-{secrets.token_hex(_NAME_BYTES)}"
    token, token_hash = new_token(meant.id)
    if again or asked.token is not None:
        shown = parse_token(asked.token or "")
        if not again or shown is None or shown.agent_id != meant.id:
            raise VerbRefused.by(_HALF_A_LEASE)
        token, token_hash = asked.token or "", shown.token_hash
    to = address.agent(meant.id)
    body: Record = {"name": name, "tokenHash": token_hash, "gateway": owners.gateway, "again": again}
    leaving = asyncio.ensure_future(talk.left())
    lending = asyncio.ensure_future(_lent(owners, to, body))
    try:
        await asyncio.wait((lending, leaving), return_when=asyncio.FIRST_COMPLETED)
        if lending.done():
            lending.result()
            with contextlib.suppress(ConnectionError):
                await talk.emit({"agentId": meant.id, "name": meant.name, "credential": name, "token": token})
            await leaving
    finally:
        for one in (lending, leaving):
            one.cancel()
        await asyncio.gather(lending, leaving, return_exceptions=True)
    await _end(owners, to, {"name": name, "gateway": owners.gateway})
    return {"agentId": meant.id, "credential": name}


async def end_former_leases(owners: Owners) -> None:
    """After a grace, revoke what former gateways lent to whoever has not asked again. Runs once a gateway."""
    await asyncio.sleep(lease_grace_ms / 1_000)
    while True:
        try:
            directory = await owners.directory()
            break
        except VerbRefused:
            await asyncio.sleep(lease_retry_ms / 1_000)
    left = [address.agent(text(one, "agentId")) for one in directory.agents]
    while left:  # one by one: nobody waits, and others do; who does not answer is asked again when all others have been
        for to in [*left]:
            try:
                answer = await owners.ask(to, "leases_end", {"gateway": owners.gateway})
            except VerbRefused as refused:
                if refused.error.get("code") == Code.NOT_FOUND.value:
                    left.remove(to)
                continue
            if answer.get("left", 0) == 0:
                left.remove(to)
        if left:
            await asyncio.sleep(lease_retry_ms / 1_000)


async def _lent(owners: Owners, to: Address, body: Record) -> None:
    """Until the owner has answered: asking again is the same. Raises VerbRefused for a no."""
    while True:
        try:
            await owners.ask(to, "credential_lend", body)
            return
        except VerbRefused as refused:
            code = refused.error.get("code")
            if code == Code.NOT_FOUND.value and body["again"] is True:
                raise VerbRefused.by(_LENT_BEFORE_AND_GONE) from None
            if code not in _NOT_NOW:
                raise
        await asyncio.sleep(lease_retry_ms / 1_000)


async def _end(owners: Owners, to: Address, body: Record, verb: str = "lease_end") -> Record:
    """The answer. Until it is done, or there is no such agent any more."""
    while True:
        try:
            return await owners.ask(to, verb, body)
        except VerbRefused as refused:
            if refused.error.get("code") == Code.NOT_FOUND.value:
                return {}
        await asyncio.sleep(lease_retry_ms / 1_000)


CONVERSATIONS: Final[Mapping[str, Converse]] = {"agent.credential_lease": credential_lease}
