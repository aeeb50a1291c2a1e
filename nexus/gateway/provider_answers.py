"""provider_*: what is on the machine, what the person said of it, who is connected, put together (knowledge.md).

Invariants: only the person is shown where a program lies; enabled is a program whose real path is the one that the
person enabled, and nothing else under its name (security 2.16).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from bus.address import PROVIDERS
from bus.client import Caller
from bus.clock import Clock
from bus.limits import call_deadline_ms_default
from bus.value import Record, Value, records
from nexus.connect.clients import CLIENTS, Places
from nexus.gateway.admitting import FurtherRefusal
from nexus.gateway.provider_clients import Clients
from nexus.gateway.provider_detection import Detection, NoPrograms, Sighting
from nexus.gateway.reading import OwnerRefused, Reading
from tools.errors import Code, Refusal
from tools.provider import NO_PROVIDER, NOT_ENABLED
from tools.provider_table import Provider, auth_hint
from tools.times import rfc3339

Composed: TypeAlias = Callable[[Reading, Record], Awaitable[Record]]

NOT_INSTALLED: Final = Refusal(
    Code.WRONG_STATE,
    "The program of this provider is not installed on this machine. Call provider_list for those that are.",
)
CHANGED: Final = Refusal(
    Code.WRONG_STATE,
    "The program of this provider is another one than the person has enabled. Ask the person to look at it and enable "
    "it anew.",
)


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the MCP address of this NEXUS is."""

    port: int = 0
    is_fallback: bool = False
    """Whether it is another one than the person chose. NEXUS moves to none by itself: a port that is taken ends the
    start (nexus/sockets.py), and `--port` is a choice as config.toml is, `--port 0` included."""


@dataclass(frozen=True, slots=True)
class ProviderSources:
    """What a gateway knows of agent programs beside what owners keep."""

    detection: Detection = field(default_factory=NoPrograms)
    clients: Clients = field(default_factory=Clients)
    listening: Listening = field(default_factory=Listening)


class ProviderAnswers:
    """As an agent may see it."""

    def __init__(self, caller: Caller, clock: Clock, sources: ProviderSources) -> None:
        self._caller = caller
        self._clock = clock
        self._sources = sources

    @property
    def compositions(self) -> Mapping[str, Composed]:
        return {
            "provider_list": self._list,
            "provider_detail": self._detail,
            "provider_runtime_status": self._runtime_status,
        }

    async def choice_refusal(self, tool: str, arguments: Record) -> FurtherRefusal | None:
        """Why agent_set_provider is certain to be refused for its provider, before a card is made (common 4.6). Raises
        DeadlinePassed."""
        if tool != "agent_set_provider":
            return None
        sighting = await self._sources.detection.sighting()
        refusal = refusal_of(sighting, str(arguments.get("providerId")), await self._enabled())
        return None if refusal is None else FurtherRefusal(refusal, is_target_changed=refusal is CHANGED)

    async def _list(self, reading: Reading, arguments: Record) -> Record:
        enabled, sighting = await self._enabled(), await self._sources.detection.sighting()
        wanted = [
            id_
            for id_ in sighting.known.providers
            if id_ in sighting.programs or arguments.get("installedOnly") is not True
        ]
        versions = await self._sources.detection.versions(sighting, wanted)
        states: list[Value] = [state_of(sighting, id_, versions, enabled, self._sources, self._clock) for id_ in wanted]
        return {"providers": states, "truncated": False}

    async def _detail(self, reading: Reading, arguments: Record) -> Record:
        provider_id = str(arguments["providerId"])
        enabled, sighting = await self._enabled(), await self._sources.detection.sighting()
        if sighting.provider(provider_id) is None:
            raise OwnerRefused(NO_PROVIDER.to_record())
        return {"provider": await detail_of(sighting, provider_id, enabled, self._sources, self._clock)}

    async def _runtime_status(self, reading: Reading, arguments: Record) -> Record:
        """The parts that are not built yet are null, never made up."""
        listening = self._sources.listening
        return {
            "knowledge": {"enabled": None},
            "listener": {"port": listening.port, "isFallback": listening.is_fallback},
            "retrievalIndex": {"appliedSequence": None},
        }

    async def _enabled(self) -> Mapping[str, str]:
        reply = await self._caller.call(
            PROVIDERS, "providers_enabled", {}, call_id=self._clock.new_id(), within_ms=call_deadline_ms_default
        )
        if reply.ok is None:
            raise OwnerRefused(reply.error or {})
        return enabled_paths(reply.ok)


def enabled_paths(told: Record) -> dict[str, str]:
    """By provider id, the real path that the person enabled, from `providers_enabled`."""
    return {str(one.get("providerId")): str(one.get("path")) for one in records(told, "enabled")}


def refusal_of(sighting: Sighting, provider_id: str, enabled: Mapping[str, str]) -> Refusal | None:
    """Why this provider cannot be used now."""
    if sighting.provider(provider_id) is None:
        return NO_PROVIDER
    program = sighting.programs.get(provider_id)
    if program is None:
        return NOT_INSTALLED
    if provider_id not in enabled:
        return NOT_ENABLED
    return None if enabled[provider_id] == program.real else CHANGED


def state_of(
    sighting: Sighting,
    provider_id: str,
    versions: Mapping[str, str | None],
    enabled: Mapping[str, str],
    sources: ProviderSources,
    clock: Clock,
) -> Record:
    """One row of provider_list."""
    provider, program = sighting.known.providers[provider_id], sighting.programs.get(provider_id)
    path = enabled.get(provider_id)
    return {
        "id": provider_id,
        "name": provider.name,
        "installed": program is not None,
        "version": versions.get(provider_id),
        "enabled": program is not None and program.real == path,
        "changed": program is not None and path is not None and program.real != path,
        "mcpConnected": sources.clients.is_connected(provider, clock.now_ms()),
    }


async def detail_of(
    sighting: Sighting, provider_id: str, enabled: Mapping[str, str], sources: ProviderSources, clock: Clock
) -> Record:
    """All of one provider that may be shown to anybody."""
    provider = sighting.known.providers[provider_id]
    versions = await sources.detection.versions(sighting, [provider_id])
    state = state_of(sighting, provider_id, versions, enabled, sources, clock)
    seen_ms = sources.clients.last_seen_ms(provider)
    return {
        **state,
        "tagline": provider.tagline,
        "docs": provider.docs,
        "configFiles": [*config_files(provider)],
        "instructionFiles": [*provider.instruction_files],
        "transport": [*provider.transport],
        "authHint": auth_hint(provider, sighting.shell.variables, await sources.detection.files(provider)),
        "mcp": {
            "supported": bool(provider.transport),
            "connected": state["mcpConnected"],
            "lastSeenAt": None if seen_ms is None else rfc3339(seen_ms),
        },
    }


def config_files(provider: Provider) -> list[str]:
    """Where the program is configured by default, as its documentation writes it."""
    if provider.connects_as is None:
        return [*provider.config_files]
    client = CLIENTS[provider.connects_as]
    person = [str(file) for file in client.files(Places(Path("~"), {}, is_mac=False))]
    return [*dict.fromkeys((*person, *client.project_files, *provider.config_files))]
