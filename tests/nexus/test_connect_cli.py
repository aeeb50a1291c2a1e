"""`nexus connect` and `nexus disconnect`: what is typed and what is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nexus import connect_cli, exit_codes
from nexus.cli import build_app
from nexus.connect.clients import CLIENTS
from nexus.person_client import NOT_RUNNING_TEXT, NotRunning
from tests.support.connecting import BEFORE, Desk


class Typist:
    """Types commands at a desk whose person's socket is in memory."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = Desk(folder)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(connect_cli, "PersonClient", lambda _: self.desk.person)
        monkeypatch.setenv("HOME", str(self.desk.folder))
        monkeypatch.setenv("NEXUS_HOME", str(self.desk.home.path))
        monkeypatch.setenv("PATH", str(folder / "programs"))
        for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            monkeypatch.delenv(variable, raising=False)
        self.programs = folder / "programs"
        self.programs.mkdir()

    def type(self, *words: str) -> Result:
        return CliRunner().invoke(build_app(), list(words))

    def json(self, *words: str) -> Any:
        result = self.type(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture
def typist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typist:
    return Typist(tmp_path, monkeypatch)


@pytest.mark.parametrize("name", [*BEFORE])
def test_each_client_is_connected_and_disconnected_by_one_command(typist: Typist, name: str) -> None:
    """common 2.2: and no token is said"""
    typist.desk.write(CLIENTS[name], BEFORE[name])
    connected = typist.type("connect", name, "--agent", "Ada")
    assert connected.exit_code == 0, connected.output
    assert f"{CLIENTS[name].title} is connected as agent Ada (a1)" in connected.stdout
    assert "nexus-backup-" in connected.stdout and CLIENTS[name].then in connected.stdout
    assert next(iter(typist.desk.person.tokens.values())) not in connected.output
    again = typist.type("connect", name, "--agent", "Ada")
    assert "already; nothing was changed" in again.stdout
    gone = typist.type("disconnect", name, "--agent", "Ada")
    assert "no longer connected" in gone.stdout
    assert "nothing was changed" in typist.type("disconnect", name, "--agent", "Ada").stdout


@pytest.mark.parametrize("name", [*BEFORE, "generic"])
def test_print_shows_entry_and_place_and_changes_nothing(typist: Typist, name: str) -> None:
    for client, text in BEFORE.items():
        typist.desk.write(CLIENTS[client], text)
    before = typist.desk.everything()
    shown = typist.type("connect", name, "--agent", "Ada", "--print")
    assert "--token-file" in shown.stdout and "Nothing was changed." in shown.stdout
    assert "nx_..." in shown.stdout
    told = typist.json("connect", name, "--agent", "Ada", "--print")
    assert told["file"] == (None if name == "generic" else str(typist.desk.file(CLIENTS[name])))
    assert typist.desk.everything() == before and typist.desk.person.changes() == []


def test_over_http_it_says_how_the_client_gets_the_token(typist: Typist) -> None:
    """common 2.2"""
    said = typist.type("connect", "codex", "--agent", "Ada", "--http").stdout
    assert f'export NEXUS_TOKEN="$(cat {typist.desk.home.path}/credentials/a1.connect-codex.token)"' in said
    assert f"http://127.0.0.1:{typist.desk.home.settings.port}/mcp" in typist.desk.file(CLIENTS["codex"]).read_text()


def test_families_are_handed_on(typist: Typist) -> None:
    """common 1.3"""
    typist.json("connect", "zed", "--agent", "Ada", "--families", "canvas, agent")
    assert typist.desk.person.families["a1", "connect-zed"] == ["canvas", "agent"]


def test_the_list_tells_which_clients_are_found_and_connected(typist: Typist) -> None:
    typist.desk.write(CLIENTS["gemini"], "{ broken")
    typist.type("connect", "codex", "--agent", "Ada")
    (typist.programs / "claude").write_text("")
    (typist.programs / "claude").chmod(0o755)
    listed = {one["client"]: one for one in typist.json("connect", "--list")["clients"]}
    assert set(listed) == {*BEFORE, "generic"}
    assert {name for name, one in listed.items() if one["found"]} == {"claude-code", "gemini", "codex"}
    assert {name: one["connections"] for name, one in listed.items() if one["connections"]} == {
        "codex": [
            {"agentId": "a1", "name": "Ada", "credential": "connect-codex", "state": "connected", "families": None}
        ]
    }
    assert "cannot be edited" in listed["gemini"]["problem"]


def test_the_list_shows_people_names_families_and_what_was_revoked(typist: Typist) -> None:
    """common 1.3, 2.1"""
    typist.type("connect", "codex", "--agent", "Ada", "--families", "canvas,agent")
    typist.type("connect", "generic", "--agent", "Bo")
    typist.type("connect", "zed", "--agent", "Ada")
    del typist.desk.person.tokens["a1", "connect-zed"]
    rows = {line.split()[0]: line for line in typist.type("connect", "--list").stdout.splitlines()}
    assert "CONNECTED AS" in rows["CLIENT"] and "FAMILIES" in rows["CLIENT"]
    assert all(part in rows["codex"] for part in ("Ada", "connected", "canvas, agent"))
    assert all(part in rows["generic"] for part in ("Bo", "connected", "all"))
    assert all(part in rows["zed"] for part in ("Ada", "credential revoked"))
    assert "Ada" not in rows["cursor"]


def test_a_configuration_that_goes_with_its_entry_is_said(typist: Typist) -> None:
    typist.type("connect", "codex", "--agent", "Ada")
    gone = typist.type("disconnect", "codex", "--agent", "Ada")
    assert "config.toml, which held nothing else and is gone" in gone.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("connect",),
        ("connect", "codex"),
        ("connect", "emacs", "--agent", "Ada"),
        ("connect", "codex", "--agent", "Ada", "--project", "/no/such/folder"),
        ("disconnect", "codex"),
    ],
)
def test_what_is_typed_wrong_ends_with_2(typist: Typist, words: tuple[str, ...]) -> None:
    assert typist.type(*words).exit_code == exit_codes.USAGE
    assert typist.desk.person.asked == []


def test_refusals_end_with_1_and_are_json_where_that_is_asked_for(typist: Typist) -> None:
    refused = typist.type("connect", "zed", "--agent", "Ada", "--http", "--json")
    assert refused.exit_code == exit_codes.REFUSED
    assert "not documented" in json.loads(refused.stdout)["error"]["message"]
    unknown = typist.type("connect", "zed", "--agent", "Nobody", "--json")
    assert unknown.exit_code == exit_codes.REFUSED
    assert json.loads(unknown.stdout)["error"]["code"] == "not_found"


def test_without_nexus_running_nothing_is_changed(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object) -> None:
        raise NotRunning(NOT_RUNNING_TEXT)

    monkeypatch.setattr(typist.desk.person, "ask", ask)
    for command in ("connect", "disconnect"):
        result = typist.type(command, "codex", "--agent", "Ada")
        assert (result.exit_code, result.stderr.strip()) == (exit_codes.NOT_RUNNING, NOT_RUNNING_TEXT)
    assert typist.desk.everything() == {}


@pytest.mark.parametrize("command", ["connect", "disconnect"])
def test_each_command_has_examples_exit_codes_home_and_json(command: str) -> None:
    shown = CliRunner().invoke(build_app(), [command, "--help"]).stdout
    for part in (f"nexus {command}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
