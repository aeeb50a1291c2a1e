"""What the service managers are told."""

from __future__ import annotations

import configparser
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from nexus.service.definition import MARK, PathRefused, Service, launchd_agent, systemd_unit

ODD = '/h/a b/100%/$x/quo"te/back\\slash/ü'


def test_a_unit_runs_nexus_up_in_the_foreground_by_absolute_paths() -> None:
    unit = systemd_unit(Service(("/opt/nexus/bin/nexus",), Path("/h/home")))
    assert 'ExecStart="/opt/nexus/bin/nexus" "up" "--home" "/h/home"' in unit.splitlines()
    assert unit.startswith(f"# {MARK}")
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit)
    assert parser["Service"]["Restart"] == "on-failure"
    assert "4" in parser["Service"]["RestartPreventExitStatus"].split(), "another NEXUS has the home"
    assert parser["Install"]["WantedBy"] == "default.target"


@pytest.mark.parametrize("option", ["Private", "Protect", "Restrict", "IPAddress", "NoNewPrivileges", "SystemCall"])
def test_nothing_is_taken_away_from_what_nexus_starts(option: str) -> None:
    """It starts browsers and programs that need the network and the user's files."""
    assert option not in systemd_unit(Service(("/n",), Path("/h")))


def test_odd_paths_come_through_the_quoting_of_systemd() -> None:
    (line,) = [one for one in systemd_unit(Service(("/n",), Path(ODD))).splitlines() if one.startswith("ExecStart=")]
    assert line == 'ExecStart="/n" "up" "--home" "/h/a b/100%%/$$x/quo\\"te/back\\\\slash/ü"'


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    file = tmp_path / "nexus.service"
    file.write_text(systemd_unit(Service(("/bin/true",), Path(ODD))))
    command = ["systemd-analyze", "--user", "--man=no", "verify", str(file)]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "nexus.service" in line]) == (0, [])


def test_a_launch_agent_says_the_same() -> None:
    said = plistlib.loads(launchd_agent(Service(("/n",), Path(ODD))))
    assert said["ProgramArguments"] == ["/n", "up", "--home", ODD]
    assert (said["RunAtLoad"], said["KeepAlive"]) == (True, {"SuccessfulExit": False})
    assert said["Umask"] == 0o077


def test_a_path_with_a_control_character_is_refused() -> None:
    for make in (systemd_unit, launchd_agent):
        with pytest.raises(PathRefused):
            make(Service(("/n",), Path("/h\nExecStart=/bin/evil")))
