"""Command lines run to their exit codes: what holds for every command of `nexus` and `nexus-bus`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import typer
from typer.core import TyperGroup

from nexus import bus_cli, exit_codes
from nexus.cli import TOPICS, build_app, new_app
from nexus.command import run_command
from nexus.config import create_home
from nexus.output import is_hidden

HOSTILE: Final = "home\x1b]0;owned\x07\u202e\nnext"
BUS: Final = (("ls",), ("info",), ("peek", "Ada"), ("tail",), ("tail", "-f"), ("get", "app/-/directory"))
PERSON: Final = (
    ("workspace", "add", "Site"),
    ("workspace", "list"),
    ("workspace", "use", "Site"),
    ("agent", "add", "Ada", "--workspace", "Site"),
    ("agent", "list"),
    ("agent", "token", "Ada", "--replace"),
    ("agent", "remove", "Ada"),
    ("agent", "remove", "Ada", "--yes"),
    ("canvas", "import", "{scene}", "--workspace", "Site"),
    ("canvas", "export", "Plan", "-"),
    ("canvas", "grant", "Plan", "Ada", "editor"),
    ("canvas", "list"),
    ("canvas", "show", "Plan"),
)
LIFE: Final = (("status",), ("down",))


def run(*arguments: str) -> int:
    return run_command(build_app(), "nexus", arguments)


def registered(app: typer.Typer) -> int:
    """How many commands there are, also of topics."""
    groups = [group.typer_instance for group in app.registered_groups if group.typer_instance is not None]
    return len(app.registered_commands) + sum(map(registered, groups))


def test_building_the_commands_once_more_adds_none_to_any_topic() -> None:
    """Topics are there once for the process; what is built anew with each `nexus` is their collection."""
    assert registered(build_app()) == registered(build_app())


@pytest.fixture
def scene(tmp_path: Path) -> str:
    file = tmp_path / "plan.excalidraw"
    file.write_text('{"type": "excalidraw", "elements": []}')
    return str(file)


@pytest.mark.parametrize(
    ("app", "arguments"),
    [*((build_app, one) for one in (*PERSON, *LIFE)), *((lambda: bus_cli.app, one) for one in BUS)],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_failure_with_json_is_json_on_standard_output_and_text_on_standard_error(
    app: object, arguments: tuple[str, ...], tmp_path: Path, scene: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(app)
    filled = [part.replace("{scene}", scene) for part in arguments]
    outcomes = []
    for options in ([], ["--json"]):
        code = run_command(app(), "x", [*filled, *options, "--home", str(tmp_path / "none")])
        outcomes.append((code, *capsys.readouterr()))
    (plain_code, plain_out, plain_err), (json_code, json_out, json_err) = outcomes
    assert plain_code == json_code == exit_codes.NOT_RUNNING
    assert plain_out == ""
    assert plain_err == json_err != ""
    expected = {"code": "unavailable", "message": json_err.strip(), "retryable": True}
    assert json.loads(json_out)["error"] == expected, "in the form of the runtime's own refusals (common 6.1)"


@pytest.mark.parametrize(
    "arguments",
    [
        ("agent", "token", "Ada"),
        ("workspace", "add", "Site", "--root", "/nowhere/at/all"),
        ("canvas", "import", "/nowhere/at/all", "-w", "Site"),
        ("canvas", "grant", "Plan", "Ada", "god"),
        ("canvas", "unheard-of"),
        ("status", "--home", ""),
    ],
    ids=" ".join,
)
def test_so_is_one_before_anything_was_asked(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code = run(*arguments, "--json")
    printed = capsys.readouterr()
    assert code in (exit_codes.REFUSED, exit_codes.USAGE)
    error = json.loads(printed.out)["error"]
    assert error["message"]
    assert error["code"] == ("invalid_arguments" if code == exit_codes.USAGE else "wrong_state")
    assert error["retryable"] is False
    assert printed.err


@pytest.mark.parametrize("attack", ["\u202e", "\u2066x\u2069", "\x1b]0;owned\x07", "\u200b", "\x9b31m"])
def test_nothing_that_was_typed_acts_on_the_terminal_when_usage_is_wrong(
    attack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """security 2.15"""
    wrong = (
        ("canvas", "show", "Plan", attack),
        ("canvas", "show", f"--{attack}"),
        ("canvas", attack),
        (attack,),
        ("canvas", "grant", "Plan", "Ada", attack),
        ("canvas", "history", "Plan", "--limit", attack),
    )
    for arguments in wrong:
        for options in ((), ("--json",)):
            assert run(*arguments, *options) == exit_codes.USAGE
            printed = capsys.readouterr()
            assert printed.err.startswith("Usage: ")
            assert not any(is_hidden(character) for character in (printed.err + printed.out).replace("\n", ""))


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize(
    "arguments",
    [
        ("up", "--home"),
        ("status", "--home"),
        ("down", "--home"),
        ("doctor", "--home"),
        ("workspace", "list", "--home"),
        ("workspace", "add", "Site", "--root"),
        ("canvas", "import", "-w", "Site"),
        ("canvas", "export", "Plan"),
        ("demo", "--file"),
    ],
    ids=" ".join,
)
def test_an_empty_path_is_wrong_usage_and_not_the_current_folder(
    arguments: tuple[str, ...], empty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, empty) == exit_codes.USAGE
    assert "empty" in capsys.readouterr().err


def test_a_home_of_an_unknown_user_is_refused_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("status", "down", "doctor", "up"):
        assert run(command, "--home", "~nobody-of-that-name/nexus") == exit_codes.HOME_REFUSED
        assert "not known here" in capsys.readouterr().err


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("command", ["status", "down", "doctor", "workspace list"])
def test_the_name_of_the_home_cannot_act_on_the_terminal(
    tmp_path: Path, command: str, made: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """security 2.15"""
    home = tmp_path / HOSTILE
    if made:
        before = os.umask(0o077)
        create_home(home, cores=1)
        os.umask(before)
        (home / "home.key").chmod(0o644)
    run(*command.split(), "--home", str(home))
    printed = capsys.readouterr()
    assert not {"\x1b", "\x07", "\u202e"} & set(printed.out + printed.err)
    if command != "workspace list":  # it names no folder
        assert "\\x1b]0;owned" in printed.out + printed.err


def test_a_file_that_the_demo_cannot_read_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def started() -> None:
        raise AssertionError("a runtime was made")

    monkeypatch.setattr("nexus.demo.DemoRuntime", started)
    assert run("demo", "--file", str(tmp_path / "absent")) == exit_codes.REFUSED
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["doctor"], ["doctor", "--json"]], ids=" ".join)
def test_a_reader_that_has_gone_ends_a_command_quietly(arguments: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "nexus", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**os.environ, "NEXUS_HOME": str(tmp_path / "none")},
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (exit_codes.CLOSED_PIPE, b"")


def test_ctrl_c_has_the_code_that_shells_give_it() -> None:
    app = typer.Typer()

    @app.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert run_command(app, "x", []) == exit_codes.INTERRUPTED


def commands_of(app: typer.Typer) -> list[str]:
    command = typer.main.get_command(app)
    assert isinstance(command, TyperGroup)
    return list(command.commands)


@pytest.mark.parametrize(("register", "commands"), TOPICS.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_each_topic_adds_what_the_table_says_and_is_found_by_it(
    register: Callable[[typer.Typer], None], commands: tuple[str, ...]
) -> None:
    alone = new_app()
    register(alone)
    assert commands_of(alone) == [*commands]
    for command in commands:
        assert commands_of(build_app(command)) == [*commands]


def test_the_help_and_a_word_that_is_no_command_have_all_topics() -> None:
    every = [command for commands in TOPICS.values() for command in commands]
    assert sorted(commands_of(build_app())) == sorted(every)
    assert commands_of(build_app()) == commands_of(build_app("--help")) == commands_of(build_app("statsu"))
