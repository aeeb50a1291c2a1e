"""What the person's verbs ask owners with, and the lists they compose from several owners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pydantic import ValidationError

from bus import address
from bus.address import DIRECTORY, Address
from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.limits import call_deadline_ms_default, page_items_max, person_reads_at_once_max
from bus.value import Record, Value, records
from nexus.gateway.naming import Named, resolve
from nexus.gateway.provider_answers import ProviderSources
from tools.base import Model
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments, unavailable
from tools.problems import problems_of
from tools.provider import NOT_ENABLED
from tools.team import CLOUD_MANAGED, NO_TEAM, NOT_A_MEMBER

Arguments = TypeVar("Arguments", bound=Model)

_UNKNOWN_OUTCOME: Final = Refusal(
    Code.OUTCOME_UNKNOWN,
    "The owner did not answer in time, and it may or may not have happened. Look at what exists before trying again.",
)


_FOR_THE_PERSON: Final[Mapping[str, str]] = {
    NOT_FOUND.message: "That is not there, or not any more. Look at what exists now and try again.",
    NO_TEAM.message: "There is no such team, or not any more. `nexus team list` shows those there are.",
    NOT_A_MEMBER.message: "That agent is not a member of this team. `nexus team show` shows who is.",
    NOT_ENABLED.message: "You have not enabled this provider, or not any more. `nexus provider enable` does.",
    CLOUD_MANAGED.message: "This team is managed in the cloud: only `nexus team provision` changes it.",
}
"""What owners say to agents, which work in one workspace and by tools, and what that is for whoever types commands."""


class VerbRefused(Exception):
    """A verb ends with a refusal's record. Caught by the person's port, which answers it."""

    def __init__(self, error: Record) -> None:
        super().__init__(str(error.get("code", "")))
        self.error = error

    @classmethod
    def by(cls, refusal: Refusal) -> VerbRefused:
        return cls(refusal.to_record())


@dataclass(frozen=True, slots=True)
class Directory:
    """The directory's list, for finding what the person names."""

    workspaces: Sequence[Record]
    agents: Sequence[Record]
    active_workspace_id: str
    removed: Sequence[Record] = ()
    """Agents that were removed: their plans can still be looked at and undone."""
    deleting: Sequence[Record] = ()
    """Workspaces that are being deleted: none of `workspaces`, but their names are not free yet."""

    def workspace(self, typed: str) -> Named:
        """The workspace of that id or name. Raises VerbRefused."""
        return chosen(resolve("workspace", typed, [_named(one, "workspaceId") for one in self.workspaces]))

    def workspace_name(self, workspace_id: str) -> str:
        """Its name, for showing; empty when there is no such workspace."""
        return next((text(one, "name") for one in self.workspaces if one.get("workspaceId") == workspace_id), "")

    def agent_name(self, agent_id: str) -> str:
        """Its name, for showing; empty when there is no such agent (any more)."""
        every = (*self.agents, *self.removed)
        return next((text(one, "name") for one in every if one.get("agentId") == agent_id), "")

    def agent_or_removed(self, typed: str, workspace: str | None) -> Named:
        """Like `agent`; a removed one only by its id, or by a name that no agent has now. Raises VerbRefused."""
        inside = self.workspace(workspace).id if workspace else None
        present = self.agents_named(inside)
        gone = [_named(one, "agentId", workspace_id=text(one, "workspaceId")) for one in self.removed]
        is_gone = not any(typed in (one.id, one.name) for one in present) and any(
            typed in (one.id, one.name) for one in gone
        )
        return chosen(resolve("agent", typed, gone if is_gone else present))

    def agents_named(self, inside: str | None) -> list[Named]:
        """Every agent, or those pinned to the workspace with id `inside`."""
        every = [_named(one, "agentId", workspace_id=text(one, "workspaceId")) for one in self.agents]
        return [one for one in every if inside is None or one.workspace_id == inside]

    def agent(self, typed: str, workspace: str | None) -> Named:
        """The agent of that id or name, looked for in the workspace of that id or name. Raises VerbRefused."""
        inside = self.workspace(workspace).id if workspace else None
        return chosen(resolve("agent", typed, self.agents_named(inside)))


@dataclass(frozen=True, slots=True)
class Owners:
    """One person's request at work: asks owners with the person's link."""

    caller: Caller
    clock: Clock
    shards: int
    gateway: str = ""
    """The incarnation of the gateway that asks: it holds what it lends."""
    providers: ProviderSources = field(default_factory=ProviderSources)
    """What this gateway knows of agent programs."""

    async def authority_told(self, agent_ids: Iterable[str], **holds: str | bool) -> None:
        """What came to these agents by way of the directory counts at every host from now on (0009, Narrowing).

        `holds` says what that is; raises VerbRefused, retryable, when an agent's owner has not heard of it yet.
        """
        asked = [self.ask(address.agent(agent_id), "authority_tell", {**holds}) for agent_id in agent_ids]
        await asyncio.gather(*asked)

    async def ask(
        self, to: Address, verb: str, body: Record, *, within_ms: int = call_deadline_ms_default, reads: bool = False
    ) -> Record:
        """The owner's answer. Raises VerbRefused; a passed deadline of what only reads is `unavailable`."""
        try:
            reply = await self.caller.call(to, verb, body, call_id=self.clock.new_id(), within_ms=within_ms)
        except DeadlinePassed as passed:
            raise VerbRefused.by(_UNKNOWN_OUTCOME if passed.was_sent and not reads else unavailable()) from passed
        if reply.error is not None:
            raise VerbRefused(_in_words_for_the_person(reply.error))
        return reply.ok or {}

    async def read(self, to: Address, verb: str, body: Record, *, within_ms: int = call_deadline_ms_default) -> Record:
        return await self.ask(to, verb, body, within_ms=within_ms, reads=True)

    async def read_each(self, wanted: Sequence[Address], verb: str, body: Record | None = None) -> list[Record | None]:
        """The answers of many owners in order; None for one that is gone meanwhile. Raises VerbRefused otherwise."""
        gate = asyncio.Semaphore(person_reads_at_once_max)

        async def one(to: Address) -> Record | None:
            async with gate:
                try:
                    return await self.read(to, verb, {} if body is None else body)
                except VerbRefused as refused:
                    if refused.error.get("code") == Code.NOT_FOUND.value:
                        return None
                    raise

        return list(await asyncio.gather(*(one(to) for to in wanted)))

    async def directory(self) -> Directory:
        listed = await self.read(DIRECTORY, "directory_list", {})
        active = listed.get("activeWorkspaceId")
        return Directory(
            records(listed, "workspaces"),
            records(listed, "agents"),
            active if isinstance(active, str) else "",
            records(listed, "removed"),
            records(listed, "deleting"),
        )

    async def canvases(self, workspace_id: str) -> list[Record]:
        """The workspace's whole index of canvases: canvasId, title. The person may do everything, so no role."""
        found: list[Record] = []
        after: str | None = None
        while True:
            body: Record = {"limit": page_items_max, **({"after": after} if after else {})}
            page = records(await self.read(address.workspace(workspace_id), "readable_canvases", body), "canvases")
            found += [
                {"canvasId": one.get("canvasId"), "title": one.get("title"), "workspaceId": workspace_id}
                for one in page
            ]
            if len(page) < page_items_max:
                return found
            after = text(page[-1], "canvasId")

    async def canvases_within(self, workspaces: Sequence[str]) -> AsyncIterator[Record]:
        """A workspace that was deleted since it was listed has none."""
        for workspace_id in workspaces:
            try:
                found = await self.canvases(workspace_id)
            except VerbRefused as refused:
                if refused.error.get("code") != Code.NOT_FOUND.value:
                    raise
                continue
            for one in found:
                yield one

    async def canvas(self, typed: str, workspace: str | None) -> Record:
        """The index entry of the canvas with that id or title. Raises VerbRefused."""
        directory = await self.directory()
        within = (
            [directory.workspace(workspace).id]
            if workspace
            else [text(one, "workspaceId") for one in directory.workspaces]
        )
        entries = [one async for one in self.canvases_within(within)]
        named = [
            Named(text(one, "canvasId"), text(one, "title"), workspace_id=text(one, "workspaceId")) for one in entries
        ]
        meant = chosen(resolve("canvas", typed, named))
        return next(one for one in entries if one["canvasId"] == meant.id)


def _in_words_for_the_person(error: Record) -> Record:
    message = _FOR_THE_PERSON.get(text(error, "message"))
    return error if message is None else {**error, "message": message}


def chosen(resolved: Named | Refusal) -> Named:
    if isinstance(resolved, Refusal):
        raise VerbRefused.by(resolved)
    return resolved


def checked_arguments(model: type[Arguments], raw: Record) -> Arguments:
    """The parsed arguments. Raises VerbRefused with the path of each bad field."""
    try:
        return model.model_validate(raw)
    except ValidationError as bad:
        raise VerbRefused.by(invalid_arguments(problems_of(bad))) from None


def must_be_applied(answer: Record) -> None:
    """A canvas owner says no by outcome, not by error (common 6.1); to the person both are refusals."""
    if answer.get("outcome", "applied") != "applied":
        message = text(answer, "message") or "The canvas was changed meanwhile, so nothing was done. Look at it again."
        raise VerbRefused({"code": text(answer, "code") or Code.WRONG_STATE.value, "message": message})


def text(record: Record, field: str) -> str:
    value: Value = record.get(field)
    return value if isinstance(value, str) else ""


def _named(record: Record, id_field: str, workspace_id: str = "") -> Named:
    return Named(text(record, id_field), text(record, "name"), workspace_id)
