"""agent_create and agent_invite_to_channel: what an agent may ask for and only the person's own path gives (mesh 6)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from bus.limits import agent_kind_characters_max, note_characters_max, persona_characters_max
from tools.autonomy import GUEST_ID
from tools.base import Capability, Family, Identifier, Kind, Model, Name, Route, Scope, ScopedInput, Tool
from tools.problems import problem
from tools.provider import ProviderId


def _no_word_of_ours(kind: str) -> str:
    if kind == GUEST_ID:
        raise problem("is NEXUS's own word for a caller without an identity; choose another one")
    return kind


AgentKind = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=agent_kind_characters_max),
    AfterValidator(_no_word_of_ours),
]
"""What sort of agent it is, in one short plain word such as `reviewer`; it decides nothing."""

Note = Annotated[str, Field(min_length=1, max_length=note_characters_max)]


class AgentInviteToChannelInput(ScopedInput):
    agentId: Identifier = Field(description="Whom to invite, from agent_list_peers.")
    channelId: Identifier = Field(description="A channel that you are a member of, from agent_get for yourself.")
    note: Note | None = Field(default=None, description="Why, for the person who decides.")


class AgentInviteToChannelOutput(Model):
    requestId: str
    state: Literal["pending"] = Field(description="It waits for the person; nobody has joined.")


class AgentCreateInput(ScopedInput):
    name: Name
    persona: str | None = Field(default=None, min_length=1, max_length=persona_characters_max)
    kind: AgentKind = Field(default="agent", description="One short plain word, such as reviewer.")
    providerId: ProviderId | None = Field(
        default=None, description="Its default provider, one that NEXUS knows (provider_list); nothing is started."
    )
    channelId: Identifier | None = Field(
        default=None, description="A channel of yours that the person is asked to let the new agent join."
    )


class AgentCreateOutput(Model):
    requestId: str
    state: Literal["accepted"] = Field(description="Neither that the agent exists nor that it joined a channel.")


AGENT_CREATE: Final = Tool(
    name="agent_create",
    family=Family.AGENT,
    kind=Kind.WRITE,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.WORKSPACE,
    summary=(
        "Ask for a new agent in your workspace. `accepted` means that the request is recorded, not that the agent "
        "exists: the outcome arrives in your agent_inbox under `requests`, with its agentId or why it was refused. It "
        "starts in mode approval, without any capability or credential, and can do nothing until the person gives it "
        "some. With a channelId the person is also asked to let it join that channel. This makes a local NEXUS agent, "
        "not a cloud one."
    ),
    input=AgentCreateInput,
    output=AgentCreateOutput,
    side_effects="An agent that cannot act yet is added to the workspace; a channel's join waits for the person.",
    reversibility="By the person only: nexus agent remove.",
)

AGENT_INVITE_TO_CHANNEL: Final = Tool(
    name="agent_invite_to_channel",
    family=Family.AGENT,
    kind=Kind.WRITE,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.WORKSPACE,
    summary=(
        "Ask the person to let another agent of your workspace join a channel that you are a member of. Membership "
        "does not change by asking: only the person changes it, and what was decided arrives in your agent_inbox under "
        "`requests`. Asking again while it waits answers the same requestId."
    ),
    input=AgentInviteToChannelInput,
    output=AgentInviteToChannelOutput,
    side_effects="A request waits for the person.",
    reversibility="A request cannot be called back; the person can decline it.",
)
