"""agent_set_provider: which agent program another agent is run with (mesh 1). The person is always asked."""

from __future__ import annotations

from typing import Final

from tools.base import Capability, Family, Identifier, Kind, Model, Route, Scope, ScopedInput, Tool
from tools.provider import ProviderId


class AgentSetProviderInput(ScopedInput):
    agentId: Identifier
    providerId: ProviderId


class AgentSetProviderOutput(Model):
    agentId: str
    providerId: str
    changed: bool


AGENT_SET_PROVIDER: Final = Tool(
    name="agent_set_provider",
    family=Family.AGENT,
    kind=Kind.ALWAYS_ASK,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.PROVIDERS,
    summary=(
        "Choose the agent program that another agent of your workspace is run with, one that is installed and that "
        "the person has enabled (provider_list). The person is always asked. Your own is not yours to choose."
    ),
    input=AgentSetProviderInput,
    output=AgentSetProviderOutput,
    side_effects="The other agent's default provider changes; nothing is started.",
    reversibility="Choose the former provider again; the person is asked again.",
)

TOOLS: Final[tuple[Tool, ...]] = (AGENT_SET_PROVIDER,)
