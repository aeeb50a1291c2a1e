"""What a tool declares. A tool without a kind, a capability (or none, said so) and a scope cannot be written down.

Declarations are data: the gateway lists and routes by them, agent owners admit by them, owners decide by the parsed
input model. Rules: contract 00-common sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from bus.limits import (
    call_deadline_ms_default,
    cursor_characters_max,
    identifier_characters_max,
    name_characters_max,
    reason_characters_max,
)
from tools.fence import is_plain_name
from tools.problems import PROBLEM, problem
from tools.secrets import holds_own_token

MARKER: Final = "[Local NEXUS app] "
"""Every description starts with it (common 1.4)."""


class Family(StrEnum):
    """In the order of tools/list (common 1.1)."""

    CANVAS = "canvas"
    AGENT = "agent"
    WINDOW = "window"
    MEMORY = "memory"
    PROVIDER = "provider"
    TEAM = "team"
    NEURAL = "neural"
    BROWSER = "browser"
    WORKSPACE = "workspace"
    SESSION = "session"
    INSIGHT = "insight"
    REPO = "repo"
    WORKTREE = "worktree"
    ROOM = "room"
    SETTINGS = "settings"
    BIT = "bit"
    WORK = "work"
    PLAN = "plan"
    TOOL = "tool"


def family_names(named: Iterable[str]) -> list[str]:
    """Each once, in the order of tools/list."""
    wanted = frozenset(named)
    return [family.value for family in Family if family.value in wanted]


def _is_family(name: str) -> str:
    if name not in frozenset(Family):
        raise problem(f"is no family of tools; these are: {', '.join(Family)}")
    return name


Families = Annotated[list[Annotated[str, AfterValidator(_is_family)]], Field(min_length=1, max_length=len(Family))]
"""To what a credential is narrowed (common 1.3)."""


class Kind(StrEnum):
    """How autonomy treats a call (common 4.2)."""

    READ = "read"
    WRITE = "write"
    IRREVERSIBLE = "irreversible"
    ALWAYS_ASK = "always_ask"


class Scope(StrEnum):
    WORKSPACE = "workspace"
    APP = "app"
    AGENT = "agent"
    """The caller's own affairs, wherever it is pinned."""


class Capability(StrEnum):
    MESH = "mesh"


class Route(StrEnum):
    """Which owner decides the call; `nexus/gateway/route.py` turns it and the arguments into an address."""

    CANVAS = "canvas"  # canvas/<scope>/<canvasId>
    NEW_CANVAS = "new_canvas"  # canvas/<scope>/<an id made for this call>
    WORKSPACE = "workspace"  # the caller's own workspace
    OWN_AGENT = "own_agent"
    NAMED_AGENT = "named_agent"  # agent/-/<agentId>
    OWN_MAILBOX = "own_mailbox"
    DIRECTORY = "directory"
    SETTINGS = "settings"
    TEAMS = "teams"
    PROVIDERS = "providers"
    COMPOSED = "composed"  # several owners, read as the caller by nexus/gateway/compose.py


class Model(BaseModel):
    """Base of everything that crosses the MCP border: camelCase by alias-free field names, nothing unknown.

    Its errors do not quote what did not fit: they reach logs, which hold nothing that agents or people typed.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True, hide_input_in_errors=True)


class ToolInput(Model):
    """Base of input models of app-wide tools."""


class ScopedInput(ToolInput):
    """Base of input models of workspace-scoped tools."""

    workspaceId: Identifier | None = Field(
        default=None,
        description="Your own workspace, if you want it checked; another one is refused scope_mismatch.",
    )


def _integral(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _OneProblem:
    """Metadata of a union of numbers: what fits none of its branches is one problem at one path."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        numbers: list[CoreSchema | tuple[CoreSchema, str]] = [
            core_schema.int_schema(strict=True),
            core_schema.float_schema(strict=True, allow_inf_nan=True),
        ]
        sentence = "must be a number"
        return core_schema.union_schema(
            numbers,
            custom_error_type=PROBLEM,
            custom_error_message=sentence,
            custom_error_context={"sentence": sentence},
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "number"}


def _must_be_finite(number: float) -> float:
    if not isfinite(number):
        raise problem("must be a finite number")
    return number


def _must_be_plain(text: str) -> str:
    if not is_plain_name(text):
        raise ValueError("must be one line without control or direction characters, and not blank")
    if holds_own_token(text):
        raise ValueError("must not hold a token of NEXUS")
    return text


Identifier = Annotated[str, Field(min_length=1, max_length=identifier_characters_max)]
"""An opaque id. A well-typed one that names nothing is `not_found`, never `invalid_arguments` (common 1.7)."""

Name = Annotated[str, Field(min_length=1, max_length=name_characters_max), AfterValidator(_must_be_plain)]
"""A name or title: one line of 1 to 200 characters."""

Reason = Annotated[str, Field(min_length=1, max_length=reason_characters_max), AfterValidator(_must_be_plain)]
"""Why a change is made: one line of 1 to 200 characters, no control characters (canvas 2)."""

AS_INTEGER: Final = BeforeValidator(_integral)
"""Admits 1.0 for 1, as JSON Schema does. Bounds stand before it, or the schema loses them beside None."""

Integer = Annotated[int, AS_INTEGER]
"""An integer in JSON Schema's sense, which admits 1.0: clients with one kind of number send that. Give it bounds."""

Number = Annotated[int | float, _OneProblem()]
"""Any number, also an infinite one (JSON's 1e999 is)."""

FiniteNumber = Annotated[Number, AfterValidator(_must_be_finite)]

PageCursor = Annotated[
    str | None, Field(max_length=cursor_characters_max, description="nextCursor of the page before.")
]
"""Where the next page of a list starts (common 7.3)."""

ScopedInput.model_rebuild()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `name`, `scope` and outcomes are stable over releases; argument shapes may grow (common 1.2)."""

    name: str
    family: Family
    kind: Kind
    scope: Scope
    capability: Capability | None
    route: Route
    summary: str
    """The description after the marker; constant program text (common 1.4)."""
    input: type[ToolInput]
    output: type[BaseModel]
    side_effects: str
    """One sentence for the capabilities record: what changes, or "none"."""
    reversibility: str
    """One sentence for the capabilities record: how the effect is undone."""
    volatile: frozenset[str] = frozenset()
    """Arguments left out when two calls are compared (common 5.2)."""
    budgeted: bool = False
    """Whether it creates a surface, which the creation budget counts (work-plan-tool)."""
    passes_when_stopped: bool = False
    """Whether it passes in every mode once the person has stopped the plan (common 4.3)."""
    frees_space: bool = False
    """Whether it passes although the agent has used up its share of the disk (common 8.5): it adds nothing to the
    caller's share, and takes something from somebody's."""
    deadline_ms: int = call_deadline_ms_default

    @property
    def description(self) -> str:
        return MARKER + self.summary

    @property
    def is_read(self) -> bool:
        return self.kind is Kind.READ
