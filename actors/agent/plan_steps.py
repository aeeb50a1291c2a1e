"""What admission, approvals and settling ask of plans; everything else of plans is their own affair (0009)."""

from __future__ import annotations

from actors.agent.plan_book import COLLECTED_MESSAGE, OpenPlan
from actors.agent.plan_notes import Settlement, StepCall, collected, depends_on_collected, recorded
from actors.agent.plan_run import settled, step_approved, step_denied

__all__ = [
    "COLLECTED_MESSAGE",
    "OpenPlan",
    "Settlement",
    "StepCall",
    "collected",
    "depends_on_collected",
    "recorded",
    "settled",
    "step_approved",
    "step_denied",
]
