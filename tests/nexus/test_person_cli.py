"""The person's commands, against a real port that answers from a script."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner, Result

from bus.events import CATALOGUE
from bus.value import Record, Value
from nexus import (
    agent_cli,
    approvals_cli,
    asking,
    bus_cli,
    canvas_cli,
    channel_cli,
    exit_codes,
    provider_cli,
    settings_cli,
    team_cli,
    thread_cli,
    workspace_cli,
)
from nexus.config import HomeMissing, HomeRefused
from nexus.gateway.person_scenes import CONVERSATIONS
from nexus.gateway.person_verbs import STREAMS, VERBS
from nexus.gateway.provider_answers import ProviderSources
from nexus.person_client import NOT_RUNNING_TEXT
from tests.nexus.test_person_port import LISTS
from tests.nexus.test_person_scenes import exported, importing
from tests.support.person_port import RunningPort, running_port
from tests.support.scripted_caller import Script
from tests.tools.test_secrets import CREDENTIALS
from tools.errors import Code, Refusal, unavailable

HOSTILE = "Ada\x1b]52;c;eA==\x07\u202e[red]"


class Commands:
    """Runs `nexus` and `nexus-bus` in this process against one running port."""

    def __init__(self) -> None:
        self._nexus = typer.Typer()
        topics = (
            *(workspace_cli, canvas_cli, agent_cli, channel_cli, approvals_cli),
            *(settings_cli, thread_cli, team_cli, provider_cli),
        )
        for topic in topics:
            topic.register(self._nexus)

    def nexus(self, *arguments: str) -> Result:
        return CliRunner().invoke(self._nexus, list(arguments))

    def bus(self, *arguments: str) -> Result:
        return CliRunner().invoke(bus_cli.app, list(arguments))

    def json(self, *arguments: str) -> Any:
        result = self.nexus(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)


@contextmanager
def commands(
    monkeypatch: pytest.MonkeyPatch, script: Script, providers: ProviderSources | None = None
) -> Iterator[tuple[Commands, RunningPort]]:
    with running_port(script, providers=providers) as port:
        monkeypatch.setattr(asking, "resolve_home", lambda given: SimpleNamespace(run=port.run))
        yield Commands(), port


@pytest.fixture
def scene_file(tmp_path: Path) -> Path:
    file = tmp_path / "plan.excalidraw"
    file.write_text('{"type": "excalidraw", "elements": [{"id": "e", "x": 1e999}], "files": {}}')
    return file


def test_without_nexus_running_every_command_ends_with_3_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stale = tmp_path / "person.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ended:
        ended.bind(str(stale))
    for run in (tmp_path / "absent", tmp_path):
        monkeypatch.setattr(asking, "resolve_home", lambda given, run=run: SimpleNamespace(run=run))
        for result in (Commands().nexus("workspace", "list"), Commands().bus("tail", "-f"), Commands().bus("ls")):
            assert result.exit_code == exit_codes.NOT_RUNNING
            assert result.stderr.strip() == NOT_RUNNING_TEXT


def test_a_home_that_was_never_made_is_one_on_which_nexus_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(given: Path | None) -> None:
        raise HomeMissing("none")

    monkeypatch.setattr(asking, "resolve_home", missing)
    assert Commands().nexus("workspace", "list").exit_code == exit_codes.NOT_RUNNING


def test_an_unsafe_home_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsafe(given: Path | None) -> None:
        raise HomeRefused("It is open to other users.")

    monkeypatch.setattr(asking, "resolve_home", unsafe)
    result = Commands().nexus("workspace", "list")
    assert (result.exit_code, result.stderr.strip()) == (exit_codes.HOME_REFUSED, "It is open to other users.")


def test_a_workspace_is_added_with_its_root_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    with commands(monkeypatch, {("app/-/directory", "workspace_add"): {}}) as (run, port):
        answer = run.json("workspace", "add", "Site", "--root", "site")
        (body,) = port.caller.bodies("workspace_add")
        assert body == {"workspaceId": answer["workspaceId"], "name": "Site", "root": str(tmp_path.resolve() / "site")}


def test_a_root_that_is_no_folder_is_refused_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, {}) as (run, port):
        result = run.nexus("workspace", "add", "Site", "--root", "/nowhere/at/all")
        assert result.exit_code == exit_codes.REFUSED
        assert "not a folder" in result.stderr
        assert port.caller.sent == []


def test_the_active_workspace_is_marked_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, LISTS) as (run, _):
        lines = run.nexus("workspace", "list").stdout.splitlines()
        assert [line.split() for line in lines[1:]] == [["*", "w1", "Site", "-"], ["w2", "Shop", "/srv"]]
        assert [one["isActive"] for one in run.json("workspace", "list")["workspaces"]] == [True, False]


def test_an_added_agents_token_is_printed_once_and_json_holds_only_id_and_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """common 2.1"""
    with commands(monkeypatch, {**LISTS, ("app/-/directory", "agent_add"): {}}) as (run, port):
        answer = run.json("agent", "add", "Cy", "--workspace", "Site", "--capability", "mesh")
        assert sorted(answer) == ["agentId", "token"]
        assert answer["token"].startswith(f"nx_{answer['agentId']}_")
        assert port.caller.bodies("agent_add")[0]["capabilities"] == ["mesh"]
        text = run.nexus("agent", "add", "Di", "--workspace", "Site").stdout
        assert text.count("nx_") == 1
        assert "NEXUS_TOKEN," in text and "Authorization: Bearer $NEXUS_TOKEN" in text
        assert "NEXUS_TOKEN_FILE" not in text


def test_a_token_is_not_shown_again_without_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, {**LISTS, ("agent/-/b1", "token_replace"): {}}) as (run, port):
        result = run.nexus("agent", "token", "Bo")
        assert result.exit_code == exit_codes.USAGE
        assert "--replace" in result.stderr
        assert port.caller.sent == []
        assert run.json("agent", "token", "Bo", "--replace")["token"].startswith("nx_b1_")


def test_an_ambiguous_name_ends_with_1_and_lists_the_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, {**LISTS, ("app/-/directory", "agent_remove"): {}}) as (run, _):
        result = run.nexus("agent", "remove", "Ada")
        assert result.exit_code == exit_codes.REFUSED
        assert result.stdout == ""
        assert "a1  Ada  (workspace w1)" in result.stderr
        assert "a2  Ada  (workspace w2)" in result.stderr
        assert run.nexus("agent", "remove", "Ada", "--workspace", "Shop", "--yes").exit_code == exit_codes.OK


def test_removing_an_agent_shows_first_which_tasks_would_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15: other removals want --yes too"""
    waiting: Record = {
        "threadId": "t1",
        "state": "queued",
        "from": {"agentId": "a1", "name": "Ada"},
        "title": f"Count {HOSTILE}",
    }
    page: Record = {"threads": [waiting], "nextBefore": None}
    script: Script = {**LISTS, ("app/-/directory", "agent_remove"): {}, ("mailbox/-/b1", "threads_page"): page}
    with commands(monkeypatch, script) as (run, port):
        first = run.nexus("agent", "remove", "Bo")
        assert first.exit_code == exit_codes.USAGE
        assert "ends 1 open task as cancelled" in first.stderr and "t1  queued  from Ada (a1): Count" in first.stderr
        assert "--yes" in first.stderr and "\x1b" not in first.stderr
        assert port.caller.bodies("agent_remove") == []
        assert port.caller.bodies("threads_page")[0]["states"] == ["queued", "delivered", "working"]
        port.caller.on("threads_page", unavailable(), "mailbox/-/b1")
        assert "cannot be read now (unavailable)" in run.nexus("agent", "remove", "Bo").stderr
        port.caller.on("threads_page", {"threads": [], "nextBefore": None}, "mailbox/-/b1")
        assert "It has no open task." in run.nexus("agent", "remove", "Bo").stderr
        assert run.nexus("agent", "remove", "Bo", "--yes").exit_code == exit_codes.OK
        assert port.caller.bodies("agent_remove") == [{"agentId": "b1"}]


def test_what_others_typed_cannot_act_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    hostile: Record = {"agents": [{"agentId": "a", "name": HOSTILE, "workspaceId": "w"}], "workspaces": []}
    event: Record = {"sequence": 1, "index": 0, "at": 5, "owner": HOSTILE, "type": HOSTILE, "data": {"t": HOSTILE}}
    script: Script = {
        ("app/-/directory", "directory_list"): hostile,
        ("agent/-/a", "agent_facts"): {"mode": HOSTILE},
        ("host", "statistics"): {"sequence": 1, HOSTILE: HOSTILE},
        ("host", "events"): {"events": [event], "last": 1},
        ("host", "owners"): {"owners": [{"address": HOSTILE}]},
        ("host", "owner_rows"): {"rows": [{"row": HOSTILE, "value": HOSTILE}]},
        ("mailbox", "mailbox_peek"): {"deliveries": [{"title": HOSTILE}], "note": HOSTILE, "isPaused": True},
    }
    with commands(monkeypatch, script) as (run, _):
        results = [
            run.nexus("agent", "list"),
            run.nexus("agent", "list", "--json"),
            run.bus("tail"),
            run.bus("tail", "--json"),
            run.bus("ls"),
            run.bus("info"),
            run.bus("get", "app/-/directory"),
            run.bus("get", "app/-/directory", "--json"),
            run.bus("peek", "a"),
        ]
        for result in results:
            assert result.exit_code == 0, result.stderr
            assert "[red]" in result.stdout, "markup is text"
            assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)


def test_nexus_bus_shows_no_credential_and_a_new_token_is_still_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 7.2"""
    key, agents = CREDENTIALS[5][1], {"agents": [{"agentId": "a", "name": "A", "workspaceId": "w"}], "workspaces": []}
    event: Record = {"sequence": 1, "index": 0, "at": 5, "owner": "o/-/o", "type": "t", "data": {"t": f"use {key}"}}
    letter: Record = {"letter": "0:0:1:0", "to": "o/-/o", "verb": key, "body": {"key": key}}
    script: Script = {
        ("app/-/directory", "directory_list"): cast("Record", agents),
        ("agent/-/a", "token_replace"): {},
        ("host", "events"): {"events": [event], "last": 1},
        ("host", "owner_rows"): {"rows": [{"row": "head", "value": {key: [key]}}]},
        ("host", "dead_list"): {"letters": [letter]},
        ("mailbox", "mailbox_peek"): {"deliveries": [{"task": {"instructions": {"text": key}}}]},
    }
    with commands(monkeypatch, script) as (run, _):
        for command in (["tail"], ["get", "app/-/directory"], ["peek", "a"], ["dead", "ls"]):
            for result in (run.bus(*command), run.bus(*command, "--json")):
                assert result.exit_code == 0, result.output
                assert key not in result.stdout
        assert "[redacted: github-token]" in run.bus("peek", "a").stdout
        assert run.json("agent", "token", "a", "--replace")["token"].startswith("nx_a_")


def test_a_file_is_imported_under_its_name_with_numbers_that_are_not_finite_as_null(
    monkeypatch: pytest.MonkeyPatch, scene_file: Path
) -> None:
    """canvas 3.1, 4.5"""
    left_out: Record = {"position": 0, "id": HOSTILE, "why": "x is not a number"}
    answer: Record = {"outcome": "applied", "revision": 1, "leftOutCount": 1, "leftOut": [left_out]}
    with commands(monkeypatch, {**LISTS, **importing(answer)}) as (run, port):
        printed = run.json("canvas", "import", str(scene_file), "--workspace", "Site")
        (begun,), (body,) = port.caller.bodies("import_begin"), port.caller.bodies("import_part")
        assert (begun["title"], begun["elements"]) == ("plan", 1)
        assert body == {"importId": "i1", "number": 0, "elements": [{"id": "e", "x": None}]}
        assert printed["canvasId"]
        text = run.nexus("canvas", "import", str(scene_file), "-w", "w1").stdout
        assert "leftOutCount: 1" in text
        assert "left out: element 0 (Ada\\x1b" in text
        assert "\x1b" not in text


def test_a_canvas_is_exported_over_an_existing_file_and_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elements: list[Value] = [{"id": "e", "index": "a0", "text": "夜行\x1b"}]
    file = tmp_path / "out.excalidraw"
    file.write_text("before")
    file.chmod(0o640)
    with commands(monkeypatch, {**LISTS, ("canvas/w1/c1", "canvas_export"): exported(elements)}) as (run, _):
        assert run.json("canvas", "export", "c1", str(file)) == {"canvasId": "c1", "file": str(file), "elements": 1}
        assert json.loads(file.read_text(encoding="utf-8"))["elements"] == elements
        assert file.stat().st_mode & 0o777 == 0o640
        assert [entry.name for entry in tmp_path.iterdir()] == ["out.excalidraw"]
        printed = run.nexus("canvas", "export", "c1", "-").stdout
        assert json.loads(printed)["elements"] == elements
        assert "\x1b" not in printed


def test_an_export_that_cannot_be_written_is_a_refusal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script: Script = {**LISTS, ("canvas/w1/c1", "canvas_export"): exported([])}
    with commands(monkeypatch, script) as (run, _):
        result = run.nexus("canvas", "export", "c1", str(tmp_path / "no" / "such" / "file"))
        assert result.exit_code == exit_codes.REFUSED
        assert "cannot be written" in result.stderr


def test_a_role_is_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, {**LISTS, ("canvas/w2/c2", "canvas_grant"): {}}) as (run, port):
        assert run.json("canvas", "grant", "Plan", "Bo", "editor", "--workspace", "Shop")["role"] == "editor"
        assert port.caller.bodies("canvas_grant") == [{"agentId": "b1", "role": "editor"}]
        assert run.nexus("canvas", "grant", "Plan", "Bo", "god").exit_code == exit_codes.USAGE


def test_canvases_are_shown_and_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    script: Script = {
        **LISTS,
        ("canvas", "canvas_summary"): {"revision": 7},
        ("canvas/w1/c1", "canvas_get_state"): {"revision": 8, "labels": [{"text": "x"}]},
        ("canvas/w1/c1", "canvas_roles"): {"roles": []},
    }
    with commands(monkeypatch, script) as (run, _):
        assert [one["revision"] for one in run.json("canvas", "list")["canvases"]] == [7, 7]
        assert run.json("canvas", "show", "c1")["labels"] == [{"text": "x"}]
        shown = [line.split() for line in run.nexus("canvas", "show", "c1").stdout.splitlines()]
        assert ["revision:", "8"] in shown
        assert ["labels:", "1"] in shown
        assert ["x"] in shown


def test_events_are_one_line_each_and_one_json_object_each(monkeypatch: pytest.MonkeyPatch) -> None:
    event: Record = {
        "sequence": 1,
        "index": 0,
        "at": 1_800_000_000_000,
        "owner": "canvas/w1/c1",
        "type": "canvas.imported",
        "by": "person",
        "callId": "k",
        "data": {"revision": 1},
    }
    script: Script = {
        ("host", "events"): {"events": [event], "last": 1},
    }
    with commands(monkeypatch, script) as (run, _):
        assert run.bus("tail", "-n", "5").stdout.splitlines() == [
            '2027-01-15T08:00:00.000Z  canvas/w1/c1  canvas.imported  by person  call k  {"revision": 1}'
        ]
        assert json.loads(run.bus("tail", "--json").stdout) == {**event, "shard": 0}


def test_an_event_type_outside_the_catalogue_is_marked() -> None:
    assert "not in the catalogue" in bus_cli.event_line({"type": "canvas.exploded"})
    assert "not in the catalogue" not in bus_cli.event_line({"type": "canvas.changed"})
    assert all(meaning.endswith(".") for meaning in CATALOGUE.values())


def test_a_defect_shows_no_stack_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Refusal(Code.INTERNAL, "Something went wrong.", details={"incidentId": "i1"})
    with commands(monkeypatch, {("app/-/directory", "directory_list"): refusal}) as (run, _):
        result = run.nexus("workspace", "list")
        assert result.exit_code == exit_codes.REFUSED
        assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "path",
    [
        ("workspace", "add"),
        ("workspace", "list"),
        ("workspace", "use"),
        ("workspace", "update"),
        ("workspace", "delete"),
        ("agent", "add"),
        ("agent", "list"),
        ("agent", "token"),
        ("agent", "remove"),
        ("canvas", "import"),
        ("canvas", "export"),
        ("canvas", "grant"),
        ("canvas", "revoke"),
        ("canvas", "history"),
        ("canvas", "at"),
        ("canvas", "revert"),
        ("canvas", "proposals"),
        ("canvas", "approve"),
        ("canvas", "reject"),
        ("canvas", "unlock"),
        ("canvas", "list"),
        ("canvas", "show"),
        ("settings", "list"),
        ("settings", "get"),
        ("settings", "set"),
        ("settings", "reset"),
        ("canvas", "delete"),
    ],
)
def test_each_command_of_the_person_has_examples_exit_codes_home_and_json(path: tuple[str, str]) -> None:
    shown = Commands().nexus(*path, "--help").stdout
    assert f"nexus {path[0]} {path[1]}" in shown
    for part in ("Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
    assert ".".join(path) in {**VERBS, **CONVERSATIONS, **STREAMS}


@pytest.mark.parametrize("name", ["ls", "info", "peek", "tail", "get"])
def test_each_command_of_nexus_bus_has_examples_exit_codes_home_and_json(name: str) -> None:
    shown = Commands().bus(name, "--help").stdout
    for part in (f"nexus-bus {name}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
    assert f"bus.{name}" in VERBS
