"""What the service manager is told: to run `nexus up` in the foreground, and again when it fails. Pure.

No option that takes rights away stands here: NEXUS starts browsers, shells and programs that need the network and the
user's files, and its border is another one (security.md 1).
"""

from __future__ import annotations

import plistlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nexus import exit_codes

UNIT: Final = "nexus.service"
LABEL: Final = "local.nexus"
MARK: Final = "Written by `nexus service install`"

restart_seconds: Final = 5
stop_seconds_max: Final = 60

_LASTING: Final = (exit_codes.USAGE, exit_codes.ALREADY_RUNNING, exit_codes.HOME_REFUSED, exit_codes.PORT_TAKEN)
"""Ends that another start would not mend."""


class PathRefused(Exception):
    """A path that a definition cannot hold. The text is for the person."""


@dataclass(frozen=True, slots=True)
class Service:
    """`command` runs `nexus`; all paths are absolute."""

    command: Sequence[str]
    home: Path

    @property
    def words(self) -> list[str]:
        return [*self.command, "up", "--home", str(self.home)]


def systemd_unit(service: Service) -> str:
    """The text of the unit. Raises PathRefused."""
    return "\n".join(
        (
            f"# {MARK}; it is replaced there. Changes belong into: systemctl --user edit {UNIT}",
            "[Unit]",
            "Description=NEXUS, one local runtime that several AI agents and you share",
            "StartLimitIntervalSec=300",
            "StartLimitBurst=5",
            "",
            "[Service]",
            "Type=exec",
            f"ExecStart={' '.join(map(_systemd_word, service.words))}",
            "Restart=on-failure",
            f"RestartSec={restart_seconds}",
            f"RestartPreventExitStatus={' '.join(map(str, _LASTING))}",
            "# The supervisor stops its own children in order; what outlasts it is killed.",
            "KillMode=mixed",
            f"TimeoutStopSec={stop_seconds_max}",
            "UMask=0077",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        )
    )


def launchd_agent(service: Service) -> bytes:
    """The property list of the agent. Raises PathRefused."""
    for word in service.words:
        _refuse_control(word)
    log = str(service.home / "logs" / "service.log")
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": service.words,
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": restart_seconds,
            "ExitTimeOut": stop_seconds_max,
            "Umask": 0o077,
            "StandardOutPath": log,
            "StandardErrorPath": log,
            "ServiceDescription": MARK,
        }
    )


def _systemd_word(word: str) -> str:
    """One word of a command line in a unit: its own quotes, `%` and `$` doubled (systemd.service, COMMAND LINES)."""
    _refuse_control(word)
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _refuse_control(word: str) -> None:
    if not word.isprintable():
        raise PathRefused(f"{shlex.quote(ascii(word))} holds a control character, which no service definition can.")
