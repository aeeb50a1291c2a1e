"""The person's verbs about agent programs: which there are and where, which are enabled, what an agent is run with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bus import address
from bus.address import PROVIDERS
from bus.client import DeadlinePassed
from bus.value import Record, Value
from nexus.gateway.person_owners import Owners, VerbRefused
from nexus.gateway.person_table import Run, Typed, checked
from nexus.gateway.provider_answers import detail_of, enabled_paths, refusal_of, state_of
from nexus.gateway.provider_detection import Sighting
from tools.base import Model
from tools.errors import Code, Refusal, unavailable

_NO_PROVIDER: Final = Refusal(
    Code.NOT_FOUND,
    "NEXUS knows no provider of that id. `nexus provider list` shows them; more can be declared in providers.toml.",
)
_NONE_OR_ONE: Final = Refusal(Code.INVALID_ARGUMENTS, "Name a provider, or say that there shall be none.")
_UNUSABLE: Final[Mapping[str, str]] = {
    "not installed": "Its program is not installed: it is not on your PATH. Install it first.",
    "not enabled": "You have not enabled it. `nexus provider enable` does, and shows which program that is.",
    "changed": "Its program is another one than you have enabled. `nexus provider show` shows both; enable it anew if "
    "it is right.",
}


class ProvidersListed(Model):
    installedOnly: bool = False


class ProviderNamed(Model):
    provider: Typed


class AgentProvider(Model):
    """`provider` None: none any more."""

    agent: Typed
    provider: Typed | None = None
    none: bool = False
    workspace: Typed | None = None


async def provider_list(owners: Owners, asked: ProvidersListed) -> Record:
    """With the real path of each program, and what is wrong with `providers.toml`."""
    sighting, enabled = await _sighting(owners), await _enabled(owners)
    wanted = [id_ for id_ in sighting.known.providers if id_ in sighting.programs or not asked.installedOnly]
    sources = owners.providers
    versions = await sources.detection.versions(sighting, wanted)
    rows: list[Value] = [
        {
            **state_of(sighting, id_, versions, enabled, sources, owners.clock),
            **_places(sighting, id_, enabled),
        }
        for id_ in wanted
    ]
    return {"providers": rows, "complaint": sighting.known.complaint}


async def provider_show(owners: Owners, asked: ProviderNamed) -> Record:
    sighting, enabled = await _sighting(owners), await _enabled(owners)
    _known(sighting, asked.provider)
    detail = await detail_of(sighting, asked.provider, enabled, owners.providers, owners.clock)
    return {**detail, **_places(sighting, asked.provider, enabled), "complaint": sighting.known.complaint}


async def provider_enable(owners: Owners, asked: ProviderNamed) -> Record:
    """The program that is there now, by its real path: another one under its name is not enabled by that."""
    sighting = await _sighting(owners)
    _known(sighting, asked.provider)
    program = sighting.programs.get(asked.provider)
    if program is None:
        raise VerbRefused.by(_unusable("not installed", asked.provider))
    name = sighting.known.providers[asked.provider].name
    body: Record = {"providerId": asked.provider, "name": name, "path": program.real}
    return {**await owners.ask(PROVIDERS, "provider_enable", body), "name": name}


async def provider_disable(owners: Owners, asked: ProviderNamed) -> Record:
    """Also of one that is not known any more, so that nothing stays enabled for good."""
    told = await owners.ask(PROVIDERS, "provider_disable", {"providerId": asked.provider})
    if told.get("changed") is not True:
        _known(await _sighting(owners), asked.provider)
    return told


async def agent_provider(owners: Owners, asked: AgentProvider) -> Record:
    """What the agent is run with from now on."""
    if asked.none == (asked.provider is not None):
        raise VerbRefused.by(_NONE_OR_ONE)
    meant = (await owners.directory()).agent(asked.agent, asked.workspace)
    if asked.provider is None:
        told = await owners.ask(address.agent(meant.id), "agent_drop_provider", {})
    else:
        sighting = await _sighting(owners)
        _known(sighting, asked.provider)
        _usable(sighting, asked.provider, await _enabled(owners))
        body: Record = {"agentId": meant.id, "providerId": asked.provider}
        told = await owners.ask(PROVIDERS, "agent_give_provider", body)
    return {**told, "name": meant.name}


async def _sighting(owners: Owners) -> Sighting:
    try:
        return await owners.providers.detection.sighting()
    except DeadlinePassed:
        raise VerbRefused.by(unavailable()) from None


async def _enabled(owners: Owners) -> dict[str, str]:
    return enabled_paths(await owners.read(PROVIDERS, "providers_enabled", {}))


def _known(sighting: Sighting, provider_id: str) -> None:
    """Raises VerbRefused; what is wrong with the person's file may be why it is not known."""
    if sighting.provider(provider_id) is None:
        details: Record = {"given": provider_id}
        if sighting.known.complaint is not None:
            details["complaint"] = sighting.known.complaint
        raise VerbRefused.by(Refusal(Code.NOT_FOUND, _NO_PROVIDER.message, details=details))


def _usable(sighting: Sighting, provider_id: str, enabled: Mapping[str, str]) -> None:
    """Raises VerbRefused, in words for the person."""
    if refusal_of(sighting, provider_id, enabled) is None:
        return
    if provider_id not in sighting.programs:
        why = "not installed"
    else:
        why = "changed" if provider_id in enabled else "not enabled"
    raise VerbRefused.by(_unusable(why, provider_id))


def _unusable(why: str, provider_id: str) -> Refusal:
    return Refusal(Code.WRONG_STATE, _UNUSABLE[why], details={"given": provider_id})


def _places(sighting: Sighting, provider_id: str, enabled: Mapping[str, str]) -> Record:
    program = sighting.programs.get(provider_id)
    return {
        "program": None if program is None else program.found,
        "realPath": None if program is None else program.real,
        "enabledPath": enabled.get(provider_id),
    }


VERBS: Final[Mapping[str, Run]] = {
    "provider.list": checked(ProvidersListed, provider_list),
    "provider.show": checked(ProviderNamed, provider_show),
    "provider.enable": checked(ProviderNamed, provider_enable),
    "provider.disable": checked(ProviderNamed, provider_disable),
    "agent.provider": checked(AgentProvider, agent_provider),
}
