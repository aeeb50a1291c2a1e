"""Idempotency keys of one agent: which call a key stood for when it was first used (common 8.2). Pure.

A key belongs to (workspace, tool); other arguments under it are refused. It is kept as long as answers are, since
without the answer it could only lead to `outcome_unknown`; a few that are over go with each new one.

The stdio shim gives a key to each call that has none, so that it may send it again (nexus/shim). Such a key is shown
again soon or never, and there is one for every call; so those are counted apart, and never cost a client one of its
own, which it may have written down.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any, Final

from pydantic import Field

from actors.decision import Delete, Put, RowEffect
from bus.limits import answers_kept_ms, idempotency_keys_max, shim_keys_max
from bus.value import Record
from tools.base import Model
from tools.errors import Code, Refusal

_FORGOTTEN_A_CALL_MAX: Final = 8
# As nexus/shim/shim.py makes them, which tests/shim/test_shim.py holds. A client that writes such a key gives away only
# what is its own.
_SHIMS: Final = re.compile(r"shim-[0-9a-f]{32}")


class GivenKey(Model):
    """What the gateway says of a call that carries a key."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: Annotated[bytes, Field(min_length=32, max_length=32)]
    """SHA-256 of the canonical arguments."""
    callId: str
    """The id that this call gets if the key is new."""


class UsedKey(Model):
    """The row `key/<time>/<digest>`: in the order of the store, oldest first."""

    callId: str
    arguments: bytes
    at: int
    isDispatched: bool = False
    """Its call was committed with its admission, so repeats only join it (0009)."""
    answer: dict[str, Any] | None = None
    """What repeats are answered, when the call itself never runs: it was collected as a step."""
    isShims: bool = False
    """The stdio shim made it, not a client."""


@dataclass(slots=True)
class UsedKeys:
    """By digest, oldest first: their rows are named by time."""

    clients: dict[str, UsedKey] = field(default_factory=dict)
    shims: dict[str, UsedKey] = field(default_factory=dict)

    def get(self, digest: str) -> UsedKey | None:
        return self.clients.get(digest) or self.shims.get(digest)

    def put(self, digest: str, used: UsedKey) -> None:
        (self.shims if used.isShims else self.clients)[digest] = used

    def drop(self, digest: str) -> None:
        self.clients.pop(digest, None)
        self.shims.pop(digest, None)


_MISMATCH: Final = Refusal(
    Code.IDEMPOTENCY_MISMATCH,
    "This idempotency key was used before for a call with other arguments. Use a new key for a new call.",
)


def digest_of(workspace_id: str, tool: str, key: str) -> str:
    """The name under which a key is kept: 40 hexadecimal characters."""
    return hashlib.sha256("\x00".join((workspace_id, tool, key)).encode()).hexdigest()[:40]


def digest_in(name: str) -> str:
    """The digest in a row's name after `key/`."""
    return name.partition("/")[2]


def known(keys: UsedKeys, workspace_id: str, tool: str, given: GivenKey, now_ms: int) -> UsedKey | Refusal | None:
    """The first use of the key, if there was one; the refusal when it was with other arguments."""
    used = keys.get(digest_of(workspace_id, tool, given.key))
    if used is None or _is_over(used, now_ms):
        return None
    return used if used.arguments == given.arguments else _MISMATCH


def kept(
    keys: UsedKeys,
    digest: str,
    given: GivenKey,
    now_ms: int,
    *,
    is_dispatched: bool = False,
    answer: Record | None = None,
) -> tuple[RowEffect, ...]:
    """The first use of a key, by digest."""
    former = keys.get(digest)
    effects: list[RowEffect] = [] if former is None else [Delete(_row(former, digest))]
    is_shims = _SHIMS.fullmatch(given.key) is not None
    alike, most = (keys.shims, shim_keys_max) if is_shims else (keys.clients, idempotency_keys_max)
    surplus = len(alike) + 1 - most
    for other, old in islice(alike.items(), _FORGOTTEN_A_CALL_MAX):
        if other != digest and (_is_over(old, now_ms) or len(effects) < surplus):
            effects.append(Delete(_row(old, other)))
    new = UsedKey(
        callId=given.callId,
        arguments=given.arguments,
        at=now_ms,
        isDispatched=is_dispatched,
        answer=answer,
        isShims=is_shims,
    )
    return (*effects, Put(_row(new, digest), new.model_dump()))


def forgotten(keys: UsedKeys, digest: str) -> tuple[RowEffect, ...]:
    """The key may be used anew: its call was refused for now and changed nothing."""
    used = keys.get(digest)
    return () if used is None else (Delete(_row(used, digest)),)


def _is_over(used: UsedKey, now_ms: int) -> bool:
    return used.at + answers_kept_ms < now_ms


def _row(used: UsedKey, digest: str) -> str:
    return f"key/{used.at:015}/{digest}"
