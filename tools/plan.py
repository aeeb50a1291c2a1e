"""plan_*: announce what one is about to do, and see it beside what happened (work-plan-tool.md, plan_*)."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field

from bus.limits import (
    page_items_default,
    page_items_max,
    plan_announced_max,
    plan_note_characters_max,
    plan_step_characters_max,
)
from tools.base import (
    Family,
    Identifier,
    Integer,
    Kind,
    Model,
    Name,
    PageCursor,
    Route,
    Scope,
    ScopedInput,
    Tool,
)
from tools.fence import Fence
from tools.problems import problem

PlanState: TypeAlias = Literal["running", "stopped", "collecting", "executing", "ended", "discarded"]
StepState: TypeAlias = Literal["collected", "running", "awaiting_approval", "done", "failed", "discarded"]


def _must_say_something(text: str) -> str:
    if not text.strip():
        raise problem("must not be blank")
    return text


Announcement = Annotated[
    str, Field(min_length=1, max_length=plan_step_characters_max), AfterValidator(_must_say_something)
]
"""One thing that an agent is about to do, in its own words."""


class PlanBeginInput(ScopedInput):
    title: Name
    steps: list[Announcement] = Field(
        default=[], max_length=plan_announced_max, description="What you are about to do, a sentence each, in order."
    )


class PlanBeginOutput(Model):
    planId: str
    state: PlanState


class PlanGetInput(ScopedInput):
    planId: Identifier | None = Field(default=None, description="Left out: your open plan, else your last one.")
    limit: Integer = Field(default=page_items_default, ge=1, le=page_items_max)
    cursor: PageCursor = None


class PlanStep(Model):
    """One call of yours that NEXUS noted down, with how it ended."""

    stepId: str
    number: int
    tool: str
    state: StepState
    at: str
    endedAt: str | None = None
    outcome: str | None = None
    code: str | None = None
    revision: int | None = None
    surfaceId: str | None = None


class PlanGetOutput(Model):
    planId: str
    title: str
    state: PlanState
    beganAt: str
    endedAt: str | None = None
    announced: list[Fence] = Field(description="What you said that you would do.")
    happened: list[PlanStep] = Field(description="What happened, in order. You can neither leave out nor edit a step.")
    stepCount: int
    note: Fence | None = None
    nextCursor: str | None = None


class PlanEndInput(ScopedInput):
    note: str | None = Field(
        default=None,
        min_length=1,
        max_length=plan_note_characters_max,
        description="What came of it, for the person to read.",
    )


class PlanEndOutput(Model):
    planId: str
    state: PlanState
    wasStopped: bool
    stepCount: int


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="plan_begin",
        family=Family.PLAN,
        kind=Kind.WRITE,
        scope=Scope.WORKSPACE,
        capability=None,
        route=Route.OWN_AGENT,
        summary=(
            "Announce a piece of work before you start it: a title and the steps that you mean to take. From then on"
            " NEXUS notes down each write of yours beside them, until plan_end. The person watches it live, can stop it"
            " and can undo it. A plan grants nothing: every call is still admitted on its own. You can have one open"
            " plan."
        ),
        input=PlanBeginInput,
        output=PlanBeginOutput,
        side_effects="Opens a plan that the person sees; your writes become its steps.",
        reversibility="plan_end ends it; the record stays.",
    ),
    Tool(
        name="plan_end",
        family=Family.PLAN,
        kind=Kind.WRITE,
        scope=Scope.WORKSPACE,
        capability=None,
        route=Route.OWN_AGENT,
        summary=(
            "End your open plan, with a note on what came of it. Once the person has stopped a plan your writes are"
            " refused plan_stopped, and plan_end is the way on: it always passes after a stop. Read plan_get first"
            " and tell the person what was left undone."
        ),
        input=PlanEndInput,
        output=PlanEndOutput,
        side_effects="Ends the plan; later writes are not noted in it.",
        reversibility="None; begin another plan.",
        passes_when_stopped=True,
    ),
    Tool(
        name="plan_get",
        family=Family.PLAN,
        kind=Kind.READ,
        scope=Scope.WORKSPACE,
        capability=None,
        route=Route.OWN_AGENT,
        summary=(
            "Read one of your plans: what you announced beside what happened, step by step. Calls that were collected"
            " instead of executed are such a plan too: its steps say which of them the person has run."
        ),
        input=PlanGetInput,
        output=PlanGetOutput,
        side_effects="None: it only reads.",
        reversibility="Nothing to undo.",
    ),
)
