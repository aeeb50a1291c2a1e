"""`nexus plan`, against a real port over a real agent's owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from bus.value import Record
from nexus import asking, exit_codes, plan_cli
from nexus.gateway import person_plans
from nexus.gateway.person_verbs import STREAMS, VERBS
from tests.actors.agent.planning import AGENT, FINGERPRINT, Planning
from tests.nexus.test_person_plans import SHARED, made, script
from tests.support.bench import owner
from tests.support.person_port import running_port
from tests.support.scripted_caller import Script

HOSTILE = "Draw\x1b]52;c;eA==\x07\u202e[red]"


class Commands:
    """`nexus plan` in this process, and the agent whose plans it is about."""

    def __init__(self, planning: Planning) -> None:
        self.planning = planning
        self._app = typer.Typer()
        plan_cli.register(self._app)

    def run(self, *arguments: str, typed: str | None = None) -> Result:
        return CliRunner().invoke(self._app, ["plan", *arguments], input=typed)

    def json(self, *arguments: str) -> Any:
        result = self.run(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[Commands]:
    planning = Planning()
    events: Script = {("host", "events"): lambda sent: {"events": [], "last": 1}}
    monkeypatch.setattr(person_plans, "follow_retry_ms", 1)
    monkeypatch.setattr(person_plans, "plan_undo_wait_ms", 3)
    with running_port({**script(planning, SHARED), **events}) as port:
        monkeypatch.setattr(asking, "resolve_home", lambda given: SimpleNamespace(run=port.run))
        yield Commands(planning)


def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """typer's runner replaces standard input, so the command's own look at it is what is answered."""
    monkeypatch.setattr(plan_cli, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))


def test_plans_are_listed_one_a_line(commands: Commands) -> None:
    assert "No plan yet" in commands.run("list").stdout
    plan_id = commands.planning.begin("Draw", "One")
    lines = commands.run("list").stdout.splitlines()
    assert lines[0].split() == ["ID", "AGENT", "WORKSPACE", "TITLE", "PHASE", "ANNOUNCED", "STEPS", "DONE", "BEGAN"]
    assert lines[1].split()[:-1] == [plan_id, "Ada", "Site", "Draw", "running", "1", "0", "0"]
    assert commands.json("list", "--agent", "a1")["plans"][0]["planId"] == plan_id


def test_a_plan_is_shown_with_what_was_announced_beside_what_happened(commands: Commands) -> None:
    planning = commands.planning
    planning.begin("Draw", "Make a board")
    canvas_id = made(planning)
    planning.record(planning.write(text="x" * 5_000))
    shown = commands.run("show", "a1").stdout
    assert "  1. Make a board" in shown
    assert f"1. canvas_create  done  (applied, made {canvas_id})" in shown
    assert "2. canvas_move_elements  running" in shown
    assert '{"canvasId": "c1"}' in shown
    assert "not shown: text (5002 bytes)" in shown
    assert commands.json("show", "a1")["steps"][0]["surfaceId"] == canvas_id


def test_a_step_is_shown_whole_by_its_number(commands: Commands) -> None:
    commands.planning.collect(commands.planning.write(text="x" * 5_000))
    assert "x" * 5_000 in commands.run("show", "a1", "--step", "1").stdout


def test_what_agents_typed_does_nothing_to_a_terminal(commands: Commands) -> None:
    """security 2.15"""
    planning = commands.planning
    planning.begin("Draw", HOSTILE)
    call = planning.write(text=HOSTILE)
    planning.record(call)
    planning.settle(call.call_id)
    planning.end(HOSTILE)
    for arguments in (("list",), ("show", "a1"), ("show", "a1", "--step", "1"), ("watch", "a1")):
        output = commands.run(*arguments).output
        assert "\x1b" not in output and "\u202e" not in output and "\x07" not in output


def test_stopping_tells_what_the_stop_means(commands: Commands) -> None:
    commands.planning.begin()
    assert "refused until it ends the plan" in commands.run("stop", "a1").stdout
    assert commands.json("stop", "a1")["changed"] is False


def test_watching_ends_with_the_plan(commands: Commands) -> None:
    planning = commands.planning
    planning.begin("Draw", "Make a board")
    canvas_id = made(planning)
    planning.end("Ready.")
    lines = commands.run("watch", "a1").stdout.splitlines()
    assert "  1. Make a board" in lines
    assert lines[-1].endswith(f"1. canvas_create  done  (applied, made {canvas_id})")
    told = [json.loads(line) for line in commands.run("watch", "a1", "--json").stdout.splitlines()]
    assert [list(one) for one in told[:2]] == [["plan"], ["step"]]


def test_running_prints_the_steps_and_runs_only_what_was_printed(commands: Commands) -> None:
    planning = commands.planning
    for _ in range(2):
        planning.collect(planning.write())
    result = commands.run("run", "a1", "--through", "1")
    assert result.exit_code == 0
    assert "1. canvas_move_elements  collected" in result.stdout
    assert "2. canvas_move_elements" not in result.stdout
    assert "executing" in result.stdout
    (plan,) = planning.bench.state.plans.plans.values()
    assert plan.through == 1
    assert commands.run("run", "a1").exit_code == exit_codes.REFUSED


def test_what_is_collected_between_reading_and_running_is_not_run(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    planning = commands.planning
    planning.collect(planning.write())

    def late(home: Any, verb: str, arguments: Any, doing: str) -> Record:
        if verb == "plan.run":
            planning.collect(planning.write())
        return asking.ask(home, verb, arguments, doing)

    monkeypatch.setattr(plan_cli, "ask", late)
    assert commands.run("run", "a1").exit_code == 0
    (plan,) = planning.bench.state.plans.plans.values()
    assert (plan.through, len(planning.steps(next(iter(planning.bench.state.plans.plans))))) == (1, 2)


def test_a_run_that_stops_at_once_ends_with_1_and_says_where_and_why(commands: Commands) -> None:
    commands.planning.collect(commands.planning.write())
    commands.planning.person("credential_revoke", name="default")
    result = commands.run("run", "a1")
    assert result.exit_code == exit_codes.REFUSED
    assert "the last run ended at step 1: unidentified_caller" in result.stdout


def test_a_run_that_waits_for_a_card_names_it(commands: Commands) -> None:
    planning = commands.planning
    planning.collect(replace(planning.write(), kind="irreversible"))
    commands.run("run", "a1")
    look = planning.bench.dispatched[-1]
    body: Record = {"callId": look.call_id, "would": {"ok": {}}, "fingerprint": FINGERPRINT}
    planning.bench.send("looked", body, owner(look.to))
    (card,) = planning.bench.state.approvals
    assert f"nexus approvals show {AGENT}.{card}" in commands.run("show", "a1").stdout


def test_discarding_says_that_nothing_of_it_will_run(commands: Commands) -> None:
    commands.planning.collect(commands.planning.write())
    assert "never will be" in commands.run("discard", "a1").stdout
    assert commands.run("discard", "a1").exit_code == exit_codes.REFUSED


def test_undo_without_a_terminal_and_without_yes_shows_the_preview_and_does_nothing(commands: Commands) -> None:
    plan_id = commands.planning.begin()
    made(commands.planning)
    for extra in ((), ("--json",)):
        result = commands.run("undo", "a1", *extra)
        assert result.exit_code == exit_codes.USAGE
        assert "--yes" in result.stderr
    assert commands.planning.plan(plan_id).undoAskedAt is None


@pytest.mark.parametrize(("typed", "undone"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_undo_asks_at_a_terminal(commands: Commands, monkeypatch: pytest.MonkeyPatch, typed: str, undone: bool) -> None:
    at_a_terminal(monkeypatch)
    plan_id = commands.planning.begin()
    made(commands.planning)
    result = commands.run("undo", "a1", typed=typed)
    assert (commands.planning.plan(plan_id).undoAskedAt is not None) is undone
    assert result.exit_code == (exit_codes.OK if undone else exit_codes.REFUSED)


def test_the_preview_of_an_undo_is_honest(commands: Commands) -> None:
    planning = commands.planning
    planning.begin("Draw")
    canvas_id = made(planning)
    call = planning.write("c-old")
    planning.record(call)
    planning.settle(call.call_id)
    shown = commands.run("undo", "a1", "--yes").stdout
    assert f"canvas {canvas_id}  Board" in shown
    assert "others have changed it" in shown
    assert "others hold roles on it: Bo, gone" in shown
    assert "cannot be restored:\n  2. canvas_move_elements on canvas c-old" in shown
    assert f"canvas {canvas_id}: closing" in shown


def test_undo_is_refused_while_calls_are_under_way(commands: Commands) -> None:
    commands.planning.begin()
    commands.planning.record(commands.planning.write())
    result = commands.run("undo", "a1", "--yes")
    assert result.exit_code == exit_codes.REFUSED
    assert "under way" in result.stderr


def test_an_agent_without_a_plan_is_told_so(commands: Commands) -> None:
    result = commands.run("show", "Bo")
    assert (result.exit_code, "nexus plan list" in result.stderr) == (exit_codes.REFUSED, True)


@pytest.mark.parametrize("name", ["list", "show", "watch", "stop", "undo", "run", "discard"])
def test_each_command_has_examples_exit_codes_home_and_json(commands: Commands, name: str) -> None:
    shown = commands.run(name, "--help").stdout
    for part in (f"nexus plan {name}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
    assert f"plan.{name}" in {**VERBS, **STREAMS}
