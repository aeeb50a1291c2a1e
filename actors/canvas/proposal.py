"""A proposal: a commenter's write that waits for somebody who may decide it (canvas 1.2, 3.4). Pure data; the rules
are in proposing.py and deciding.py.

A pending one holds the call's arguments as they came. A decided one holds none: it only tells that, and how, it was
decided, until newer ones take its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, cast

from bus.value import Record, Value

PROPOSAL: Final = "proposal/"


class Stage(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class Verdict(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


TRANSITIONS: Final[Mapping[tuple[Stage, Verdict], Stage]] = {
    (Stage.PENDING, Verdict.APPROVE): Stage.APPROVED,
    (Stage.PENDING, Verdict.REJECT): Stage.REJECTED,
}
"""What is absent is refused: a proposal is decided once (canvas 3.4)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The row of one proposal."""

    id: str
    tool: str
    what: str
    """What approving it will have done, as conflicts and the history name it."""
    by: str
    """The agent that proposed it."""
    workspace_id: str
    credential: str
    call_id: str
    """Of the call that proposed it: ids and numbers of what it makes derive from it, at approval too."""
    base_revision: int
    at_ms: int
    reason: str
    element_ids: tuple[str, ...]
    """The first of those that it would have changed when it was made."""
    elements: int
    """How many those were in all."""
    size: int
    """Bytes of the arguments, which count as its proposer's while it is pending."""
    arguments: Record | None
    """None once it is decided."""
    stage: Stage = Stage.PENDING
    decided_by: str = ""
    """An agent's id or `person`."""
    decided_ms: int = 0
    decided_because: str = ""
    """The reason that the deciding call gave."""

    @property
    def place(self) -> tuple[int, str]:
        """Where it stands among the others, the oldest first.

        Ids alone do not tell: they derive from calls, of which several come in a millisecond and one may have waited
        long for its approval.
        """
        return self.at_ms, self.id

    @property
    def is_pending(self) -> bool:
        return self.stage is Stage.PENDING

    def decided(self, verdict: Verdict, by: str, now_ms: int, because: str) -> Proposal | None:
        """What is left of it; None when it is decided already."""
        stage = TRANSITIONS.get((self.stage, verdict))
        if stage is None:
            return None
        told = {"decided_by": by, "decided_ms": now_ms, "decided_because": because}
        return replace(self, stage=stage, arguments=None, element_ids=(), **told)  # type: ignore[arg-type]

    def to_record(self) -> Record:
        listed: list[Value] = [*self.element_ids]
        record: Record = {
            "tool": self.tool,
            "what": self.what,
            "by": self.by,
            "workspaceId": self.workspace_id,
            "credential": self.credential,
            "callId": self.call_id,
            "baseRevision": self.base_revision,
            "atMs": self.at_ms,
            "reason": self.reason,
            "elementIds": listed,
            "elements": self.elements,
            "size": self.size,
            "stage": self.stage.value,
        }
        if self.is_pending:
            return {**record, "arguments": self.arguments}
        told: Record = {
            "decidedBy": self.decided_by,
            "decidedMs": self.decided_ms,
            "decidedBecause": self.decided_because,
        }
        return {**record, **told}

    @classmethod
    def from_record(cls, id_: str, record: Record) -> Proposal:
        return cls(
            id=id_,
            tool=cast(str, record["tool"]),
            what=cast(str, record["what"]),
            by=cast(str, record["by"]),
            workspace_id=cast(str, record["workspaceId"]),
            credential=cast(str, record["credential"]),
            call_id=cast(str, record["callId"]),
            base_revision=cast(int, record["baseRevision"]),
            at_ms=cast(int, record["atMs"]),
            reason=cast(str, record["reason"]),
            element_ids=tuple(cast("list[str]", record["elementIds"])),
            elements=cast(int, record["elements"]),
            size=cast(int, record["size"]),
            arguments=cast("Record | None", record.get("arguments")),
            stage=Stage(cast(str, record["stage"])),
            decided_by=cast(str, record.get("decidedBy", "")),
            decided_ms=cast(int, record.get("decidedMs", 0)),
            decided_because=cast(str, record.get("decidedBecause", "")),
        )


def proposal_row(id_: str) -> str:
    """Rows do not sort as proposals were made (Proposal.place)."""
    return PROPOSAL + id_
