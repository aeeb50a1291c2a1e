"""The person's verbs about agents: who they are, how far they act alone, by which credentials; and the guest.

What is decided here is checked again by the agent's owner, which decides last. Tokens are made here, shown in one
answer and kept nowhere: owners get only the SHA-256 of the secret (common 2.1).
"""

from __future__ import annotations

import difflib
import hashlib
import secrets
from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from bus import address
from bus.address import DIRECTORY
from bus.limits import surfaces_lifetime_max
from bus.value import Record, Value, records
from nexus.gateway.naming import Named
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, text
from nexus.gateway.person_table import Nothing, Run, Typed, checked
from tools.autonomy import GUEST_ID, ModeName
from tools.base import Families, Model, Name
from tools.catalogue import BY_NAME
from tools.errors import Code, Refusal

_SECRET_BYTES: Final = 32
_NEAR_NAMES_MAX: Final = 5

Mode: TypeAlias = ModeName
Capability: TypeAlias = Literal["mesh"]
CredentialName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""Plain, since it stands on cards and in the log: letters, digits, dot, dash and underscore, at most 64."""

_NO_CREDENTIAL: Final = Refusal(
    Code.NOT_FOUND, "This agent has no credential of that name. `nexus agent credential list` shows those it has."
)
_NOTHING_TO_CHANGE: Final = Refusal(
    Code.INVALID_ARGUMENTS,
    "Say what to change: how many surfaces the agent may create in all, or that the count is reset.",
)


_NO_FAMILIES: Final = Refusal(
    Code.INVALID_ARGUMENTS, "Say which families of tools the credential is to be served, or that it is every one."
)


class AgentAdd(Model):
    name: Name
    workspace: Typed
    mode: Mode = "auto"
    capabilities: list[Capability] = Field(default_factory=list)


class AgentsWithin(Model):
    workspace: Typed | None = None


class AgentNamed(Model):
    agent: Typed
    workspace: Typed | None = None


class AgentMode(AgentNamed):
    mode: Mode


class AgentCapability(AgentNamed):
    capability: Capability
    held: bool


class AgentPause(AgentNamed):
    paused: bool


class AgentBlock(AgentNamed):
    sender: Typed
    """The agent that may not send to it, or may again."""
    blocked: bool


class AgentWithhold(AgentNamed):
    tool: Typed
    withheld: bool


class AgentBudget(AgentNamed):
    lifetime: Annotated[int, Field(ge=0, le=surfaces_lifetime_max)] | None = None
    reset: bool = False


class CredentialNamed(AgentNamed):
    name: CredentialName


class CredentialAdd(CredentialNamed):
    families: Families | None = None


class CredentialFamilies(CredentialNamed):
    families: Families | None = None
    everyFamily: bool = False
    """Said out loud, since it widens; the one or the other."""


async def agent_add(owners: Owners, asked: AgentAdd) -> Record:
    meant = (await owners.directory()).workspace(asked.workspace)
    agent_id = owners.clock.new_id()
    token, token_hash = new_token(agent_id)
    body: Record = {
        "agentId": agent_id,
        "name": asked.name,
        "workspaceId": meant.id,
        "mode": asked.mode,
        "capabilities": list(dict.fromkeys(asked.capabilities)),
        "tokenHash": token_hash,
    }
    await owners.ask(DIRECTORY, "agent_add", body)
    return {"agentId": agent_id, "token": token}


async def agent_list(owners: Owners, asked: AgentsWithin) -> Record:
    directory = await owners.directory()
    inside = directory.workspace(asked.workspace).id if asked.workspace else None
    wanted = [one for one in directory.agents if inside is None or one.get("workspaceId") == inside]
    facts = await owners.read_each([address.agent(text(one, "agentId")) for one in wanted], "agent_facts")
    return {
        "agents": [
            {
                **one,
                "workspace": directory.workspace_name(text(one, "workspaceId")),
                **_named_in(directory, known or {}),
            }
            for one, known in zip(wanted, facts, strict=True)
        ]
    }


async def agent_show(owners: Owners, asked: AgentNamed) -> Record:
    """All that there is to know of one agent but its secrets."""
    directory = await owners.directory()
    meant = directory.agent(asked.agent, asked.workspace)
    listed = next(one for one in directory.agents if one.get("agentId") == meant.id)
    facts = await owners.read(address.agent(meant.id), "agent_facts", {})
    shown = {**listed, "workspace": directory.workspace_name(meant.workspace_id), **_named_in(directory, facts)}
    asked_by = directory.agent_name(text(listed, "createdBy"))
    return {**shown, "askedForBy": asked_by} if asked_by else shown


async def agent_token(owners: Owners, asked: AgentNamed) -> Record:
    meant = await _meant(owners, asked)
    token, token_hash = new_token(meant.id)
    await owners.ask(address.agent(meant.id), "token_replace", {"tokenHash": token_hash})
    return {**_who(meant), "token": token}


async def agent_remove(owners: Owners, asked: AgentNamed) -> Record:
    meant = await _meant(owners, asked)
    await owners.ask(DIRECTORY, "agent_remove", {"agentId": meant.id})
    await owners.authority_told([meant.id], isRemoved=True)
    return _who(meant)


async def agent_mode(owners: Owners, asked: AgentMode) -> Record:
    meant = await _meant(owners, asked)
    await owners.ask(address.agent(meant.id), "agent_set_mode", {"mode": asked.mode})
    return {**_who(meant), "mode": asked.mode}


async def agent_capability(owners: Owners, asked: AgentCapability) -> Record:
    meant = await _meant(owners, asked)
    change: Record = {"capability": asked.capability, "held": asked.held}
    await owners.ask(address.agent(meant.id), "agent_set_capability", change)
    return {**_who(meant), **change}


async def agent_pause(owners: Owners, asked: AgentPause) -> Record:
    """A paused agent keeps the tasks that it has, is offered none of them, and nobody can send it more (mesh 2.1)."""
    meant = await _meant(owners, asked)
    await owners.ask(address.agent(meant.id), "agent_pause", {"paused": asked.paused})
    return {**_who(meant), "paused": asked.paused}


async def agent_block(owners: Owners, asked: AgentBlock) -> Record:
    """The sender's tasks are withheld from this agent, `blocked_by_person` (mesh 2.1); or no longer."""
    directory = await owners.directory()
    meant = directory.agent(asked.agent, asked.workspace)
    # Whoever was removed can still be taken off the list.
    find = directory.agent if asked.blocked else directory.agent_or_removed
    sender = find(asked.sender, asked.workspace)
    await owners.ask(address.agent(meant.id), "agent_block", {"agentId": sender.id, "blocked": asked.blocked})
    return {**_who(meant), "sender": _who(sender), "blocked": asked.blocked}


async def agent_withhold(owners: Owners, asked: AgentWithhold) -> Record:
    """A tool that this release does not serve can be given back, so that nothing stays withheld for good."""
    if asked.withheld and asked.tool not in BY_NAME:
        raise VerbRefused.by(_no_tool(asked.tool))
    meant = await _meant(owners, asked)
    change: Record = {"tool": asked.tool, "withheld": asked.withheld}
    await owners.ask(address.agent(meant.id), "agent_set_withheld", change)
    return {**_who(meant), **change}


async def agent_budget(owners: Owners, asked: AgentBudget) -> Record:
    if asked.lifetime is None and not asked.reset:
        raise VerbRefused.by(_NOTHING_TO_CHANGE)
    meant = await _meant(owners, asked)
    change: Record = (
        {"reset": asked.reset}
        if asked.lifetime is None
        else {
            "reset": asked.reset,
            "lifetime": asked.lifetime,
        }
    )
    await owners.ask(address.agent(meant.id), "agent_set_budget", change)
    facts = await owners.read(address.agent(meant.id), "agent_facts", {})
    return {**_who(meant), "budget": facts.get("budget")}


async def credential_add(owners: Owners, asked: CredentialAdd) -> Record:
    meant = await _meant(owners, asked)
    token, token_hash = new_token(meant.id)
    body: Record = {"name": asked.name, "tokenHash": token_hash}
    if asked.families is not None:
        body["families"] = [*asked.families]
    await owners.ask(address.agent(meant.id), "credential_add", body)
    return {**_who(meant), "credential": asked.name, "token": token}


async def credential_list(owners: Owners, asked: AgentNamed) -> Record:
    meant = await _meant(owners, asked)
    facts = await owners.read(address.agent(meant.id), "agent_facts", {})
    return {**_who(meant), "credentials": [*records(facts, "credentials")]}


async def credential_families(owners: Owners, asked: CredentialFamilies) -> Record:
    """It is served these families alone from now on (common 1.3)."""
    if asked.everyFamily == (asked.families is not None):
        raise VerbRefused.by(_NO_FAMILIES)
    meant = await _meant(owners, asked)
    families: Value = None if asked.families is None else [*asked.families]
    told = await _of_credential(owners, meant, "credential_narrow", {"name": asked.name, "families": families})
    return {**_who(meant), "credential": asked.name, "families": told.get("families")}


async def credential_revoke(owners: Owners, asked: CredentialNamed) -> Record:
    meant = await _meant(owners, asked)
    await _of_credential(owners, meant, "credential_revoke", {"name": asked.name})
    return {**_who(meant), "credential": asked.name}


async def _of_credential(owners: Owners, meant: Named, verb: str, body: Record) -> Record:
    try:
        return await owners.ask(address.agent(meant.id), verb, body)
    except VerbRefused as refused:
        if refused.error.get("code") == Code.NOT_FOUND.value:
            raise VerbRefused.by(_NO_CREDENTIAL) from None
        raise


async def guest_on(owners: Owners, _: Nothing) -> Record:
    """A new token each time; the one before stops."""
    token, token_hash = new_token(GUEST_ID)
    await owners.ask(address.agent(GUEST_ID), "guest_on", {"tokenHash": token_hash})
    return {"isOn": True, "token": token}


async def guest_off(owners: Owners, _: Nothing) -> Record:
    await owners.ask(address.agent(GUEST_ID), "guest_off", {})
    return {"isOn": False}


async def guest_status(owners: Owners, _: Nothing) -> Record:
    """Whether there is a token that a guest could use, since when, and when it was used last."""
    (facts,) = await owners.read_each([address.agent(GUEST_ID)], "agent_facts")
    credentials = records(facts or {}, "credentials")
    newest = credentials[-1] if credentials else {}
    return {
        "isOn": bool(credentials),
        "createdAt": newest.get("createdAt"),
        "lastUsedAt": newest.get("lastUsedAt"),
    }


def new_token(agent_id: str) -> tuple[str, bytes]:
    """A token that is shown once, and what owners keep of it: the SHA-256 of its secret."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return f"nx_{agent_id}_{secret}", hashlib.sha256(secret.encode()).digest()


async def _meant(owners: Owners, asked: AgentNamed) -> Named:
    return (await owners.directory()).agent(asked.agent, asked.workspace)


def _who(meant: Named) -> Record:
    return {"agentId": meant.id, "name": meant.name}


def _named_in(directory: Directory, facts: Record) -> Record:
    """Facts with the names of the agents that are blocked."""
    blocked = facts.get("blocked")
    if not isinstance(blocked, list):
        return facts
    return {**facts, "blocked": [{"agentId": one, "name": directory.agent_name(str(one))} for one in blocked]}


def _no_tool(typed: str) -> Refusal:
    near = difflib.get_close_matches(typed, BY_NAME, n=_NEAR_NAMES_MAX)
    hint = f"Near it: {', '.join(near)}." if near else "`nexus agent show` lists what is withheld already."
    return Refusal(Code.INVALID_ARGUMENTS, f"NEXUS has no tool of that name. {hint}", details={"given": typed})


VERBS: Final[Mapping[str, Run]] = {
    "agent.add": checked(AgentAdd, agent_add),
    "agent.list": checked(AgentsWithin, agent_list),
    "agent.show": checked(AgentNamed, agent_show),
    "agent.token": checked(AgentNamed, agent_token),
    "agent.remove": checked(AgentNamed, agent_remove),
    "agent.mode": checked(AgentMode, agent_mode),
    "agent.capability": checked(AgentCapability, agent_capability),
    "agent.pause": checked(AgentPause, agent_pause),
    "agent.block": checked(AgentBlock, agent_block),
    "agent.withhold": checked(AgentWithhold, agent_withhold),
    "agent.budget": checked(AgentBudget, agent_budget),
    "agent.credential_add": checked(CredentialAdd, credential_add),
    "agent.credential_families": checked(CredentialFamilies, credential_families),
    "agent.credential_list": checked(AgentNamed, credential_list),
    "agent.credential_revoke": checked(CredentialNamed, credential_revoke),
    "guest.on": checked(Nothing, guest_on),
    "guest.off": checked(Nothing, guest_off),
    "guest.status": checked(Nothing, guest_status),
}
