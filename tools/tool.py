"""tool_*: what the caller may do now, and giving tools up (work-plan-tool, tool_*)."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from tools.autonomy import ModeName
from tools.base import Capability, Family, Identifier, Kind, Model, Route, Scope, Tool, ToolInput


class ToolListInput(ToolInput):
    pass


class CapabilityRecord(Model):
    """The record of nexus://capabilities (common 1.6)."""

    family: str
    kind: Literal["read", "write", "irreversible", "always_ask"]
    requiredCapability: str | None
    approvalLevel: Literal["none", "by_autonomy", "always"]
    sideEffects: str
    reversibility: str


class ToolStanding(Model):
    """One served tool as it stands for the caller."""

    name: str
    description: str
    capabilities: CapabilityRecord
    requiredCapability: str | None
    isCapabilityHeld: bool
    status: Literal[
        "available", "capability_disabled", "requires_approval", "blocked_by_autonomy", "collected_not_executed"
    ]
    enabled: bool = Field(description="True only for available.")
    disabledReason: str | None = Field(description="Exactly what a call would be told.")


class ToolListOutput(Model):
    tools: list[ToolStanding]
    autonomyMode: ModeName
    enabledCount: int


class ToolSetEnabledInput(ToolInput):
    tool: Identifier = Field(description="The tool's exact name.")
    enabled: bool = Field(default=False, description="Must be false or absent. Only the person gives a tool back.")


class ToolSetEnabledOutput(Model):
    tool: str
    enabled: bool
    changed: bool


TOOL_LIST: Final = Tool(
    name="tool_list",
    family=Family.TOOL,
    kind=Kind.READ,
    scope=Scope.AGENT,
    capability=Capability.MESH,
    route=Route.COMPOSED,
    summary=(
        "List every tool with what a call of yours would meet now: available, or why not, in exactly the words of the "
        "refusal. Call it before you assume that you may do something, and after any surprise. `enabled` speaks of "
        "admission with valid arguments: roles, leases, approvals inside a browser Window and the circumstances of a "
        "call can still refuse. It has no side effects: nothing is queued, asked or collected by looking."
    ),
    input=ToolListInput,
    output=ToolListOutput,
    side_effects="None: it only reads.",
    reversibility="Nothing to undo.",
)

TOOL_SET_ENABLED: Final = Tool(
    name="tool_set_enabled",
    family=Family.TOOL,
    kind=Kind.WRITE,
    scope=Scope.AGENT,
    capability=Capability.MESH,
    route=Route.OWN_AGENT,
    summary=(
        "Give a tool up, for yourself only. This is one-way: only the person can give it back to you, and giving up "
        "tool_set_enabled itself means that you can give up no more. Giving up a tool that you have given up before "
        "changes nothing and says so."
    ),
    input=ToolSetEnabledInput,
    output=ToolSetEnabledOutput,
    side_effects="Calls of that tool by you are refused from then on.",
    reversibility="By the person only: nexus agent withhold with --restore.",
)

TOOLS: Final[tuple[Tool, ...]] = (TOOL_LIST, TOOL_SET_ENABLED)
