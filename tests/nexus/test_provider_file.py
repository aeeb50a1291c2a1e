"""`providers.toml`: more agent programs, and complaints instead of crashes (knowledge.md)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nexus.config import create_home
from nexus.doctor import Outcome, examine
from nexus.provider_file import FILE_NAME, Known, known_providers
from tools.provider_table import PROVIDERS

GOOD = """
[provider.my-agent]
name = "My agent"
programs = ["my-agent"]
tagline = "Does what I say."
docs = "https://example.org/my-agent"
configFiles = ["~/.my-agent.toml"]
instructionFiles = ["AGENTS.md"]
transport = ["stdio"]
versionArguments = ["version"]
authVariables = ["MY_KEY"]
authFiles = ["~/.my-agent/key"]
announces = ["my-client*"]

[provider.other]
name = "Other"
programs = ["other", "other2"]
"""


def known(folder: Path, text: str | bytes) -> Known:
    (folder / FILE_NAME).write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / FILE_NAME).chmod(0o600)
    return known_providers(folder)


def test_without_a_file_the_table_is_all(tmp_path: Path) -> None:
    assert known_providers(tmp_path) == Known(PROVIDERS, None)


def test_what_the_person_declares_is_known_beside_the_table(tmp_path: Path) -> None:
    found = known(tmp_path, GOOD)
    assert found.complaint is None
    assert [*found.providers] == [*PROVIDERS, "my-agent", "other"]
    mine = found.providers["my-agent"]
    assert (mine.programs, mine.version_arguments, mine.transport) == (("my-agent",), ("version",), ("stdio",))
    assert mine.is_announced_by("my-client-7") and mine.sign.variables == ("MY_KEY",)
    assert found.providers["other"].version_arguments == ("--version",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[provider", "Expected ']'"),
        ('[provider.x]\nname = "X"', "provider.x.programs: is required"),
        ('[provider.x]\nname = "X"\nprograms = ["/bin/sh"]', "without a folder"),
        ('[provider.x]\nname = "X"\nprograms = ["x"]\nversionArguments = ["/etc/passwd"]', "must not be a path"),
        ('[provider.x]\nname = "X\\u202e"\nprograms = ["x"]', "provider.x.name"),
        ('[provider.x]\nname = "X"\nprograms = ["x"]\ncommand = "rm"', "provider.x.command: is not an argument here"),
        ('[provider.X_Y]\nname = "X"\nprograms = ["x"]', "provider.X_Y"),
        ('[provider.codex]\nname = "X"\nprograms = ["x"]', "codex is known to NEXUS already"),
        ('[provider.x]\nname = "X"\nprograms = ["x"]\nauthVariables = ["A=B"]', "authVariables"),
        (b"\xff\xfe", "UTF-8"),
        ("#" * 300_000, "larger than"),
        ("more = 1", "more"),
        ("".join(f'[provider.p{n}]\nname = "P"\nprograms = ["p"]\n' for n in range(51)), "at most 50"),
    ],
    ids=range(13),
)
def test_a_file_with_anything_wrong_is_left_out_whole_and_complained_of(
    tmp_path: Path, text: str | bytes, complaint: str
) -> None:
    found = known(tmp_path, text)
    assert found.providers == PROVIDERS
    assert found.complaint is not None and str(tmp_path / FILE_NAME) in found.complaint
    assert complaint in found.complaint


def test_a_file_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    """security 2.16"""
    known(tmp_path, GOOD)
    (tmp_path / FILE_NAME).chmod(0o620)
    assert "others could change it" in str(known_providers(tmp_path).complaint)


def test_what_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME, 0o600)
    assert "no plain file" in str(known_providers(tmp_path).complaint)
    (tmp_path / FILE_NAME).unlink()
    (tmp_path / FILE_NAME).mkdir()
    assert known_providers(tmp_path).complaint is not None


def test_doctor_tells_of_the_file(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home", cores=1)

    def check() -> tuple[Outcome, str]:
        return next((one.outcome, one.text) for one in examine(home.path) if one.name == "providers")

    assert check() == (Outcome.GOOD, f"10 known, and 0 of {FILE_NAME}")
    known(home.path, GOOD)
    assert check() == (Outcome.GOOD, f"10 known, and 2 of {FILE_NAME}")
    known(home.path, "[provider")
    outcome, text = check()
    assert outcome is Outcome.PROBLEM and FILE_NAME in text
