"""The words that agent owners, hosts and gateways share about admitted calls (docs/decisions/0009).

Parcels: `call_admitted` from an agent owner to a tool's owner; `settled`, `looked` and (a dead letter's) `message_died`
back. To every host: `authority_changed`, `settings_published`. On a call from a gateway: marks in its stamp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bus.value import Record

CALL_ADMITTED: Final = "call_admitted"
"""{tool, arguments, callId, stamp, deadlineMs, fingerprint, asOfNow, isLook}: an admitted call on its way."""
SETTLED: Final = "settled"
"""{callId, ok} or {callId, error}: what became of it, told once for each `call_admitted` that is no look."""
LOOKED: Final = "looked"
"""{callId, would, fingerprint}: what would become of it."""

AUTHORITY_CHANGED: Final = "authority_changed"
"""{agentId, version}: stamps of that agent below `version` are honoured no more."""
SETTINGS_PUBLISHED: Final = "settings_published"
"""{version, values}: the settings from now on; `values` holds those that differ from their default."""
SETTINGS_ROW: Final = "settings"
"""Where a host keeps them: {version, values}, also after a reshard."""

STAMP_LOOK: Final = "look"
"""In a stamp, True: decide without effects and answer {would, fingerprint}. Such a call has an id of its own, never
that of the call that it looks ahead to: who waits for one would be answered with the other."""
STAMP_DISPATCHED: Final = "dispatched"
"""In a stamp, True: the call comes, or came, by `call_admitted`; wait for its answer under its id, decide nothing."""
STAMP_CHAIN: Final = "chain"
"""In a stamp, when there are any: the ids of the agents whose tasks the caller is at (security 2.24)."""
STAMP_CHAIN_MORE: Final = "chainMore"
"""In a stamp, when there are any: how many more there are than are named."""
WOULD: Final = "would"
"""Of a look's answer: {ok: answer}, {error: refusal} or {open: True} (the call would be left open)."""
FINGERPRINT: Final = "fingerprint"
"""Of a look's answer: what the tool's `fingerprint` says of its target; None if it has none, or would be refused."""
TARGET_CHANGED: Final = "isTargetChanged"
"""Beside a look's answer, from the gateway: the call is refused because its target is another one than was allowed."""

STALE_STAMP: Final = "stale_stamp"
"""The code, between host and gateway only, of a call whose stamp is not honoured: admit it again, same call id."""


def marks_of_chain(chain: Sequence[str], more: int) -> Record:
    """What a stamp carries of a chain of agents and of `more` that are not named; nothing when there are none."""
    marks: Record = {}
    if chain:
        marks[STAMP_CHAIN] = [*chain]
    if more:
        marks[STAMP_CHAIN_MORE] = more
    return marks


def chain_in(stamp: Record) -> tuple[str, ...]:
    """The originators that an agent's owner put into a stamp."""
    chain = stamp.get(STAMP_CHAIN)
    return tuple(str(one) for one in chain) if isinstance(chain, list) else ()


def chain_more_in(stamp: Record) -> int:
    """How many more there are than those."""
    more = stamp.get(STAMP_CHAIN_MORE)
    return more if isinstance(more, int) else 0
