"""The plans of one agent, as rows: `plan/<id>` and `step/<plan id>/<number>` (work-plan-tool, plan_*)."""

from __future__ import annotations

from dataclasses import dataclass

from actors.decision import RowEffect


@dataclass(slots=True)
class PlanBook:
    """What the agent's owner knows of its plans."""

    def apply(self, effect: RowEffect) -> None:
        """One row `plan/...` or `step/...`."""
        raise ValueError("there are no plans yet")
