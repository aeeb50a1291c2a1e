"""provider_*: the agent programs of this machine, as agents may know of them (knowledge.md).

What is answered is true when it is asked: nothing is kept between two calls. A program's path and its credentials
never leave; whether an MCP client of it is connected is what the client says of itself.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from bus.limits import integer_max
from tools.base import Capability, Family, Kind, Model, Route, Scope, Tool, ToolInput
from tools.errors import Code, Refusal

NO_PROVIDER: Final = Refusal(
    Code.NOT_FOUND, "NEXUS knows no provider of that id. Call provider_list for those there are."
)
"""Providers are app-wide: every agent is shown the same ones."""
NOT_ENABLED: Final = Refusal(
    Code.WRONG_STATE,
    "The person has not enabled this provider. Call provider_list for those that are, or ask the person to enable it.",
)
"""Said by the gateway before a card is made, and by the owner that decides."""

ProviderId = Annotated[str, Field(min_length=1, max_length=64, description="From provider_list, for instance codex.")]


class ProviderListInput(ToolInput):
    installedOnly: bool = Field(default=False, description="Only the programs that are installed.")


class ProviderState(Model):
    """One agent program as it stands now."""

    id: str
    name: str
    installed: bool = Field(description="Its program is on the person's PATH.")
    version: str | None = Field(description="What the program says; null when it does not say so in time.")
    enabled: bool = Field(description="The person has enabled the very program that is installed.")
    changed: bool = Field(
        description="The person had enabled another program under this name, and must enable this one before it is "
        "used."
    )
    mcpConnected: bool = Field(description="A client that calls itself this program is connected to NEXUS now.")


class ProviderListOutput(Model):
    providers: list[ProviderState]
    truncated: bool


class ProviderDetailInput(ToolInput):
    providerId: ProviderId


class McpState(Model):
    supported: bool = Field(description="The program can use MCP servers.")
    connected: bool
    lastSeenAt: str | None = Field(description="When such a client last called, as far as this gateway knows.")


class ProviderDetail(ProviderState):
    """One program with what is documented of it."""

    tagline: str
    docs: str | None
    configFiles: list[str] = Field(description="Names; ~ is the person's home, others lie in a project.")
    instructionFiles: list[str]
    transport: list[Literal["stdio", "http"]] = Field(description="How it reaches MCP servers; empty: it does not.")
    authHint: str = Field(description="Where its own sign-in is configured. Never a credential.")
    mcp: McpState


class ProviderDetailOutput(Model):
    provider: ProviderDetail


class ProviderRuntimeStatusInput(ToolInput):
    pass


class Knowledge(Model):
    enabled: bool | None = Field(description="The person's knowledge switch; null: this NEXUS has no memory yet.")


class Listener(Model):
    port: Annotated[int, Field(ge=0, le=65_535)]
    isFallback: bool = Field(description="Another port than the one that is configured.")


class RetrievalIndex(Model):
    appliedSequence: Annotated[int, Field(ge=0, le=integer_max)] | None = Field(
        description="Of the last event in the index; null: this NEXUS has none yet."
    )


class ProviderRuntimeStatusOutput(Model):
    knowledge: Knowledge
    listener: Listener
    retrievalIndex: RetrievalIndex


_READ_ONLY: Final = "None: it only reads."

PROVIDER_DETAIL: Final = Tool(
    name="provider_detail",
    family=Family.PROVIDER,
    kind=Kind.READ,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.COMPOSED,
    summary=(
        "Read what is known of one agent program: documentation, names of its configuration and instruction files, "
        "how it reaches MCP servers, and where its sign-in is configured (never a credential)."
    ),
    input=ProviderDetailInput,
    output=ProviderDetailOutput,
    side_effects="None, but that the program is run to ask its version.",
    reversibility="Nothing to undo.",
)

PROVIDER_LIST: Final = Tool(
    name="provider_list",
    family=Family.PROVIDER,
    kind=Kind.READ,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.COMPOSED,
    summary=(
        "List the agent programs that NEXUS knows: which are installed on this machine and in what version, which the "
        "person has enabled, and which have an MCP client connected now. True at the moment of asking."
    ),
    input=ProviderListInput,
    output=ProviderListOutput,
    side_effects="None, but that installed programs are run to ask their version.",
    reversibility="Nothing to undo.",
)

PROVIDER_RUNTIME_STATUS: Final = Tool(
    name="provider_runtime_status",
    family=Family.PROVIDER,
    kind=Kind.READ,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.COMPOSED,
    summary=(
        "Read how this NEXUS is served: the port of its MCP address and whether that is a fallback, the person's "
        "knowledge switch, and how far the retrieval index has come. Parts that are not there yet are null."
    ),
    input=ProviderRuntimeStatusInput,
    output=ProviderRuntimeStatusOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

TOOLS: Final[tuple[Tool, ...]] = (PROVIDER_DETAIL, PROVIDER_LIST, PROVIDER_RUNTIME_STATUS)
