"""How the picture engine is asked and bounded (nexus/picture_engine.py), with a program in its place.

With the real one: tests/browser/test_export_pictures.py.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import psutil
import pytest

from nexus import picture_engine
from nexus.picture_engine import PictureFailed, Wanted, clean_environment, drawn, found_browser
from tests.support.waiting import eventually

_START = """
import json, os, subprocess, sys, time
asked = json.loads(sys.stdin.buffer.readline())
scene = sys.stdin.buffer.read(asked.get("sceneBytes", 0))
def say(content=b"", **answer):
    sys.stdout.buffer.write(json.dumps({"bytes": len(content), **answer}).encode() + b"\\n" + content)
    sys.stdout.buffer.flush()
"""

Engine: TypeAlias = Callable[[str], None]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Puts a program in place of the engine."""

    def place(program: str) -> None:
        monkeypatch.setattr(picture_engine, "COMMAND", (sys.executable, "-I", "-c", _START + program))

    return place


def draw() -> picture_engine.Picture:
    return drawn({"elements": []}, Wanted("svg", None, True), Path("/bundle"))


def test_the_engine_is_told_what_to_draw_and_its_picture_comes_back(engine: Engine) -> None:
    """0015"""
    engine("say(json.dumps([asked, scene.decode()]).encode(), width=3, height=4, scale=0.5, complaints=1)")
    made = drawn({"elements": []}, Wanted("png", 2.5, False), Path("/bundle"))
    asked, scene = json.loads(made.content)
    assert {name: asked[name] for name in ("do", "bundle", "format", "scale", "background")} == {
        "do": "draw",
        "bundle": "/bundle",
        "format": "png",
        "scale": 2.5,
        "background": False,
    }
    assert (json.loads(scene), made.width, made.height, made.scale, made.complaints) == ({"elements": []}, 3, 4, 0.5, 1)


def test_a_scene_larger_than_a_pipe_and_an_engine_that_reads_nothing_hold_up_nobody(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0015"""
    large = {"elements": ["x" * 1_000_000]}
    engine("say(str(len(scene)).encode())")
    assert int(drawn(large, Wanted("svg", None, True), Path("/bundle")).content) > 1_000_000  # type: ignore[arg-type]
    monkeypatch.setattr(picture_engine, "COMMAND", (sys.executable, "-I", "-c", "raise SystemExit('no appetite')"))
    with pytest.raises(PictureFailed, match="no appetite"):
        drawn(large, Wanted("svg", None, True), Path("/bundle"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("say(problem='no_browser', text='Install one.')", "^Install one.$"),
        ("say(problem='failed', text='t', program='/bin/x')", "/bin/x could not draw the canvas: t"),
        ("say(problem='too_large', text='It is large.')", "It is large. Choose a smaller --scale"),
        ("sys.exit('why it ended')", "ended without an answer. why it ended"),
        ("os.kill(os.getpid(), 9)", "ended without an answer"),
        ("say(b'abc', bytes=4)", "in the middle of its answer"),
        ("print('no json')", "ended without an answer"),
    ],
)
def test_whatever_goes_wrong_is_told_in_words(engine: Engine, program: str, text: str) -> None:
    """canvas 4.5: clear refusal"""
    engine(program)
    with pytest.raises(PictureFailed, match=text):
        draw()


_CHILD = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"


def test_an_engine_that_hangs_is_ended_in_time_with_all_that_it_started(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """0015: bounded in time; also what left the engine's process group."""
    note = tmp_path / "children"
    engine(_CHILD + f"open({str(note)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\ntime.sleep(600)")
    started = picture_engine._received

    def in_time(process: object, bound: picture_engine._Bound) -> bytes:
        eventually(lambda: note.exists() and note.read_text())
        return started(process, replace(bound, ms_max=0))  # type: ignore[arg-type]

    monkeypatch.setattr(picture_engine, "_received", in_time)
    with pytest.raises(PictureFailed, match="did not draw the canvas within 0 seconds and was ended"):
        draw()
    assert not any(psutil.pid_exists(int(pid)) for pid in note.read_text().split())


def test_what_took_too_long_says_what_it_was_and_how_long_it_had(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0015: bounded in time"""
    assert picture_engine._drawing_bound().words() == (
        "The browser did not draw the canvas within 270 seconds and was ended."
    )
    engine("time.sleep(600)")
    monkeypatch.setattr(picture_engine, "_LOOK_BOUND", replace(picture_engine._LOOK_BOUND, ms_max=1))
    with pytest.raises(PictureFailed, match="did not say which browser it finds within 0 seconds"):
        found_browser()
    assert picture_engine._LOOK_BOUND.ms_max < picture_engine._drawing_bound().ms_max


def test_an_engine_that_takes_too_much_memory_or_answers_too_much_is_ended(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0015: bounded in size; what the engine's children take counts."""
    monkeypatch.setattr(picture_engine, "export_memory_bytes_max", 300 * 1024 * 1024)
    engine("subprocess.run([sys.executable, '-c', 'import time; x = bytearray(400 << 20); time.sleep(600)'])")
    with pytest.raises(PictureFailed, match="memory"):
        draw()
    monkeypatch.setattr(picture_engine, "exported_bytes_max", 1024 * 1024)
    engine("say(bytes(2 << 20))\ntime.sleep(600)")
    with pytest.raises(PictureFailed, match="larger than 1 MiB"):
        draw()


def test_an_interrupted_command_leaves_nothing_running(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """0015"""
    engine("time.sleep(600)")
    seen: list[int] = []

    def interrupted(process: object, bound: object) -> bytes:
        seen.append(process.pid)  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    monkeypatch.setattr(picture_engine, "_received", interrupted)
    with pytest.raises(KeyboardInterrupt):
        draw()
    assert not psutil.pid_exists(seen[0])


def test_the_engine_gets_a_clean_environment_and_no_descriptor(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """security 2.16: a canary variable and an open descriptor do not reach it, and no module is shadowed."""
    monkeypatch.setenv("CANARY", "secret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    canary = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(canary, True)
    try:
        engine(
            "has_proc = os.path.isdir('/proc')\n"
            "say(json.dumps([dict(os.environ), os.listdir('/proc/self/fd') if has_proc else []]).encode())"
        )
        environment, descriptors = json.loads(draw().content)
    finally:
        os.close(canary)
    assert "CANARY" not in environment and "PYTHONPATH" not in environment
    assert environment["HOME"] == environment["TMPDIR"] != os.environ.get("HOME")
    assert str(canary) not in descriptors


def test_playwrights_own_browsers_are_found_though_the_home_is_another() -> None:
    """facts/browser, Executable"""
    clean = clean_environment({"HOME": "/people/ada", "PATH": "/bin", "TOKEN": "t"}, Path("/tmp/x"))
    assert clean["PLAYWRIGHT_BROWSERS_PATH"].startswith("/people/ada/") and "TOKEN" not in clean
    named = clean_environment({"PLAYWRIGHT_BROWSERS_PATH": "/opt/browsers"}, Path("/tmp/x"))
    assert named["PLAYWRIGHT_BROWSERS_PATH"] == "/opt/browsers"


def test_doctor_hears_which_browser_is_found(engine: Engine) -> None:
    """0015"""
    engine("say(program='/usr/bin/chromium', foundIn='PATH') if asked['do'] == 'look' else None")
    assert found_browser() == ("/usr/bin/chromium", "PATH")
