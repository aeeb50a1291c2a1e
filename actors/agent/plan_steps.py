"""Steps of plans, as admission records them. There are no plans yet."""

from __future__ import annotations

from dataclasses import dataclass

from actors.agent.plan_book import COLLECTED_MESSAGE
from actors.agent.state import AgentState
from actors.decision import Context, Effect
from bus.address import Address
from bus.value import Record
from tools.errors import Refusal

__all__ = ["COLLECTED_MESSAGE", "Settlement", "StepCall", "collected", "depends_on_collected", "recorded", "settled"]


@dataclass(frozen=True, slots=True)
class StepCall:
    """A write that admission lets go on, or collects."""

    tool: str
    kind: str
    arguments: Record
    target: Address
    call_id: str
    workspace_id: str
    credential: str
    creates: str | None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What came of a dispatched call."""

    ok: Record | None
    error: Record | None

    @property
    def happened(self) -> bool:
        return self.ok is not None and self.ok.get("outcome") not in ("conflict", "rejected")

    @property
    def may_be_tried_again(self) -> bool:
        return self.error is not None and self.error.get("retryable") is True


def recorded(state: AgentState, call: StepCall, context: Context) -> tuple[Effect, ...]:
    return ()


def collected(state: AgentState, call: StepCall, context: Context) -> tuple[tuple[Effect, ...], Record] | Refusal:
    raise NotImplementedError


def depends_on_collected(state: AgentState, target: Address) -> bool:
    return False


def settled(state: AgentState, call_id: str, settlement: Settlement, context: Context) -> tuple[Effect, ...]:
    return ()


def step_approved(
    state: AgentState, plan_id: str, number: int, fingerprint: Record, approval_id: str, context: Context
) -> tuple[Effect, ...]:
    return ()


def step_denied(state: AgentState, plan_id: str, number: int, context: Context) -> tuple[Effect, ...]:
    return ()
