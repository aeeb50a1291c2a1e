"""Idempotency keys of one agent: which call a key stood for when it was first used (common 8.2). Pure.

A key belongs to (workspace, tool); other arguments under it are refused. It is kept as long as answers are, since
without the answer it could only lead to `outcome_unknown`; a few that are over go with each new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Final

from pydantic import Field

from actors.decision import Delete, Put, RowEffect
from bus.limits import answers_kept_ms, idempotency_keys_max
from bus.value import Record
from tools.base import Model
from tools.errors import Code, Refusal

_FORGOTTEN_A_CALL_MAX: Final = 8


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


def known(
    keys: Mapping[str, UsedKey], workspace_id: str, tool: str, given: GivenKey, now_ms: int
) -> UsedKey | Refusal | None:
    """The first use of the key, if there was one; the refusal when it was with other arguments."""
    used = keys.get(digest_of(workspace_id, tool, given.key))
    if used is None or _is_over(used, now_ms):
        return None
    return used if used.arguments == given.arguments else _MISMATCH


def kept(
    keys: Mapping[str, UsedKey],
    digest: str,
    given: GivenKey,
    now_ms: int,
    *,
    is_dispatched: bool = False,
    answer: Record | None = None,
) -> tuple[RowEffect, ...]:
    """The first use of a key, by digest; `keys` are the used ones, oldest first."""
    former = keys.get(digest)
    effects: list[RowEffect] = [] if former is None else [Delete(_row(former, digest))]
    surplus = len(keys) + 1 - idempotency_keys_max
    for other, old in islice(keys.items(), _FORGOTTEN_A_CALL_MAX):
        if other != digest and (_is_over(old, now_ms) or len(effects) < surplus):
            effects.append(Delete(_row(old, other)))
    new = UsedKey(callId=given.callId, arguments=given.arguments, at=now_ms, isDispatched=is_dispatched, answer=answer)
    return (*effects, Put(_row(new, digest), new.model_dump()))


def forgotten(keys: Mapping[str, UsedKey], digest: str) -> tuple[RowEffect, ...]:
    """The key may be used anew: its call was refused for now and changed nothing."""
    used = keys.get(digest)
    return () if used is None else (Delete(_row(used, digest)),)


def _is_over(used: UsedKey, now_ms: int) -> bool:
    return used.at + answers_kept_ms < now_ms


def _row(used: UsedKey, digest: str) -> str:
    return f"key/{used.at:015}/{digest}"
