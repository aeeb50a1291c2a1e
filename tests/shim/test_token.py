"""Where the shim takes its token from, and from where it does not (common 2.2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nexus.shim.command import run
from nexus.shim.token import NoToken, token_in, token_source

TOKEN = "nx_agent7_a-Secret_with_parts"


def token_file(folder: Path, text: str = TOKEN, mode: int = 0o600) -> Path:
    file = folder / "token"
    file.touch(mode=mode)
    file.chmod(mode)
    file.write_text(text)
    return file


def test_inside_a_run_its_token_file_is_used_and_else_the_given_file_before_the_variable(tmp_path: Path) -> None:
    """common 2.4"""
    (tmp_path / "run").mkdir()
    given_file, of_run = token_file(tmp_path, "nx_agent7_given\n"), token_file(tmp_path / "run", TOKEN + "\n")
    variable = {"NEXUS_TOKEN": "nx_agent7_variable"}
    for given, environment, token in [
        (str(given_file), {**variable, "NEXUS_TOKEN_FILE": str(of_run)}, TOKEN),
        (None, {**variable, "NEXUS_TOKEN_FILE": str(of_run)}, TOKEN),
        (str(given_file), variable, "nx_agent7_given"),
        (None, variable, "nx_agent7_variable"),
    ]:
        source = token_source(given, environment)
        assert source is not None and source.current() == token
    assert token_source(None, {"NEXUS_TOKEN": ""}) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_can_open_is_refused_with_what_to_do(tmp_path: Path, mode: int) -> None:
    with pytest.raises(NoToken, match="chmod 600"):
        token_in(token_file(tmp_path, mode=mode))


@pytest.mark.parametrize("below", ["", "a/b"])
@pytest.mark.parametrize("as_file", [False, True])
def test_a_file_inside_a_git_work_tree_is_refused(tmp_path: Path, below: str, as_file: bool) -> None:
    """common 2.2, security 2.9; a worktree of git's own has a file named .git"""
    (tmp_path / ".git").touch() if as_file else (tmp_path / ".git").mkdir()
    folder = tmp_path / below
    folder.mkdir(parents=True, exist_ok=True)
    file = token_file(folder)
    with pytest.raises(NoToken, match="work tree"):
        token_in(file)


def test_a_link_does_not_hide_a_work_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(token_file(tree))
    with pytest.raises(NoToken, match="work tree"):
        token_in(link)


@pytest.mark.parametrize("text", ["", "nx_agent7", "Bearer " + TOKEN, TOKEN + "\r\nX: y", TOKEN * 100, "nx_ä_b"])
def test_what_is_no_token_is_refused_and_never_repeated(tmp_path: Path, text: str) -> None:
    """common 2.2: it may be a token with a mistake in it."""
    with pytest.raises(NoToken) as refused:
        token_in(token_file(tmp_path, text))
    assert not text or text not in str(refused.value)


def test_a_pipe_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("pipe", "missing"):
        with pytest.raises(NoToken):
            token_in(tmp_path / name)


@pytest.mark.parametrize("arguments", [["--token", TOKEN], [f"--token={TOKEN}"], [TOKEN]])
def test_a_token_on_the_command_line_is_refused_and_not_repeated(
    arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """common 2.2, security 2.9"""
    monkeypatch.delenv("NEXUS_TOKEN", raising=False)
    assert run(arguments) == 2
    said = capfd.readouterr()
    assert TOKEN not in said.err and said.out == ""


def test_without_any_token_the_ways_to_give_one_are_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NEXUS_TOKEN", "NEXUS_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert run([]) == 2
    assert "--token-file" in capfd.readouterr().err


def test_another_users_name_that_nobody_has_is_refused(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEXUS_TOKEN", TOKEN)
    assert run(["--user", "nobody-of-that-name"]) == 1
    assert "--user" in capfd.readouterr().err
