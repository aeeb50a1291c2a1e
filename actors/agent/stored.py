"""An agent's share of the disk: what its work takes, and the refusal of writes beyond it (common 8.5).

The owners of canvases and mailboxes count, and tell whenever it has changed enough (`stored_report_bytes`); so the sum
here lags, by less than that for each place. What frees space is never refused for want of it.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from actors.agent.state import AgentState
from actors.agent.stored_book import STORED
from actors.decision import Context, Decision, Delete, PrincipalKind, Put, Verb, VerbTable
from actors.parsed import DONE, parsed, sending_owner
from tools.base import Model
from tools.errors import Code, Refusal
from tools.setting_catalogue import STORED_MEBIBYTES

_MIB: Final = 1 << 20
_LEAST: Final = (STORED_MEBIBYTES.minimum or 0) * _MIB
"""Below it no setting refuses anything."""


class StoredBytes(Model):
    place: str
    bytes: int = Field(ge=0)


def stored(state: AgentState, body: StoredBytes, context: Context) -> Decision:
    """A place tells what of it is this agent's. 0: nothing any more."""
    if body.place != str(sending_owner(context, "canvas", "mailbox")):
        raise ValueError("a place tells of itself")
    if state.stored.places.get(body.place, 0) == body.bytes:
        return DONE
    row = STORED + body.place
    return Decision({}, (Put(row, body.bytes) if body.bytes else Delete(row),))


def refusal(state: AgentState, context: Context) -> Refusal | None:
    """What a write is answered when the share is used up; not for a tool that frees space (`Tool.frees_space`)."""
    if state.stored.total < _LEAST:
        return None
    limit = context.settings.of(STORED_MEBIBYTES)
    if state.stored.total < limit * _MIB:
        return None
    return Refusal(
        Code.STORAGE_FULL,
        "What you have stored fills your share of the disk, so nothing more was written. Delete what is not needed "
        "any more, such as a canvas of yours, or ask the person for a larger share.",
        details={"limit": limit, "limitName": "storedMebibytes"},
    )


VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {"stored": Verb(parsed(StoredBytes, stored), frozenset({PrincipalKind.OWNER}))}
)
