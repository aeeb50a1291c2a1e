"""How many surfaces one agent may create: a rate and a lifetime cap (work-plan-tool, creation budget). Pure.

Charged at admission, also when the call then fails; a call that only makes a card or a collected step is not charged.
Closing a surface gives nothing back. The person may raise the cap of one agent or reset what it has used.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from actors.decision import Put
from bus.limits import surface_rate_ms
from tools.base import Model
from tools.errors import Code, Refusal
from tools.setting_catalogue import SURFACES_LIFETIME, SURFACES_PER_HOUR, Snapshot
from tools.times import rfc3339

BUDGET_ROW: Final = "budget"


class Budget(Model):
    """The row `budget`: what the agent has used."""

    recent: list[int] = Field(default_factory=list)
    """When the surfaces of the last hour were admitted, oldest first, in milliseconds."""
    lifetime: int = 0
    """How many were ever admitted, or since the person reset it."""
    cap: int | None = None
    """The person's own cap for this agent; None: the setting's."""

    def used_within_the_hour(self, now_ms: int) -> list[int]:
        return [at for at in self.recent if at + surface_rate_ms > now_ms]

    def lifetime_cap(self, settings: Snapshot) -> int:
        return settings.of(SURFACES_LIFETIME) if self.cap is None else self.cap


def refusal(budget: Budget, settings: Snapshot, now_ms: int) -> Refusal | None:
    """Why no surface may be created now: names the limit and when it resets, or that only the person can."""
    cap = budget.lifetime_cap(settings)
    if budget.lifetime >= cap:
        return Refusal(
            Code.BUDGET_EXHAUSTED,
            "You have created as many surfaces as you may in all, and closing some gives nothing back. Only the person "
            "can raise or reset this.",
            details={"limit": cap, "limitName": "lifetime"},
        )
    per_hour, used = settings.of(SURFACES_PER_HOUR), budget.used_within_the_hour(now_ms)
    if len(used) < per_hour:
        return None
    if per_hour == 0:
        return Refusal(
            Code.BUDGET_EXHAUSTED,
            "The person lets agents create no surfaces. Only the person can change this.",
            details={"limit": 0, "limitName": "hourly"},
        )
    frees_at = used[-per_hour] + surface_rate_ms
    return Refusal(
        Code.BUDGET_EXHAUSTED,
        "You have created as many surfaces as you may within an hour. Work on those that there are, or wait until "
        "`resetsAt`.",
        details={
            "limit": per_hour,
            "limitName": "hourly",
            "resetsAt": rfc3339(frees_at),
            "retryAfterSeconds": max(1, -((now_ms - frees_at) // 1000)),
        },
    )


def charged(budget: Budget, now_ms: int) -> Put:
    """One more surface."""
    recent = [*budget.used_within_the_hour(now_ms), now_ms]
    used = budget.model_copy(update={"recent": recent, "lifetime": budget.lifetime + 1})
    return Put(BUDGET_ROW, used.model_dump())
