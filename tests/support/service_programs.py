"""A `systemctl` and a `launchctl` on PATH that only remember: the real ones would change the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$STATE/said"
[ -e "$STATE/mute" ] && exit 1
[ -e "$STATE/fails-$2" ] && { echo "no such thing" >&2; exit 5; }
case "$2" in
  enable) touch "$STATE/enabled" ;;
  start|restart) touch "$STATE/running" ;;
  disable) rm -f "$STATE/enabled" "$STATE/running" ;;
  is-enabled) [ -e "$STATE/enabled" ] || exit 1 ;;
  is-active) [ -e "$STATE/running" ] || exit 3 ;;
esac
exit 0
"""
_LAUNCHCTL = """#!/bin/sh
echo "$*" >> "$STATE/said"
[ -e "$STATE/mute" ] && exit 1
case "$1 $2" in
  "print "*/local.nexus) [ -e "$STATE/running" ] || exit 113 ;;
  bootstrap*) [ -e "$STATE/running" ] && exit 5; touch "$STATE/running" ;;
  bootout*) rm "$STATE/running" || exit 3 ;;
esac
exit 0
"""


class FakePrograms:
    """First on PATH for this test. `mute`: no manager of the user answers."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._state = folder / "state"
        programs = folder / "programs"
        for made in (self._state, programs):
            made.mkdir(parents=True)
        for name, text in (("systemctl", _SYSTEMCTL), ("launchctl", _LAUNCHCTL)):
            (programs / name).write_text(text.replace("$STATE", str(self._state)))
            (programs / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def mute(self) -> None:
        (self._state / "mute").touch()

    def fail(self, verb: str) -> None:
        """Let this verb of systemctl fail."""
        (self._state / f"fails-{verb}").touch()

    @property
    def is_running(self) -> bool:
        return (self._state / "running").exists()

    def changes(self) -> list[str]:
        """What was asked for that changes anything, since last asked."""
        said = self._state / "said"
        lines = said.read_text().splitlines() if said.exists() else []
        said.unlink(missing_ok=True)
        quiet = ("print ", "--user show-environment", "--user is-")
        return [line for line in lines if not line.startswith(quiet)]
