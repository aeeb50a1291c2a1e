"""The plans of one agent, as rows: `plan/<id>` and `step/<plan id>/<number>` (work-plan-tool, plan_*)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from actors.decision import RowEffect

COLLECTED_MESSAGE: Final = (
    "The call was noted as a step of your plan and has not been executed. The person may run or discard the plan."
)


@dataclass(frozen=True, slots=True)
class OpenPlan:
    """The plan that the agent's next write belongs to."""

    plan_id: str
    phase: Literal["running", "stopped", "collecting", "executing"]


@dataclass(slots=True)
class PlanBook:
    """What the agent's owner knows of its plans."""

    def open_plan(self) -> OpenPlan | None:
        return None

    def apply(self, effect: RowEffect) -> None:
        """One row `plan/...` or `step/...`."""
        raise ValueError("there are no plans yet")
