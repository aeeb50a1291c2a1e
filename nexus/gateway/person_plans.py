"""The verbs behind `nexus plan`: what agents announced and did, and stopping, undoing, running or discarding it.

A plan is named by its id, which begins with its agent's, or by the agent: then its open plan is meant, else its last.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, cast

from pydantic import Field

from bus import address
from bus.address import Address
from bus.limits import (
    events_per_page,
    follow_grace_ms,
    follow_retry_ms,
    follow_wait_ms,
    plan_steps_max,
    plan_undo_wait_ms,
)
from bus.value import Record, Value, records
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, text
from nexus.gateway.person_table import Run, Stream, Typed, checked, streamed
from nexus.gateway.person_upkeep import Emit
from tools.base import Model
from tools.errors import Code, Refusal

StepNumber = Annotated[int, Field(ge=1, le=plan_steps_max)]

_NO_CHANGE: Final = frozenset({"plan_begin", "plan_end"})
"""Steps of a collected plan that changed nothing to be restored."""

_PLAN_ID: Final = re.compile(r"([0-9A-Za-z_-]{1,64})\.[0-9a-z]{26}\Z")
_OVER: Final = frozenset({"ended", "discarded"})
_FINAL: Final = frozenset({"done", "failed", "discarded"})
_GONE: Final = frozenset({"closed", "absent"})

_NO_PLAN: Final = Refusal(
    Code.NOT_FOUND, "There is no such plan, or the agent has none. `nexus plan list` shows the plans there are."
)
_NO_STEP: Final = Refusal(
    Code.NOT_FOUND, "That plan has no step of that number. `nexus plan show` shows the steps that it has."
)


class PlanList(Model):
    agent: Typed | None = None
    workspace: Typed | None = None


class OnePlan(Model):
    plan: Typed
    workspace: Typed | None = None


class PlanStep(OnePlan):
    step: StepNumber


class PlanRun(OnePlan):
    through: StepNumber | None = None
    """The last step that the person has seen; what was collected since stays collected."""


@dataclass(frozen=True, slots=True)
class _Meant:
    """One plan: whose, and which."""

    agent_id: str
    plan_id: str
    directory: Directory

    @property
    def owner(self) -> Address:
        return address.agent(self.agent_id)

    def named(self, plan: Record) -> Record:
        return {**plan, **_names(self.directory, self.agent_id, text(plan, "workspaceId"))}


async def plan_list(owners: Owners, asked: PlanList) -> Record:
    """Plans of all agents, or of one, or of a workspace's: agent by agent, newest first."""
    directory = await owners.directory()
    if asked.agent is not None:
        agent_ids = [directory.agent_or_removed(asked.agent, asked.workspace).id]
    else:
        inside = directory.workspace(asked.workspace).id if asked.workspace else None
        agent_ids = [one.id for one in directory.agents_named(inside)]
        gone = (one for one in directory.removed if inside in (None, one.get("workspaceId")))
        agent_ids += [text(one, "agentId") for one in gone]
    found = await owners.read_each([address.agent(one) for one in agent_ids], "plans_list")
    listed: list[Value] = [
        {**plan, **_names(directory, agent_id, text(plan, "workspaceId"))}
        for agent_id, plans in zip(agent_ids, found, strict=True)
        for plan in records(plans or {}, "plans")
    ]
    return {"plans": listed}


async def plan_show(owners: Owners, asked: OnePlan) -> Record:
    meant = await _meant(owners, asked)
    return meant.named(await _whole(owners, meant))


async def plan_step(owners: Owners, asked: PlanStep) -> Record:
    """One step with everything that is kept of its arguments."""
    meant = await _meant(owners, asked)
    body: Record = {"planId": meant.plan_id, "number": asked.step}
    return await _told(owners, meant.owner, "plan_step", body, _NO_STEP)


async def plan_stop(owners: Owners, asked: OnePlan) -> Record:
    meant = await _meant(owners, asked)
    return meant.named(await _done(owners, meant, "plan_stop", {"planId": meant.plan_id}))


async def plan_run(owners: Owners, asked: PlanRun) -> Record:
    meant = await _meant(owners, asked)
    body: Record = {"planId": meant.plan_id}
    if asked.through is not None:
        body["through"] = asked.through
    return meant.named(await _done(owners, meant, "plan_run", body))


async def plan_discard(owners: Owners, asked: OnePlan) -> Record:
    meant = await _meant(owners, asked)
    return meant.named(await _done(owners, meant, "plan_discard", {"planId": meant.plan_id}))


async def plan_undo_preview(owners: Owners, asked: OnePlan) -> Record:
    """What undo would close, what of it is gone or used by others, and what no undo can restore."""
    meant = await _meant(owners, asked)
    plan = await _whole(owners, meant)
    steps = records(plan, "steps")
    made = [step for step in reversed(steps) if step.get("surface") is not None]
    facts = await asyncio.gather(*(_facts(owners, meant, step) for step in made))
    closed_with_it = {step.get("target") for step in made}
    kept: list[Value] = [
        {"number": step.get("number"), "tool": step.get("tool"), "target": step.get("target")}
        for step in steps
        if step.get("state") == "done"
        and step.get("target") not in closed_with_it
        and step.get("tool") not in _NO_CHANGE
    ]
    summary = {name: value for name, value in plan.items() if name not in ("steps", "next", "announced")}
    return meant.named({**summary, "surfaces": cast("list[Value]", list(facts)), "cannotRestore": kept})


async def plan_undo(owners: Owners, asked: OnePlan) -> Record:
    """Answers when every surface is known to be gone, or when the time for that is over: `closing` is not yet known."""
    meant = await _meant(owners, asked)
    answer = await _done(owners, meant, "plan_undo", {"planId": meant.plan_id})
    for _ in range(plan_undo_wait_ms // max(follow_retry_ms, 1)):
        if all(one.get("state") != "closing" for one in records(answer, "surfaces")):
            break
        await asyncio.sleep(follow_retry_ms / 1000)
        plan = await _whole(owners, meant)
        states = {step.get("number"): step.get("surface") for step in records(plan, "steps")}
        surfaces: list[Value] = [{**one, "state": states.get(one.get("number"))} for one in records(answer, "surfaces")]
        answer = {**answer, "surfaces": surfaces}
    return meant.named(answer)


async def plan_watch(owners: Owners, asked: OnePlan, emit: Emit) -> Record:
    """Emit the plan, each step as it stands and then whenever it changes; ends when the plan is over."""
    meant = await _meant(owners, asked)
    host = address.host(meant.owner.shard(owners.shards))
    after = _number(await owners.read(host, "events", {"limit": 0}), "last")  # first, so that nothing falls between
    shown: dict[int, Value] = {}
    summary: Record | None = None
    while True:
        settled = 0
        while settled + 1 in shown and shown[settled + 1] in _FINAL:
            settled += 1
        plan = await _whole(owners, meant, settled)
        now = {name: value for name, value in plan.items() if name not in ("steps", "next")}
        if summary is None or _turn(now) != _turn(summary):
            summary = now
            await emit({"plan": meant.named(now)})
        for step in records(plan, "steps"):
            number = _number(step, "number")
            if shown.get(number) != step.get("state"):
                shown[number] = step.get("state")
                await emit({"step": step})
        if plan.get("phase") in _OVER and plan.get("underWayCount") == 0:
            return meant.named(now)
        after = await _changed(owners, meant, host, after)


def _turn(summary: Record) -> tuple[Value, ...]:
    return tuple(summary.get(name) for name in ("title", "announced", "phase", "halt", "awaitsApproval"))


async def _changed(owners: Owners, meant: _Meant, host: Address, after: int) -> int:
    """Wait until something happens to the plan; the place in the journal behind it. A restart is waited for."""
    while True:
        body: Record = {"after": after, "limit": events_per_page, "waitMs": follow_wait_ms}
        try:
            answer = await owners.read(host, "events", body, within_ms=follow_wait_ms + follow_grace_ms)
        except VerbRefused as refused:
            if refused.error.get("retryable") is not True:
                raise
            await asyncio.sleep(follow_retry_ms / 1000)
            continue
        page = records(answer, "events")
        after = max(after, *([_number(event, "sequence") for event in page] or [_number(answer, "last")]))
        if any(_is_about(event, meant) for event in page):
            return after


def _is_about(event: Record, meant: _Meant) -> bool:
    data = event.get("data")
    return event.get("owner") == str(meant.owner) and isinstance(data, dict) and data.get("planId") == meant.plan_id


async def _meant(owners: Owners, asked: OnePlan) -> _Meant:
    directory = await owners.directory()
    if named := _PLAN_ID.match(asked.plan):
        return _Meant(named[1], asked.plan, directory)
    agent_id = directory.agent_or_removed(asked.plan, asked.workspace).id
    found = await _told(owners, address.agent(agent_id), "plan_show", {"limit": 0}, _NO_PLAN)
    return _Meant(agent_id, text(found, "planId"), directory)


async def _whole(owners: Owners, meant: _Meant, after: int = 0) -> Record:
    """The plan with all its steps behind `after`, page by page."""
    steps: list[Value] = []
    while True:
        body: Record = {"planId": meant.plan_id, "after": after}
        page = await _told(owners, meant.owner, "plan_show", body, _NO_PLAN)
        steps += records(page, "steps")
        following = page.get("next")
        if not isinstance(following, int):
            return {**page, "steps": steps}
        after = following


async def _facts(owners: Owners, meant: _Meant, step: Record) -> Record:
    """One surface as its owner knows it now."""
    made = step.get("creates")
    kind, surface_id = (text(made, "kind"), text(made, "id")) if isinstance(made, dict) else ("", "")
    surface: Record = {"number": step.get("number"), "kind": kind, "id": surface_id, "state": step.get("surface")}
    if step.get("surface") in _GONE:
        return {**surface, "exists": False}
    try:
        facts = await owners.read(Address.parse(text(step, "target")), "surface_facts", {})
    except VerbRefused as refused:
        if refused.error.get("code") != Code.NOT_FOUND.value:
            raise
        return {**surface, "exists": False}
    shared = facts.get("sharedWith")
    names: list[Value] = [
        _agent_name(meant.directory, one)
        for one in (shared if isinstance(shared, list) else [])
        if isinstance(one, str)
    ]
    return {**surface, **facts, "sharedWithNames": names}


async def _done(owners: Owners, meant: _Meant, verb: str, body: Record) -> Record:
    return await _told(owners, meant.owner, verb, body, _NO_PLAN, reads=False)


async def _told(
    owners: Owners, to: Address, verb: str, body: Record, missing: Refusal, *, reads: bool = True
) -> Record:
    """What an agent's owner answers; its `not_found` speaks to agents, so the person is told by `missing` instead."""
    try:
        return await owners.ask(to, verb, body, reads=reads)
    except VerbRefused as refused:
        if refused.error.get("code") == Code.NOT_FOUND.value:
            raise VerbRefused.by(missing) from None
        raise


def _names(directory: Directory, agent_id: str, workspace_id: str) -> Record:
    known = directory.workspace_name(workspace_id)
    return {"agentId": agent_id, "agent": _agent_name(directory, agent_id), **({"workspace": known} if known else {})}


def _agent_name(directory: Directory, agent_id: str) -> str:
    """Its name, or its id when it was removed."""
    return next((one.name for one in directory.agents_named(None) if one.id == agent_id), agent_id)


def _number(record: Record, field: str) -> int:
    value = record.get(field)
    return value if isinstance(value, int) else 0


VERBS: Final[Mapping[str, Run]] = {
    "plan.list": checked(PlanList, plan_list),
    "plan.show": checked(OnePlan, plan_show),
    "plan.step": checked(PlanStep, plan_step),
    "plan.stop": checked(OnePlan, plan_stop),
    "plan.undo_preview": checked(OnePlan, plan_undo_preview),
    "plan.undo": checked(OnePlan, plan_undo),
    "plan.run": checked(PlanRun, plan_run),
    "plan.discard": checked(OnePlan, plan_discard),
}
STREAMS: Final[Mapping[str, Stream]] = {"plan.watch": streamed(OnePlan, plan_watch)}
