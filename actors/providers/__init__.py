"""The one owner of which agent programs the person has enabled, `providers/-/providers` (knowledge.md, security 2.16).

Rows: `enabled/<provider id>` with the program's real path. What is enabled is that very program: another one under the
same name is not, and must be enabled anew. Whether a program is there at all is the gateway's to see, which asks this
owner only for what the person said.

Whoever gets a provider is an agent's owner: a choice goes on to it as a message and comes back as `provider_noted`,
which answers the call. So the one guards what may be chosen, the other for whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field

from actors.decision import (
    Answer,
    Context,
    Decision,
    Delete,
    Event,
    Message,
    PrincipalKind,
    Put,
    RowEffect,
    Rules,
    Send,
    Verb,
    VerbTable,
)
from actors.parsed import DONE, MessageDied, Nothing, parsed, sending_owner
from bus import address
from bus.limits import path_characters_max, providers_enabled_max
from bus.value import Record, Value
from tools.agent_provider import AgentSetProviderInput
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal, unavailable
from tools.provider import NOT_ENABLED, ProviderId
from tools.times import rfc3339

_ROW: Final = "enabled/"

OWN_IS_REFUSED: Final = Refusal(
    Code.WRONG_STATE, "Your own provider is not yours to choose. Ask the person, or another agent of your workspace."
)
_NOT_CHOSEN: Final = unavailable(
    "The provider could not be chosen for that agent. Tell the person if this happens again."
)
_TOO_MANY: Final = Refusal(
    Code.WRONG_STATE,
    "As many providers are enabled as NEXUS keeps. Disable one first.",
    details={"limit": providers_enabled_max},
)


class EnabledProgram(Model):
    """The row of one enabled provider."""

    name: str
    path: str
    """Of the program itself, with every symbolic link followed."""
    enabledAt: int


class ProviderEnable(Model):
    providerId: ProviderId
    name: Name
    path: Annotated[str, Field(min_length=1, max_length=path_characters_max)]


class ProviderDisable(Model):
    providerId: ProviderId


class ProviderNoted(Model):
    """What an agent's owner says of a choice. Not `found`: no such agent for whoever chose."""

    callId: str
    providerId: str
    found: bool
    changed: bool = False


class AgentGiveProvider(Model):
    """As the person chooses, for any agent."""

    agentId: Identifier
    providerId: ProviderId


@dataclass(slots=True)
class ProvidersState:
    enabled: dict[str, EnabledProgram] = field(default_factory=dict)


def provider_enable(state: ProvidersState, body: ProviderEnable, context: Context) -> Decision:
    known = state.enabled.get(body.providerId)
    reply: Record = {"providerId": body.providerId, "path": body.path}
    if known is not None and (known.path, known.name) == (body.path, body.name):
        return Decision({**reply, "changed": False})
    if known is None and len(state.enabled) >= providers_enabled_max:
        return Decision(_TOO_MANY)
    row = EnabledProgram(name=body.name, path=body.path, enabledAt=context.now_ms)
    effects = (
        Put(_ROW + body.providerId, row.model_dump()),
        Event("provider.enabled", {"providerId": body.providerId}),
    )
    return Decision({**reply, "changed": True}, effects)


def provider_disable(state: ProvidersState, body: ProviderDisable, context: Context) -> Decision:
    """Agents that have it as their default keep it; it is not used until it is enabled again."""
    reply: Record = {"providerId": body.providerId, "changed": body.providerId in state.enabled}
    if body.providerId not in state.enabled:
        return Decision(reply)
    event = Event("provider.disabled", {"providerId": body.providerId})
    return Decision(reply, (Delete(_ROW + body.providerId), event))


def providers_enabled(state: ProvidersState, body: Nothing, context: Context) -> Decision:
    """With their paths: for the gateway, which compares them, and the person, never for an agent (common 7.4)."""
    enabled: list[Value] = [
        {"providerId": id_, "path": one.path, "enabledAt": rfc3339(one.enabledAt)}
        for id_, one in sorted(state.enabled.items())
    ]
    return Decision({"enabled": enabled})


def agent_set_provider(state: ProvidersState, body: AgentSetProviderInput, context: Context) -> Decision:
    """Whether the program that was enabled is the one that is installed, the gateway has looked at a moment ago."""
    if body.agentId == context.principal.agent_id:
        return Decision(OWN_IS_REFUSED)
    return _chosen(state, body.agentId, body.providerId, context.principal.workspace_id, context)


def agent_give_provider(state: ProvidersState, body: AgentGiveProvider, context: Context) -> Decision:
    return _chosen(state, body.agentId, body.providerId, None, context)


def provider_noted(state: ProvidersState, body: ProviderNoted, context: Context) -> Decision:
    agent_id = sending_owner(context, "agent").id
    if not body.found:
        return Decision({}, (Answer(body.callId, NOT_FOUND),))
    reply: Record = {"agentId": agent_id, "providerId": body.providerId, "changed": body.changed}
    return Decision({}, (Answer(body.callId, reply),))


def message_died(state: ProvidersState, body: MessageDied, context: Context) -> Decision:
    """The agent's owner could not decide a choice: whoever made it does not wait for ever, nor its approval stay in
    use."""
    call_id = body.waiting_call("provider_chosen")
    return DONE if call_id is None else Decision({}, (Answer(call_id, _NOT_CHOSEN),))


def shown_of(state: ProvidersState, message: Message, context: Context) -> Record:
    """What a card shows of the program, and what may not change until the call runs (common 5.3)."""
    program = state.enabled.get(str(message.body.get("providerId")))
    return {} if program is None else {"provider": program.name, "program path": program.path}


def _chosen(
    state: ProvidersState, agent_id: str, provider_id: str, workspace_id: str | None, context: Context
) -> Decision:
    if not address.is_id(agent_id):
        return Decision(NOT_FOUND)
    if provider_id not in state.enabled:
        return Decision(NOT_ENABLED)
    body: Record = {"callId": context.call_id, "providerId": provider_id, "workspaceId": workspace_id}
    return Decision(None, (Send(address.agent(agent_id), "provider_chosen", body),))


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_PERSON: Final = frozenset({PrincipalKind.PERSON})

_TABLE: Final[VerbTable[ProvidersState]] = VerbTable(
    {
        "provider_enable": Verb(parsed(ProviderEnable, provider_enable), _PERSON),
        "provider_disable": Verb(parsed(ProviderDisable, provider_disable), _PERSON),
        "providers_enabled": Verb(
            parsed(Nothing, providers_enabled), frozenset({PrincipalKind.GATEWAY, PrincipalKind.PERSON})
        ),
        "agent_set_provider": Verb(parsed(AgentSetProviderInput, agent_set_provider), _AGENT, fingerprint=shown_of),
        "agent_give_provider": Verb(parsed(AgentGiveProvider, agent_give_provider), _PERSON),
        "provider_noted": Verb(parsed(ProviderNoted, provider_noted), frozenset({PrincipalKind.OWNER})),
        "message_died": Verb(parsed(MessageDied, message_died), frozenset({PrincipalKind.OWNER})),
    }
)


class ProvidersRules(Rules[ProvidersState]):
    """Which programs the person has enabled, by id and real path."""

    @property
    def kind(self) -> str:
        return "providers"

    @property
    def verbs(self) -> Mapping[str, Verb[ProvidersState]]:
        return _TABLE.verbs

    def new_state(self) -> ProvidersState:
        return ProvidersState()

    def apply(self, state: ProvidersState, effect: RowEffect) -> None:
        if not effect.row.startswith(_ROW):
            raise ValueError("providers have no such row")
        provider_id = effect.row.removeprefix(_ROW)
        if isinstance(effect, Put):
            state.enabled[provider_id] = EnabledProgram.model_validate(effect.value)
        else:
            state.enabled.pop(provider_id, None)

    def problems(self, state: ProvidersState) -> list[str]:
        found = []
        if len(state.enabled) > providers_enabled_max:
            found.append("there are more enabled providers than there may be")
        if any(not one.path.startswith("/") for one in state.enabled.values()):
            found.append("an enabled program has no absolute path")
        return found


RULES: Final = ProvidersRules()
