"""Who is calling: the bearer token and nothing else (common 2.1).

Invariants: a token never leaves this file - the bus, logs and the SDK see an agent's id and a SHA-256; a token that
is malformed, unknown or revoked is the same `None`. An owner that cannot be reached is not a bad token (common 2.3):
that raises DeadlinePassed instead.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from bus import address
from bus.client import Caller, DeadlinePassed
from bus.message_record import message_record
from bus.value import Record
from nexus.gateway.shares import DEFAULT_LIMITS, Limits
from tools.base import Tool

_TOKEN: Final = re.compile(r"nx_([0-9A-Za-z-]{1,64})_([0-9A-Za-z_-]{1,256})\Z", re.ASCII)
_SCHEME: Final = "bearer "


@message_record
class Credential:
    """What a request presents: which agent it claims to be, and the hash of the secret that must prove it."""

    agent_id: str
    token_hash: bytes


@dataclass(frozen=True, slots=True)
class Identity:
    """A credential that its agent owner has confirmed, with the deliveries that wait for the agent."""

    credential: Credential
    waiting: int
    limits: Limits = DEFAULT_LIMITS
    families: frozenset[str] | None = None
    """What the credential is narrowed to; None: it is served every family (common 1.3)."""
    workspace_id: str = ""
    """The agent's scope as its owner told it then; empty when nothing resolved. Admission says what it is now."""

    def is_served(self, tool: Tool) -> bool:
        """Whether the credential knows this tool."""
        return self.families is None or tool.family.value in self.families

    @property
    def agent_id(self) -> str:
        return self.credential.agent_id


def parse_authorization(values: list[str]) -> Credential | None:
    """The credential in the Authorization headers of one request; two headers are as bad as none."""
    if len(values) != 1 or values[0][: len(_SCHEME)].lower() != _SCHEME:
        return None
    return parse_token(values[0][len(_SCHEME) :].strip(" "))


def parse_token(token: str) -> Credential | None:
    """`nx_<agentId>_<secret>`: the id holds no underscore, the secret may."""
    match = _TOKEN.match(token)
    if match is None or not address.is_id(match[1]):
        return None
    return Credential(match[1], hashlib.sha256(match[2].encode()).digest())


async def authenticate(caller: Caller, credential: Credential, call_id: str, within_ms: int) -> Identity | None:
    """Ask the claimed agent's owner. None: not a valid credential. Raises DeadlinePassed when it cannot say."""
    to = address.agent(credential.agent_id)
    body: Record = {"tokenHash": credential.token_hash}
    reply = await caller.call(to, "authenticate", body, call_id=call_id, within_ms=within_ms)
    if reply.ok is None:  # the owner answers refusals only for troubles of its own, such as a full disk
        raise DeadlinePassed(was_sent=True)
    if reply.ok.get("authenticated") is not True:
        return None
    told = reply.ok
    return Identity(
        credential,
        waiting_count(told.get("waiting")),
        Limits.from_reply(told.get("limits")),
        _families(told.get("families")),
        str(told.get("workspaceId", "")),
    )


def _families(value: object) -> frozenset[str] | None:
    """What an owner's answer narrows the credential to."""
    return None if value is None else frozenset(value if isinstance(value, list) else ())


def waiting_count(value: object) -> int:
    """The count in an owner's answer; 0 for anything that is no count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
