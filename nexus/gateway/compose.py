"""Tools whose answer lies with several owners, read one by one as the caller (ARCHITECTURE, Owners).

Invariants: every read carries the caller's stamp, so an owner shows here what it would show the caller by itself;
rights are asked anew for each page; what vanished between the list and its entry is left out, not an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from bus import address
from bus.limits import page_items_default
from bus.value import Record
from nexus.gateway.context_refs import inbox_with_references
from nexus.gateway.identity import Credential
from nexus.gateway.reading import OwnerRefused, Reading
from nexus.gateway.route import NEVER_AN_ID
from nexus.gateway.team_detail import team_detail
from nexus.gateway.tool_list import tool_list
from tools.base import Route, Tool
from tools.errors import Code, Refusal
from tools.tiers import TierFacts, capability_tier, withheld_records

_SCOPE_UNRESOLVED: Final = Refusal(
    Code.SCOPE_UNRESOLVED, "Your workspace does not exist any more. Ask the person to pin you to another one."
)

Composed: TypeAlias = Callable[[Reading, Record], Awaitable[Record]]
Completed: TypeAlias = Callable[[Reading, Credential, Record], Awaitable[Record]]


class Composer:
    """Answers tools of route COMPOSED. Refuses at start-up a tool that it does not know."""

    def __init__(self, tools: tuple[Tool, ...], more: Mapping[str, Composed] = MappingProxyType({})) -> None:
        """`more`: compositions that need more of the gateway than a reading."""
        self._by_name: Mapping[str, Composed] = {**_BY_NAME, **more, "tool_list": partial(tool_list, tools)}
        unknown = [tool.name for tool in tools if tool.route is Route.COMPOSED and tool.name not in self._by_name]
        if unknown:
            raise ValueError(f"composed tools without a composition: {unknown}")

    def completes(self, tool: Tool) -> bool:
        """Whether other owners are read to complete what the tool's own owner answers."""
        return tool.name in _COMPLETIONS

    async def complete(self, tool: Tool, reading: Reading, credential: Credential, content: Record) -> Record:
        """`content` with what else there is to tell to whoever shows `credential`. Raises OwnerRefused and
        DeadlinePassed."""
        return await _COMPLETIONS[tool.name](reading, credential, content)

    async def compose(self, tool: Tool, reading: Reading, arguments: Record) -> Record:
        """The content of a success. Raises OwnerRefused and DeadlinePassed."""
        return await self._by_name[tool.name](reading, arguments)


async def _workspace_current(reading: Reading, arguments: Record) -> Record:
    names, active = await _workspaces(reading)
    facts = await reading.ask(address.agent(reading.agent_id), "agent_facts", {})
    return {
        "workspace": {"id": reading.workspace_id, "name": names[reading.workspace_id]},
        "resolution": "inherited" if facts.get("inherits") is True else "pinned",
        "activeWorkspace": None if active is None else {"id": active, "name": names[active]},
        "isCallerScopeActiveForUser": active == reading.workspace_id,
    }


async def _workspace_list(reading: Reading, arguments: Record) -> Record:
    names, active = await _workspaces(reading)
    own = reading.workspace_id
    detail = (await reading.ask(address.workspace(own), "workspace_get", {"workspaceId": own}))["workspace"]
    return {
        "workspaces": [
            {
                "id": workspace_id,
                "name": name,
                "isCallerScope": workspace_id == own,
                "isActive": workspace_id == active,
                "detail": detail if workspace_id == own else None,
            }
            for workspace_id, name in names.items()
        ]
    }


async def _workspaces(reading: Reading) -> tuple[Mapping[str, str], str | None]:
    """Names by id, and the person's active workspace. The caller's own is always among them."""
    seen: dict[str, Any] = await reading.ask(address.DIRECTORY, "workspaces_seen", {})
    names = {entry["workspaceId"]: entry["name"] for entry in seen["workspaces"]}
    if reading.workspace_id not in names:
        raise OwnerRefused(_SCOPE_UNRESOLVED.to_record())
    active = seen["activeWorkspaceId"]
    return names, active if active in names else None


async def _canvas_list(reading: Reading, arguments: Record) -> Record:
    """The workspace's index says which canvases; each canvas tells its own row, with the role it grants."""
    workspace_id = reading.workspace_id
    page = await _page(reading, arguments, address.workspace(workspace_id), "readable_canvases")
    listed: list[dict[str, Any]] = page["canvases"]
    summaries = await reading.ask_each(
        [(address.canvas(workspace_id, canvas["canvasId"]), "canvas_summary", {}) for canvas in listed]
    )
    rows = [summary for summary in summaries if summary is not None]
    return _with_next(page, {"canvases": rows})


async def _agent_get(reading: Reading, arguments: Record) -> Record:
    """Of oneself also the channels, from the index of one's own workspace; nobody else's (mesh 1)."""
    named = arguments.get("agentId")
    agent_id = named if isinstance(named, str) and address.is_id(named) else NEVER_AN_ID
    identity = await reading.ask(address.agent(agent_id), "agent_get", {"agentId": agent_id})
    if identity.get("isSelf") is not True:
        return {**identity, "channels": None}
    own = await reading.ask(address.workspace(reading.workspace_id), "own_channels", {})
    return {**identity, "channels": own["channels"]}


async def _agent_list_peers(reading: Reading, arguments: Record) -> Record:
    page = await _page(reading, arguments, address.DIRECTORY, "agents_in_scope")
    listed: list[dict[str, Any]] = page["agents"]
    own_facts = await reading.ask(address.agent(reading.agent_id), "agent_facts", {})
    caller = TierFacts.from_record(reading.agent_id, own_facts)
    facts = await reading.ask_each([(address.agent(agent["agentId"]), "agent_facts", {}) for agent in listed])
    agents: list[dict[str, Any]] = []
    for agent, record in zip(listed, facts, strict=True):
        if record is None:
            continue
        tier, withheld = capability_tier(caller, TierFacts.from_record(agent["agentId"], record))
        agents.append(
            {
                "agentId": agent["agentId"],
                "name": agent["name"],
                "capabilityTier": tier,
                "withheld": withheld_records(withheld),
            }
        )
    peers = [agent for agent in agents if agent["capabilityTier"] == "deliver"]
    return _with_next(page, {"peers": peers, "agents": agents})


async def _page(reading: Reading, arguments: Record, to: address.Address, verb: str) -> dict[str, Any]:
    """One page of an owner's list: `{<list>, nextAfter}`, from where the call's cursor says."""
    body: Record = {"limit": page_items_default}
    cursor = arguments.get("cursor")
    if isinstance(cursor, str):
        body["after"] = cursor
    return await reading.ask(to, verb, body)


def _with_next(page: dict[str, Any], content: dict[str, Any]) -> Record:
    after = page.get("nextAfter")
    return {**content, "nextCursor": after} if isinstance(after, str) else content


_BY_NAME: Final[Mapping[str, Composed]] = {
    "workspace_current": _workspace_current,
    "workspace_list": _workspace_list,
    "canvas_list": _canvas_list,
    "agent_get": _agent_get,
    "agent_list_peers": _agent_list_peers,
    "team_detail": team_detail,
}

_COMPLETIONS: Final[Mapping[str, Completed]] = {"agent_inbox": inbox_with_references}
"""By tool: what its owner's answer leaves out, for the owner may not know it of others."""
