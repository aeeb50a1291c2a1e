"""`nexus service`: what is said and done, with a systemctl that only remembers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nexus.cli import build_app
from nexus.config import open_home
from nexus.home_lock import HomeLock
from tests.support.service_programs import FakePrograms


class Person:
    """Types commands, with a home folder of the test's own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = folder / "home"
        self.unit = folder / ".config" / "systemd" / "user" / "nexus.service"
        self.managers = FakePrograms(folder / "fake", monkeypatch)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("NEXUS_HOME", str(self.home))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    def type(self, *words: str) -> Result:
        return CliRunner().invoke(build_app(), ["service", *words])

    def json(self, *words: str) -> Any:
        result = self.type(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(tmp_path, monkeypatch)


def test_from_install_to_uninstall(person: Person) -> None:
    assert "nexus service install" in person.type("status").stdout
    assert "NEXUS runs as a service" in person.type("install").stdout
    assert f'"--home" "{person.home}"' in person.unit.read_text()
    assert "is enabled and runs" in person.type("status").stdout
    assert "was there already" in person.type("install").stdout
    assert "stopped and removed" in person.type("uninstall").stdout
    assert "nothing was changed" in person.type("uninstall").stdout
    assert not person.unit.exists() and (person.home / "config.toml").exists()


def test_printing_changes_nothing(person: Person) -> None:
    shown = person.type("install", "--print").stdout
    assert str(person.unit) in shown and "ExecStart=" in shown
    assert person.json("install", "--print")["file"] == str(person.unit)
    assert not person.unit.exists() and not person.home.exists() and person.managers.changes() == []


def test_without_a_user_manager_it_says_what_to_run(person: Person) -> None:
    person.managers.mute()
    said = person.type("install").stdout
    assert "systemctl --user daemon-reload" in said and "systemctl --user restart nexus.service" in said
    assert "No service manager" in person.type("status").stdout


def test_a_nexus_that_runs_already_is_not_stopped_for_the_service(person: Person) -> None:
    person.type("install")
    person.type("uninstall")
    lock = HomeLock(open_home(person.home), wait_ms=0, answers=lambda: False, waiting=lambda _: None)
    try:
        result = person.json("install")
    finally:
        lock.release()
    assert (result["changed"], result["started"]) == (True, False)
    assert not person.managers.is_running


def test_json_says_it_all(person: Person) -> None:
    installed = person.json("install")
    assert installed == {
        "file": str(person.unit),
        "changed": True,
        "started": True,
        "toRun": [],
        "home": str(person.home),
    }
    assert person.json("status") == {"file": str(person.unit), "installed": True, "enabled": True, "running": True}
    assert person.json("uninstall")["changed"] is True


@pytest.mark.parametrize("command", ["install", "uninstall", "status"])
def test_each_command_has_examples_exit_codes_and_json(person: Person, command: str) -> None:
    shown = person.type(command, "--help").stdout
    for part in (f"nexus service {command}", "Examples:", "Exit codes:", "--json"):
        assert part in shown
