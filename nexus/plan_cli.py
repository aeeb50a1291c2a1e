"""`nexus plan`: what agents announced beside what they did, and stopping, undoing, running or discarding it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from bus.value import Record, Value, records
from nexus import exit_codes
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples, follow
from nexus.output import (
    fail,
    fields,
    json_text,
    print_json,
    print_line,
    print_lines,
    shown,
    table,
    time_text,
)

_MEANINGS: Final = {
    "running": "running: its agent's writes become steps",
    "stopped": "stopped: its agent's writes are refused until it ends the plan",
    "collecting": "collecting: nothing of it is executed unless you run it",
    "executing": "executing: its collected steps are run one after the other",
    "ended": "ended",
    "discarded": "discarded: what was not run never will be",
}

PlanArgument = Annotated[
    str, typer.Argument(metavar="PLAN", help="A plan's id, or an agent (id or name): its open plan, else its last.")
]

ASKS: Final = frozenset({"irreversible", "always_ask"})
"""Kinds of steps that get a card of their own (work-plan-tool, plan_*)."""

plans = typer.Typer(
    help="Plans: what agents announce, and what they then do. Stop, undo, run or discard them.", rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add `plan` to `nexus`."""
    app.add_typer(plans, name="plan", no_args_is_help=True)


@plans.command("list", epilog=examples("nexus plan list", "nexus plan list --agent Ada --json"))
def plan_list(
    agent: Annotated[str | None, typer.Option("--agent", help="Only plans of this agent (an id or a name).")] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the plans of agents, newest first, with their phase and steps."""
    answer = ask(home, "plan.list", {"agent": agent, "workspace": workspace}, "Reading the plans")
    if as_json:
        print_json(answer)
        return
    columns = {
        "id": "planId",
        "agent": "agent",
        "workspace": "workspace",
        "title": "title",
        "phase": "phase",
        "announced": "announcedCount",
        "steps": "stepCount",
        "done": "doneCount",
    }
    rows = [
        [*(one.get(name) for name in columns.values()), time_text(one.get("beganAt"))]
        for one in records(answer, "plans")
    ]
    if rows:
        print_lines(table((*columns, "began"), rows))
    else:
        print_line("No plan yet: an agent begins one with plan_begin, or collects calls in the mode plan_collect.")


@plans.command("show", epilog=examples("nexus plan show Ada", "nexus plan show Ada --step 3 --json"))
def plan_show(
    plan: PlanArgument,
    step: Annotated[int | None, typer.Option("--step", min=1, help="Only this step, with whole arguments.")] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a plan: what was announced, and each step with its arguments and result."""
    asked: Record = {"plan": plan, "workspace": workspace}
    if step is None:
        answer = ask(home, "plan.show", asked, "Reading the plan")
        lines = [*_head_lines(answer), *_step_lines(answer)]
    else:
        answer = ask(home, "plan.step", {**asked, "step": step}, "Reading the step")
        one = answer.get("step")
        lines = fields(one) if isinstance(one, dict) else []
    if as_json:
        print_json(answer)
    else:
        print_lines(lines)


@plans.command("watch", epilog=examples("nexus plan watch Ada", "nexus plan watch Ada --json"))
def plan_watch(
    plan: PlanArgument, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Show a plan, then each step as it happens, until the plan ends or you press Ctrl-C. With --json a line each."""
    is_first = True
    try:
        for event in follow(home, "plan.watch", {"plan": plan, "workspace": workspace}):
            if as_json:
                print_json(event)
                continue
            now, step = event.get("plan"), event.get("step")
            if isinstance(step, dict):
                print_line(f"{time_text(step.get('endedAt') or step.get('at'))}  {_step_line(step)}")
            elif isinstance(now, dict) and is_first:
                print_lines(_head_lines(now))
            elif isinstance(now, dict):
                print_lines(_phase_lines(now))
            is_first = False
    except KeyboardInterrupt:
        return  # the way the person ends it


@plans.command("stop", epilog=examples("nexus plan stop Ada"))
def plan_stop(
    plan: PlanArgument, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Stop a plan: its agent's writes are refused until it ends the plan. A run of collected calls goes no further."""
    answer = ask(home, "plan.stop", {"plan": plan, "workspace": workspace}, "Stopping the plan")
    _print_phase(answer, as_json)


@plans.command("undo", epilog=examples("nexus plan undo Ada", "nexus plan undo Ada --yes --json"))
def plan_undo(
    plan: PlanArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; close what the plan made.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close the surfaces that a plan made, newest first, after showing what cannot be restored. Safe to repeat."""
    asked: Record = {"plan": plan, "workspace": workspace}
    preview = ask(home, "plan.undo_preview", asked, "Looking at what the plan made")
    if not as_json:
        print_lines(_preview_lines(preview))
    if not yes:
        _confirm(as_json)
    asked["plan"] = preview.get("planId")  # the very plan that was shown, if an agent was named
    answer = ask(home, "plan.undo", asked, "Undoing the plan")
    if as_json:
        print_json(answer)
        return
    for one in records(answer, "surfaces"):
        print_line(f"{shown(one.get('kind'))} {shown(one.get('id'))}: {shown(one.get('state'))}")
    if any(one.get("state") == "closing" for one in records(answer, "surfaces")):
        print_line("Some are still being closed; `nexus plan undo` again shows whether they are.", to_stderr=True)


@plans.command("run", epilog=examples("nexus plan run Ada", "nexus plan run Ada --through 3"))
def plan_run(
    plan: PlanArgument,
    through: Annotated[int | None, typer.Option("--through", min=1, help="The last step to run.")] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the collected steps and run them, one after the other; those that need it get a card of their own each."""
    asked: Record = {"plan": plan, "workspace": workspace}
    read = ask(home, "plan.show", asked, "Reading the plan")
    steps = [one for one in records(read, "steps") if one.get("state") == "collected"]
    due = [one for one in steps if through is None or _number(one) <= through]
    if not as_json:
        print_lines(line for one in due for line in _lines_of(one))
    # Only what was printed is run: the agent may go on collecting meanwhile.
    last = max((_number(one) for one in due), default=through)
    answer = ask(home, "plan.run", {**asked, "plan": read.get("planId"), "through": last}, "Running the plan")
    _print_phase(answer, as_json)
    if answer.get("phase") == "collecting":
        raise typer.Exit(exit_codes.REFUSED)
    if answer.get("phase") == "executing" and not as_json and any(one.get("kind") in ASKS for one in due):
        print_line("It pauses at each step that needs your approval: nexus approvals watch")


@plans.command("discard", epilog=examples("nexus plan discard Ada"))
def plan_discard(
    plan: PlanArgument, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Discard what is left of a collected plan: its steps are never run. What was run stays."""
    answer = ask(home, "plan.discard", {"plan": plan, "workspace": workspace}, "Discarding the plan")
    _print_phase(answer, as_json)


def _confirm(as_json: bool) -> None:
    """Ends the command unless the person says yes."""
    if as_json or not sys.stdin.isatty():
        raise fail("Closing cannot be taken back, and nobody can be asked here. Add --yes to do it.", exit_codes.USAGE)
    if not typer.confirm("Close these?", default=False):
        print_line("Nothing was undone.")
        raise typer.Exit(exit_codes.REFUSED)


def _print_phase(answer: Record, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    print_line(f"Plan {shown(answer.get('title'))} of {shown(answer.get('agent'))} ({shown(answer.get('planId'))}):")
    print_lines(_phase_lines(answer))


def _head_lines(plan: Record) -> Iterator[str]:
    head: Record = {
        "plan": plan.get("planId"),
        "title": plan.get("title"),
        "agent": plan.get("agent"),
        "workspace": plan.get("workspace"),
        "began": time_text(plan.get("beganAt")),
        "ended": time_text(plan.get("endedAt")),
        "note": plan.get("note"),
    }
    yield from fields({name: value for name, value in head.items() if value not in (None, "-")})
    yield from _phase_lines(plan)
    announced = plan.get("announced")
    if isinstance(announced, list) and announced:
        yield "announced:"
        yield from (f"  {number}. {shown(one)}" for number, one in enumerate(announced, 1))


def _phase_lines(plan: Record) -> Iterator[str]:
    phase = shown(plan.get("phase"))
    yield f"phase: {_MEANINGS.get(phase, phase)}"
    halt = plan.get("halt")
    if isinstance(halt, dict):
        yield f"the last run ended at step {shown(halt.get('number'))}: {shown(halt.get('code'))}"
    approval = plan.get("awaitsApproval")
    if isinstance(approval, str):
        yield f"a step waits for your approval: `nexus approvals show {shown(approval)}` shows its card"


def _step_lines(plan: Record) -> Iterator[str]:
    steps = records(plan, "steps")
    yield "happened:" if steps else "happened: nothing yet"
    for step in steps:
        yield from (f"  {line}" for line in _lines_of(step))


def _lines_of(step: Record) -> Iterator[str]:
    yield _step_line(step)
    yield f"   {json_text(step.get('arguments'))}"
    left_out = step.get("leftOut")
    if isinstance(left_out, dict) and left_out:
        sizes = ", ".join(f"{shown(name)} ({shown(size)} bytes)" for name, size in left_out.items())
        yield f"   not shown: {sizes}; `nexus plan show PLAN --step {shown(step.get('number'))}` shows what is kept"


def _step_line(step: Record) -> str:
    words = [shown(value) for value in (step.get("outcome"), step.get("code")) if value is not None]
    if step.get("revision") is not None:
        words.append(f"revision {shown(step.get('revision'))}")
    if step.get("surfaceId") is not None:
        words.append(f"made {shown(step.get('surfaceId'))}")
    result = f"  ({', '.join(words)})" if words else ""
    return f"{shown(step.get('number'))}. {shown(step.get('tool'))}  {shown(step.get('state'))}{result}"


def _preview_lines(preview: Record) -> Iterator[str]:
    yield f"Plan {shown(preview.get('title'))} of {shown(preview.get('agent'))} ({shown(preview.get('planId'))})"
    surfaces = records(preview, "surfaces")
    yield "would close, newest first:" if surfaces else "It made nothing that could be closed."
    for one in surfaces:
        yield f"  {shown(one.get('kind'))} {shown(one.get('id'))}  {shown(one.get('title'))}"
        yield from (f"    {warning}" for warning in _warnings(one))
    kept = records(preview, "cannotRestore")
    if kept:
        yield "cannot be restored:"
        yield from (f"  {shown(one.get('number'))}. {shown(one.get('tool'))}{_place(one)}" for one in kept)


def _place(step: Record) -> str:
    """Which canvas it changed; what else it addressed is no name of the person's."""
    kind, _, rest = str(step.get("target")).partition("/")
    return f" on canvas {shown(rest.rpartition('/')[2])}" if kind == "canvas" else ""


def _warnings(surface: Record) -> Iterator[str]:
    if surface.get("exists") is False:
        yield "it is gone already"
        return
    if surface.get("changedByOthers") is True:
        yield "others have changed it; what they did there goes with it"
    shared: Value = surface.get("sharedWithNames")
    if isinstance(shared, list) and shared:
        yield f"others hold roles on it: {shown(shared)}"


def _number(step: Record) -> int:
    number = step.get("number")
    return number if isinstance(number, int) else 0
