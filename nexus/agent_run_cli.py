"""`nexus agent run`: the command line, and the composition root of the runtime behind it (mesh 5.2)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bus.value import Record
from nexus import exit_codes
from nexus.agent_presets import Preset, presets
from nexus.agent_run_environment import is_own
from nexus.agent_run_limits import run_concurrency_max, run_seconds_default, run_seconds_max
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, examples, typed_path
from nexus.config import Home, HomeMissing, HomeRefused, resolve_home
from nexus.output import escape, fail, print_json, print_line, shown
from nexus.person_client import NOT_RUNNING_TEXT

if TYPE_CHECKING:
    from nexus.agent_run_runtime import AgentRuntime

SHIM: Final = (sys.executable, "-I", "-m", "nexus", "mcp")
PRESETS: Final = {preset.name: preset for preset in presets(SHIM)}

_EXAMPLES: Final = examples(
    "nexus agent run Ada -- ./solve.py",
    "nexus agent run Ada --preset claude --cwd ~/code/shop",
    "nexus agent run Ada --preset codex --time-limit 600 -- --sandbox workspace-write",
    "nexus agent run Ada --once --env API_URL -- node worker.js",
)
_SAID: Final = {
    "taken": "Thread {threadId} from {from}: {title} (attempt {attempt})",
    "progress": "  {threadId}  {text}",
    "ended": "Thread {threadId}: {outcome} after {seconds} s",
    "lost": "Thread {threadId} is over elsewhere ({why}); nothing was answered.",
    "refused": "Thread {threadId}: NEXUS refused the answer ({why}).",
    "stopping": "Stopping; tasks at work: {atWork}. Their programs are asked to end. Ctrl-C again kills them.",
    "killing": "Killing what still runs.",
}


def register(agents: typer.Typer) -> None:
    """Add the command to `nexus agent`."""
    agents.command("run", epilog=_EXAMPLES)(agent_run)


def agent_run(
    agent: Annotated[str, typer.Argument(help="Whose tasks are taken: an id or a name.", metavar="NAME")],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="After `--`: the program started for each task, with its arguments; with --preset, more arguments.",
            metavar="-- COMMAND ...",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help=f"Run a known agent program instead: {', '.join(PRESETS)}.", metavar="PROGRAM")
    ] = None,
    time_limit: Annotated[
        int, typer.Option(help="Seconds one task may take.", min=1, max=run_seconds_max)
    ] = run_seconds_default,
    concurrency: Annotated[int, typer.Option(help="Tasks at a time.", min=1, max=run_concurrency_max)] = 1,
    cwd: Annotated[
        Path | None, typer.Option(help="Where the program runs. Default: here.", parser=typed_path, metavar="FOLDER")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take one task, then end: 0 when it was done.")] = False,
    env: Annotated[
        list[str] | None, typer.Option(help="Pass this variable on too; repeat for several.", metavar="VARIABLE")
    ] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an agent's tasks here, in the foreground, and start a program for each, until Ctrl-C.

    The program reads the task as JSON on standard input and in the file NEXUS_TASK_FILE. What it prints is the answer;
    an exit status other than 0 is a failure; lines on standard error are progress. `nexus mcp` inside it is the agent.
    """
    # Here and not above, since they bring what no other command needs, and every command is registered with this one.
    from nexus.agent_run_lending import Lends
    from nexus.agent_run_runtime import AgentRuntime, RunFailed
    from nexus.agent_run_task import RunPlan

    place = _home(home)
    known = None if preset is None else _preset(preset)
    given = command or []
    plan = RunPlan(
        agent=agent,
        command=_command(given) if known is None else known.command(_found_preset(known), given),
        environment=os.environ.copy(),
        variables=frozenset((*(() if known is None else known.variables), *_variables(env or []))),
        cwd=_folder(cwd),
        home=place.path,
        seconds_max=time_limit,
        is_prompted=known is not None,
    )
    told = _Telling(agent, known, plan.command, as_json=as_json)
    lends = Lends(place.person_socket, agent, workspace)
    runtime = AgentRuntime(plan, place.runtimes_socket, lends, 1 if once else concurrency, once, told.tell)
    try:
        asyncio.run(_run(runtime))
    except RunFailed as failed:
        raise fail(escape(str(failed)), exit_codes.NOT_RUNNING if failed.is_absent else exit_codes.REFUSED) from None
    if once and not {*runtime.how} & {"completed", "partial"}:
        raise typer.Exit(exit_codes.REFUSED)


async def _run(runtime: AgentRuntime) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, runtime.asked_to_stop)
    await runtime.run()


@dataclass(frozen=True, slots=True)
class _Telling:
    """What the person at the terminal is told, in sentences or, with --json, one object a line."""

    agent: str
    preset: Preset | None
    command: Sequence[str]
    as_json: bool

    def tell(self, what: str, facts: Record) -> None:
        if self.as_json:
            print_json({"event": what, **facts})
        elif what == "ready":
            started = self.command[0] if self.preset is None else self.preset.title
            print_line(f"Taking tasks of {escape(self.agent)} ({shown(facts['agentId'])}) with {escape(started)}.")
            if self.preset is not None and self.preset.then:
                print_line(self.preset.then)
        else:
            print_line(_SAID[what].format(**{name: shown(value) for name, value in facts.items()}))
        sys.stdout.flush()


def _home(given: Path | None) -> Home:
    try:
        return resolve_home(given)
    except HomeMissing:
        raise fail(NOT_RUNNING_TEXT, exit_codes.NOT_RUNNING) from None
    except HomeRefused as unsafe:
        raise fail(escape(str(unsafe)), exit_codes.HOME_REFUSED) from None


def _preset(name: str) -> Preset:
    known = PRESETS.get(name)
    if known is None:
        raise fail(f"There is no preset {escape(name)}. There are: {', '.join(PRESETS)}.", exit_codes.USAGE)
    return known


def _found_preset(preset: Preset) -> str:
    found = shutil.which(preset.program)
    if found is None:
        raise fail(
            f"{preset.title} is not installed here: there is no program {preset.program} on PATH. See {preset.source}."
        )
    return str(Path(found).absolute())


def _command(given: Sequence[str]) -> tuple[str, ...]:
    """With the program's absolute path: it is looked for here, as the person's shell would, and not where it runs."""
    if not given:
        raise fail("Say what to run: -- COMMAND ..., or --preset PROGRAM.", exit_codes.USAGE)
    found = shutil.which(given[0])
    if found is None:
        raise fail(f"There is no program {escape(given[0])} that can be run.")
    return (str(Path(found).absolute()), *given[1:])


def _variables(names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if is_own(name) or "=" in name or not name:
            raise fail(
                f"{escape(name)} cannot be passed on: name a variable that is set here and is not one of NEXUS's own.",
                exit_codes.USAGE,
            )
        if name not in os.environ:
            raise fail(f"The variable {escape(name)} is not set here.", exit_codes.USAGE)
    return names


def _folder(given: Path | None) -> Path:
    folder = (given or Path()).expanduser().absolute()
    if not folder.is_dir():
        raise fail(f"{escape(str(folder))} is no folder.", exit_codes.USAGE)
    return folder
