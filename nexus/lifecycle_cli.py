"""The commands that start, stop and look at NEXUS itself: up, down, status, doctor.

Results go to standard output, as text or with --json as one JSON line; progress goes to standard error. A refusal is
one paragraph and an exit code of nexus/exit_codes.py; with --json it is `{"error": ...}` as well.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, NoReturn

import typer

from bus.limits import look_again_ms, progress_after_ms, stop_wait_ms_max, takeover_wait_ms
from nexus import exit_codes
from nexus.asking import HomeOption, JsonOption
from nexus.children import COMMAND
from nexus.config import Home, HomeMissing, home_path, open_home
from nexus.control import ControlLine, NotRunning, ask
from nexus.detached import Refused, start_detached
from nexus.doctor import PROMISE, Outcome, examine
from nexus.home_lock import is_held, wait_until_free
from nexus.output import escape, fail, json_text, print_json, print_line, print_lines
from nexus.supervisor import REFUSALS, Running, exit_code_of, supervise


def register(app: typer.Typer, command: Sequence[str] = COMMAND) -> None:
    """Add the commands to `app`. `command` runs NEXUS' processes; tests give one with bodies of their own."""

    @app.command()
    def up(
        home: HomeOption = None,
        port: Annotated[
            int | None,
            typer.Option(help="The port on 127.0.0.1 for this run; 0 takes any free one.", min=0, max=65535),
        ] = None,
        detach: Annotated[bool, typer.Option("--detach", help="Return once ready and leave NEXUS running.")] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Start NEXUS, wait until it is ready, and stay until Ctrl-C (or return, with --detach)."""
        with mistakes_explained():
            path = home_path(home, os.environ)
            if not detach:
                supervise(path, port, command, ForegroundReporter(as_json))
                return
            result = start_detached(path, port, command, say_progress)
            if isinstance(result, Refused):
                refuse(result.text, result.exit_code)
            print_started(str(result["url"]), str(result["home"]), as_json, result, "Stop it with: nexus down")

    app.command()(down)
    app.command()(status)
    app.command()(doctor)


def down(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Stop NEXUS on this home and wait until no process of it is left."""
    with mistakes_explained():
        opened = open_home(home_path(home, os.environ))
        stopped = stop_and_wait(opened)
        if as_json:
            print_json({"home": str(opened.path), "stopped": stopped})
        else:
            print_line(f"NEXUS on {escape(str(opened.path))} has stopped.")


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show the address and the processes of a running NEXUS; exit code 3 if none runs on this home."""
    with mistakes_explained():
        opened = open_home(home_path(home, os.environ))
        answer = ask(opened, "status")
        if as_json:
            incarnation = opened.settings.incarnation
            known = {"url": answer["url"], "home": str(opened.path), "incarnation": incarnation}
            print_json({**known, "processes": answer["processes"]})
            return
        print_line(f"NEXUS runs on {escape(str(opened.path))}")
        print_line(f"MCP address: {escape(str(answer['url']))}")
        if opened.settings.incarnation > 1:
            print_line(f"Restored from backups so far: {opened.settings.incarnation - 1}")
        for process in processes_of(answer):
            role, name = escape(str(process["role"])), escape(str(process["name"]))
            print_line(f"  {role:<11} {name:<12} {process['pid']}")
        if not answer["isReady"]:
            print_line("Some processes are starting.")


def doctor(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Look for what could keep NEXUS from running well, and say what it protects against."""
    with mistakes_explained():
        checks = examine(home_path(home, os.environ))
    is_healthy = not any(check.outcome is Outcome.PROBLEM for check in checks)
    if as_json:
        print_json({"healthy": is_healthy, "checks": [check.record() for check in checks], "promise": PROMISE})
    else:
        for check in checks:
            print_line(f"{check.outcome:<8} {check.name}: {escape(check.text)}")
        print_lines(("", *PROMISE))
    raise typer.Exit(exit_codes.OK if is_healthy else exit_codes.UNHEALTHY)


class ForegroundReporter:
    """Tells the person at the terminal."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def progress(self, text: str) -> None:
        say_progress(text)

    def ready(self, running: Running) -> None:
        # Whoever read the output may have gone after its first line: NEXUS goes on.
        with suppress(BrokenPipeError):
            print_started(running.url, str(running.home), self._as_json, running.record(), "Ctrl-C stops it.")


def print_started(url: str, home: str, as_json: bool, record: dict[str, object], ending: str) -> None:
    """What `nexus up` prints once ready."""
    if as_json:
        print_json(record)
        return
    server = {"nexus": {"type": "http", "url": url, "headers": {"Authorization": "Bearer YOUR_TOKEN"}}}
    print_lines(
        (
            f"NEXUS runs on {escape(home)}",
            f"MCP address: {escape(url)}",
            "",
            "To connect an agent, make a workspace and in it an agent, whose token is printed once:",
            "  nexus workspace add NAME",
            "  nexus agent add NAME --workspace W --capability mesh",
            "Then connect its client; `nexus connect --list` names those there are:",
            "  nexus connect CLIENT --agent NAME",
            "Or give any client this, with the token:",
            f"  {json_text({'mcpServers': server})}",
            "",
            ending,
        )
    )
    sys.stdout.flush()


def stop_and_wait(home: Home) -> list[dict[str, object]]:
    """Ask the supervisor to end and wait until every process is gone; answers what ran. Raises NotRunning."""
    line = connected(home)
    try:
        stopped = processes_of(line.ask("down"))
        wait_with_progress(lambda: not is_held(home.lock_file), "Stopping", home)
    finally:
        line.close()
    return stopped


def connected(home: Home) -> ControlLine:
    """A line to the supervisor; waits for one that is just starting, or for the last child of one that was killed."""
    deadline_ms = _now_ms() + takeover_wait_ms
    while True:
        try:
            return ControlLine(home)
        except NotRunning:
            if not is_held(home.lock_file) or _now_ms() >= deadline_ms:
                wait_until_free(home.family_lock_file, takeover_wait_ms)
                raise
        _pause()


def wait_with_progress(is_done: Callable[[], bool], text: str, home: Home) -> None:
    """Wait for `is_done`; says `text` when it takes over a second. Gives up with a refusal after the longest stop."""
    started_ms, told = _now_ms(), 0
    while not is_done():
        waited_ms = _now_ms() - started_ms
        if waited_ms >= stop_wait_ms_max:
            raise NotStopped(f"NEXUS on {home.path} does not stop. See its processes with: nexus status")
        if waited_ms // progress_after_ms > told:
            told = waited_ms // progress_after_ms
            say_progress(text)
        _pause()


class NotStopped(Exception):
    """NEXUS was told to stop and did not. The text is for the person."""


@contextmanager
def mistakes_explained() -> Iterator[None]:
    """Turns what can go wrong without being a defect into its text and exit code."""
    try:
        yield
    except (NotRunning, HomeMissing) as nothing:
        refuse(str(nothing), exit_codes.NOT_RUNNING)
    except NotStopped as late:
        refuse(str(late), exit_codes.REFUSED)
    except tuple(REFUSALS) as refusal:
        refuse(str(refusal), exit_code_of(refusal))
    except KeyboardInterrupt:
        raise typer.Exit(exit_codes.INTERRUPTED) from None


def refuse(text: str, code: int) -> NoReturn:
    """Print the refusal and end the command."""
    raise fail(escape(text), code, {"message": text})


def processes_of(answer: dict[str, object]) -> list[dict[str, object]]:
    """The supervisor's list of processes."""
    processes = answer["processes"]
    assert isinstance(processes, list)
    return processes


def say_progress(text: str) -> None:
    """One line on standard error, so that it never mixes with a result."""
    print_line(f"{escape(text)} ...", to_stderr=True)


def _pause() -> None:
    select.select([], [], [], look_again_ms / 1000)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
