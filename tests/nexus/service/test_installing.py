"""Installing and removing the service, with service managers that only remember."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nexus.service.definition import LABEL, Service
from nexus.service.installing import Launchd, ServiceManager, ServiceRefused, Systemd
from tests.support.service_programs import FakePrograms

SERVICE = Service(("/opt/nexus",), Path("/h/home"))
OTHER = Service(("/opt/nexus",), Path("/h/other"))
KINDS = ["systemd", "launchd"]


@pytest.fixture
def managers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    return FakePrograms(tmp_path / "fake", monkeypatch)


def manager_of(kind: str, folder: Path) -> ServiceManager:
    return Systemd(folder / "config") if kind == "systemd" else Launchd(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_installed_it_runs_and_again_changes_nothing(kind: str, tmp_path: Path, managers: FakePrograms) -> None:
    manager = manager_of(kind, tmp_path)
    assert (manager.status().is_installed, manager.status().is_running) == (False, False)
    first = manager.install(SERVICE, starts=True)
    assert (first.changed, first.started, first.to_run) == (True, True, ())
    assert manager.status().is_installed and manager.status().is_enabled and manager.status().is_running
    assert stat.S_IMODE(manager.file.stat().st_mode) == 0o600
    before = manager.file.read_bytes()
    managers.changes()
    second = manager.install(SERVICE, starts=True)
    assert (second.changed, second.started) == (False, True)
    assert manager.file.read_bytes() == before
    assert managers.changes() == (
        [] if kind == "launchd" else ["--user enable nexus.service", "--user start nexus.service"]
    )


def test_what_systemd_is_asked_for(tmp_path: Path, managers: FakePrograms) -> None:
    manager = Systemd(tmp_path)
    manager.install(SERVICE, starts=True)
    verbs = ["daemon-reload", "enable nexus.service", "restart nexus.service"]
    assert managers.changes() == [f"--user {verb}" for verb in verbs]
    manager.uninstall()
    assert managers.changes() == ["--user disable --now nexus.service", "--user daemon-reload"]


def test_what_launchd_is_asked_for(tmp_path: Path, managers: FakePrograms) -> None:
    manager, domain = Launchd(tmp_path), f"gui/{os.getuid()}"
    manager.install(SERVICE, starts=True)
    assert managers.changes() == [f"enable {domain}/{LABEL}", f"bootstrap {domain} {manager.file}"]
    manager.install(OTHER, starts=True)
    assert managers.changes()[0] == f"bootout {domain}/{LABEL}", "another definition is loaded anew"
    manager.uninstall()
    assert managers.changes() == [f"bootout {domain}/{LABEL}"]


@pytest.mark.parametrize("kind", KINDS)
def test_uninstalled_it_is_stopped_and_gone_and_again_nothing(
    kind: str, tmp_path: Path, managers: FakePrograms
) -> None:
    manager = manager_of(kind, tmp_path)
    manager.install(SERVICE, starts=True)
    assert manager.uninstall().changed
    assert not managers.is_running and not manager.file.exists()
    managers.changes()
    assert not manager.uninstall().changed
    assert managers.changes() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_nexus_that_runs_already_is_left_to_run(kind: str, tmp_path: Path, managers: FakePrograms) -> None:
    result = manager_of(kind, tmp_path).install(SERVICE, starts=False)
    assert result.changed and not result.started and not managers.is_running


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_manager_of_the_user_the_person_is_told_what_to_run(
    kind: str, tmp_path: Path, managers: FakePrograms
) -> None:
    managers.mute()
    manager = manager_of(kind, tmp_path)
    result = manager.install(SERVICE, starts=True)
    assert manager.file.exists() and not result.started
    assert result.to_run[-1].split()[0] == ("systemctl" if kind == "systemd" else "launchctl")
    assert (manager.status().is_installed, manager.status().is_running) == (True, None)
    assert managers.changes() == []
    assert manager.uninstall().changed and not manager.file.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_program_it_is_the_same(
    kind: str, tmp_path: Path, managers: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert manager_of(kind, tmp_path).install(SERVICE, starts=True).to_run


@pytest.mark.parametrize("kind", KINDS)
def test_a_definition_that_was_not_made_here_is_left_alone(kind: str, tmp_path: Path, managers: FakePrograms) -> None:
    manager = manager_of(kind, tmp_path)
    manager.file.parent.mkdir(parents=True)
    manager.file.write_text("[Service]\nExecStart=/mine\n")
    with pytest.raises(ServiceRefused, match="not written by NEXUS"):
        manager.install(SERVICE, starts=True)
    assert not manager.uninstall().changed
    assert manager.file.read_text() == "[Service]\nExecStart=/mine\n" and managers.changes() == []


def test_what_systemd_says_when_it_fails_reaches_the_person(tmp_path: Path, managers: FakePrograms) -> None:
    managers.fail("enable")
    with pytest.raises(ServiceRefused, match=r"`systemctl --user enable nexus.service` failed: no such thing"):
        Systemd(tmp_path).install(SERVICE, starts=True)
