"""Installing, removing and looking at the service, through the machine's own `systemctl` or `launchctl`.

Invariants: doing it again changes nothing; a definition of that name that was not made here is left alone; where no
service manager of the user runs, the definition is written and the person is told what to run.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bus.value import Record, Value
from nexus.connect import config_file
from nexus.service.definition import LABEL, MARK, UNIT, Service, launchd_agent, systemd_unit

command_seconds_max: Final = 90
"""How long the service manager may take; a stop waits for NEXUS to have stopped."""


class ServiceRefused(Exception):
    """The service cannot be changed so. The text is for the person: what, why, what next."""


@dataclass(frozen=True, slots=True)
class Result:
    """What was done. `to_run`: what is left to the person, as command lines."""

    file: Path
    changed: bool
    to_run: tuple[str, ...] = ()
    started: bool = False

    def record(self) -> Record:
        to_run: list[Value] = [*self.to_run]
        return {"file": str(self.file), "changed": self.changed, "started": self.started, "toRun": to_run}


@dataclass(frozen=True, slots=True)
class Status:
    """How the service stands. `is_running` and `is_enabled` are None where no service manager answers."""

    file: Path
    is_installed: bool
    is_enabled: bool | None
    is_running: bool | None

    def record(self) -> Record:
        return {
            "file": str(self.file),
            "installed": self.is_installed,
            "enabled": self.is_enabled,
            "running": self.is_running,
        }


class ServiceManager(Protocol):
    """One way to have a service."""

    @property
    def file(self) -> Path:
        """Where the definition is."""
        ...

    def definition(self, service: Service) -> str: ...

    def install(self, service: Service, *, starts: bool) -> Result:
        """`starts`: False where a NEXUS that is no service runs already. Raises ServiceRefused."""
        ...

    def uninstall(self) -> Result:
        """Raises ServiceRefused."""
        ...

    def status(self) -> Status: ...


class Systemd:
    """A unit of the user's own systemd."""

    def __init__(self, config: Path) -> None:
        self._file = config / "systemd" / "user" / UNIT

    @property
    def file(self) -> Path:
        return self._file

    def definition(self, service: Service) -> str:
        return systemd_unit(service)

    def install(self, service: Service, *, starts: bool) -> Result:
        changed = _put(self._file, systemd_unit(service))
        wanted: list[tuple[str, ...]] = [("daemon-reload",)] if changed else []
        wanted.append(("enable", UNIT))
        if starts:
            # A unit that runs by its former definition must be run by the new one.
            wanted.append(("restart" if changed else "start", UNIT))
        if not self._answers():
            return Result(self._file, changed, tuple(_line("systemctl", "--user", *words) for words in wanted))
        for words in wanted:
            _must("systemctl", "--user", *words)
        return Result(self._file, changed, started=starts)

    def uninstall(self) -> Result:
        if not _is_ours(self._file):
            return Result(self._file, False)
        answers = self._answers()
        if answers:
            _must("systemctl", "--user", "disable", "--now", UNIT)
        self._file.unlink()
        if answers:
            _must("systemctl", "--user", "daemon-reload")
            return Result(self._file, True)
        # Without a manager nothing runs as a service; what would have started it is this link.
        (self._file.parent / "default.target.wants" / UNIT).unlink(missing_ok=True)
        return Result(self._file, True)

    def status(self) -> Status:
        installed = _is_ours(self._file)
        if not self._answers():
            return Status(self._file, installed, None, None)
        enabled = _run("systemctl", "--user", "is-enabled", "--quiet", UNIT) == 0
        running = _run("systemctl", "--user", "is-active", "--quiet", UNIT) == 0
        return Status(self._file, installed, enabled, running)

    def _answers(self) -> bool:
        return shutil.which("systemctl") is not None and _run("systemctl", "--user", "show-environment") == 0


class Launchd:
    """An agent of the user's own launchd."""

    def __init__(self, user_home: Path) -> None:
        self._file = user_home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        self._domain = f"gui/{os.getuid()}"
        self._target = f"{self._domain}/{LABEL}"

    @property
    def file(self) -> Path:
        return self._file

    def definition(self, service: Service) -> str:
        return launchd_agent(service).decode()

    def install(self, service: Service, *, starts: bool) -> Result:
        changed = _put(self._file, self.definition(service))
        loading = ("launchctl", "bootstrap", self._domain, str(self._file))
        if not self._answers() or not starts:
            return Result(self._file, changed, (_line(*loading),))
        is_loaded = self._is_loaded()
        if is_loaded and not changed:
            return Result(self._file, False, started=True)
        if is_loaded:
            _must("launchctl", "bootout", self._target)
        _must("launchctl", "enable", self._target)
        _must(*loading)
        return Result(self._file, changed, started=True)

    def uninstall(self) -> Result:
        if not _is_ours(self._file):
            return Result(self._file, False)
        if self._answers() and self._is_loaded():
            _must("launchctl", "bootout", self._target)
        self._file.unlink()
        return Result(self._file, True)

    def status(self) -> Status:
        installed = _is_ours(self._file)
        if not self._answers():
            return Status(self._file, installed, None, None)
        is_loaded = self._is_loaded()
        return Status(self._file, installed, installed, is_loaded)

    def _answers(self) -> bool:
        return shutil.which("launchctl") is not None and _run("launchctl", "print", self._domain) == 0

    def _is_loaded(self) -> bool:
        return _run("launchctl", "print", self._target) == 0


def _put(file: Path, text: str) -> bool:
    """Whether the definition had to be written. Raises ServiceRefused."""
    try:
        found = config_file.read(file)
        if found.content is not None and MARK not in found.text:
            raise ServiceRefused(f"{file} was not written by NEXUS. Move it away first.")
        if found.content == text.encode():
            return False
        found.target.parent.mkdir(parents=True, exist_ok=True)
        config_file.put_private(found.target, text.encode())
    except (config_file.ConfigRefused, OSError) as refused:
        raise ServiceRefused(f"{file} cannot be written: {refused}") from None
    return True


def _is_ours(file: Path) -> bool:
    try:
        found = config_file.read(file)
        return found.content is not None and MARK in found.text
    except config_file.ConfigRefused:
        return False


def _run(*words: str) -> int:
    """The exit code; that of a command that is not there or hangs is not 0."""
    return _outcome(words)[0]


def _must(*words: str) -> None:
    code, said = _outcome(words)
    if code != 0:
        raise ServiceRefused(f"`{_line(*words)}` failed: {said or f'exit code {code}'}")


def _outcome(words: Sequence[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=command_seconds_max,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, f"no answer within {command_seconds_max} s"
    except OSError as error:
        return 1, error.strerror or "it cannot be run"
    return done.returncode, done.stderr.strip()


def _line(*words: str) -> str:
    return shlex.join(words)
