"""What `nexus agent run` refuses before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus import exit_codes
from nexus.cli import build_app
from nexus.command import run_command
from nexus.config import create_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home", cores=1).path


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], exit_codes.USAGE, "--preset PROGRAM"),
        (["--", "no-such-program-7"], exit_codes.REFUSED, "no program no-such-program-7"),
        (["--preset", "nobody"], exit_codes.USAGE, "There is no preset nobody"),
        (["--cwd", "/no/such/folder", "--", "true"], exit_codes.USAGE, "is no folder"),
        (["--env", "NEXUS_TOKEN", "--", "true"], exit_codes.USAGE, "cannot be passed on"),
        (["--env", "A=b", "--", "true"], exit_codes.USAGE, "cannot be passed on"),
        (["--env", "NO_SUCH_VARIABLE_7", "--", "true"], exit_codes.USAGE, "is not set here"),
        (["--concurrency", "0", "--", "true"], exit_codes.USAGE, ""),
        (["--time-limit", "0", "--", "true"], exit_codes.USAGE, ""),
        (["--", "true"], exit_codes.NOT_RUNNING, "nexus up"),
    ],
)
def test_a_command_line_that_cannot_work_says_why(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, told: str
) -> None:
    """mesh 5.2"""
    assert run_command(build_app(), "nexus", ["agent", "run", "Ada", "--home", str(home), *words]) == code
    assert told in capsys.readouterr().err


def test_a_home_that_was_never_made_runs_no_nexus(tmp_path: Path) -> None:
    words = ["agent", "run", "Ada", "--home", str(tmp_path / "none"), "--", "true"]
    assert run_command(build_app(), "nexus", words) == exit_codes.NOT_RUNNING
    assert not (tmp_path / "none").exists()
