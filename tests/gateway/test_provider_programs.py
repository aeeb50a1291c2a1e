"""Looking for programs, and asking them their version, without being held up or led astray (security 2.16)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from nexus.gateway.provider_programs import (
    Person,
    Program,
    Shell,
    ask_login_shell,
    environment_for,
    files_there,
    output_of,
    programs_on,
    version_in,
    version_of,
)
from tests.support.waiting import eventually
from tools.provider_table import PROVIDERS

CODEX: Final = PROVIDERS["codex"]
FALLBACK: Final = "/fallback"


def program(folder: Path, name: str, text: str) -> Path:
    """A program that runs `text` by the shell."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def person(home: Path, shell: str = "/bin/sh") -> Person:
    return Person(shell, str(home), "someone")


def version(folder: Path, text: str) -> str | None:
    file = program(folder, "codex", text)
    return version_of(Program(str(file), str(file)), CODEX, person(folder), "/usr/bin:/bin")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("codex-cli 0.42.0", "0.42.0"),
        ("2.1.3 (Claude Code)", "2.1.3"),
        ("v1.0.0-beta.2+build7", "1.0.0-beta.2+build7"),
        ("Warning: node v22.1\n0.9.1", "22.1"),
        ("aider 0.86.1\n", "0.86.1"),
        ("no version", None),
        ("7", None),
        ("", None),
        ("\x1b]8;;http://x\x07 1.2.3\x1b[0m", "1.2.3"),
        ("1." + "9" * 500, "1." + "9" * 58),
    ],
)
def test_of_what_a_program_says_only_a_version_is_taken(said: str, found: str | None) -> None:
    """security 2.15"""
    assert version_in(said) == found


def test_a_program_is_asked_its_version_with_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.16: a canary and an open descriptor do not reach it"""
    monkeypatch.setenv("CANARY", "secret")
    readable, writable = os.pipe()
    os.set_inheritable(writable, True)
    told = tmp_path / "told"
    try:
        found = version(
            tmp_path, f'{{ env; echo "args:$*"; pwd; ls /proc/self/fd; cat; }} > {told}; echo "codex-cli 1.2.3"'
        )
    finally:
        os.close(readable)
        os.close(writable)
    assert found == "1.2.3"
    lines = told.read_text().splitlines()
    assert "args:--version" in lines and "/" in lines
    names = {line.partition("=")[0] for line in lines if "=" in line}
    assert names <= {*environment_for(person(tmp_path), ""), "PWD", "SHLVL", "_", "OLDPWD"}
    assert str(writable) not in [line for line in lines if line.isdigit() and int(line) > 9]


@pytest.mark.parametrize("text", ["exit 3", "sleep 60", "cat /dev/zero", "kill -9 $$", "exec 0</dev/null; yes"])
def test_a_program_that_does_not_answer_has_no_version(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nexus.gateway.provider_programs.provider_version_ms_max", 300)
    began = time.monotonic()
    assert version(tmp_path, text) is None
    assert time.monotonic() - began < 10


def test_what_a_program_leaves_running_ends_with_the_question(tmp_path: Path) -> None:
    left = tmp_path / "left"
    # It writes its number, then waits for ever, holding the output open.
    found = version(tmp_path, f"(echo $$ > /dev/null; sh -c 'echo $$ > {left}; sleep 600') & echo \"1.2.3\"; wait")
    assert found is None or found == "1.2.3"
    number = eventually(lambda: left.exists() and left.read_text().strip(), what="the program's beginning")
    eventually(lambda: not Path(f"/proc/{number}").exists(), what="its end")


def test_a_program_that_cannot_be_started_says_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "codex"
    broken.write_text("not a program")
    broken.chmod(0o755)
    for command in (str(broken), str(tmp_path / "absent"), "nul\0byte"):
        assert output_of([command], {}, within_ms=500, bytes_max=10) == b""


def test_what_it_says_is_bounded() -> None:
    said = output_of(["/bin/sh", "-c", "yes"], {"PATH": "/usr/bin:/bin"}, within_ms=5_000, bytes_max=1_000)
    assert len(said) == 1_000


def test_the_first_program_on_path_counts_with_every_link_followed(tmp_path: Path) -> None:
    """security 2.16"""
    real = program(tmp_path / "opt", "codex-1.2", "")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(real)
    program(tmp_path / "late", "codex", "")
    path = f"{tmp_path}/none:{tmp_path}/bin:{tmp_path}/late"
    assert programs_on(path, PROVIDERS, []) == {"codex": Program(f"{tmp_path}/bin/codex", str(real.resolve()))}
    program(tmp_path / "early", "codex", "")
    earlier = programs_on(f"{tmp_path}/early:{path}", PROVIDERS, [])["codex"]
    assert earlier.real == str((tmp_path / "early" / "codex").resolve())


def test_nothing_is_taken_from_a_relative_folder_or_a_root_of_a_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """security 2.16: never from the work tree"""
    tree = tmp_path / "tree"
    program(tree / "node_modules" / ".bin", "codex", "")
    program(tree, "claude", "")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gemini").symlink_to(tree / "claude")
    (tmp_path / "treelike").mkdir()
    good = program(tmp_path / "treelike", "goose", "")
    (tmp_path / "way").symlink_to(tree)
    monkeypatch.chdir(tree)
    path = f".::node_modules/.bin:{tree}/node_modules/.bin:{tmp_path}/way:{tree}:{tmp_path}/bin:{tmp_path}/treelike"
    assert programs_on(path, PROVIDERS, [str(tree)]) == {"goose": Program(str(good), str(good.resolve()))}
    assert set(programs_on(path, PROVIDERS, [])) == {"codex", "claude", "gemini", "goose"}


def test_what_is_no_program_is_passed_over(tmp_path: Path) -> None:
    first = tmp_path / "first"
    (first / "codex").mkdir(parents=True)
    (first / "claude").write_text("text")
    os.mkfifo(first / "gemini", 0o700)
    (first / "goose").symlink_to(first / "absent")
    assert programs_on(str(first), PROVIDERS, []) == {}


def login_shell(folder: Path, start_up: str) -> str:
    """A login shell whose start-up files are `start_up`."""
    return str(program(folder, "shell", f'{start_up}\nwhile [ "$1" != -c ]; do shift; done\nexec /bin/sh "$@"'))


def test_the_login_shell_tells_its_path_and_which_variables_are_set(tmp_path: Path) -> None:
    shell = login_shell(tmp_path, 'echo noise; PATH="/mine:$PATH"; MY_KEY=secret; EMPTY=; export PATH MY_KEY EMPTY')
    told = ask_login_shell(person(tmp_path, shell), ["MY_KEY", "EMPTY", "OTHER"], FALLBACK)
    assert told.path.startswith("/mine:") and told.variables == {"MY_KEY"}
    assert "secret" not in repr(told)


def test_the_login_shell_knows_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.16"""
    monkeypatch.setenv("CANARY", "secret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    seen = tmp_path / "seen"
    shell = login_shell(tmp_path, f"env > {seen}; tty >> {seen}")
    ask_login_shell(person(tmp_path, shell), ["CANARY"], FALLBACK)
    text = seen.read_text()
    assert "CANARY" not in text and "PYTHONPATH" not in text and "not a tty" in text


@pytest.mark.parametrize("start_up", ["exit 0", "exit 1", "sleep 60", "exec yes", "exec 1>/dev/null"])
def test_a_login_shell_that_does_not_tell_is_not_waited_for(tmp_path: Path, start_up: str) -> None:
    shell = login_shell(tmp_path, start_up)
    assert ask_login_shell(person(tmp_path, shell), [], FALLBACK, within_ms=400) == Shell(FALLBACK)
    assert ask_login_shell(person(tmp_path, "/no/such/shell"), [], FALLBACK, within_ms=400) == Shell(FALLBACK)


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_real_shells_tell(tmp_path: Path, shell: str) -> None:
    if not Path(shell).exists():
        pytest.skip(f"no {shell} here")
    (tmp_path / ".profile").write_text("export PATH=/from/profile:$PATH\n")
    told = ask_login_shell(person(tmp_path, shell), [], FALLBACK, within_ms=20_000)
    assert told.path.startswith("/from/profile:")


def test_sign_in_files_are_looked_for_and_not_opened(tmp_path: Path) -> None:
    assert files_there(CODEX, person(tmp_path)) == frozenset()
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "auth.json").touch(mode=0o000)
    assert files_there(CODEX, person(tmp_path)) == {"~/.codex/auth.json"}


def test_the_shell_is_asked_by_this_very_python() -> None:
    """A python of the person's PATH could be any program."""
    assert Path(sys.executable).is_absolute()
