"""The browser bundle is built once for each state of its sources, or says why it could not be (build_hook.py)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nexus.console import build_hook
from nexus.console.build_hook import NotBuilt, bring_up_to_date, hash_of

_WEB = Path(build_hook.__file__).parent / "web"


@pytest.fixture
def web(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.js").write_text("1")
    return folder


class Tools:
    """Stands in for npm and vite: makes a bundle, or fails with an output."""

    def __init__(self) -> None:
        self.runs = 0
        self.failure: NotBuilt | None = None

    def __call__(self, web: Path, folder: Path) -> None:
        self.runs += 1
        if self.failure is not None:
            raise self.failure
        (folder / "dist").mkdir(parents=True)
        (folder / "dist" / "render.html").write_text((web / "src" / "a.js").read_text())


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    stand_in = Tools()
    monkeypatch.setattr(build_hook, "_build", stand_in)
    return stand_in


def test_a_bundle_is_built_once_for_each_state_of_its_sources(web: Path, tools: Tools, tmp_path: Path) -> None:
    """0015"""
    built = tmp_path / "built"
    for _ in range(2):
        bring_up_to_date(web, built, is_required=False)
    assert (tools.runs, (built / "render.html").read_text()) == (1, "1")
    (web / "src" / "a.js").write_text("2")
    (built / "old.js").write_text("left by the former build")
    bring_up_to_date(web, built, is_required=False)
    assert (tools.runs, (built / "render.html").read_text()) == (2, "2")
    assert sorted(file.name for file in built.iterdir()) == ["built-from", "render.html"]
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


class Killed(BaseException):
    """Stands in for the end of the process: nothing that was meant to follow happens."""


@pytest.mark.parametrize("at", ["copied", "first rename", "second rename"])
def test_a_build_that_was_killed_loses_no_bundle_and_leaves_nothing_for_good(
    web: Path, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """0015"""
    built = tmp_path / "built"
    bring_up_to_date(web, built, is_required=False)
    (tmp_path / ".built-4711").mkdir()  # of an older release
    (web / "src" / "a.js").write_text("2")
    renames: list[tuple[Path, object]] = []
    rename = Path.rename

    def killed_at(path: Path, target: Path) -> Path:
        renames.append((path, target))
        if at == "copied":
            raise Killed
        made = rename(path, target)
        if at == ("first rename", "second rename")[len(renames) - 1]:
            raise Killed
        return made

    with monkeypatch.context() as dying:
        dying.setattr(Path, "rename", killed_at)
        with pytest.raises(Killed):
            bring_up_to_date(web, built, is_required=False)
    tools.failure = NotBuilt("The npm registry could not be reached (ENOTFOUND).")
    if at == "second rename":
        bring_up_to_date(web, built, is_required=True)
        assert (built / "render.html").read_text() == "2", "it was there already"
    else:
        with pytest.raises(NotBuilt):
            bring_up_to_date(web, built, is_required=True)
        assert (built / "render.html").read_text() == "1", "the former one is back, or was never gone"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_whoever_reads_while_a_bundle_is_replaced_never_sees_a_part_of_one(
    web: Path, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0015: looked at before and after each thing that is done to a folder."""
    built = tmp_path / "built"
    for number in range(40):
        (web / "src" / f"{number}.txt").touch()
    monkeypatch.setattr(build_hook, "_build", lambda web, folder: shutil.copytree(web / "src", folder / "dist"))
    bring_up_to_date(web, built, is_required=False)
    whole = len([*built.iterdir()])
    seen: set[int] = set()

    def look() -> None:
        seen.add(len([*built.iterdir()]) if built.exists() else 0)

    for of, name in ((os, "unlink"), (os, "rename"), (os, "rmdir"), (shutil, "copy2"), (shutil, "copytree")):
        monkeypatch.setattr(of, name, _watched(getattr(of, name), look))
    (web / "src" / "a.js").write_text("2")
    bring_up_to_date(web, built, is_required=False)
    assert seen <= {0, whole} and (built / "a.js").read_text() == "2"


def _watched(do: Callable[..., object], look: Callable[[], None]) -> Callable[..., object]:
    def watched(*given: object, **named: object) -> object:
        look()
        try:
            return do(*given, **named)
        finally:
            look()

    return watched


def test_two_builds_at_once_make_one_bundle_and_both_end_well(web: Path, tmp_path: Path) -> None:
    """0015: in processes of their own, the second waits and finds what the first has made."""
    program = (
        "import sys; from pathlib import Path; from nexus.console import build_hook\n"
        "def build(web, folder):\n"
        "    (folder / 'dist').mkdir(parents=True)\n"
        "    print('building', flush=True); sys.stdin.readline()\n"
        "build_hook._build = build\n"
        "web, built = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "print('asked', flush=True)\n"
        "build_hook.bring_up_to_date(web, built, is_required=True)\n"
    )
    command = [sys.executable, "-c", program, str(web), str(tmp_path / "built")]
    start = partial(subprocess.Popen, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with start() as first, start() as second:
        assert first.stdout is not None and second.stdout is not None
        assert (first.stdout.readline(), second.stdout.readline()) == ("asked\n", "asked\n")
        for one in (first, second):
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.close()
        said = [one.stdout.read() for one in (first, second) if one.stdout is not None]
    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted(said) == ["", "building\n"]
    assert sorted(file.name for file in (tmp_path / "built").iterdir()) == ["built-from"]


def test_the_hash_knows_names_and_contents_and_nothing_that_was_installed(web: Path) -> None:
    """0015"""
    before = hash_of(web)
    (web / "node_modules").mkdir()
    (web / "node_modules" / "x.js").write_text("x")
    assert hash_of(web) == before
    (web / "src" / "a.js").rename(web / "src" / "b.js")
    assert hash_of(web) != before


def test_a_failure_leaves_its_reason_and_is_tried_again(web: Path, tools: Tools, tmp_path: Path) -> None:
    """0015: an installation goes on without a bundle."""
    built = tmp_path / "built"
    bring_up_to_date(web, built, is_required=False)
    (web / "src" / "a.js").write_text("2")
    tools.failure = NotBuilt("The npm registry could not be reached (ENOTFOUND).", "npm says much")
    bring_up_to_date(web, built, is_required=False)
    assert [file.name for file in built.iterdir()] == ["why-missing"], "no bundle of other sources is left"
    assert (built / "why-missing").read_text().startswith("The npm registry could not be reached (ENOTFOUND).\n")
    with pytest.raises(NotBuilt, match="npm says much"):
        bring_up_to_date(web, built, is_required=True)
    tools.failure = None
    bring_up_to_date(web, built, is_required=True)
    assert (built / "render.html").exists() and not (built / "why-missing").exists()


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("print('npm error code ENOTFOUND'); raise SystemExit(1)", r"registry could not be reached \(ENOTFOUND\)"),
        ("print('a syntax error'); raise SystemExit(1)", "It broke"),
        ("import time; time.sleep(60)", "more than 1 seconds"),
    ],
)
def test_what_the_tools_say_is_told_apart(tmp_path: Path, program: str, text: str) -> None:
    """0015"""
    with pytest.raises(NotBuilt, match=text):
        build_hook._run([Path(sys.executable), "-c", program], tmp_path, 1 if "sleep" in program else 30, "It broke.")
    with pytest.raises(NotBuilt, match="cannot be started"):
        build_hook._run([tmp_path / "no-node"], tmp_path, 30, "It broke.")


def test_what_is_bundled_is_pinned_to_the_last_digit_and_names_no_registry() -> None:
    """0003"""
    package = json.loads((_WEB / "package.json").read_text())
    pinned = {**package["dependencies"], **package["devDependencies"]}
    lock = json.loads((_WEB / "package-lock.json").read_text())["packages"]
    assert pinned["@excalidraw/excalidraw"] == "0.18.1"
    for name, version in pinned.items():
        assert lock[f"node_modules/{name}"]["version"] == version
    assert all("resolved" not in one and "integrity" in one for name, one in lock.items() if name)


def test_nothing_that_was_built_is_committed() -> None:
    """0015"""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "nexus/console/built", "nexus/console/web/node_modules"],
        cwd=_WEB.parent.parent.parent,
        capture_output=True,
        check=True,
        text=True,
    )
    assert listed.stdout == ""
