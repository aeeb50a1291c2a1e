"""How far agents act alone, and who counts as nobody (common 2.3, 4.2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from bus.value import Record

GUEST_ID: Final = "guest"
"""The id of the unidentified caller; no agent's own id is so short."""

ModeName: TypeAlias = Literal["auto", "approval", "plan", "plan_collect"]


class Mode(StrEnum):
    """How far an agent acts alone. From the narrowest to the widest."""

    PLAN = "plan"
    PLAN_COLLECT = "plan_collect"
    APPROVAL = "approval"
    AUTO = "auto"

    def is_narrower_than(self, other: Mode) -> bool:
        order = [*Mode]
        return order.index(self) < order.index(other)


def took_effect(ok: Record) -> bool:
    """Whether an answer says that something happened: a conflict and a rejection changed nothing (common 5.2)."""
    return ok.get("outcome") not in ("conflict", "rejected")
